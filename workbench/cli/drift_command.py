"""`wb drift`"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from workbench.cli import loop
from workbench.cli.stacks import (
    NO_STACKS,
    answers_by_code,
    cluster_option,
    compile_options,
    format_option,
    inputs,
    reason_option,
    tell_findings,
    tell_taken_out,
    timeout_option,
    workdir_option,
)
from workbench.exit_codes import ExitCode
from workbench.words import few

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.drift import Adoption, StackDrift
    from workbench.engine.fleet import TakenOut
    from workbench.engine.plan import Plan
    from workbench.project import Stack
    from workbench.session import Session


@click.command("drift")
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@compile_options
@cluster_option
@workdir_option
@format_option("table", "json", "yaml", "markdown")
@click.option(
    "--every",
    type=click.FloatRange(min=1),
    default=None,
    metavar="SECONDS",
    help="look again at this interval, and print what is new, until ^C",
)
@click.option("--revert", is_flag=True, help="plan and apply what reverts the drift of one stack, and nothing else")
@click.option("--take-away", is_flag=True, help="with --revert: also remove fields that people added to live objects")
@click.option("--adopt", is_flag=True, help="print a patch that adopts the live values in the KCL of one stack")
@click.option("--write", is_flag=True, help="with --adopt: write the files instead")
@click.option("-y", "--yes", is_flag=True, help="with --revert: do not ask; protected stacks need --confirm as well")
@click.option("--confirm", default="", metavar="PHRASE", help="with --revert: confirm with the phrase of the plan")
@click.option("--watch/--no-watch", default=True, show_default=True, help="with --revert: wait until all is ready")
@timeout_option
@reason_option
@click.pass_context
@answers_by_code
def command(
    ctx: click.Context,
    globs: tuple[str, ...],
    options: tuple[str, ...],
    settings: tuple[str, ...],
    clusters: tuple[str, ...],
    workdir: Path | None,
    format_: str,
    every: float | None,
    revert: bool,
    take_away: bool,
    adopt: bool,
    write: bool,
    yes: bool,
    confirm: str,
    watch: bool,
    timeout: float | None,
    reason: str,
) -> None:
    """Show what others changed or deleted live in many stacks: what, who, when, and the KCL line it overrides.

    GLOB is over project/stack, such as '*/prod'; nothing means all stacks.

    Exit code: 0 nobody changed anything, 1 somebody did, 3 it is not known of some stack.
    """
    context: Context = ctx.obj
    _refuse_together(revert, adopt, write, every, format_)
    for name, is_given in (("--take-away", take_away), ("--yes", yes), ("--confirm", bool(confirm))):
        if is_given and not revert:
            raise click.UsageError(f"{name} is for --revert" + ("; --adopt --write writes the files" if adopt else ""))
    session = context.open(workdir=workdir)
    session.reason = reason or session.reason
    given = inputs(options, settings)
    is_broken = tell_findings(session.tree(), context.output)
    stacks = _chosen(session, globs)
    if revert or adopt:
        if len(stacks) != 1:
            names = few([each.name for each in stacks], 5)
            raise click.UsageError(
                f"--{'revert' if revert else 'adopt'} is for one stack, and these are {len(stacks)}: {names}"
            )
        if adopt:
            ctx.exit(_adopt(session, stacks[0], given, clusters, write, context.output))
        made = _revert(session, stacks[0], given, clusters, context.output, take_away=take_away)
        if made is None:
            ctx.exit(ExitCode.REFUSED)
        from workbench.cli.applying import apply_made

        ctx.exit(apply_made(session, made, context.output, yes=yes, confirm=confirm, watch=watch, timeout=timeout))
    is_whole = not globs and not clusters and not is_broken
    if every is not None:
        anyio.run(_keep_looking, session, stacks, given, clusters, every, context.output, format_, is_whole)
    looks, gone = anyio.run(_look, session, stacks, given, clusters, context.output, is_whole)
    _print(context.output, looks, session, format_, gone)
    tell_taken_out(gone, context.output)
    if is_broken or any(not each.is_certain for each in looks):
        ctx.exit(ExitCode.DIFF_FAILED)
    ctx.exit(ExitCode.DIFFERENT if any(each.has_drifted for each in looks) else ExitCode.OK)


def _refuse_together(revert: bool, adopt: bool, write: bool, every: float | None, format_: str) -> None:
    if revert and adopt:
        raise click.UsageError("--revert and --adopt are two answers: give one")
    if write and not adopt:
        raise click.UsageError("--write is for --adopt")
    if every is not None and (revert or adopt):
        raise click.UsageError("--every looks again and again, and answers nothing: leave --revert and --adopt out")
    if format_ != "table" and (revert or adopt):
        raise click.UsageError(f"-o {format_} is for looking: leave --revert and --adopt out")


def _chosen(session: Session, globs: tuple[str, ...]) -> tuple[Stack, ...]:
    """Returns the stacks that are meant; that there are none is no answer, and neither are fewer than are meant."""
    stacks = session.choose(*globs) if globs else tuple(session.tree().stacks())
    if not stacks:
        raise click.UsageError(NO_STACKS)
    return stacks


async def _look(
    session: Session,
    stacks: Sequence[Stack],
    given: CompileInputs,
    clusters: tuple[str, ...],
    output: Output,
    is_whole: bool,
) -> tuple[tuple[StackDrift, ...], TakenOut | None]:
    """Returns what drifted, and, of a whole repository, what is said of stacks that it has no more."""
    from workbench.cli.progress import while_asking

    async with session, while_asking(session, output):
        looks = await session.drift(stacks, given, clusters=clusters)
        return looks, await session.taken_out() if is_whole else None


async def _keep_looking(
    session: Session,
    stacks: Sequence[Stack],
    given: CompileInputs,
    clusters: tuple[str, ...],
    every: float,
    output: Output,
    format_: str,
    is_whole: bool,
) -> None:
    """Prints the first look whole, and then what is new in each, for ever.

    What stacks left that a whole repository has no more belongs to the first look alone.
    """
    from workbench.engine.drift import news, remembered
    from workbench.present import drift

    async with session:
        before = await session.drift(stacks, given, clusters=clusters)
        known = remembered((), before)
        gone = await session.taken_out() if is_whole else None
        _print(output, before, session, format_, gone)
        tell_taken_out(gone, output)
        while True:
            await anyio.sleep(every)
            after = await session.drift(stacks, given, clusters=clusters)
            found = news(known, before, after)
            now = datetime.now(UTC)
            if format_ == "table":
                output.lines(drift.news_lines(found, session.root, output.glyphs, now))
            elif found:
                _print(output, after, session, format_)
            before, known = after, remembered(known.values(), after)


def _print(
    output: Output, looks: Sequence[StackDrift], session: Session, format_: str, gone: TakenOut | None = None
) -> None:
    from workbench.present import drift

    now, root = datetime.now(UTC), session.root
    if format_ == "markdown":
        from workbench.present import drift_report

        output.data(drift_report.markdown(looks, session.tree().all_findings(), root, now, gone))
        return
    if format_ == "json":
        output.json(drift.document(looks, root, now, gone))
        return
    if format_ == "yaml":
        output.yaml(drift.document(looks, root, now, gone))
        return
    said: set[tuple[str, ...]] = set()
    for look in looks:
        if look.has_drifted or not look.is_certain:
            output.lines(drift.stack_lines(look, root, output.glyphs, now))
            for each in drift.unsaid(drift.remark_lines(look, output.glyphs), said, output.glyphs):
                output.talk(each)
            output.line()
        elif look.diff is not None:
            for warning in look.diff.warnings:
                output.talk(f"{output.glyphs.finding} {look.stack}: {warning}")
    output.lines(drift.identity_lines(looks))
    output.line(drift.summary_line(looks, output.glyphs))


def _revert(
    session: Session,
    stack: Stack,
    given: CompileInputs,
    clusters: tuple[str, ...],
    output: Output,
    *,
    take_away: bool,
) -> Plan | None:
    """Returns the plan that takes drift back; None, having said why, where it would do more than that."""
    from workbench.cli.progress import while_asking
    from workbench.engine.drift import besides_drift
    from workbench.present import reconcile
    from workbench.present.text import Span, Tone

    async def make() -> Plan:
        async with session, while_asking(session, output):
            return await session.plan_revert(stack, given, clusters=clusters, take_away=take_away)

    made = loop.outcome(make)
    if others := besides_drift(made):
        for each in others:
            output.talk(Span(f"{output.glyphs.bad} ", Tone.BAD), reconcile.short_id(each.address))
        said = "the configuration itself has changed here since the last release, and an apply would do that too"
        output.talk(Span(f"{said}. Nothing was applied.", Tone.BAD))
        output.talk(
            f"{output.glyphs.arrow} wb plan {stack.name} --force shows all of it, wb apply {stack.name} --force does it"
        )
        return None
    return made


def _adopt(
    session: Session, stack: Stack, given: CompileInputs, clusters: tuple[str, ...], write: bool, output: Output
) -> ExitCode:
    """Prints or writes the edits. The code says whether drift is left, as that of a look does."""
    from workbench.cli.progress import while_asking
    from workbench.present import diff, drift
    from workbench.present.text import line

    async def make() -> tuple[StackDrift, Adoption | None, StackDrift | None]:
        async with session, while_asking(session, output):
            (look,) = await session.drift([stack], given, clusters=clusters)
            if look.diff is None:
                return look, None, None
            adoption = await session.adopt_drift(stack, look.diff, given)
            (after,) = await session.drift([stack], adoption.edits.inputs, clusters=clusters)
            return look, adoption, after

    look, adoption, after = loop.outcome(make)
    for each in drift.remark_lines(look, output.glyphs):
        output.talk(each)
    if adoption is None or after is None:
        return ExitCode.DIFF_FAILED
    touched = session.affected(adoption.edits.files)
    shared = [str(each) for each in touched.stacks if each != stack.path]
    for each in drift.adoption_lines(adoption, shared, output.glyphs):
        output.talk(each)
    if write:
        for file in session.write_files(stack, adoption.edits):
            output.line(file.relative_to(session.root).as_posix())
    else:
        output.data(adoption.edits.patch())
        if adoption.adopted:
            output.talk("nothing was written: --write writes the files, and `git apply` takes this patch")
    if after.diff is not None:
        output.talk(line(f"{stack.name} with this: ", diff.drift_line(after.diff, output.glyphs)))
    if not look.is_certain or not after.is_certain:
        return ExitCode.DIFF_FAILED
    # what an edit for another field moved as well is the configuration's doing by now, and was not taken over
    return ExitCode.DIFFERENT if after.has_drifted or adoption.left else ExitCode.OK
