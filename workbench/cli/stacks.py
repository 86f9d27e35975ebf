"""Options that the commands share, and finding the stacks they speak of."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.fleet import TakenOut
    from workbench.project import KonfigTree, Stack
    from workbench.session import Session

Command = TypeVar("Command", bound=Callable[..., Any])


class WorkPath(click.Path):
    """A path of the command line. All of them start at one folder: `-w`, else where one stands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(str(super().convert(value, param, ctx)))
        # `-w` is eager: it is read before the others, wherever it stands
        context: Context | None = ctx.obj if ctx is not None else None
        return context.base(ctx.params.get("workdir")) / path if ctx is not None and context is not None else path


LIMITS = "workbench.limits"
"""Where the limits of evaluations that the command line gives are among what a command's contexts share."""


def _allowed(ctx: click.Context, parameter: click.Parameter, given: str | None) -> None:
    if given is None:
        return
    from kcl.bounded import BadAllowance, parse_deadline, parse_memory

    name = parameter.opts[0]
    try:
        if parameter.name == "deadline":
            limit: dict[str, Any] = {"deadline_seconds": parse_deadline(given, name)}
        else:
            limit = {"max_memory_bytes": parse_memory(given, name)}
    except BadAllowance as problem:
        raise click.UsageError(str(problem), ctx) from None
    ctx.meta.setdefault(LIMITS, {}).update(limit)


def limits_options(function: Command) -> Command:
    """`--deadline`, `--max-memory`: what an evaluation may take."""
    function = click.option(
        "--max-memory",
        metavar="SIZE",
        expose_value=False,
        callback=_allowed,
        help="limit the memory of evaluating KCL, such as 512M; default: WB_MAX_MEMORY, or 2G",
    )(function)
    return click.option(
        "--deadline",
        metavar="SECONDS",
        expose_value=False,
        callback=_allowed,
        help="limit the time of evaluating KCL; default: WB_DEADLINE, or 60",
    )(function)


def compile_options(function: Command) -> Command:
    """`-D`, `-Y`: what a compilation is told, as Kusion's and KCL's command lines have them; and what it may take."""
    function = limits_options(function)
    function = click.option(
        "-Y",
        "--setting",
        "settings",
        multiple=True,
        metavar="FILE",
        help="read this KCL settings file, relative to the stack's folder",
    )(function)
    return click.option("-D", "--argument", "options", multiple=True, metavar="NAME=VALUE", help="set a KCL option")(
        function
    )


def workdir_option(function: Command) -> Command:
    return click.option(
        "-w",
        "--workdir",
        type=click.Path(path_type=Path),
        default=None,
        is_eager=True,
        help="work in this folder: relative paths start there",
    )(function)


def timeout_option(function: Command) -> Command:
    return click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=None,
        metavar="SECONDS",
        help="wait at most this long",
    )(function)


def format_option(*formats: str) -> Callable[[Command], Command]:
    return click.option(
        "-o",
        "--output",
        "format_",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="print in this format",
    )


def cluster_option(function: Command) -> Command:
    return click.option(
        "--cluster",
        "clusters",
        multiple=True,
        metavar="NAME",
        help="work on this place of the stack only: a cluster, or `terraform`; may be repeated",
    )(function)


def reason_option(function: Command) -> Command:
    return click.option(
        "--reason",
        default="",
        metavar="TEXT",
        help="record why in the audit trail: an incident, a change; default: WB_REASON",
    )(function)


def accept_lost_option(function: Command) -> Command:
    return click.option(
        "--accept-lost", is_flag=True, help="treat as gone what the Terraform state has lost and nobody can look for"
    )(function)


def adopt_option(function: Command) -> Command:
    return click.option(
        "--adopt", is_flag=True, help="delete also what carries the stack's labels and no release here made"
    )(function)


def part_options(function: Command) -> Command:
    """`--only`, `--skip`: which resources of a plan it is to be about."""
    function = click.option(
        "--skip",
        "skip",
        multiple=True,
        metavar="SELECTOR",
        help="leave these resources as they are, and what needs them; may be repeated",
    )(function)
    return click.option(
        "--only",
        "only",
        multiple=True,
        metavar="SELECTOR",
        help="change these resources only, and what they need: Deployment/web, component=web, kind=ConfigMap, "
        "runtime=terraform, each with @CLUSTER too; may be repeated",
    )(function)


def replace_option(function: Command) -> Command:
    return click.option(
        "--replace",
        "replace",
        multiple=True,
        metavar="SELECTOR",
        help="delete these resources and make them again, whether or not anything calls for it; may be repeated",
    )(function)


def take_away_option(function: Command) -> Command:
    return click.option(
        "--take-away", is_flag=True, help="remove fields that people added to live objects and that are not configured"
    )(function)


def dry_run_all_option(function: Command) -> Command:
    return click.option(
        "--dry-run-all", is_flag=True, help="have the cluster dry-run unchanged objects too, as for changing webhooks"
    )(function)


NO_STACKS = "no stacks here: a stack is a folder with a stack.yaml, or with a kcl.mod that names [profile] entries"


def tell_findings(tree: KonfigTree, output: Output) -> bool:
    """Says what is wrong with files of the repository, or can't be looked into; returns whether stacks may be missing.

    Who speaks of all stacks must not end well then.
    """
    from workbench.present.text import Span, Tone

    findings = tuple(tree.all_findings())
    for each in findings:
        tone = Tone.BAD if each.is_error else Tone.WARN
        output.talk(Span("! ", tone), f"{each.where}: {each.message}", Span(f"  {each.hint}", Tone.MUTED))
    return any(each.is_error for each in findings)


def tell_taken_out(found: TakenOut | None, output: Output) -> None:
    """Says what stacks left that are gone from the repository, and where that is not known (`Session.taken_out`)."""
    from workbench.present import fleet

    for each in fleet.taken_out_lines(found, output.glyphs):
        output.talk(each)


def at_one_look(function: Command) -> Command:
    """Has a command that shows something read the repository once: what it says is of one state, and said sooner."""
    from workbench.project.discovery import one_look

    @wraps(function)
    def looking(*args: Any, **kwargs: Any) -> Any:
        with one_look():
            return function(*args, **kwargs)

    return cast("Command", looking)


def answers_by_code(function: Command) -> Command:
    """Has a command whose exit code 1 is an answer end with 3 for an error, which would pass for that answer.

    With `--revert` it is an apply, and has the codes of one.
    """

    @wraps(function)
    def answering(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            from workbench.cli.report import CommandFailed, code_of

            if kwargs.get("revert") or code_of(error) is not ExitCode.ERROR:
                raise
            raise CommandFailed(error, ExitCode.DIFF_FAILED) from error

    return cast("Command", answering)


def expect_evaluation() -> None:
    """Has the process that evaluates started while this one still reads what it needs itself."""
    if "workbench.engine.evaluators" not in sys.modules:
        from workbench.engine import evaluator_start

        evaluator_start.expect()  # what it takes to ask it is imported meanwhile
    from workbench.engine.evaluators import evaluators

    evaluators.warm()


def find(context: Context, name: str, workdir: Path | None) -> tuple[Session, Stack]:
    """Opens the repository and finds the stack. A folder may lie in another repository than the working folder."""
    base = context.base(workdir)
    folder = (base / name).resolve()
    session = context.open(folder if name and folder.is_dir() else base, workdir=workdir)
    return session, session.select(str(folder) if name and folder.is_dir() else name)


def inputs(options: tuple[str, ...], settings: tuple[str, ...]) -> CompileInputs:
    """Parses `-D NAME=VALUE`; raises `click.BadParameter` for any other form."""
    from workbench.engine.compiled import CompileInputs

    pairs = {}
    for each in options:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise click.BadParameter(f"{each!r} is not of the form NAME=VALUE", param_hint="-D")
        pairs[name.strip()] = value
    return CompileInputs(options=pairs, settings=settings)
