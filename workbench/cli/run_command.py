"""`wb run`"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from workbench.cli.stacks import compile_options, format_option, inputs, workdir_option
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.main import Context
    from workbench.cli.output import Output
    from workbench.engine.recovery.values import Recovery, RecoveryReport
    from workbench.session import Session


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.k")
@compile_options
@workdir_option
@click.option("--confirm", default="", metavar="PHRASE", help='The phrase the preview asks for: "restart 11 pods".')
@format_option("table", "json")
@click.pass_context
def command(
    ctx: click.Context,
    file: Path,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    confirm: str,
    format_: str,
) -> None:
    """Recover failing hosts as a program such as AppRecovery.k declares it.

    Without --confirm it shows what would be done and writes nothing. With it, it runs in batches within the program's
    limits, waits for replacements, and accounts for every hostname. Run again, it does nothing twice.

    Exit code: 0 shown, or all recovered; 4 refused or another phrase; 5 done, but nothing became ready; 6 partly
    recovered, or stopped; 7 the same recovery runs already, or was run since; 1 nothing could be recovered.
    """
    context: Context = ctx.obj
    given = inputs(options, settings)
    base = workdir or context.work_dir
    path = base / file
    session = context.open(path.parent if path.is_file() else workdir)
    ctx.exit(
        anyio.run(_run, session, path.resolve() if path.is_file() else file, given, confirm, format_, context.output)
    )


async def _run(session: Session, file: Path, given: object, confirm: str, format_: str, output: Output) -> ExitCode:
    from workbench.engine.compile import CompileInputs
    from workbench.present import recovery as present
    from workbench.present import recovery_documents as documents

    assert isinstance(given, CompileInputs)
    async with session:
        found = await session.recovery(file, given)
        if format_ == "json" and not confirm:
            output.json(documents.recovery(found))
            return ExitCode.OK
        if format_ != "json":
            _show(found, output)
        if not confirm:
            _ask(found, output)
            return ExitCode.OK
        if found.is_empty and format_ != "json":
            return ExitCode.OK
        report = await _recover(session, found, confirm, output, quiet=format_ == "json")
    if format_ == "json":
        output.json(documents.report(report))
    else:
        output.table(present.HOST_COLUMNS, present.host_rows(report, only_open=True))
        output.line(present.summary(report, output.glyphs))
    return _code(report)


async def _recover(session: Session, found: Recovery, confirm: str, output: Output, *, quiet: bool) -> RecoveryReport:
    from workbench.engine.recovery.events import RecoveryFinished
    from workbench.present import recovery as present

    async with session.recover(found, confirm=confirm, dry_run=False) as events:
        async for event in events:
            shown = present.event_line(event, output.glyphs)
            if shown is not None and not quiet:
                output.line("  ", shown)
            if isinstance(event, RecoveryFinished):
                return event.report
    raise AssertionError("a run ends with its report")


def _show(found: Recovery, output: Output) -> None:
    from workbench.present import recovery as present

    output.line(present.title(found, output.glyphs))
    output.line(present.limits(found))
    output.table(present.COLUMNS, present.rows(found, output.glyphs, datetime.now(UTC)))
    output.lines(present.notes(found, output.glyphs))


def _ask(found: Recovery, output: Output) -> None:
    if found.is_empty:
        output.talk(Span("nothing to do", Tone.GOOD))
    else:
        output.talk("nothing was written. To run it: ", Span(f'--confirm "{found.phrase}"', Tone.STRONG))


def _code(report: RecoveryReport) -> ExitCode:
    from workbench.engine.recovery.values import RecoveryOutcome, StepState

    match report.outcome:
        case RecoveryOutcome.RECOVERED | RecoveryOutcome.NOTHING_TO_DO | RecoveryOutcome.DRY_RUN:
            return ExitCode.OK
        case _ if any(each.state is StepState.RECOVERED for each in report.steps):
            return ExitCode.PARTIAL
        case _ if any(each.state is StepState.UNVERIFIED for each in report.steps):
            return ExitCode.NOT_READY
        case _:
            return ExitCode.ERROR
