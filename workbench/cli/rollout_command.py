"""`wb rollout`"""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

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
    from workbench.cli.main import Context
    from workbench.cli.output import Output
    from workbench.engine.compile import CompileInputs
    from workbench.engine.plan import Plan
    from workbench.engine.rollout.execute import RolloutRun
    from workbench.engine.rollout.planned import PlannedRollout
    from workbench.engine.rollout.progress import Progress
    from workbench.session import Session


@click.group("rollout")
def command() -> None:
    """Roll a change out in stages and batches, as rollout.yaml says; halt where it is not healthy.

    Where no ID is given, it is the only rollout that has not ended, else the newest that was begun on this machine.
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

    planned = anyio.run(plan)
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
    id_ = session.begin_rollout(planned, confirm=phrase)
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
    """Go on with a rollout that was paused, halted or stopped, from the batch it is in.

    Options and settings have to be those it was started with.

    Exit code: as of wb rollout start.
    """
    from workbench.engine.rollout.values import Ask

    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    session.reason = reason or session.reason
    id_ = _named(session, id_)
    at = session.ask_rollout(id_, Ask.RESUME)
    session.reason = reason or at.began.reason
    ctx.exit(_carry_out(session, id_, inputs(options, settings), context.output))


@command.command("approve")
@click.argument("stage")
@click.argument("id_", metavar="[ID]", default="")
@workdir_option
@reason_option
@click.pass_context
def approve(ctx: click.Context, id_: str, stage: str, workdir: Path | None, reason: str) -> None:
    """Say that a stage may begin. Who said so, and why, is recorded."""
    from workbench.engine.rollout.values import Ask

    _ask(ctx, id_, Ask.APPROVE, workdir, reason, stage)


@command.command("pause")
@click.argument("id_", metavar="[ID]", default="")
@workdir_option
@reason_option
@click.pass_context
def pause(ctx: click.Context, id_: str, workdir: Path | None, reason: str) -> None:
    """Have a rollout stop after the batch it is in, from whichever terminal."""
    from workbench.engine.rollout.values import Ask

    _ask(ctx, id_, Ask.PAUSE, workdir, reason)


@command.command("abort")
@click.argument("id_", metavar="[ID]", default="")
@workdir_option
@reason_option
@click.pass_context
def abort(ctx: click.Context, id_: str, workdir: Path | None, reason: str) -> None:
    """Never go on with a rollout; what it did stays, and can be rolled back."""
    from workbench.engine.rollout.values import Ask

    _ask(ctx, id_, Ask.ABORT, workdir, reason)


@command.command("status")
@click.argument("id_", metavar="[ID]", default="")
@workdir_option
@format_option("table", "json")
@click.pass_context
def status(ctx: click.Context, id_: str, workdir: Path | None, format_: str) -> None:
    """Show where a rollout stands, stage by stage, and what can be done next."""
    from workbench.present import rollout as present

    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    id_ = _named(session, id_)
    at = session.rollout_progress(id_)
    is_running = session.is_rolling_out(id_)
    if format_ == "json":
        context.output.json({"apiVersion": "wb/v1", "kind": "Rollout", **present.document(at, is_running=is_running)})
    else:
        context.output.lines(present.progress_lines(at, context.output.glyphs, is_running=is_running))


@command.command("list")
@workdir_option
@format_option("table", "json")
@click.pass_context
def list_(ctx: click.Context, workdir: Path | None, format_: str) -> None:
    """List the rollouts of the repository that were begun on this machine, the newest first."""
    from workbench.engine.rollout.progress import Progress
    from workbench.present import rollout as present

    context: Context = ctx.obj
    output = context.output
    session = context.open(workdir=workdir)
    every = tuple(session.rollouts())
    found = [(each, session.is_rolling_out(each.began.id)) for each in every if isinstance(each, Progress)]
    broken = [each for each in every if not isinstance(each, Progress)]
    if format_ == "json":
        documents = [present.document(each, is_running=is_running) for each, is_running in found]
        output.json(
            {
                "apiVersion": "wb/v1",
                "kind": "Rollouts",
                "rollouts": documents,
                "unreadable": {each.id: str(each.error) for each in broken},
            }
        )
    elif found:
        output.table(present.COLUMNS, [present.row(each, is_running=is_running) for each, is_running in found])
    elif not broken:
        output.talk("no rollout was begun on this machine")
    for each in broken:
        output.talk(Span(f"! {each.id}: {each.error.message}", Tone.BAD), Span(f"  {each.error.hint}", Tone.MUTED))
    ctx.exit(ExitCode.ERROR if broken else ExitCode.OK)


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
    """Give the stacks of a rollout again what they had before it, the last one first; the rollout is aborted.

    Each stack is rolled back by a plan of its own, which asks as wb rollback does.

    Exit code: 0 all of them have again what they had; else as of wb rollback, of the first stack that has not.
    """
    from workbench.cli.applying import apply_made
    from workbench.cli.progress import while_asking
    from workbench.engine.rollout.values import Ask

    context: Context = ctx.obj
    output = context.output
    session = context.open(workdir=workdir)
    id_ = _named(session, id_)
    at = session.rollout_progress(id_)
    session.reason = reason or f"rollback of rollout {id_}"
    if session.is_rolling_out(id_):
        output.talk(Span(f"it is carried out now: wb rollout pause {id_}, and wait for the batch", Tone.BAD))
        ctx.exit(ExitCode.STALE)
    if not at.touched:
        output.talk("there is nothing to roll back: it made no release, or all of them are rolled back")
        ctx.exit(ExitCode.OK)
    if not at.has_ended:
        session.ask_rollout(id_, Ask.ABORT)
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
        made = anyio.run(make)
        wanted = made.confirmation.phrase
        code = apply_made(session, made, output, yes=yes, confirm=wanted if wanted in phrases else "", timeout=timeout)
        if code is not ExitCode.OK:
            ctx.exit(code)
        session.record_rollback(id_, stack, made.revision if not made.is_empty else made.prior)
    output.talk(Span("all stacks of the rollout have again what they had before it", Tone.GOOD))


def _named(session: Session, id_: str) -> str:
    """Returns the id that was given, else the only rollout that goes on, else the newest; raises `ReleaseFailure`."""
    from workbench.engine.errors import ReleaseFailure
    from workbench.engine.rollout.progress import Progress

    if id_:
        return id_
    every = tuple(session.rollouts())
    open_ = [each for each in every if not isinstance(each, Progress) or not each.has_ended]
    if len(open_) > 1:
        raise ReleaseFailure("several rollouts have not ended: name one", hint="wb rollout list")
    newest = next(iter(open_ or every), None)
    if newest is None:
        raise ReleaseFailure("no rollout was begun on this machine", hint="wb rollout start")
    return newest.began.id if isinstance(newest, Progress) else newest.id


def _ask(ctx: click.Context, id_: str, what: object, workdir: Path | None, reason: str, stage: str = "") -> None:
    from workbench.engine.rollout.values import Ask
    from workbench.present import rollout as present

    assert isinstance(what, Ask)
    context: Context = ctx.obj
    session = context.open(workdir=workdir)
    session.reason = reason or session.reason
    id_ = _named(session, id_)
    at = session.ask_rollout(id_, what, stage=stage)
    is_running = session.is_rolling_out(id_)
    output = context.output
    output.line(present.headline(at, output.glyphs, is_running=is_running))
    if what is Ask.PAUSE and is_running:
        output.talk("it stops after the batch that it is in")
    if what is Ask.ABORT and is_running:
        output.talk("it goes no further than the batch that it is in")
    for each in present.next_steps(at, is_running=is_running):
        output.talk(f"{output.glyphs.arrow} {each}")


def _confirmed(planned: PlannedRollout, yes: bool, confirm: str, output: Output) -> str | None:
    from workbench.cli.applying import phrase_for

    return phrase_for(planned.confirmation, yes, confirm, output, verb="roll out", nothing_done="Nothing was applied.")


def _carry_out(session: Session, id_: str, given: CompileInputs, output: Output) -> ExitCode:
    """Shows the rollout to where it ends for now. ^C lets what was begun end; a second one as for an apply."""
    from workbench.cli.progress import TreeLog
    from workbench.engine.rollout.execute import Picture
    from workbench.engine.rollout.values import BatchBegan
    from workbench.present import rollout as present

    stages = session.rollout_progress(id_).began.stages
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

    async def carry() -> None:
        nonlocal was_stopped

        async def heed() -> None:
            nonlocal was_stopped
            async for _ in signals:
                said = "stopping at once" if was_stopped else "stopping: what was begun ends first"
                output.talk(Span(said, Tone.WARN))
                await run.interrupt(at_once=was_stopped)
                was_stopped = True

        async with session, session.rollout(id_, given) as run:
            is_heard = threading.current_thread() is threading.main_thread() and callable(
                signal.getsignal(signal.SIGINT)
            )
            if not is_heard:
                await show(run)
                return
            with anyio.open_signal_receiver(signal.SIGINT) as signals:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(heed)
                    await show(run)
                    tasks.cancel_scope.cancel()

    anyio.run(carry)
    at = session.rollout_progress(id_)
    output.line(present.headline(at, output.glyphs, is_running=False))
    for each in present.next_steps(at, is_running=False):
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
