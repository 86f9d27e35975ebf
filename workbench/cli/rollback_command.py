"""`wb rollback`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli import loop, many_stacks
from workbench.cli.many_stacks import many_options
from workbench.cli.stacks import (
    WorkPath,
    accept_lost_option,
    adopt_option,
    cluster_option,
    compile_options,
    dry_run_all_option,
    find,
    inputs,
    part_options,
    reason_option,
    timeout_option,
    workdir_option,
)
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.engine.fleet_plan.values import FleetPlan
    from workbench.engine.plan import Plan


@click.command("rollback")
@click.argument("stack", default="", metavar="[STACK]")
@click.option(
    "--to",
    "revision",
    type=click.IntRange(min=1),
    default=None,
    metavar="N",
    help="return to this release; default: the last good one before the current one",
)
@click.option("--of", "run", default="", metavar="RUN", help="roll back what this run did to its stacks")
@many_options
@compile_options
@cluster_option
@workdir_option
@click.option("--out", type=WorkPath(), default=None, metavar="FILE", help="save the plan for wb apply FILE, and stop")
@click.option("-y", "--yes", is_flag=True, help="do not ask; protected stacks need --confirm as well")
@click.option("--confirm", default="", metavar="PHRASE", help="confirm with the phrase that the plan asks for")
@click.option("--dry-run", is_flag=True, help="show the plan and stop")
@click.option("--watch/--no-watch", default=True, show_default=True, help="wait until everything is ready")
@timeout_option
@click.option("--force", is_flag=True, help="take over fields that other managers own")
@accept_lost_option
@adopt_option
@dry_run_all_option
@part_options
@reason_option
@click.pass_context
def command(
    ctx: click.Context,
    stack: str,
    revision: int | None,
    run: str,
    globs: tuple[str, ...],
    skip_stacks: tuple[str, ...],
    options: tuple[str, ...],
    settings: tuple[str, ...],
    clusters: tuple[str, ...],
    workdir: Path | None,
    out: Path | None,
    yes: bool,
    confirm: str,
    dry_run: bool,
    watch: bool,
    timeout: float | None,
    force: bool,
    accept_lost: bool,
    adopt: bool,
    dry_run_all: bool,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    reason: str,
) -> None:
    """Return a stack to an earlier release, after asking; then watch it become ready.

    The record is followed, not the KCL of today, and what came after the release is deleted.

    With --of it is each stack that a run of wb apply changed, as its last line names it, those that read others first;
    --stacks chooses among them.

    Exit code: 0 applied and ready; 4 refused or not confirmed, or the record does not hold what it takes; 5 applied
    but not ready; 6 partly applied; 7 the plan is out of date or somebody else holds the stack.
    """
    from workbench.cli.applying import apply_made
    from workbench.cli.progress import while_asking

    context: Context = ctx.obj
    output = context.output
    if run:
        ctx.exit(_roll_back_many(ctx, run))
    if globs or skip_stacks:
        raise click.UsageError("--stacks and --skip-stack go with --of RUN: which release is meant is not said else")
    session, found = find(context, stack, workdir)
    given = inputs(options, settings)
    session.reason = reason or session.reason

    async def make() -> Plan:
        async with session, while_asking(session, output):
            made = await session.plan_rollback(
                found,
                revision or 0,
                given,
                clusters=clusters,
                force=force,
                accept_lost=accept_lost,
                adopt=adopt,
                dry_run_all=dry_run_all,
                only=only,
                skip=skip,
            )
            if out is not None and not made.is_refused:
                session.save_plan(made, out)
            return made

    made = loop.outcome(make)
    code = apply_made(
        session, made, output, yes=yes, confirm=confirm, dry_run=dry_run or out is not None, watch=watch,
        timeout=timeout,
    )  # fmt: skip
    if out is not None and made.is_refused:
        output.talk(f"{out} was not written: a refused plan can't be applied")
    if code is ExitCode.OK and not dry_run and out is None and not made.is_empty:
        output.talk(f"the configuration says what it said: the next wb apply {made.stack} would go forward again")
    ctx.exit(code)


_OF_ONE = ("stack", "revision", "clusters", "force", "accept_lost", "adopt", "dry_run_all", "only", "skip")


def _roll_back_many(ctx: click.Context, run: str) -> ExitCode:
    given = ctx.params
    if refused := [each.opts[0] for each in ctx.command.params if each.name in _OF_ONE and given[each.name]]:
        raise click.UsageError(f"{', '.join(refused)}: speaks of one stack, and --of of many")
    if not given["watch"]:
        raise click.UsageError("--no-watch: of many stacks each has to be ready before the next, so they are watched")
    context: Context = ctx.obj
    session = context.open(workdir=given["workdir"])
    session.reason = given["reason"] or session.reason or f"rollback of run {run}"
    compile_inputs = inputs(given["options"], given["settings"])

    async def plan() -> FleetPlan:
        return await session.plan_rollback_stacks(
            run, *given["globs"], inputs=compile_inputs, skip_stacks=given["skip_stacks"]
        )

    made = many_stacks.make(session, plan, context.output, given["out"])
    is_saved = given["out"] is not None
    code = many_stacks.apply_made(
        session,
        made,
        context.output,
        yes=given["yes"],
        confirm=given["confirm"],
        dry_run=given["dry_run"] or is_saved,
        timeout=given["timeout"],
    )
    if is_saved and made.is_refused:
        context.output.talk(f"{given['out']} was not written: a refused plan can't be applied")
    return code
