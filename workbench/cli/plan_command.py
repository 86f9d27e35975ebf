"""`wb plan`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli import loop, many_stacks
from workbench.cli.many_stacks import many_options, scheduler_option, site_option
from workbench.cli.stacks import (
    WorkPath,
    accept_lost_option,
    adopt_option,
    cluster_option,
    compile_options,
    dry_run_all_option,
    expect_evaluation,
    find,
    format_option,
    inputs,
    part_options,
    replace_option,
    take_away_option,
    workdir_option,
)
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.engine.plan import Plan


@click.command("plan")
@click.argument("stack", default="", metavar="[STACK | GLOB]")
@many_options
@site_option
@scheduler_option
@compile_options
@cluster_option
@workdir_option
@format_option("table", "json", "yaml")
@click.option("--out", type=WorkPath(), default=None, metavar="FILE", help="save the plan for wb apply FILE")
@click.option("--detailed-exitcode", is_flag=True, help="exit with 2 where there is something to do")
@click.option("--force", is_flag=True, help="take over fields that other managers own")
@click.option("--no-prune", is_flag=True, help="leave what the stack no longer has")
@accept_lost_option
@adopt_option
@take_away_option
@dry_run_all_option
@part_options
@replace_option
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
    format_: str,
    out: Path | None,
    detailed_exitcode: bool,
    force: bool,
    no_prune: bool,
    accept_lost: bool,
    adopt: bool,
    take_away: bool,
    dry_run_all: bool,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    replace: tuple[str, ...],
) -> None:
    """Show what would be done, in which order, and what blocks it. Nothing is changed.

    GLOB, or --stacks, makes one plan over many stacks, such as 'shop/*' or 'payments/*/prod'.

    Exit code: 0; 4 where the plan is refused; with --detailed-exitcode 2 where there is something to do, 1
    where that is not known.
    """
    context: Context = ctx.obj
    given = inputs(options, settings)
    globs = many_stacks.with_site(context, site, stack, globs, workdir)
    if many := many_stacks.globs_of(stack, globs, skip_stacks, context.base(workdir)):
        wanted = many_stacks.Wanted.of(ctx, many, given)
        ctx.exit(_plan_many(context, wanted, workdir, out, format_, detailed_exitcode=detailed_exitcode))
    many_stacks.Wanted.refuse_scheduler(ctx)
    expect_evaluation()
    session, found = find(context, stack, workdir)

    from workbench.cli.progress import while_asking

    async def run() -> Plan:
        async with session, while_asking(session, context.output):
            made = await session.plan(
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
            if out is not None and not made.is_refused:
                session.save_plan(made, out)
            return made

    made = loop.outcome(run)
    from workbench.present import documents, plan

    match format_:
        case "json":
            context.output.json(documents.plan(made, session.root))
        case "yaml":
            context.output.yaml(documents.plan(made, session.root))
        case _:
            context.output.lines(plan.lines(made, context.output.glyphs))
    if made.is_refused:
        if out is not None:
            context.output.talk(f"{out} was not written: a refused plan can't be applied")
        for each in plan.refusal(made, context.output.glyphs):
            context.output.talk(each)
        ctx.exit(ExitCode.REFUSED)
    ctx.exit(_detailed(made) if detailed_exitcode else ExitCode.OK)


def _plan_many(
    context: Context,
    wanted: many_stacks.Wanted,
    workdir: Path | None,
    out: Path | None,
    format_: str,
    *,
    detailed_exitcode: bool,
) -> ExitCode:
    output = context.output
    session = context.open(workdir=workdir)
    made = many_stacks.make(session, lambda: wanted.plan(session), output, out)
    many_stacks.show(session, made, output, format_)
    if made.is_refused:
        many_stacks.tell_refusal(made, output, out)
        return ExitCode.REFUSED
    return many_stacks.detailed(made) if detailed_exitcode else ExitCode.OK


def _detailed(made: Plan) -> ExitCode:
    """Nothing to do is claimed only where everything could be found out; what is left behind is something to do."""
    if not made.is_empty or made.left_out or any(each.exists for each in made.gaps):
        return ExitCode.CHANGES
    return ExitCode.OK if made.is_certain else ExitCode.ERROR
