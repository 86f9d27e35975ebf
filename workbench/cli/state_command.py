"""`wb state`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.stacks import compile_options, find, format_option, inputs, reason_option, workdir_option
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from runtimes.base import StateMove
    from workbench.cli.context import Context
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.plan import Plan
    from workbench.engine.state_listing import StateListing, StateResource
    from workbench.project import Stack
    from workbench.session import Session


@click.group("state")
def command() -> None:
    """Show the state of a stack's Terraform resources, move it, unlock it, remove resources from it."""


@command.command("list")
@click.argument("stack", default="", metavar="[STACK]")
@compile_options
@workdir_option
@format_option("table", "json", "yaml")
@click.pass_obj
def list_(
    context: Context,
    stack: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    format_: str,
) -> None:
    """List the resources in the state, and configured ones that are not in it."""
    from workbench.present import state_listing

    session, found = find(context, stack, workdir)
    state = _read(session, found, inputs(options, settings))
    match format_:
        case "json":
            context.output.json(state_listing.document(state))
        case "yaml":
            context.output.yaml(state_listing.document(state))
        case _:
            if state.resources:
                context.output.table(state_listing.COLUMNS, state_listing.rows(state))
            context.output.lines(state_listing.summary(state, context.output.glyphs))
    if state.is_doubtful:
        click.get_current_context().exit(ExitCode.DIFF_FAILED)


@command.command("show")
@click.argument("stack")
@click.argument("resource")
@compile_options
@workdir_option
@format_option("table", "json", "yaml")
@click.pass_obj
def show(
    context: Context,
    stack: str,
    resource: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    format_: str,
) -> None:
    """Show everything the state has of one resource: an id, TYPE/NAME or terraform's own address of it."""
    from workbench.present import state_listing

    session, found = find(context, stack, workdir)
    state = _read(session, found, inputs(options, settings))
    chosen = state.find(resource)
    match format_:
        case "json":
            context.output.json(state_listing.document(state, chosen))
        case "yaml":
            context.output.yaml(state_listing.document(state, chosen))
        case _:
            context.output.lines(state_listing.lines(chosen))


@command.command("migrate")
@click.argument("stack", default="", metavar="[STACK]")
@compile_options
@workdir_option
@click.option("-y", "--yes", is_flag=True, help="do not ask")
@reason_option
@click.pass_context
def migrate(
    ctx: click.Context,
    stack: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    yes: bool,
    reason: str,
) -> None:
    """Move the state to the backend that the stack names now."""
    import anyio

    from workbench.cli.applying import phrase_for
    from workbench.engine.plan import Confirmation, Level
    from workbench.present import state_listing

    context: Context = ctx.obj
    session, found = find(context, stack, workdir)
    session.reason = reason or session.reason
    given = inputs(options, settings)
    nothing = "The state is where it was."
    wanted = Confirmation(Level.YES, "yes")
    if (
        phrase_for(wanted, yes, "", context.output, verb=f"move the state of {found.name}", nothing_done=nothing)
        is None
    ):
        ctx.exit(ExitCode.REFUSED)

    async def run() -> tuple[StateListing, StateMove]:
        async with session:
            return await session.move_state(found, given)

    state, moved = anyio.run(run)
    context.output.line(Span("it was there already" if moved.was_there else "moved", Tone.GOOD))
    context.output.lines(state_listing.summary(state, context.output.glyphs))
    if moved.backup is not None:
        context.output.talk(f"as it was: {moved.backup}")


@command.command("forget")
@click.argument("stack")
@click.argument("resources", metavar="RESOURCE...", nargs=-1, required=True)
@click.option("--still-declared", is_flag=True, help="forget also what the configuration declares: it is created again")
@compile_options
@workdir_option
@click.option("--confirm", default="", metavar="PHRASE", help="confirm with the phrase that the plan asks for")
@click.option("--dry-run", is_flag=True, help="show the plan and stop")
@reason_option
@click.pass_context
def forget(
    ctx: click.Context,
    stack: str,
    resources: tuple[str, ...],
    still_declared: bool,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    confirm: str,
    dry_run: bool,
    reason: str,
) -> None:
    """Remove resources from the state and leave them where they are: they are no longer managed here.

    RESOURCE is an id, TYPE/NAME or terraform's own address of it. The state is copied first.

    Exit code: 0 forgotten; 4 refused, as where the configuration still declares it, or not confirmed; 7 the plan is
    out of date or somebody else holds the stack.
    """
    import anyio

    from workbench.cli.applying import apply_made
    from workbench.cli.progress import while_asking
    from workbench.present import state_listing

    context: Context = ctx.obj
    output = context.output
    session, found = find(context, stack, workdir)
    session.reason = reason or session.reason

    async def make() -> tuple[Plan, tuple[StateResource, ...]]:
        async with session, while_asking(session, output):
            return await session.plan_forget(found, resources, inputs(options, settings), still_declared=still_declared)

    made, chosen = anyio.run(make)
    code = apply_made(session, made, output, confirm=confirm, dry_run=dry_run, watch=False)
    if not dry_run and code in (ExitCode.OK, ExitCode.PARTIAL):
        output.lines(state_listing.forgotten(chosen))
    if not dry_run and (copy := session.state_before_forgetting(found)) is not None and code is not ExitCode.REFUSED:
        output.talk(f"the state as it was: {copy}")
    ctx.exit(code)


@command.command("unlock")
@click.argument("stack")
@click.argument("lock", metavar="LOCK")
@compile_options
@workdir_option
@reason_option
@click.pass_obj
def unlock(
    context: Context,
    stack: str,
    lock: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    reason: str,
) -> None:
    """Break a lock of the backend whose holder is gone. LOCK is the id that a refused plan names."""
    import anyio

    session, found = find(context, stack, workdir)
    session.reason = reason or session.reason
    given = inputs(options, settings)

    async def run() -> None:
        async with session:
            await session.unlock_state(found, lock, given)

    anyio.run(run)
    context.output.line(Span("unlocked: ", Tone.GOOD), found.name)


def _read(session: Session, found: Stack, given: CompileInputs) -> StateListing:
    import anyio

    async def run() -> StateListing:
        async with session:
            return await session.state(found, given)

    return anyio.run(run)
