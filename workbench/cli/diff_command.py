"""`wb diff`"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli import loop
from workbench.cli.stacks import (
    cluster_option,
    compile_options,
    dry_run_all_option,
    expect_evaluation,
    find,
    format_option,
    inputs,
    workdir_option,
)
from workbench.exit_codes import ExitCode

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.engine.changes import StackDiff


@click.command("diff")
@click.argument("stack", default="", metavar="[STACK]")
@compile_options
@cluster_option
@workdir_option
@format_option("table", "json", "yaml")
@click.option(
    "--server-dry-run",
    is_flag=True,
    help="ask the clusters of an untrusted repository too; writes nothing, and Terraform is still not run",
)
@dry_run_all_option
@click.option("--drift", "drift_only", is_flag=True, help="show only what others changed or deleted live")
@click.pass_context
def command(
    ctx: click.Context,
    stack: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    clusters: tuple[str, ...],
    workdir: Path | None,
    format_: str,
    server_dry_run: bool,
    dry_run_all: bool,
    drift_only: bool,
) -> None:
    """Show what an apply would change live, with the KCL line behind every field.

    Exit code: 0 the same (with --drift: nobody changed anything), 1 different, 3 not known.
    """
    context: Context = ctx.obj
    expect_evaluation()
    try:
        session, found = find(context, stack, workdir)
        given = inputs(options, settings)

        from workbench.cli.progress import while_asking

        async def run() -> StackDiff:
            async with session, while_asking(session, context.output):
                return await session.diff(
                    found, given, clusters=clusters, server_dry_run=server_dry_run, dry_run_all=dry_run_all
                )

        result = loop.outcome(run)
    except click.ClickException:
        raise
    except Exception as error:
        from workbench.cli.report import CommandFailed

        raise CommandFailed(error, ExitCode.DIFF_FAILED) from error
    print_diff(context.output, result, session.root, format_, drift_only=drift_only)
    shown = result.drift if drift_only else result
    if (
        result.problems
        or any(not each.exists for each in result.gaps)
        or (drift_only and (result.cautions or any(True for _ in result.undecided())))
    ):
        ctx.exit(ExitCode.DIFF_FAILED)
    ctx.exit(ExitCode.DIFFERENT if shown.is_different else ExitCode.OK)


def print_diff(output: Output, result: StackDiff, root: Path, format_: str, *, drift_only: bool = False) -> None:
    from workbench.present import clusters, diff, documents, reconcile
    from workbench.present.glyphs import action_sign
    from workbench.present.text import line

    if format_ == "json":
        output.json(documents.diff(result, root, drift_only=drift_only))
        return
    if format_ == "yaml":
        output.yaml(documents.diff(result, root, drift_only=drift_only))
        return
    now = datetime.now(UTC)
    for change in result.different():
        if drift_only and not change.has_drifted:
            continue
        output.line(action_sign(change.action), " ", reconcile.short_id(change.address))
        for each in diff.detail_text(change, result.spec, (root,), output.glyphs, now, drift_only=drift_only):
            output.line("    ", each)
        output.line()
    for each in diff.remark_lines(result, output.glyphs):
        output.talk(each)
    for each in clusters.lines(result.identities):
        output.line(each)
    if drift_only:
        summary = diff.drift_line(result, output.glyphs)
    else:
        summary = diff.summary_line(result.summary, output.glyphs, is_certain=result.is_certain)
    for each in () if drift_only else diff.basis_lines(result.changes):
        output.line(each)
    output.line(line(f"{result.stack}: "), summary)
