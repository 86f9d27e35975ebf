"""What `wb plan`, `wb apply` and `wb rollback` do with many stacks: one plan, asked for once, shown to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kcl.records import dataclass
from workbench.cli import loop
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.fleet_plan.execute import FleetRun, RunEnded
    from workbench.engine.fleet_plan.values import FleetPlan
    from workbench.session import Session
    from workbench.session.siting import SiteStacks

Command = TypeVar("Command", bound=Callable[..., Any])

_GLOB_SIGNS = frozenset("*?[")
_OF_ONE = ("only", "skip", "replace")
_ALIKE = ("clusters", "force", "accept_lost", "adopt", "take_away", "dry_run_all", "scheduler")


def many_options(function: Command) -> Command:
    """`--stacks`, `--skip-stack`: which stacks one plan is over."""
    function = click.option(
        "--skip-stack",
        "skip_stacks",
        multiple=True,
        metavar="STACK",
        help="leave this stack out of a plan over many; may be repeated",
    )(function)
    return click.option(
        "--stacks",
        "globs",
        multiple=True,
        metavar="GLOB",
        help="make one plan over the stacks that this covers, such as 'shop/*'; may be repeated",
    )(function)


def site_option(function: Command) -> Command:
    return click.option(
        "--site", default="", metavar="NAME", help="make one plan over the stacks of the site sites/NAME.k"
    )(function)


def with_site(
    context: Context,
    site: str,
    stack: str,
    globs: tuple[str, ...],
    workdir: Path | None,
    *,
    to_destroy: bool = False,
) -> tuple[str, ...]:
    """Returns the globs with the stacks of a site for them; raises `click.UsageError`, or as `Session.site_stacks`."""
    if not site:
        return globs
    if stack or globs:
        raise click.UsageError("--site says which stacks are meant: leave out --stacks and the name of a stack")
    session = context.open(workdir=workdir)

    async def ask() -> SiteStacks:
        async with session:
            return await session.site_stacks(site, to_destroy=to_destroy)

    found = loop.outcome(ask)
    for each in found.notes:
        context.output.talk(Span(each, Tone.WARN))
    return found.stacks


def removal_of(session: Session, site: str, fleet: FleetPlan) -> str:
    """What takes away the files of a site that has nothing any more."""
    folders = [session.select(each).directory.relative_to(session.root.resolve()).as_posix() for each in fleet.stacks]
    return f"git rm -r sites/{site}.k {' '.join(folders)}"


def scheduler_option(function: Command) -> Command:
    return click.option(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="with many stacks: compile on the workers of this dask scheduler",
    )(function)


def globs_of(stack: str, globs: tuple[str, ...], skip_stacks: tuple[str, ...], base: Path) -> tuple[str, ...]:
    """Returns the globs that one plan is to be over, none for a single stack; raises `click.UsageError`."""
    if globs and stack:
        raise click.UsageError(f"--stacks says which stacks are meant: leave {stack!r} out, or --stacks")
    found = globs or ((stack,) if _GLOB_SIGNS & set(stack) and not (base / stack).exists() else ())
    if skip_stacks and not found:
        raise click.UsageError("--skip-stack goes with many stacks: --stacks GLOB")
    return found


def is_saved_of_many(path: Path) -> bool:
    """Tells which kind of plan a file holds; raises `PlanFileInvalid` where it holds none."""
    from workbench.engine import plan_file
    from workbench.engine.fleet_plan.file import FORMAT

    return plan_file.format_of(path) == FORMAT


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options say of a plan over many stacks."""

    globs: tuple[str, ...]
    inputs: CompileInputs
    skip_stacks: tuple[str, ...]
    how: Mapping[str, Any]
    """As keywords of `Session.plan_stacks`."""

    @classmethod
    def of(cls, ctx: click.Context, globs: tuple[str, ...], inputs: CompileInputs) -> Wanted:
        """Raises `click.UsageError` for options that speak of the resources of one stack."""
        given = [each for each in ctx.command.params if each.name in _OF_ONE and ctx.params[each.name]]
        if given:
            said = ", ".join(each.opts[0] for each in given)
            raise click.UsageError(f"{said}: speaks of one stack; plan that by itself")
        how = {name: ctx.params[name] for name in _ALIKE if name in ctx.params}
        how["prune"] = not ctx.params.get("no_prune")
        return cls(globs, inputs, ctx.params["skip_stacks"], how)

    @staticmethod
    def refuse_scheduler(ctx: click.Context) -> None:
        """A single stack is compiled here."""
        if ctx.params["scheduler"]:
            raise click.UsageError("--scheduler goes with many stacks: --stacks GLOB")

    async def plan(self, session: Session) -> FleetPlan:
        return await session.plan_stacks(*self.globs, inputs=self.inputs, skip_stacks=self.skip_stacks, **self.how)


def make(session: Session, planning: Callable[[], Awaitable[FleetPlan]], output: Output, out: Path | None) -> FleetPlan:
    """Makes a plan, and saves it where it is wanted and not refused."""
    from workbench.cli.progress import while_asking

    async def run() -> FleetPlan:
        async with session, while_asking(session, output):
            made = await planning()
            if out is not None and not made.is_refused:
                session.save_fleet_plan(made, out)
            return made

    return loop.outcome(run)


def show(session: Session, made: FleetPlan, output: Output, format_: str = "table") -> None:
    from workbench.present import fleet_plan as present

    match format_:
        case "json":
            output.json(present.document(made, session.root))
        case "yaml":
            output.yaml(present.document(made, session.root))
        case _:
            output.lines(present.lines(made, output.glyphs))


def tell_refusal(made: FleetPlan, output: Output, out: Path | None = None) -> None:
    from workbench.present import fleet_plan as present

    if out is not None:
        output.talk(f"{out} was not written: a refused plan can't be applied")
    for each in present.refusal(made, output.glyphs):
        output.talk(each)


def detailed(made: FleetPlan) -> ExitCode:
    """As for one stack; one that was skipped is not said to be as configured."""
    if not made.is_empty or any(each.left_out or any(gap.exists for gap in each.gaps) for each in made.plans.values()):
        return ExitCode.CHANGES
    return ExitCode.OK if made.is_as_configured else ExitCode.ERROR


def apply_made(
    session: Session,
    made: FleetPlan,
    output: Output,
    *,
    yes: bool,
    confirm: str,
    dry_run: bool,
    timeout: float | None,
) -> ExitCode:
    """Shows a plan, asks once, carries it out, and says what became of each stack."""
    from workbench.cli.applying import phrase_for

    show(session, made, output)
    if made.is_refused:
        tell_refusal(made, output)
        return ExitCode.REFUSED
    if dry_run:
        return ExitCode.OK
    nothing = f"Nothing was {'destroyed' if made.destroys else 'applied'}."
    phrase = phrase_for(made.confirmation, yes, confirm, output, verb=made.verb, nothing_done=nothing)
    if phrase is None:
        return ExitCode.REFUSED
    ended, was_stopped = _carried_out(session, made, phrase, output, timeout)
    if ended.steps:
        said = f"run {made.run}: wb rollback --of {made.run} gives each stack again what it had before"
        output.talk(Span(said, Tone.MUTED))
    if not ended.is_whole:
        output.talk(Span("to go on, give the command again: what is ready is not done again", Tone.WARN))
    if was_stopped:
        raise KeyboardInterrupt
    return _exit_code(ended)


def _exit_code(ended: RunEnded) -> ExitCode:
    from workbench.engine.fleet_plan.execute import Cause

    if ended.is_whole:
        return ExitCode.OK
    causes = {each.cause for each in ended.halted}
    if causes == {Cause.NOT_READY}:
        return ExitCode.NOT_READY
    if ended.steps:
        return ExitCode.PARTIAL
    if Cause.FAILED in causes or not causes:
        return ExitCode.ERROR
    return (
        ExitCode.NOT_READY
        if Cause.NOT_READY in causes
        else (ExitCode.STALE if Cause.STALE in causes else ExitCode.REFUSED)
    )


def _carried_out(
    session: Session, made: FleetPlan, phrase: str, output: Output, timeout: float | None
) -> tuple[RunEnded, bool]:
    """Shows a run to its end, and tells whether it was stopped. ^C lets what was begun end, a second one drops it."""
    from workbench.cli.stopping import to_its_end

    async def run() -> tuple[RunEnded, bool]:
        async with session, session.apply_stacks(made, confirm=phrase, timeout_seconds=timeout) as events:
            return await to_its_end(events, _shown(events, output), output)

    return loop.outcome(run)


async def _shown(events: FleetRun, output: Output) -> RunEnded:
    from workbench.cli.progress import TreeLog
    from workbench.engine.fleet_plan.execute import RunEnded
    from workbench.engine.rollout.execute import Picture
    from workbench.present import fleet_plan as present

    logs: dict[str, TreeLog] = {}
    ended: RunEnded | None = None
    async for event in events:
        if isinstance(event, Picture):
            for stack, tree in event.trees.items():
                log = logs.setdefault(stack, TreeLog(output, f"  {stack}"))
                if log.latest is not tree:
                    log.show(tree)
        for each in present.event_lines(event, output.glyphs):
            output.line(each)
        if isinstance(event, RunEnded):
            ended = event
    assert ended is not None, "a run tells how it ended"
    return ended
