"""`wb run`"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from workbench.cli.stacks import WorkPath, compile_options, format_option, inputs, workdir_option
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.recovery.hosts import Acceptance
    from workbench.engine.recovery.values import Recovery, RecoveryReport
    from workbench.session import Session


@click.command("run")
@click.argument("file", type=WorkPath(), metavar="FILE.k")
@compile_options
@workdir_option
@click.option(
    "--confirm", default="", metavar="PHRASE", help="confirm with the phrase that the preview asks for, word for word"
)
@click.option("--allow-unresolved", is_flag=True, help="accept hosts that lead to no pod, or nobody knows to which")
@click.option(
    "--require-all/--no-require-all",
    default=True,
    show_default=True,
    help="count hosts that limits, budgets or a stop left alone as not recovered",
)
@format_option("table", "json")
@click.pass_context
def command(
    ctx: click.Context,
    file: Path,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    workdir: Path | None,
    confirm: str,
    allow_unresolved: bool,
    require_all: bool,
    format_: str,
) -> None:
    """Recover failing hosts as a program such as AppRecovery.k declares it.

    Without --confirm it shows what would be done and writes nothing. With it, it runs in batches within the program's
    limits, waits for replacements, and accounts for every hostname. All runs of one incident count together: nothing
    is done twice, and limits hold for all of them.

    Exit code: 0 shown, or every host is recovered or accepted; 4 refused, or the phrase of another preview; 5 done,
    but nothing became ready; 6 some hosts are recovered, others are not; 7 the incident is being recovered already, or
    was since the preview; 1 no host is recovered.
    """
    from workbench.engine.recovery.hosts import Acceptance

    context: Context = ctx.obj
    given = inputs(options, settings)
    session = context.open(file.parent if file.is_file() else None, workdir=workdir)
    ctx.exit(
        anyio.run(
            _run,
            session,
            file.absolute(),
            given,
            confirm,
            Acceptance(require_all, allow_unresolved),
            format_,
            context.output,
        )
    )


async def _run(
    session: Session,
    file: Path,
    given: CompileInputs,
    confirm: str,
    accepted: Acceptance,
    format_: str,
    output: Output,
) -> ExitCode:
    from workbench.present import recovery as present
    from workbench.present import recovery_documents as documents

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
        report = await _recover(session, found, confirm, output, quiet=format_ == "json")
    if format_ == "json":
        output.json(documents.report(report))
    else:
        output.table(present.HOST_COLUMNS, present.host_rows(report, only_open=True))
        output.line(present.summary(report, output.glyphs, accepted))
    if (left := present.open_hosts(report.hosts, accepted, output.glyphs)) is not None:
        output.talk(left)
    return _code(report, accepted)


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
    from workbench.engine.recovery.hosts import STRICT, is_accomplished
    from workbench.present import recovery as present

    if not found.is_empty:
        output.talk("nothing was written. To run it: ", Span(f'--confirm "{found.phrase}"', Tone.STRONG))
    elif is_accomplished(found.hosts):
        output.talk(Span("nothing to do: every host was recovered before", Tone.GOOD))
    elif (left := present.open_hosts(found.hosts, STRICT, output.glyphs)) is not None:
        output.talk(left)


def _code(report: RecoveryReport, accepted: Acceptance) -> ExitCode:
    from workbench.engine.recovery.hosts import is_accomplished, is_recovered
    from workbench.engine.recovery.values import HostState

    if is_accomplished(report.hosts, accepted):
        return ExitCode.OK
    if any(map(is_recovered, report.hosts)):
        return ExitCode.PARTIAL
    return ExitCode.NOT_READY if report.count(HostState.UNVERIFIED) else ExitCode.ERROR
