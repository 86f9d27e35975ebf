"""`wb apply`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli import loop, many_stacks
from workbench.cli.many_stacks import many_options, scheduler_option, site_option
from workbench.cli.stacks import (
    accept_lost_option,
    adopt_option,
    cluster_option,
    compile_options,
    dry_run_all_option,
    expect_evaluation,
    find,
    inputs,
    part_options,
    reason_option,
    replace_option,
    take_away_option,
    timeout_option,
    workdir_option,
)
from workbench.exit_codes import ExitCode
from workbench.project.errors import UnknownStack

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.engine.fleet_plan.values import FleetPlan
    from workbench.engine.plan import Plan


@click.command("apply")
@click.argument("stack", default="", metavar="[STACK | PLANFILE | GLOB]")
@many_options
@site_option
@scheduler_option
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
@take_away_option
@dry_run_all_option
@part_options
@replace_option
@reason_option
@click.pass_context
def command(
    ctx: click.Context,
    stack: str,
    globs: tuple[str, ...],
    skip_stacks: tuple[str, ...],
    site: str,
    scheduler: str,
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
    take_away: bool,
    dry_run_all: bool,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    replace: tuple[str, ...],
    reason: str,
) -> None:
    """Apply the configuration to the clusters, after asking; then watch it become ready.

    GLOB, or --stacks, makes one plan over many stacks: each is ready before those that read its outputs begin, and it
    halts at the first that is not.

    Exit code: 0 applied and ready; 4 refused or not confirmed; 5 applied but not ready; 6 partly applied; 7 the plan
    is out of date or somebody else holds the stack.
    """
    context: Context = ctx.obj
    given = inputs(options, settings)
    plan_file = context.base(workdir) / stack if stack else None
    globs = many_stacks.with_site(context, site, stack, globs, workdir)
    many = many_stacks.globs_of(stack, globs, skip_stacks, context.base(workdir))
    saved = plan_file if plan_file is not None and plan_file.is_file() else None
    if many or (saved is not None and many_stacks.is_saved_of_many(saved)):
        ctx.exit(_apply_many(ctx, many_stacks.Wanted.of(ctx, many, given), saved))
    many_stacks.Wanted.refuse_scheduler(ctx)
    if plan_file is not None and plan_file.is_file():
        _refuse_options(ctx)
        session = context.open(workdir=workdir)
        found = None
    else:
        expect_evaluation()
        try:
            session, found = find(context, stack, workdir)
        except UnknownStack as error:
            if stack:
                error.message += f", and no saved plan at {plan_file}"
            raise
        plan_file = None
    output = context.output
    session.reason = reason or session.reason

    from workbench.cli.applying import apply_made
    from workbench.cli.progress import while_asking

    # Asking happens between two runs of the event loop: inside one, an answer would keep ^C from being heard.
    async def make() -> Plan:
        async with session, while_asking(session, output):
            if plan_file is not None:
                return await session.load_plan(plan_file, given)
            assert found is not None
            return await session.plan(
                found,
                given,
                clusters=clusters,
                prune=not no_prune,
                force=force,
                accept_lost=accept_lost,
                adopt=adopt,
                take_away=take_away,
                dry_run_all=dry_run_all,
                only=only,
                skip=skip,
                replace=replace,
            )

    made = loop.outcome(make)
    ctx.exit(apply_made(session, made, output, yes=yes, confirm=confirm, dry_run=dry_run, watch=watch, timeout=timeout))


def _apply_many(ctx: click.Context, wanted: many_stacks.Wanted, saved: Path | None) -> ExitCode:
    if saved is not None:
        _refuse_options(ctx)
    context: Context = ctx.obj
    given = ctx.params
    if not given["watch"]:
        raise click.UsageError("--no-watch: of many stacks each has to be ready before the next, so they are watched")
    session = context.open(workdir=given["workdir"])
    session.reason = given["reason"] or session.reason

    async def plan() -> FleetPlan:
        return await (
            wanted.plan(session)
            if saved is None
            else session.load_fleet_plan(saved, wanted.inputs, scheduler=given["scheduler"])
        )

    made = many_stacks.make(session, plan, context.output, None)
    return many_stacks.apply_made(
        session,
        made,
        context.output,
        yes=given["yes"],
        confirm=given["confirm"],
        dry_run=given["dry_run"],
        timeout=given["timeout"],
    )


_OF_PLANS = (
    "clusters",
    "force",
    "no_prune",
    "accept_lost",
    "adopt",
    "take_away",
    "dry_run_all",
    "only",
    "skip",
    "replace",
)


def _refuse_options(ctx: click.Context) -> None:
    """A saved plan has these already: what is given besides would go unheard."""
    given = [each for each in ctx.command.params if each.name in _OF_PLANS and ctx.params[each.name]]
    if given:
        names = ", ".join(each.opts[0] for each in given)
        raise click.UsageError(f"{names}: a saved plan says that itself; plan again with it: wb plan --out FILE")
