"""`wb compile`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from workbench.cli.stacks import compile_options, find, format_option, inputs, workdir_option
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.main import Context
    from workbench.engine.compile import CompiledStack


@click.command("compile")
@click.argument("stack", default="", metavar="[STACK]")
@compile_options
@workdir_option
@format_option("yaml", "json", "table")
@click.option("--show-secrets", is_flag=True, help="Print secrets in clear on a terminal too.")
@click.pass_obj
def command(
    context: Context,
    stack: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    format_: str,
    show_secrets: bool,
) -> None:
    """Print a stack's Spec as one YAML list, as Kusion reads it.

    To a terminal secrets are masked. To a pipe or file they are not: a Spec without them could not be applied.
    """
    session, found = find(context, stack, workdir)
    given = inputs(options, settings)

    async def run() -> CompiledStack:
        async with session:
            return await session.compile(found, given)

    compiled = anyio.run(run)
    output = context.output
    if compiled.log:
        output.talk(compiled.log.rstrip("\n"))
    for each in compiled.diagnostics:
        output.talk(Span("warning: ", Tone.WARN), each.message)
    for finding in (*found.doubts, *session.tree().findings):
        # its name or place may not be what it should be, and the program is told both
        output.talk(Span("warning: ", Tone.WARN), f"{finding.where}: {finding.message}")
    spec = compiled.spec
    if format_ == "table":
        from workbench.present import spec as present

        output.table(present.RESOURCE_COLUMNS, present.resource_rows(spec))
        return
    from kcl.api import yaml_text

    masks = output.stdout.isatty() and not show_secrets
    documents = spec.documents()
    if masks:
        from workbench.present import spec as present

        documents = present.masked_documents(spec)
    if format_ == "json":
        import json

        output.data(json.dumps(documents, indent=2, ensure_ascii=False))
    else:
        output.data(yaml_text(documents))
