"""`wb apply`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from workbench.cli.stacks import (
    accept_lost_option,
    adopt_option,
    cluster_option,
    compile_options,
    find,
    inputs,
    reason_option,
    timeout_option,
    workdir_option,
)
from workbench.exit_codes import ExitCode
from workbench.project.errors import UnknownStack

if TYPE_CHECKING:
    from workbench.cli.main import Context
    from workbench.engine.plan import Plan


@click.command("apply")
@click.argument("stack", default="", metavar="[STACK | PLANFILE]")
@compile_options
@cluster_option
@workdir_option
@click.option("-y", "--yes", is_flag=True, help="do not ask; protected stacks need --confirm as well")
@click.option("--confirm", default="", metavar="PHRASE", help="confirm with the phrase that the plan asks for")
@click.option("--dry-run", is_flag=True, help="show the plan and stop")
@click.option("--watch/--no-watch", default=True, show_default=True, help="wait until everything is ready")
@timeout_option
@click.option("--force", is_flag=True, help="take over fields that other managers own")
@click.option("--no-prune", is_flag=True, help="leave what the stack no longer has")
@accept_lost_option
@adopt_option
@reason_option
@click.pass_context
def command(
    ctx: click.Context,
    stack: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    clusters: tuple[str, ...],
    workdir: Path | None,
    yes: bool,
    confirm: str,
    dry_run: bool,
    watch: bool,
    timeout: float | None,
    force: bool,
    no_prune: bool,
    accept_lost: bool,
    adopt: bool,
    reason: str,
) -> None:
    """Make the clusters say what the configuration says, after asking; then watch it become ready.

    Exit code: 0 applied and ready; 4 refused or not confirmed; 5 applied but not ready; 6 partly applied; 7 the plan
    is out of date or somebody else holds the stack.
    """
    context: Context = ctx.obj
    given = inputs(options, settings)
    plan_file = context.base(workdir) / stack if stack else None
    if plan_file is not None and plan_file.is_file():
        session = context.open(workdir=workdir)
        found = None
    else:
        try:
            session, found = find(context, stack, workdir)
        except UnknownStack as error:
            if stack:
                error.message += f", and no saved plan at {plan_file}"
            raise
        plan_file = None
    output = context.output
    session.reason = reason or session.reason

    from workbench.cli.applying import carry_out, confirmation, say_what_is_left
    from workbench.cli.progress import while_asking
    from workbench.present import plan as present

    # Asking happens between two runs of the event loop: inside one, an answer would keep ^C from being heard.
    async def make() -> Plan:
        async with session, while_asking(session, output):
            if plan_file is not None:
                return await session.load_plan(plan_file, given)
            assert found is not None
            return await session.plan(
                found, given, clusters=clusters, prune=not no_prune, force=force, accept_lost=accept_lost, adopt=adopt
            )

    made = anyio.run(make)
    output.lines(present.lines(made, output.glyphs))
    if made.is_refused:
        for each in present.refusal(made, output.glyphs):
            output.talk(each)
        ctx.exit(ExitCode.REFUSED)
    if dry_run:
        ctx.exit(ExitCode.OK)
    phrase = confirmation(made, yes, confirm, output, nothing_done="Nothing was applied.")
    if phrase is None:
        ctx.exit(ExitCode.REFUSED)
    if not made.is_empty and (code := carry_out(session, made, phrase, output)) is not ExitCode.OK:
        ctx.exit(code)
    # what could not be planned was not applied, however well the rest went
    applied = ExitCode.OK if made.is_certain else ExitCode.PARTIAL
    if not watch:
        ctx.exit(applied)

    # Watching is a run of its own: while applying, ^C means something else.
    async def settle() -> ExitCode:
        from workbench.cli import progress

        async with session:
            target = session.select(made.stack)
            seconds = timeout or session.settings.timeout_seconds
            async with session.watch(
                target, made.inputs, spec=made.spec, clusters=made.only, until_settled=True, timeout_seconds=seconds
            ) as trees:
                last = await progress.show_trees(trees, output)
            return progress.show_end(last, output) if last is not None else ExitCode.NOT_READY

    try:
        code = anyio.run(settle)
    except KeyboardInterrupt:
        say_what_is_left(session, made, output)
        raise
    ctx.exit(code if code is not ExitCode.OK else applied)
