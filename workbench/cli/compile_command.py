"""`wb compile`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli import loop
from workbench.cli.stacks import WorkPath, at_one_look, compile_options, find, format_option, inputs, workdir_option
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.engine.compiled import CompiledStack, CompileInputs


@click.command("compile")
@click.argument("stack", default="", metavar="[STACK]")
@compile_options
@workdir_option
@format_option("yaml", "json", "table")
@click.option("--show-secrets", is_flag=True, help="print secrets in clear on a terminal too")
@click.option("--all", "everything", is_flag=True, help="compile all stacks into files, each only if it is out of date")
@click.option(
    "--into",
    type=WorkPath(file_okay=False),
    default=None,
    help="with --all: write the files into this folder",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=None,
    help="with --all: run this many processes; default: one per core",
)
@click.option(
    "--changed",
    multiple=True,
    metavar="FILE",
    help="with --all: compile only stacks that this file touches; may be repeated",
)
@click.option(
    "--since",
    default="",
    metavar="REVISION",
    help="with --all: compile only stacks that changes since this revision touch",
)
@click.option("--force", is_flag=True, help="with --all: also compile what is up to date")
@click.option(
    "--scheduler", default="", metavar="ADDRESS", help="with --all: run on the workers of this dask scheduler"
)
@click.pass_obj
@at_one_look
def command(
    context: Context,
    stack: str,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    format_: str,
    show_secrets: bool,
    everything: bool,
    into: Path | None,
    jobs: int | None,
    changed: tuple[str, ...],
    since: str,
    force: bool,
    scheduler: str,
) -> None:
    """Print a stack's Spec as one YAML list, as Kusion reads it; with --all write those of all stacks.

    To a terminal secrets are masked. To a pipe or file they are not: a Spec without them could not be applied.
    """
    given = inputs(options, settings)
    if everything:
        _all(context, stack, given, workdir, format_, into, jobs, changed, since, force, scheduler)
        return
    meant = {"--into": into, "--jobs": jobs, "--changed": changed, "--since": since, "--force": force}
    for name, value in {**meant, "--scheduler": scheduler}.items():
        if value:
            raise click.UsageError(f"{name} goes with --all")
    session, found = find(context, stack, workdir)

    async def run() -> CompiledStack:
        async with session:
            return await session.compile(found, given)

    compiled = loop.outcome(run)
    output = context.output
    if compiled.log:
        for printed in compiled.log.rstrip("\n").split("\n"):
            output.talk(printed)
    for each in compiled.diagnostics:
        output.talk(Span("warning: ", Tone.WARN), each.message)
    for use, why in session.not_declared(compiled.spec):
        output.talk(Span("warning: ", Tone.WARN), f"{use.where}: {use.output} for {use.field}: {why.why}; {why.hint}")
    for finding in (*found.doubts, *session.tree().findings):
        # its name or place may not be what it should be, and the program is told both
        output.talk(Span("warning: ", Tone.WARN), f"{finding.where}: {finding.message}")
    spec = compiled.spec
    if format_ == "table":
        from workbench.present import spec as present

        output.table(present.RESOURCE_COLUMNS, present.resource_rows(spec))
        return
    masks = output.stdout.isatty() and not show_secrets
    documents = spec.documents()
    if masks:
        from workbench.present import spec as present

        documents = present.masked_documents(spec)
    if format_ == "json":
        output.json(documents)
    else:
        output.yaml(documents)


def _all(
    context: Context,
    stack: str,
    given: CompileInputs,
    workdir: Path | None,
    format_: str,
    into: Path | None,
    jobs: int | None,
    changed: tuple[str, ...],
    since: str,
    force: bool,
    scheduler: str,
) -> None:
    if stack:
        raise click.UsageError(f"--all means all stacks: leave {stack!r} out, or --all")
    if format_ == "table":
        raise click.UsageError("--all writes yaml or json")
    if scheduler and jobs:
        raise click.UsageError("the scheduler knows its workers: --jobs goes without --scheduler")
    from workbench.cli.compiling import Order, compile_everything

    here = context.base(workdir)
    order = Order(given, "json" if format_ == "json" else "yaml", into, jobs, changed, since, force, scheduler)
    click.get_current_context().exit(compile_everything(context, here, order))
