"""`wb destroy`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli import loop, many_stacks
from workbench.cli.many_stacks import many_options, site_option
from workbench.cli.stacks import (
    accept_lost_option,
    adopt_option,
    compile_options,
    find,
    inputs,
    reason_option,
    workdir_option,
)
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.engine.fleet_plan.values import FleetPlan
    from workbench.engine.plan import Plan


@click.command("destroy")
@click.argument("stack", default="", metavar="[STACK | GLOB]")
@many_options
@site_option
@compile_options
@workdir_option
@click.option(
    "-y", "--yes", is_flag=True, help="as for wb apply; does not stand for the phrase, which is always required"
)
@click.option("--confirm", default="", metavar="PHRASE", help="confirm with the phrase that the plan asks for")
@accept_lost_option
@click.option("--dry-run", is_flag=True, help="show the plan and stop")
@adopt_option
@reason_option
@click.pass_context
def command(
    ctx: click.Context,
    stack: str,
    globs: tuple[str, ...],
    skip_stacks: tuple[str, ...],
    site: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    yes: bool,
    confirm: str,
    accept_lost: bool,
    dry_run: bool,
    adopt: bool,
    reason: str,
) -> None:
    """Delete everything the stack has, on its clusters and in Terraform, after asking for the phrase.

    Needs no configuration that compiles. Protected stacks are refused.

    GLOB, or --stacks, makes one plan over many stacks: those that read others go first.

    Exit code: 0 all is gone; 4 refused or not confirmed, or nothing is found though something may be there; 6 partly;
    7 out of date or somebody else holds the stack.
    """
    from workbench.cli.applying import carry_out, confirmation, has_to_be_carried_out
    from workbench.cli.progress import while_asking
    from workbench.present import plan as present

    context: Context = ctx.obj
    output = context.output
    given = inputs(options, settings)
    globs = many_stacks.with_site(context, site, stack, globs, workdir, to_destroy=True)
    if many := many_stacks.globs_of(stack, globs, skip_stacks, context.base(workdir)):
        spanning = context.open(workdir=workdir)
        spanning.reason = reason or spanning.reason

        async def plan() -> FleetPlan:
            return await spanning.plan_destroy_stacks(
                *many, inputs=given, skip_stacks=skip_stacks, accept_lost=accept_lost, adopt=adopt
            )

        fleet = many_stacks.make(spanning, plan, output, None)
        code = many_stacks.apply_made(spanning, fleet, output, yes=yes, confirm=confirm, dry_run=dry_run, timeout=None)
        if site and code is ExitCode.OK and not dry_run and fleet.is_certain and not fleet.skipped:
            output.talk(f"{output.glyphs.arrow} {many_stacks.removal_of(spanning, site, fleet)}")
        ctx.exit(code)
    session, found = find(context, stack, workdir)
    session.reason = reason or session.reason

    async def make() -> Plan:
        async with session, while_asking(session, output):
            return await session.plan_destroy(found, given, accept_lost=accept_lost, adopt=adopt)

    made = loop.outcome(make)
    output.lines(present.lines(made, output.glyphs))
    if made.is_refused:
        for each in present.refusal(made, output.glyphs):
            output.talk(each)
        ctx.exit(ExitCode.REFUSED)
    if made.is_empty and not made.is_certain:
        output.talk(
            Span("nothing is destroyed, and something may be there: what is known of it is said above", Tone.BAD)
        )
        ctx.exit(ExitCode.REFUSED)
    if dry_run or not has_to_be_carried_out(made, output):
        ctx.exit(ExitCode.OK)
    phrase = confirmation(made, yes, confirm, output, nothing_done="Nothing was destroyed.")
    if phrase is None:
        ctx.exit(ExitCode.REFUSED)
    code = carry_out(session, made, phrase, output)
    if code is ExitCode.OK and not made.is_certain:
        output.talk(Span("not all is gone as far as is known: what is left, or may be, is named above", Tone.WARN))
        code = ExitCode.PARTIAL
    ctx.exit(code)
