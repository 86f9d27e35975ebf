"""`wb release`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli import loop
from workbench.cli.stacks import (
    WorkPath,
    compile_options,
    find,
    format_option,
    inputs,
    reason_option,
    workdir_option,
)
from workbench.exit_codes import ExitCode
from workbench.present.rows import Column, Row
from workbench.present.text import Span, Tone, line
from workbench.project import WorkbenchError
from workbench.words import few

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.cli.context import Context
    from workbench.engine.release import Release
    from workbench.engine.release_changes import ReleaseChanges
    from workbench.project import Stack
    from workbench.release.history import History
    from workbench.session import Session

_COLUMNS = (
    Column("#", right=True),
    Column("Phase"),
    Column("By"),
    Column("Started (UTC)"),
    Column("Resources"),
    Column("Plan"),
    Column("Note"),
)

_MOST_NAMED = 8
_RESOURCE_COLUMNS = (Column("Action"), Column("State"), Column("Resource"), Column("Cluster"))


@click.group("release")
def command() -> None:
    """List and show the releases of a stack, from whatever machine they were made."""


@command.command("list")
@click.argument("stack", default="", metavar="[STACK]")
@workdir_option
@format_option("table", "json")
@click.pass_obj
def list_(context: Context, stack: str, workdir: Path | None, format_: str) -> None:
    """List the releases of a stack, newest first."""
    from workbench.present import clusters
    from workbench.present.releases import note

    session, found = find(context, stack, workdir)
    history = _history(session, found)
    releases = history.releases()
    if format_ == "json":
        context.output.json(
            {
                "apiVersion": "wb/v1",
                "kind": "Releases",
                "status": "unknown" if history.problems or history.gaps else "ok",
                "shared": history.is_shared,
                "unknown": [*(f"{each.cluster}: {each.message}" for each in history.problems), *map(str, history.gaps)],
                "unreadable": _unreadable(history, releases),
                "unrecorded": [*history.unrecorded()],
                "releases": [
                    {
                        "stack": each.stack,
                        "revision": each.revision,
                        "phase": each.phase.value,
                        "user": each.user,
                        "host": each.host,
                        "started": f"{each.started:%Y-%m-%dT%H:%M:%SZ}",
                        "plan": each.plan,
                        "rolledBackTo": each.rolled_back_to or None,
                        "reason": each.reason,
                        "rollout": each.rollout or None,
                        "gaps": [*each.gaps],
                        "part": each.part or None,
                        "identities": clusters.document(each.clusters),
                        "resources": [
                            {"cluster": address.cluster, "id": str(address.id), "state": resource.state.value}
                            for address, resource in each.resources.items()
                        ],
                    }
                    for each in releases
                ],
            }
        )
        history.refuse_unknown(found.name)
        return
    _say(context, history)
    rows = (
        Row(
            each.revision,
            (
                line(str(each.revision)),
                line(each.phase.value),
                line(f"{each.user}@{each.host}"),
                line(f"{each.started:%Y-%m-%d %H:%M}"),
                line(str(len(each.resources))),
                line(each.plan[:7]),
                line(note(each)),
            ),
        )
        for each in releases
    )
    if releases:
        context.output.table(_COLUMNS, rows)
        for revision in _unreadable(history, releases):
            why = f"wb release show {found.name} --revision {revision}"
            context.output.talk(Span(f"! release {revision} is recorded and can't be read: {why}", Tone.WARN))
        if gone := history.unrecorded():
            said = f"not recorded any more: {few([f'#{each}' for each in gone], _MOST_NAMED)}"
            context.output.talk(Span(said, Tone.MUTED))
    elif not (history.problems or history.gaps):
        context.output.talk(f"{found.name} was not released " + ("yet" if history.is_shared else "from here yet"))
    if not history.is_shared:
        context.output.talk(
            Span("of this machine alone: what others released is not seen here (docs/releases.md)", Tone.MUTED)
        )
    history.refuse_unknown(found.name)


def _unreadable(history: History, releases: Sequence[Release]) -> list[int]:
    """Those before the newest that are recorded and can't be read."""
    shown = {each.revision for each in releases}
    return [each for each in history.recorded() if releases and each < releases[0].revision and each not in shown]


@command.command("show")
@click.argument("stack", default="", metavar="[STACK]")
@click.option(
    "--revision", type=click.IntRange(min=1), default=None, metavar="N", help="show this revision; default: the latest"
)
@workdir_option
@click.pass_obj
def show(context: Context, stack: str, revision: int | None, workdir: Path | None) -> None:
    """Show one release: the outcome of every resource in it."""
    from workbench.present import clusters
    from workbench.present.releases import note

    session, found = find(context, stack, workdir)
    history = _history(session, found)
    _say(context, history)
    chosen = _chosen(history, found, revision)
    when, who = f"{chosen.started:%Y-%m-%d %H:%M} UTC", f"{chosen.user}@{chosen.host}"
    title = Span(f"release #{chosen.revision} ", Tone.STRONG)
    context.output.line(title, f"{chosen.phase.value} by {who}, {when}, plan {chosen.plan[:7]}")
    if said := note(chosen):
        context.output.line(said)
    for gap in chosen.gaps:
        context.output.line(Span(f"{context.output.glyphs.unknown} left out of its plan: {gap}", Tone.WARN))
    for each in clusters.lines(chosen.clusters):
        context.output.line(each)
    rows = (
        Row(address, (line(each.action.value), line(each.state.value), line(str(address.id)), line(address.cluster)))
        for address, each in chosen.resources.items()
    )
    context.output.table(_RESOURCE_COLUMNS, rows)
    for address, resource in chosen.resources.items():
        if resource.error:
            context.output.line(Span(f"{address}: ", Tone.MUTED), Span(resource.error, Tone.BAD))


@command.command("replay")
@click.argument("stack", default="", metavar="[STACK]")
@click.option(
    "--revision",
    type=click.IntRange(min=1),
    default=None,
    metavar="N",
    help="replay this revision; default: the latest",
)
@click.option(
    "--speed",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="X",
    help="so many times as fast as it was; default: all at once",
)
@workdir_option
@format_option("table", "json")
@click.pass_obj
def replay_(
    context: Context, stack: str, revision: int | None, speed: float, workdir: Path | None, format_: str
) -> None:
    """Show again what an apply reported, from the record of its release."""
    import time

    from workbench.engine.replay import replay
    from workbench.present import plan

    session, found = find(context, stack, workdir)
    history = _history(session, found)
    _say(context, history)
    chosen = _chosen(history, found, revision)
    events = replay(chosen)
    if format_ == "json":
        documents = [plan.event_document(each) for each in events]
        context.output.json(
            {"apiVersion": "wb/v1", "kind": "ReleaseEvents", "release": chosen.revision, "events": documents}
        )
        return
    before = chosen.started
    for each in events:
        if speed:
            time.sleep(max(0.0, (each.at - before).total_seconds() / speed))
        before = max(before, each.at)
        shown = plan.event_line(each, context.output.glyphs)
        if shown is not None:
            since = (each.at - chosen.started).total_seconds()
            context.output.line(Span(f"{since:7.1f}s  ", Tone.MUTED), shown)
    if chosen.phase.value == "applying":
        context.output.talk(Span("it did not end: what else it did is not known", Tone.WARN))


@command.command("diff")
@click.argument("stack", default="", metavar="[STACK]")
@click.argument("before", type=click.IntRange(min=1), default=None, required=False, metavar="[A]")
@click.argument("after", type=click.IntRange(min=1), default=None, required=False, metavar="[B]")
@compile_options
@workdir_option
@format_option("table", "json")
@click.pass_context
def diff(
    ctx: click.Context,
    stack: str,
    before: int | None,
    after: int | None,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    format_: str,
) -> None:
    """Show what differs between two releases; default: the last two. With one: between it and the configuration.

    Exit code: 0 the same, 1 different, 3 not known.
    """

    context: Context = ctx.obj
    try:
        session, found = find(context, stack, workdir)
        given = inputs(options, settings)

        async def run() -> ReleaseChanges:
            async with session:
                return await session.release_changes(found, before or 0, after or 0, given)

        result = loop.outcome(run)
    except click.ClickException:
        raise
    except Exception as error:
        from workbench.cli.report import CommandFailed

        raise CommandFailed(error, ExitCode.DIFF_FAILED) from error

    from workbench.present import release_changes

    if format_ == "json":
        context.output.json(release_changes.document(result))
    else:
        context.output.lines(release_changes.lines(result, context.output.glyphs))
        context.output.line(release_changes.summary(result, context.output.glyphs))
        for each in result.remarks:
            context.output.talk(Span(f"! {each}", Tone.WARN))
    if not result.is_certain:
        ctx.exit(ExitCode.DIFF_FAILED)
    ctx.exit(ExitCode.DIFFERENT if result.is_different else ExitCode.OK)


@command.command("move")
@click.argument("former", type=WorkPath(), metavar="FORMER_FOLDER")
@workdir_option
@click.pass_obj
def move(context: Context, former: Path, workdir: Path | None) -> None:
    """Take over the releases and Terraform states of a checkout that was moved here."""
    stacks = context.open(workdir=workdir).take_over(former.absolute())
    context.output.line(Span(f"taken over from {former}: ", Tone.GOOD), ", ".join(stacks))


@command.command("forget")
@click.argument("stack", default="", metavar="[STACK]")
@click.option("--cluster", required=True, metavar="CLUSTER", help="name the cluster that is gone, as plans name it")
@workdir_option
@reason_option
@click.pass_obj
def forget(context: Context, stack: str, cluster: str, workdir: Path | None, reason: str) -> None:
    """Forget the objects of a stack in a cluster that no longer exists; deletes nothing anywhere."""

    session, found = find(context, stack, workdir)
    session.reason = reason or session.reason

    async def run() -> tuple[str, ...]:
        async with session:
            return await session.forget(found, cluster)

    gone = loop.outcome(run)
    context.output.line(Span(f"forgotten in {cluster}: ", Tone.GOOD), ", ".join(gone))


@command.command("unlock")
@click.argument("stack", default="", metavar="[STACK]")
@click.option(
    "--holder",
    default="",
    metavar="HOLDER",
    help="break the lock of this holder, named as the command without this option shows it",
)
@workdir_option
@reason_option
@click.pass_obj
def unlock(context: Context, stack: str, holder: str, workdir: Path | None, reason: str) -> None:
    """Show who holds the lock of a stack, in its clusters or the bucket, and break the lock of a dead process."""

    session, found = find(context, stack, workdir)
    session.reason = reason or session.reason

    async def run() -> tuple[str, ...]:
        async with session:
            return await session.unlock(found, holder)

    held = loop.outcome(run)
    for each in held:
        context.output.line(Span("taken from " if holder else "held by ", Tone.STRONG), each)
    if not held:
        context.output.talk(f"nobody holds {found.name} where its releases are")


def _chosen(history: History, found: Stack, revision: int | None) -> Release:
    """Returns the release of that revision, else the latest. Raises `WorkbenchError` where it is not there."""
    releases = history.releases()
    chosen = next((each for each in releases if revision in (None, each.revision)), None)
    if chosen is None:
        history.refuse_unknown(found.name)
        if revision in history.recorded():
            return history.find(revision, found.name)  # which says why it can't be read
        known = ", ".join(f"#{each.revision}" for each in releases) or "none"
        raise WorkbenchError(
            f"there is no release #{revision or 1}",
            where=found.name,
            hint=f"recorded{'' if history.is_shared else ' here'}: {known}",
        )
    return chosen


def _history(session: Session, stack: Stack) -> History:

    async def run() -> History:
        async with session:
            return await session.history(stack)

    return loop.outcome(run)


def _say(context: Context, history: History) -> None:
    latest = history.latest.warnings if history.latest is not None else ()
    for each in (*history.warnings, *latest, *history.gaps):
        context.output.talk(Span(f"! {each}", Tone.WARN))
