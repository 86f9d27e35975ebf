"""`wb config`"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.cli.stacks import answers_by_code, compile_options, format_option, inputs, workdir_option
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.engine.cube_conflicts import Conflict
    from workbench.project import Finding
    from workbench.session.configuring import Advance


@click.group("config")
def command() -> None:
    """Show what stacks are configured with, over all dimensions of the repository."""


@command.command("get")
@click.argument("value", metavar="PATH")
@click.argument("field", default="", metavar="[FIELD]")
@click.option("--where", default="", metavar="POINT", help="ask about these stacks only, such as tenant=a,env=prod")
@compile_options
@workdir_option
@format_option("table", "json", "yaml")
@click.pass_obj
def get(
    context: Context,
    value: str,
    field: str,
    where: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    format_: str,
) -> None:
    """Show one value in all stacks: where it is set, and for which dimension.

    PATH begins with a variable of the program, such as web.replicas. Of a resource PATH is Kind/name, and FIELD is
    written as in spec.template.spec.containers[name=web].image.

    Exit code: 0 the value is known in all stacks, 1 there is no such value, 3 it is not known of some stack.
    """
    from workbench.engine.cube import State
    from workbench.present import config as present

    given = inputs(options, settings) if options or settings else None
    session, output = context.open(workdir=workdir), context.output
    with _progress(output) as advance:
        found = session.config_value(value, field, where, given, advance)
    _write(
        output,
        format_,
        lambda: present.document(found.answers, found.without, found.declared, session.root),
        lambda: output.table(
            present.columns(found.declared), present.rows(found.answers, found.declared, session.root)
        ),
    )
    if found.without:
        output.talk(f"{found.without} more stacks have no {found.asked.group}")
    is_broken = _tell(found.findings, output)
    is_known = all(each.state is not State.FAILED for each in found.answers)
    click.get_current_context().exit(ExitCode.OK if is_known and not is_broken else ExitCode.DIFF_FAILED)


@command.command("diff")
@click.argument("left", metavar="POINT")
@click.argument("right", metavar="POINT")
@compile_options
@workdir_option
@format_option("table", "json", "yaml")
@click.pass_obj
@answers_by_code
def diff(
    context: Context,
    left: str,
    right: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    format_: str,
) -> None:
    """Compare two points of the configuration, such as tenant=a,env=prod and tenant=a,env=pre.

    Stacks are compared that differ in nothing but the dimensions that the points name: before rendering and after.

    Exit code: 0 they are configured alike, 1 they differ, 3 not known.
    """
    from workbench.present import config as present

    given = inputs(options, settings) if options or settings else None
    session, output = context.open(workdir=workdir), context.output
    with _progress(output) as advance:
        found = session.config_diff(left, right, given, advance)
    _write(
        output,
        format_,
        lambda: present.differences_document(found.differences, len(found.failed), found.declared, session.root),
        lambda: output.table(
            present.DIFF_COLUMNS, present.difference_rows(found.differences, found.declared, session.root)
        ),
    )
    for subject, why in found.failed:
        output.talk(Span(f"{subject.name} is not compared: ", Tone.BAD), f"{why.where}: {why.message}")
    if found.alone:
        output.talk(present.alone_text(found.alone))
    is_broken = _tell(found.findings, output)
    if not found.pairs:
        output.talk(Span("no stacks differ in nothing but these points, so nothing was compared", Tone.WARN))
    is_known = found.pairs and not found.failed and not is_broken
    code = ExitCode.DIFFERENT if found.differences else ExitCode.OK
    click.get_current_context().exit(code if is_known else ExitCode.DIFF_FAILED)


@command.command("check")
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@workdir_option
@format_option("table", "json", "yaml")
@click.pass_obj
def check(context: Context, globs: tuple[str, ...], workdir: Path | None, format_: str) -> None:
    """Show where dimensions contradict each other, and which stacks do not list baselines as declared.

    GLOB is over project/stack, such as '*/prod'; nothing means all stacks. Nothing is evaluated.

    Exit code: 0 at most conflicts that the declared order decides, 1 something is wrong with a file or list.
    """
    from workbench.present import config as present
    from workbench.present.documents import finding

    session, output = context.open(workdir=workdir), context.output
    tree, conflicts, unread = session.config_conflicts(*globs)
    unmatched = [each for each in globs if not tree.matching(each)]
    findings = (*tree.all_findings(), *unread)
    told = [finding(each) for each in findings]
    _write(
        output,
        format_,
        lambda: present.conflicts_document(conflicts, told, session.root),
        lambda: _print_conflicts(output, conflicts, session.root),
    )
    is_broken = _tell(findings, output)
    for each in unmatched:
        output.talk(f"no stack matches {each!r}")
    if tree.declared is None and not is_broken:
        output.talk("this repository declares no dimensions: dimensions.yaml at its root does")
    click.get_current_context().exit(ExitCode.ERROR if is_broken or unmatched else ExitCode.OK)


def _print_conflicts(output: Output, conflicts: Sequence[Conflict], root: Path) -> None:
    from workbench.present import config as present

    for each in conflicts:
        output.line(Span("~ ", Tone.WARN), present.conflict_text(each, root))
        output.line(Span(f"  {present.conflict_reason(each)}", Tone.MUTED))
    count = len(conflicts)
    conflicting = "conflict" if count == 1 else "conflicts"
    output.line(f"{count} {conflicting} that only the declared order decides")


def _write(output: Output, format_: str, document: Callable[[], Any], table: Callable[[], None]) -> None:
    match format_:
        case "json":
            output.json(document())
        case "yaml":
            output.yaml(document())
        case _:
            table()


def _tell(findings: Iterable[Finding], output: Output) -> bool:
    is_broken = False
    for each in findings:
        tone = Tone.BAD if each.is_error else Tone.WARN
        output.talk(Span("! ", tone), f"{each.where}: {each.message}", Span(f"  {each.hint}", Tone.MUTED))
        is_broken = is_broken or each.is_error
    return is_broken


@contextmanager
def _progress(output: Output) -> Iterator[Advance]:
    """Shows how many stacks were evaluated, once it is known how many are to be."""
    from contextlib import ExitStack

    from workbench.cli.compiling import Bar, progress

    bars: list[Bar] = []
    with ExitStack() as stack:

        def advance(count: int) -> None:
            if not bars:
                bars.append(stack.enter_context(progress(output, count)))
            else:
                bars[0].advance(False)

        yield advance
