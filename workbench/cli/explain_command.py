"""`wb explain`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli import loop
from workbench.cli.stacks import at_one_look, compile_options, find, inputs, workdir_option
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.engine.compiled import CompiledStack


@click.command("explain")
@click.argument("stack")
@click.argument("resource")
@click.argument("path", default="")
@compile_options
@workdir_option
@click.pass_obj
@at_one_look
def command(
    context: Context,
    stack: str,
    resource: str,
    path: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
) -> None:
    """Show which KCL lines set a field.

    RESOURCE is an id or Kind/name; PATH is written as in spec.template.spec.containers[name=web].image.
    """
    session, found = find(context, stack, workdir)
    given = inputs(options, settings)

    async def run() -> CompiledStack:
        async with session:
            return await session.compile(found, given)

    spec = loop.outcome(run).spec
    from workbench.present import explain, paths

    for each in explain.lines(spec, resource, path, session.root, session.tree().declared):
        context.output.line(each)
    for said in session.output_origins(spec, explain.find(spec, resource), paths.parse(path)):
        context.output.line(Span("reads   ", Tone.MUTED), said)
    if not spec.resources:
        context.output.talk(Span("this stack has no resources", Tone.WARN))
