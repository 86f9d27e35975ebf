"""Progress as plain lines: one for each change of state, the whole tree once at the end."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from runtimes.base import Address, Status
from workbench.cli.output import Output
from workbench.engine.events import ApplyFinished, Event, StepProgress
from workbench.engine.status import StatusTree, Verdict
from workbench.engine.tasks import running
from workbench.exit_codes import ExitCode
from workbench.present import plan, reconcile
from workbench.present.glyphs import status_line
from workbench.present.text import Line, Span, Tone

if TYPE_CHECKING:
    from workbench.session import Session

HEARTBEAT_SECONDS = 30.0
WAITING_SECONDS = 5.0
PROGRESS_SECONDS = 10.0


@asynccontextmanager
async def while_asking(session: Session, output: Output, every_seconds: float = WAITING_SECONDS) -> AsyncIterator[None]:
    """Says now and then which places are waited for, while a diff or plan is made: silence looks like a hang."""

    async def tell() -> None:
        while True:
            await anyio.sleep(every_seconds)
            waits = session.waits_for()
            if waits:
                output.talk(f"waiting for {', '.join(waits)}: {max(waits.values()):.0f} s{_compared(session)}")

    async with running(tell):
        yield


def _compared(session: Session) -> str:
    """How far it is, where it has begun: of thousands each takes a request."""
    counts = session.compared().values()
    done, of = (sum(each[index] for each in counts) for index in (0, 1))
    return f", {done} of {of} compared" if counts else ""


async def show_events(events: AsyncIterator[Event], output: Output) -> ApplyFinished | None:
    """Prints each step as it ends, and now and then that a long one goes on; returns how the whole ended."""
    finished: ApplyFinished | None = None
    told: dict[Address, StepProgress] = {}
    async for event in events:
        if isinstance(event, StepProgress):
            last_told = told.get(event.address)
            if last_told is not None and not _is_news(event, last_told):
                continue
            told[event.address] = event
        shown = plan.event_line(event, output.glyphs)
        if shown is not None:
            output.line("  ", shown)
        if isinstance(event, ApplyFinished):
            finished = event
    return finished


def _is_news(event: StepProgress, last_told: StepProgress) -> bool:
    return event.seconds - last_told.seconds >= PROGRESS_SECONDS or bool(
        event.message and event.message != last_told.message
    )


async def show_trees(trees: AsyncIterator[StatusTree], output: Output) -> StatusTree | None:
    """Prints what changes between one picture and the next; returns the last one."""
    log = TreeLog(output)
    async for tree in trees:
        log.show(tree)
    return log.latest


class TreeLog:
    """What was said of the pictures of one stack so far. `about` stands before each line, where there are several."""

    def __init__(self, output: Output, about: str = "") -> None:
        self._output, self._about = output, Span(about, Tone.MUTED)
        self.latest: StatusTree | None = None
        self._told: dict[Address, tuple[Status, str]] = {}
        self._why, self._spoken = "", time.monotonic()
        self._silent: frozenset[str] = frozenset()

    def show(self, tree: StatusTree) -> None:
        """Prints what of it is news."""
        output, glyphs = self._output, self._output.glyphs
        is_first, self.latest = self.latest is None, tree
        self._silent, spoke = frozenset(each.place for each in tree.silent if each.lost), self._silent
        for place in sorted(spoke - self._silent):
            self._line(Span(f"  {tree.seconds:5.1f}s ", Tone.MUTED), f"{place} answers again")
        if is_first and tree.verdict not in (Verdict.READY, Verdict.EMPTY):
            self._line(f"  {tree.ready} of {tree.total} are ready, waiting for the others")
        for each in tree.resources:
            now = (each.health.status, each.health.reason)
            if self._told.get(each.address) != now:
                self._told[each.address] = now
                is_news = each.health.status is not Status.CURRENT or not is_first
                if is_news and each.health.status is not Status.UNKNOWN:
                    self._line(
                        Span(f"  {tree.seconds:5.1f}s ", Tone.MUTED),
                        status_line(each.health, glyphs),
                        "  ",
                        reconcile.short_id(each.address),
                    )
                    self._spoken = time.monotonic()
        if _explains(tree) and _cause(tree, output) != self._why:
            self._why = _cause(tree, output)
            self._line("         ", reconcile.why_line(tree, glyphs, tree.at))
        if time.monotonic() - self._spoken > HEARTBEAT_SECONDS:
            self._spoken = time.monotonic()
            gap = "  " if self._about.text else ""
            output.talk(self._about, gap, reconcile.summary(tree, glyphs, tree.at))

    def _line(self, *parts: Span | str | Line) -> None:
        self._output.line(self._about, *parts)


def _cause(tree: StatusTree, output: Output) -> str:
    """What the line about it would say, without for how long: that alone is no news."""
    if tree.silent:
        return repr([(each.place, each.lost.message if each.lost else "") for each in tree.silent])
    return str(reconcile.why_line(tree, output.glyphs, tree.at))


def _explains(tree: StatusTree) -> bool:
    """Whether there is more to say than that a resource is on its way, which its own line says."""
    if tree.verdict is Verdict.READY or tree.why is None:
        return False
    is_unheard = tree.why.health.status is Status.UNKNOWN and bool(tree.why.health.reason)
    return bool(tree.silent) or tree.why.blocking is not None or is_unheard


async def last(trees: AsyncIterator[StatusTree]) -> StatusTree | None:
    found: StatusTree | None = None
    async for tree in trees:
        found = tree
    return found


def show_end(tree: StatusTree, output: Output) -> ExitCode:
    """Prints the last picture, with the log of what blocks; returns the exit code."""
    if tree.verdict not in (Verdict.READY, Verdict.EMPTY):
        output.table(reconcile.COLUMNS, reconcile.rows(tree, output.glyphs, tree.at, faults_only=True))
    output.line(reconcile.summary(tree, output.glyphs, tree.at))
    for each in tree.qualified:
        what = Span(f" {each.health.message}", Tone.WARN)
        output.line(f"  {output.glyphs.finding} ", reconcile.short_id(each.address), ":", what)
    if tree.verdict is Verdict.READY:
        return ExitCode.OK
    output.line(reconcile.why_line(tree, output.glyphs, tree.at))
    blocking = tree.why.blocking if tree.why else None
    for text in blocking.log_tail if blocking else ():
        output.line(Span("    | ", Tone.MUTED), text)
    return ExitCode.NOT_READY


__all__ = ["TreeLog", "last", "show_end", "show_events", "show_trees"]
