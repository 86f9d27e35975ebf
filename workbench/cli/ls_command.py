"""`wb ls`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.stacks import NO_STACKS, at_one_look, format_option, tell_findings, workdir_option
from workbench.exit_codes import ExitCode
from workbench.present.rows import Column, Row
from workbench.present.text import Span, Tone, line

if TYPE_CHECKING:
    from workbench.cli.context import Context

_COLUMNS = (
    Column("Stack"),
    Column("Environment"),
    Column("Clusters"),
    Column("Components"),
)


@click.command("ls")
@click.argument("globs", nargs=-1, metavar="[GLOB]...")
@workdir_option
@format_option("table", "json", "yaml", "name")
@click.pass_obj
@at_one_look
def command(context: Context, globs: tuple[str, ...], workdir: Path | None, format_: str) -> None:
    """List the stacks of the repository; GLOB is over project/stack, such as '*/prod'."""
    session = context.open(workdir=workdir)
    tree = session.tree()
    stacks = tree.matching(*globs) if globs else tuple(tree.stacks())
    output = context.output
    match format_:
        case "name":
            for stack in stacks:
                output.data(stack.name)
        case "json" | "yaml":
            from workbench.present import documents

            document = documents.tree(tree, session.clusters())
            names = {stack.name for stack in stacks}
            document["stacks"] = [each for each in document["stacks"] if each["stack"] in names]
            if format_ == "json":
                output.json(document)
            else:
                output.yaml(document)
        case _:
            from workbench.present import clusters

            output.table(_COLUMNS, (_row(stack) for stack in stacks))
            used = {name for stack in stacks for name in stack.clusters}
            if places := {name: each for name, each in session.clusters().items() if name in used}:
                output.line()
                output.table(clusters.COLUMNS, clusters.rows(places))
    is_broken = tell_findings(tree, output) or bool(tree.misread)
    unmatched = [each for each in globs if not tree.matching(each)]
    for each in unmatched:
        output.talk(f"no stack matches {each!r}")
    if not stacks and not globs:
        output.talk(NO_STACKS)
    click.get_current_context().exit(ExitCode.ERROR if unmatched or is_broken else ExitCode.OK)


def _row(stack: object) -> Row:
    from workbench.project import Stack

    assert isinstance(stack, Stack)
    placement = stack.placement
    environment = placement.environment if placement else ""
    tone = Tone.BAD if placement and placement.protected else Tone.ENVIRONMENT
    cells = (
        line(stack.name),
        line(Span(environment, tone)),
        line(", ".join(stack.clusters)),
        line(Span(", ".join(each.name for each in stack.components), Tone.MUTED)),
    )
    return Row(stack.path, cells)
