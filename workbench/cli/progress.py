"""Progress as plain lines: one for each change of state, the whole tree once at the end."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from runtimes.base import Address, Status
from workbench.cli.output import Output
from workbench.engine.events import ApplyFinished, Event
from workbench.engine.status import StatusTree, Verdict
from workbench.exit_codes import ExitCode
from workbench.present import plan, reconcile
from workbench.present.glyphs import UNICODE, status_line
from workbench.present.text import Span, Tone

HEARTBEAT_SECONDS = 30.0


async def show_events(events: AsyncIterator[Event], output: Output) -> ApplyFinished | None:
    """Prints each step as it ends; returns how the whole ended."""
    finished: ApplyFinished | None = None
    async for event in events:
        shown = plan.event_line(event, UNICODE)
        if shown is not None:
            output.line("  ", shown)
        if isinstance(event, ApplyFinished):
            finished = event
    return finished


async def show_trees(trees: AsyncIterator[StatusTree], output: Output) -> StatusTree | None:
    """Prints what changes between one picture and the next; returns the last one."""
    latest: StatusTree | None = None
    told: dict[Address, tuple[Status, str]] = {}
    why, spoken = "", time.monotonic()
    async for tree in trees:
        is_first, latest = latest is None, tree
        if is_first:
            output.line(f"  {tree.ready} of {tree.total} are ready, waiting for the others")
        for each in tree.resources:
            now = (each.health.status, each.health.reason)
            if told.get(each.address) != now:
                told[each.address] = now
                is_news = each.health.status is not Status.CURRENT or not is_first
                if is_news and each.health.status is not Status.UNKNOWN:
                    output.line(
                        Span(f"  {tree.seconds:5.1f}s ", Tone.MUTED),
                        status_line(each.health, UNICODE),
                        "  ",
                        reconcile.short_id(each.address),
                    )
                    spoken = time.monotonic()
        line_ = str(reconcile.why_line(tree, UNICODE))
        if (
            tree.verdict is not Verdict.READY
            and line_ != why
            and (tree.why is None or tree.why.blocking or tree.problems)
        ):
            why = line_
            output.line("         ", reconcile.why_line(tree, UNICODE))
        if time.monotonic() - spoken > HEARTBEAT_SECONDS:
            spoken = time.monotonic()
            output.talk(reconcile.summary(tree, UNICODE))
    return latest


async def last(trees: AsyncIterator[StatusTree]) -> StatusTree | None:
    found: StatusTree | None = None
    async for tree in trees:
        found = tree
    return found


def show_end(tree: StatusTree, output: Output) -> ExitCode:
    """Prints the last picture, with the log of what blocks; returns the exit code."""
    if tree.verdict is not Verdict.READY:
        output.table(reconcile.COLUMNS, reconcile.rows(tree, UNICODE, datetime.now(UTC), faults_only=True))
    output.line(reconcile.summary(tree, UNICODE))
    if tree.verdict is Verdict.READY:
        return ExitCode.OK
    output.line(reconcile.why_line(tree, UNICODE))
    blocking = tree.why.blocking if tree.why else None
    for text in blocking.log_tail if blocking else ():
        output.line(Span("    | ", Tone.MUTED), text)
    return ExitCode.NOT_READY


__all__ = ["last", "show_end", "show_events", "show_trees"]
