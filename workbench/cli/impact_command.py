"""`wb impact`"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli import loop
from workbench.cli.stacks import NO_STACKS, WorkPath, compile_options, format_option, inputs, workdir_option
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.engine.impact import ImpactReport


@click.command("impact")
@click.argument("files", nargs=-1, type=WorkPath(), metavar="[FILE]...")
@click.option("--git", "revision", default="", metavar="RANGE", help="compare from this revision, or A..B or A...B")
@click.option("--live", is_flag=True, help="ask clusters which live objects would change, and which pods restart")
@compile_options
@workdir_option
@format_option("table", "json", "yaml")
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[Path, ...],
    revision: str,
    live: bool,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    format_: str,
) -> None:
    """Show which stacks, resources and fields a change of files affects, by compiling both sides of it.

    Files are compared with HEAD; without any, and without --git, everything that is not committed is.

    Exit code: 0 nothing changes, 1 something does, 3 not known.
    """
    if files and revision:
        raise click.UsageError("files are compared with HEAD: name files, or --git RANGE")
    context: Context = ctx.obj
    try:
        session = context.open(workdir=workdir)
        given = inputs(options, settings)

        async def run() -> ImpactReport:
            async with session:
                return await session.impact(files, revision, given, live=live)

        report = loop.outcome(run)
    except click.ClickException:
        raise
    except Exception as error:
        from workbench.cli.report import CommandFailed

        raise CommandFailed(error, ExitCode.DIFF_FAILED) from error
    from workbench.present import impact

    output = context.output
    if format_ == "table":
        output.lines(impact.lines(report, output.glyphs, datetime.now(UTC), live_hint=not live))
    else:
        (output.json if format_ == "json" else output.yaml)(impact.document(report))
    if not report.total:
        output.talk(NO_STACKS)
    ctx.exit(code_of(report))


def code_of(report: ImpactReport) -> ExitCode:
    if not report.is_certain or not report.total:
        return ExitCode.DIFF_FAILED
    return ExitCode.DIFFERENT if report.is_different else ExitCode.OK
