"""`wb watch`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from workbench.cli.stacks import (
    cluster_option,
    compile_options,
    find,
    format_option,
    inputs,
    timeout_option,
    workdir_option,
)
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from workbench.cli.context import Context


@click.command("watch")
@click.argument("stack", default="", metavar="[STACK]")
@compile_options
@cluster_option
@workdir_option
@format_option("table", "json")
@timeout_option
@click.pass_context
def command(
    ctx: click.Context,
    stack: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    clusters: tuple[str, ...],
    workdir: Path | None,
    format_: str,
    timeout: float | None,
) -> None:
    """Watch a stack until everything is ready, something failed, or the time is up.

    It looks at what is live. Whether that is what the configuration says by now, `wb diff` tells.

    Exit code: 0 ready; 5 not ready, and the last lines say why.
    """
    context: Context = ctx.obj
    session, found = find(context, stack, workdir)
    given = inputs(options, settings)
    output = context.output

    async def run() -> ExitCode:
        from workbench.cli import progress
        from workbench.engine.status import Verdict
        from workbench.present import documents

        async with session:
            seconds = timeout or session.settings.timeout_seconds
            async with session.watch(
                found, given, clusters=clusters, until_settled=True, timeout_seconds=seconds
            ) as trees:
                last = await (progress.last(trees) if format_ == "json" else progress.show_trees(trees, output))
            if last is None:
                return ExitCode.NOT_READY
            if format_ == "json":
                output.json(documents.status(last))
                return ExitCode.OK if last.verdict is Verdict.READY else ExitCode.NOT_READY
            ended = progress.show_end(last, output)
            if ended is ExitCode.OK:
                output.talk(
                    f"what is live is ready; `wb diff {found.path}` says whether the configuration says the same"
                )
            return ended

    ctx.exit(anyio.run(run))
