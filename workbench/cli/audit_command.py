"""`wb audit`"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.stacks import format_option
from workbench.exit_codes import ExitCode
from workbench.present.text import Span, Tone

if TYPE_CHECKING:
    from workbench.audit import AuditCheck
    from workbench.cli.context import Context
    from workbench.cli.output import Output
    from workbench.settings import Settings


@click.command("audit")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="list at most this many, the newest",
)
@click.option("--verify", is_flag=True, help="check the chain against the releases and --anchor")
@click.option(
    "--anchor",
    "anchors",
    multiple=True,
    metavar="NUMBER:HASH",
    help="check that this entry, recorded elsewhere, is in the chain",
)
@click.option("--repair", is_flag=True, help="set a broken trail aside and begin a new one, or rebuild its head")
@format_option("table", "json")
@click.pass_context
def command(ctx: click.Context, limit: int, verify: bool, anchors: tuple[str, ...], repair: bool, format_: str) -> None:
    """List what was written to clusters from this machine, newest first: who, where from, what, why, how it ended.

    Exit code: 0; 1 where --verify finds the trail broken, or nothing is left of it.
    """
    from workbench.audit import Actor, Anchor, AuditTrail
    from workbench.present import recovery as present
    from workbench.present import recovery_documents as documents
    from workbench.release.store import audit_anchors

    context: Context = ctx.obj
    output = context.output
    try:
        given = [Anchor.parse(each, "--anchor") for each in anchors]
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    settings = _settings(context)
    trail = AuditTrail(settings.state_dir)
    if repair:
        done = trail.repair(Actor(settings.user, settings.host, "cli"), datetime.now(UTC))
        output.talk(done or "nothing had to be repaired")
    entries = trail.entries(limit=limit)
    check = None
    if verify or given or not entries:  # that there is nothing is said only of a trail that is whole
        known = [Anchor.parse(text, where) for text, where in audit_anchors(settings.state_dir, settings.host)]
        check = trail.verify([*given, *known])
    if format_ == "json":
        output.json(documents.audit(entries, check))
    elif entries:
        output.table(present.AUDIT_COLUMNS, [present.audit_row(each) for each in entries])
    elif check is None or check.is_intact:
        output.talk("nothing was written from this machine yet")
    if check is not None and format_ != "json":
        _show(check, trail.folder, output)
    ctx.exit(ExitCode.OK if check is None or check.is_intact else ExitCode.ERROR)


def _show(check: AuditCheck, folder: Path, output: Output) -> None:
    if check.is_intact:
        output.line(Span(f"{output.glyphs.good} intact: {check.entries} entries", Tone.GOOD))
        if check.tip:
            output.line(Span(f"  anchor of the newest: {check.tip}", Tone.MUTED))
    else:
        last = check.first + check.entries - 1
        output.line(Span(f"{output.glyphs.bad} broken: {check.broken}", Tone.BAD))
        output.line(Span(f"  entries {check.first} to {last} are intact, in {folder}", Tone.MUTED))
        output.talk("look at what is there; then wb audit --repair sets it aside and begins again")
    if check.first > 1:
        output.line(Span(f"  it begins with entry {check.first}: an earlier trail was broken and set aside", Tone.WARN))
    for place in check.torn:
        output.line(Span(f"  {place} is no entry: a write that ended half-way", Tone.MUTED))
    if check.more_torn:
        output.line(Span(f"  {check.more_torn} more lines are no entries", Tone.WARN))


def _settings(context: Context) -> Settings:
    """Where the trail is: with practice clusters while they are served for the repository one stands in."""
    from workbench.project import WorkbenchError

    try:
        return context.open().settings
    except WorkbenchError:  # no repository here: the trail is that of the machine all the same
        return context.settings
