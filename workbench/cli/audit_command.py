"""`wb audit`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.stacks import format_option
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.cli.main import Context


@click.command("audit")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="The newest so many.")
@click.option("--verify", is_flag=True, help="Check that no entry was changed, taken out or cut off.")
@format_option("table", "json")
@click.pass_context
def command(ctx: click.Context, limit: int, verify: bool, format_: str) -> None:
    """What was written to clusters from this machine, newest first: who, where from, what, how it ended.

    Exit code: 0; 1 where --verify finds the trail broken.
    """
    from workbench.audit import AuditTrail
    from workbench.present import recovery as present
    from workbench.present import recovery_documents as documents

    context: Context = ctx.obj
    output = context.output
    trail = AuditTrail(_state_dir(context))
    entries = trail.entries(limit=limit)
    check = trail.verify() if verify else None
    if format_ == "json":
        output.json(documents.audit(entries, check))
    elif entries:
        output.table(present.AUDIT_COLUMNS, [present.audit_row(each) for each in entries])
    else:
        output.talk("nothing was written from this machine yet")
    if check is not None and format_ != "json":
        if check.is_intact:
            output.line(Span(f"{output.glyphs.good} intact: {check.entries} entries", Tone.GOOD))
        else:
            output.line(Span(f"{output.glyphs.bad} broken: {check.broken}", Tone.BAD))
            output.line(Span(f"  entries 1 to {check.entries} are intact; kept in {trail.folder}", Tone.MUTED))
    ctx.exit(ExitCode.OK if check is None or check.is_intact else ExitCode.ERROR)


def _state_dir(context: Context) -> Path:
    """Where the trail is: with practice clusters while they are served for the repository one stands in."""
    from workbench.project import WorkbenchError

    try:
        return context.open().settings.state_dir
    except WorkbenchError:  # no repository here: the trail is that of the machine all the same
        return context.settings.state_dir
