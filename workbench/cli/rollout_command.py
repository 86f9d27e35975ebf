"""`wb rollout`"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from kcl.records import replace
from workbench.cli import loop
from workbench.cli.stacks import (
    WorkPath,
    compile_options,
    format_option,
    inputs,
    reason_option,
    tell_findings,
    timeout_option,
    workdir_option,
)
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.errors import Locked
    from workbench.engine.plan import Plan
    from workbench.engine.rollout.execute import RolloutRun
    from workbench.engine.rollout.planned import PlannedRollout
    from workbench.engine.rollout.progress import Progress
    from workbench.engine.rollout.values import Stage
    from workbench.release.rollout_listing import RolloutEntry, RolloutListing
    from workbench.session import Session


@click.group("rollout")
def command() -> None:
    """Roll a change out in stages and batches, as rollout.yaml says; halt where it is not healthy.

    Where no ID is given, it is the only rollout that has not ended, else the newest one, on whatever machine it was
    begun.
    """


@command.command("start")
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@click.option("--file", type=WorkPath(), default=None, metavar="FILE", help="the stages; default: rollout.yaml")
@compile_options
@workdir_option
@click.option("-y", "--yes", is_flag=True, help="do not ask; what needs a phrase needs --confirm as well")
@click.option("--confirm", default="", metavar="PHRASE", help="confirm with the phrase that the rollout asks for")
@click.option("--dry-run", is_flag=True, help="show what would go out in which order, and stop")
@format_option("table", "json")
@reason_option
@click.pass_context
def start(
    ctx: click.Context,
    globs: tuple[str, ...],
    file: Path | None,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    yes: bool,
    confirm: str,
    dry_run: bool,
    format_: str,
    reason: str,
) -> None:
    """Plan the stacks of all stages, ask, and roll out until it is finished, halts or waits.

    GLOB chooses among the stacks of the stages, such as 'shop/*'; nothing means all of them.

    Exit code: 0 finished, or nothing changes; 4 refused or not confirmed; 5 halted; 6 stopped, paused or waiting for an
    approval.
    """
    from workbench.cli.progress import while_asking
    from workbench.present import rollout as present

    context: Context = ctx.obj
    output = context.output
    session = context.open(workdir=workdir)
    session.reason = reason or session.reason
    given = inputs(options, settings)
    if tell_findings(session.tree(), output) and not globs:
        output.talk(Span("stacks may be missing: put that right, or name the stacks. Nothing was applied.", Tone.BAD))
        ctx.exit(ExitCode.REFUSED)

    async def plan() -> PlannedRollout:
        async with session, while_asking(session, output):
            return await session.plan_rollout(*globs, file=file, inputs=given)

    async def begin(phrase: str) -> str:
        async with session:
            return await session.begin_rollout(planned, confirm=phrase)

    planned = loop.outcome(plan)
    if format_ == "json":
        output.json({"apiVersion": "wb/v1", "kind": "PlannedRollout", **present.planned_document(planned)})
    else:
        output.lines(present.planned_lines(planned, output.glyphs))
    if planned.refused:
        output.talk(Span(f"{output.glyphs.bad} refused. Nothing was applied.", Tone.BAD))
        ctx.exit(ExitCode.REFUSED)
    if planned.is_empty:
        output.talk("nothing changes in any stage" if planned.is_certain else "it is not known what changes")
        ctx.exit(ExitCode.OK if planned.is_certain else ExitCode.NOT_READY)
    if dry_run:
        ctx.exit(ExitCode.OK)
    phrase = _confirmed(planned, yes, confirm, output)
    if phrase is None:
        ctx.exit(ExitCode.REFUSED)
    id_ = anyio.run(begin, phrase)
    output.line(
        Span(id_, Tone.STRONG), Span("  wb rollout status shows where it stands, from any terminal", Tone.MUTED)
    )
    ctx.exit(_carry_out(session, id_, given, output))


@command.command("resume")
@click.argument("id_", metavar="[ID]", default="")
@compile_options
@workdir_option
@reason_option
@click.pass_context
def resume(
    ctx: click.Context,
    id_: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    reason: str,
) -> None:
    """Resume a rollout that was paused, halted or stopped, from the batch it is in, on any machine.

    Options and settings have to be those it was started with. While somebody else carries it out, or may do so, it is
    refused: who is gone without a word is given up a minute after it was last heard.

    Exit code: as of wb rollout start.
    """
    from workbench.engine.rollout.values import Ask

    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    session.reason = reason or session.reason

    async def ask() -> Progress:
        async with session:
            known = await _named(session, id_)
            if session.is_rolling_out(known):
                raise _carried_out(known)
            return await session.ask_rollout(known.id, Ask.RESUME)

    at = loop.outcome(ask)
    session.reason = reason or at.began.reason
    ctx.exit(_carry_out(session, at.began.id, inputs(options, settings), context.output))


@command.command("approve")
@click.argument("stage")
@click.argument("id_", metavar="[ID]", default="")
@workdir_option
@reason_option
@click.pass_context
def approve(ctx: click.Context, id_: str, stage: str, workdir: Path | None, reason: str) -> None:
    """Approve the start of a stage. Who approved it, and why, is recorded."""
    from workbench.engine.rollout.values import Ask

    _ask(ctx, id_, Ask.APPROVE, workdir, reason, stage)


@command.command("pause")
@click.argument("id_", metavar="[ID]", default="")
@workdir_option
@reason_option
@click.pass_context
def pause(ctx: click.Context, id_: str, workdir: Path | None, reason: str) -> None:
    """Pause a rollout after the batch it is in, from any machine."""
    from workbench.engine.rollout.values import Ask

    _ask(ctx, id_, Ask.PAUSE, workdir, reason)


@command.command("abort")
@click.argument("id_", metavar="[ID]", default="")
@workdir_option
@reason_option
@click.pass_context
def abort(ctx: click.Context, id_: str, workdir: Path | None, reason: str) -> None:
    """Abort a rollout for good; what it applied stays, and can be rolled back."""
    from workbench.engine.rollout.values import Ask

    _ask(ctx, id_, Ask.ABORT, workdir, reason)


@command.command("status")
@click.argument("id_", metavar="[ID]", default="")
@workdir_option
@format_option("table", "json")
@click.pass_context
def status(ctx: click.Context, id_: str, workdir: Path | None, format_: str) -> None:
    """Show where a rollout stands, stage by stage, and what can be done next.

    Exit code: 0; 1 its record is damaged, gone or not known: with the copy beside it, where it stood by that.
    """
    from workbench.present import rollout as present

    context: Context = ctx.obj
    session = context.open(workdir=workdir)

    async def look() -> RolloutEntry:
        async with session:
            return await _named(session, id_)

    known = loop.outcome(look)
    shown = present.Shown(known, datetime.now(UTC))
    if format_ == "json":
        context.output.json({"apiVersion": "wb/v1", "kind": "Rollout", **present.document(shown)})
    else:
        context.output.lines(present.progress_lines(shown, context.output.glyphs))
    ctx.exit(ExitCode.ERROR if known.damage else ExitCode.OK)


@command.command("list")
@workdir_option
@format_option("table", "json")
@click.pass_context
def list_(ctx: click.Context, workdir: Path | None, format_: str) -> None:
    """List the rollouts of the repository, of all machines, newest first.

    Exit code: 0 all of them; 1 one of them can't be read, or a place that may have others did not answer.
    """
    from workbench.present import rollout as present

    context: Context = ctx.obj
    output = context.output
    session = context.open(workdir=workdir)

    async def look() -> RolloutListing:
        async with session:
            return await session.rollouts()

    found, now = loop.outcome(look), datetime.now(UTC)
    shown = [present.Shown(each, now) for each in found.known]
    if format_ == "json":
        output.json(
            {
                "apiVersion": "wb/v1",
                "kind": "Rollouts",
                "rollouts": [present.document(each) for each in shown],
                "unreadable": {each.id: str(each.error) for each in found.unreadable},
                "asked": [each or "this machine" for each in found.places],
                "notKnown": {place or "this machine": each.message for place, each in found.silent.items()},
            }
        )
    elif shown:
        output.table(present.COLUMNS, [present.row(each) for each in shown])
    elif not found.unreadable and not found.silent:
        output.talk("there is no rollout of this repository that is seen from here")
    if not found.known or not any(found.places):
        output.talk(Span(found.unseen, Tone.MUTED))
    for each in found.known:
        if each.damage:
            output.talk(Span(f"! {each.id}: {present.damage_text(each.damage)}", Tone.BAD))
    for broken in found.unreadable:
        said = f"! {broken.id}: {broken.error.message} ({broken.error.where})"
        output.talk(Span(said, Tone.BAD), Span(f"  {broken.error.hint}", Tone.MUTED))
    for place, error in found.silent.items():
        said = f"! {place or 'this machine'}: which rollouts it has is not known: {error.message}"
        output.talk(Span(said, Tone.BAD), Span(f"  {error.hint}" if error.hint else "", Tone.MUTED))
    is_doubtful = found.unreadable or found.silent or any(each.damage for each in found.known)
    ctx.exit(ExitCode.ERROR if is_doubtful else ExitCode.OK)


@command.command("unlock")
@click.argument("id_", metavar="[ID]", default="")
@click.option(
    "--holder",
    default="",
    metavar="HOLDER",
    help="break the lock of this holder, named as the command without this option shows it",
)
@workdir_option
@reason_option
@click.pass_context
def unlock(ctx: click.Context, id_: str, holder: str, workdir: Path | None, reason: str) -> None:
    """Show who runs a rollout, and break the lock of a dead process without waiting for it to expire."""
    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    session.reason = reason or session.reason

    async def run() -> str:
        async with session:
            return await session.unlock_rollout((await _named(session, id_)).id, holder)

    held = loop.outcome(run)
    if held:
        context.output.line(Span("taken from " if holder else "carried out by ", Tone.STRONG), held)
    else:
        context.output.talk("nobody carries it out")


@command.command("rollback")
@click.argument("id_", metavar="[ID]", default="")
@compile_options
@workdir_option
@click.option("-y", "--yes", is_flag=True, help="do not ask; protected stacks need --confirm as well")
@click.option(
    "--confirm",
    "phrases",
    multiple=True,
    metavar="PHRASE",
    help="confirm with the phrase that a plan asks for; may be repeated",
)
@timeout_option
@reason_option
@click.pass_context
def rollback(
    ctx: click.Context,
    id_: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    yes: bool,
    phrases: tuple[str, ...],
    timeout: float | None,
    reason: str,
) -> None:
    """Return the stacks of a rollout to what they had before it, the last one first; the rollout is aborted.

    Each stack is rolled back by a plan of its own, which asks as wb rollback does.

    Exit code: 0 all of them have again what they had; else as of wb rollback, of the first stack that has not.
    """
    from workbench.cli.applying import apply_made
    from workbench.cli.progress import while_asking
    from workbench.engine.rollout.values import Ask

    context: Context = ctx.obj
    output = context.output
    session = context.open(workdir=workdir)

    async def look() -> RolloutEntry:
        async with session:
            return await _named(session, id_)

    async def abort() -> None:
        async with session:
            await session.ask_rollout(known.id, Ask.ABORT)

    async def note(stack: str, revision: int) -> None:
        async with session:
            await session.record_rollback(known.id, stack, revision)

    known = loop.outcome(look)
    at = known.progress
    session.reason = reason or f"rollback of rollout {known.id}"
    if session.is_rolling_out(known):
        raise _carried_out(known)
    if not at.touched:
        output.talk("there is nothing to roll back: it made no release, or all of them are rolled back")
        ctx.exit(ExitCode.OK)
    if not at.has_ended:
        anyio.run(abort)
    given = inputs(options, settings)
    for stack in at.touched:
        prior = at.began.parts[stack].prior
        if not prior:
            output.talk(
                Span(f"{stack} had no release before: there is nothing to return to", Tone.BAD),
                Span(f"  wb destroy {stack} takes away what it has", Tone.MUTED),
            )
            ctx.exit(ExitCode.REFUSED)

        async def make(stack: str = stack, prior: int = prior) -> Plan:
            async with session, while_asking(session, output):
                return await session.plan_rollback(session.select(stack), prior, given)

        output.line(Span(f"{stack}: back to release #{prior}", Tone.STRONG))
        made = loop.outcome(make)
        wanted = made.confirmation.phrase
        code = apply_made(session, made, output, yes=yes, confirm=wanted if wanted in phrases else "", timeout=timeout)
        if code is not ExitCode.OK:
            ctx.exit(code)
        anyio.run(note, stack, made.revision if not made.is_empty else made.prior)
    output.talk(Span("all stacks of the rollout have again what they had before it", Tone.GOOD))


async def _named(session: Session, id_: str) -> RolloutEntry:
    """Returns the rollout of that id, else the only one that goes on, else the newest.

    Raises `ReleaseFailure`, also where a place that may have others does not answer: it would be a guess then.
    """
    from workbench.engine.errors import ReleaseFailure

    if id_:
        return await session.find_rollout(id_)
    found = await session.rollouts()
    for place, error in found.silent.items():
        raise ReleaseFailure(
            f"which rollouts there are is not known: {error.message}",
            where=place or "this machine",
            hint="name one: wb rollout list shows those that are known",
        )
    open_ = [each for each in found.known if not each.progress.has_ended]
    unreadable = [each for each in found.unreadable if not each.is_stray]
    if len(open_) + len(unreadable) > 1:
        raise ReleaseFailure("several rollouts have not ended: name one", hint="wb rollout list")
    if unreadable:
        raise unreadable[0].error
    newest = next(iter(open_ or found.known), None)
    if newest is None:
        raise ReleaseFailure("there is no rollout of this repository that is seen from here", hint=found.unseen)
    return newest


def _carried_out(known: RolloutEntry) -> Locked:
    from workbench.engine.errors import Locked

    assert known.runner is not None, "who asks has looked"
    error = Locked(known.runner.who, where=f"rollout {known.id}")
    error.message = f"it is carried out now by {known.runner.who}"
    error.hint = f"wb rollout pause {known.id}, and wait for the batch"
    return error


def _ask(ctx: click.Context, id_: str, what: object, workdir: Path | None, reason: str, stage: str = "") -> None:
    from workbench.engine.rollout.values import Ask
    from workbench.present import rollout as present

    assert isinstance(what, Ask)
    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    session.reason = reason or session.reason

    async def ask() -> RolloutEntry:
        async with session:
            known = await _named(session, id_)
            at = await session.ask_rollout(known.id, what, stage=stage)
            return replace(await session.find_rollout(known.id), progress=at)

    shown = present.Shown(anyio.run(ask), datetime.now(UTC))
    output = context.output
    output.line(present.headline(shown))
    if what is Ask.PAUSE and shown.is_running:
        output.talk("it stops after the batch that it is in")
    if what is Ask.ABORT and shown.is_running:
        output.talk("it goes no further than the batch that it is in")
    for each in present.next_steps(shown):
        output.talk(f"{output.glyphs.arrow} {each}")


def _confirmed(planned: PlannedRollout, yes: bool, confirm: str, output: Output) -> str | None:
    from workbench.cli.applying import phrase_for

    return phrase_for(planned.confirmation, yes, confirm, output, verb="roll out", nothing_done="Nothing was applied.")


def _carry_out(session: Session, id_: str, given: CompileInputs, output: Output) -> ExitCode:
    """Shows the rollout to where it ends for now. ^C lets what was begun end; a second one as for an apply."""
    from workbench.cli.progress import TreeLog
    from workbench.cli.stopping import to_its_end
    from workbench.engine.rollout.execute import Picture
    from workbench.engine.rollout.values import BatchBegan
    from workbench.present import rollout as present
    from workbench.release.rollout_listing import RolloutEntry

    stages: Sequence[Stage] = ()
    was_stopped = False

    async def show(run: RolloutRun) -> None:
        logs: dict[str, TreeLog] = {}
        async for event in run:
            if isinstance(event, BatchBegan):
                logs.clear()  # each batch watches others
            if isinstance(event, Picture):
                for stack, tree in event.trees.items():
                    if stack not in logs:
                        logs[stack] = TreeLog(output, f"  {stack}" if len(event.trees) > 1 else "")
                    if logs[stack].latest is not tree:
                        logs[stack].show(tree)
            for each in present.event_lines(event, stages, output.glyphs):
                output.line(each)

    async def carry() -> Progress:
        nonlocal was_stopped, stages
        async with session:
            stages = (await session.rollout_progress(id_)).began.stages
            async with session.rollout(id_, given) as run:
                _, was_stopped = await to_its_end(run, show(run), output)
            return await session.rollout_progress(id_)

    at = loop.outcome(carry)
    ended = present.Shown(RolloutEntry(at, ""), datetime.now(UTC))
    output.line(present.headline(ended))
    for each in present.next_steps(ended):
        output.talk(f"{output.glyphs.arrow} {each}")
    if was_stopped:
        raise KeyboardInterrupt
    return _ended(at)


def _ended(at: Progress) -> ExitCode:
    from workbench.engine.rollout.progress import Phase

    match at.phase:
        case Phase.FINISHED:
            return ExitCode.OK
        case Phase.HALTED:
            return ExitCode.NOT_READY
        case _:
            return ExitCode.PARTIAL
