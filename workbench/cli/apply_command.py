"""`wb apply`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from workbench.cli.stacks import cluster_option, compile_options, find, inputs, timeout_option, workdir_option
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.main import Context
    from workbench.cli.output import Output
    from workbench.engine.plan import Plan
    from workbench.session import Session


@click.command("apply")
@click.argument("stack", default="", metavar="[STACK | PLANFILE]")
@compile_options
@cluster_option
@workdir_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask; protected stacks need --confirm as well.")
@click.option("--confirm", default="", metavar="PHRASE", help="The phrase the plan asks for.")
@click.option("--dry-run", is_flag=True, help="Show the plan and stop.")
@click.option("--watch/--no-watch", default=True, show_default=True, help="Wait until everything is ready.")
@timeout_option
@click.option("--force", is_flag=True, help="Take over fields that other managers own.")
@click.option("--no-prune", is_flag=True, help="Leave what the stack no longer has.")
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
) -> None:
    """Make the clusters say what the configuration says, after asking; then watch it become ready.

    Exit code: 0 applied and ready; 4 refused or not confirmed; 5 applied but not ready; 6 partly applied; 7 the plan
    is out of date or somebody else holds the stack.
    """
    context: Context = ctx.obj
    given = inputs(options, settings)
    plan_file = (workdir or context.work_dir) / stack if stack else None
    if plan_file is not None and plan_file.is_file():
        session = context.open(workdir)
        found = None
    else:
        plan_file = None
        session, found = find(context, stack, workdir)
    output = context.output

    from workbench.present import plan as present

    # Asking happens between two runs of the event loop: inside one, an answer would keep ^C from being heard.
    async def make() -> Plan:
        async with session:
            if plan_file is not None:
                return await session.load_plan(plan_file, given)
            assert found is not None
            return await session.plan(found, given, clusters=clusters, prune=not no_prune, force=force)

    made = anyio.run(make)
    output.lines(present.lines(made, output.glyphs))
    if made.is_refused:
        for each in present.refusal(made, output.glyphs):
            output.talk(each)
        ctx.exit(ExitCode.REFUSED)
    if dry_run:
        ctx.exit(ExitCode.OK)
    phrase = _confirmation(made, yes, confirm, output)
    if phrase is None:
        ctx.exit(ExitCode.REFUSED)

    async def run() -> ExitCode:
        from workbench.cli import progress
        from workbench.engine.events import Outcome

        async with session:
            if not made.is_empty:
                async with session.apply(made, confirm=phrase) as events:
                    finished = await progress.show_events(events, output)
                if finished is None or finished.outcome is not Outcome.SUCCEEDED:
                    output.talk(Span("what failed is named above; put it right and apply again", Tone.WARN))
                    return ExitCode.PARTIAL if finished and finished.done else ExitCode.ERROR
            if not watch:
                return ExitCode.OK
            target = session.select(made.stack)
            seconds = timeout or session.settings.timeout_seconds
            async with session.watch(
                target, made.inputs, spec=made.spec, clusters=made.clusters, until_settled=True, timeout_seconds=seconds
            ) as trees:
                last = await progress.show_trees(trees, output)
            return progress.show_end(last, output) if last is not None else ExitCode.NOT_READY

    try:
        code = anyio.run(run)
    except KeyboardInterrupt:
        _say_what_is_left(session, made, output)
        raise
    ctx.exit(code)


def _say_what_is_left(session: Session, made: Plan, output: Output) -> None:
    """After ^C: whether the release was begun, and how to go on."""
    from workbench.engine.release import Phase

    latest = next(iter(session.releases(session.select(made.stack))), None)
    if latest is None or latest.revision != made.revision:
        said = "nothing was applied"
    elif latest.phase is Phase.SUCCEEDED:
        said = f"release #{latest.revision} is applied; wb watch {made.stack} shows what becomes of it"
    else:
        said = f"release #{latest.revision} ends half-way, what was done is recorded; wb apply {made.stack} goes on"
    output.talk(Span(said, Tone.WARN))


def _confirmation(made: Plan, yes: bool, confirm: str, output: Output) -> str | None:
    """Returns what to hand to apply, None where it was not confirmed. Without a terminal nothing is asked."""
    from workbench.engine.plan import Level

    wanted = made.confirmation
    if wanted.level is Level.NOTHING:
        return ""
    if confirm:
        if confirm == wanted.phrase or (wanted.level is Level.YES and yes):
            return wanted.phrase
        output.talk(Span(f"{confirm!r} is not the phrase: it is {wanted.phrase!r}. Nothing was applied.", Tone.BAD))
        return None
    if wanted.level is Level.YES and yes:
        return wanted.phrase
    if not sys.stdin.isatty():
        how = "--yes" if wanted.level is Level.YES else f"--confirm {wanted.phrase!r}"
        output.talk(Span(f"not confirmed: give {how}. Nothing was applied.", Tone.BAD))
        return None
    answer = str(click.prompt(f"type {wanted.phrase!r} to apply", default="", show_default=False, err=True))
    if answer == wanted.phrase:
        return wanted.phrase
    output.talk(Span("not confirmed. Nothing was applied.", Tone.WARN))
    return None
