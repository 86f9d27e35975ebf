"""`wb outputs`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from workbench.cli.stacks import find, format_option, workdir_option
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.engine.outputs import StackOutputs


@click.command("outputs")
@click.argument("stack", default="", metavar="[STACK]")
@workdir_option
@format_option("table", "json", "yaml")
@click.pass_context
def command(ctx: click.Context, stack: str, workdir: Path | None, format_: str) -> None:
    """Show the outputs of a stack: their present values, secrets masked, and where each comes from.

    Exit code: 0 all are known; 1 one is not, or what the stack gives can't be read.
    """
    from workbench.cli.progress import while_asking
    from workbench.engine.masking import Seal
    from workbench.present import outputs

    context: Context = ctx.obj
    session, found = find(context, stack, workdir)

    async def run() -> StackOutputs:
        async with session, while_asking(session, context.output):
            return await session.outputs(found)

    given, output = anyio.run(run), context.output
    seal = Seal.random().knowing(frozenset(), found.secrets)
    match format_:
        case "json":
            output.json(outputs.document(given, seal))
        case "yaml":
            output.yaml(outputs.document(given, seal))
        case _:
            if given.outputs:
                output.table(outputs.COLUMNS, outputs.rows(given, seal, output.glyphs))
            output.lines(outputs.summary(given, output.glyphs))
    ctx.exit(ExitCode.OK if given.is_known else ExitCode.ERROR)
