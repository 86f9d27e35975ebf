"""Logs of a pod, of all pods of a workload, or of several of these, as they are written. Nothing is changed here."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import ClassVar

from rich.cells import cell_len, chop_cells
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kcl.records import dataclass
from runtimes.base import KubernetesId, RuntimeFailure
from runtimes.base.logs import LogLine, LogNote, LogQuery, LogReport
from workbench.present import durations, errors, logs
from workbench.present.rows import Row
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.tui import equivalents, saving
from workbench.tui.frame import MATCH_KEYS, Frame
from workbench.tui.later import later
from workbench.tui.state import StackState
from workbench.tui.trying import tried
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText

MOST_LINES = 10_000
AGAIN_SECONDS = 5.0
_LEAST_WRAPPED = 20


@dataclass(frozen=True, slots=True)
class _Range:
    name: str
    tail_lines: int | None = None
    since_seconds: int | None = None


_RANGES = (
    _Range("the last 500 lines", 500),
    _Range("the last 5 minutes", None, 300),
    _Range("the last hour", None, 3600),
    _Range("the last day", None, 86_400),
    _Range("all there is"),
)


class LogsScreen(Frame):
    name_in_trail = "Logs"

    DEFAULT_CSS = "LogsScreen #title { padding: 0 1; max-height: 6; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "follow", "Follow"),
        Binding("c", "container", "Container"),
        Binding("p", "previous", "Previous run"),
        Binding("t", "range", "Time range"),
        Binding("w", "wrap", "Wrap"),
        Binding("T", "times", "Times", show=False),
        Binding("E", "save", "Save"),
        *MATCH_KEYS,
    ]

    def __init__(
        self,
        cluster: str,
        id_: KubernetesId,
        state: StackState | None = None,
        others: Sequence[tuple[str, KubernetesId]] = (),
    ) -> None:
        super().__init__(state)
        self._cluster, self._object = cluster, id_
        self._targets = ((cluster, id_), *others)
        self._container, self._is_previous, self._range = "", False, _RANGES[0]
        self._follows, self._wraps, self._has_times = True, False, False
        self._containers: tuple[str, ...] = ()
        self._forget()
        self._trouble: WorkbenchError | RuntimeFailure | None = None
        self._again = asyncio.Event()

    def _forget(self) -> None:
        self._entries: deque[tuple[int, LogLine | LogNote]] = deque()
        self._count, self._dropped = 0, 0
        self._made: dict[int, tuple[Row, ...]] = {}
        self._made_for: tuple[object, ...] = ()
        self._report: LogReport | None = None

    def body(self) -> ComposeResult:
        yield ToneText(id="title", wrap=True)
        yield ResourceTable(logs.COLUMNS, id="logs", header=False, empty=f"asking {self._where} ...")

    @property
    def _where(self) -> str:
        return ", ".join(dict.fromkeys(cluster for cluster, _ in self._targets))

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(later(self._keep_following), group="logs", exclusive=True)

    async def _keep_following(self) -> None:
        while True:
            self._trouble = await tried(self._follow) or self._trouble
            self.redraw_soon()
            try:
                async with asyncio.timeout(AGAIN_SECONDS):
                    await self._again.wait()
            except TimeoutError:
                continue

    async def _follow(self) -> None:
        """Ends when somebody asks for other lines."""
        self._again.clear()
        self._forget()
        chosen = self._range
        queries = [
            (cluster, LogQuery(id_, self._container, self._is_previous, chosen.tail_lines, chosen.since_seconds))
            for cluster, id_ in self._targets
        ]
        for cluster, query in queries:
            said = equivalents.logs(query, self.workbench.places.get(cluster))
            self.workbench.command_log.add(self.workbench.now(), f"read logs of {query.id.name}", said)
        session = self.workbench.session
        is_one = len(queries) == 1
        async with session.follow_logs(*queries[0]) if is_one else session.follow_logs_together(queries) as reports:
            self._trouble = None
            reading = asyncio.create_task(self._read(reports))
            asked = asyncio.create_task(self._again.wait())
            try:
                await asyncio.wait((reading, asked), return_when=asyncio.FIRST_COMPLETED)
            finally:
                asked.cancel()
                reading.cancel()
            if reading.done() and not reading.cancelled():
                reading.result()

    async def _read(self, reports: AsyncIterator[LogReport]) -> None:
        async for each in reports:
            self._report = each
            self._containers = tuple(dict.fromkeys((*self._containers, *(one.container for one in each.sources))))
            for entry in each.entries:
                self._entries.append((self._count, entry))
                self._count += 1
            while len(self._entries) > MOST_LINES:
                number, _ = self._entries.popleft()
                self._made.pop(number, None)
                self._dropped += 1
            self.redraw_soon()

    # --- what is shown

    def show_state(self) -> None:
        title = [self._title()]
        if self._trouble is not None:
            title += errors.lines(self._trouble, self.workbench.glyphs)
        report = self._report
        if report is not None and report.failure is not None:
            title.append(self._lost(report, report.failure))
        if self._dropped:
            said = f"{self._dropped:,} older lines are not shown: {MOST_LINES:,} are held"
            title.append(line(Span(f"{self.workbench.glyphs.unknown} {said}", Tone.WARN)))
        self.query_one("#title", ToneText).show_all(title)
        table = self.query_one("#logs", ResourceTable)
        table.empty = self._empty()
        rows = tuple(self._rows(table.room))
        table.set_rows(rows)
        if not rows:
            table.refresh()
        if self._follows:
            table.action_edge(1)

    def _title(self) -> Line:
        where = f"{self._object.namespace}/" if self._object.namespace else ""
        sources = self._report.sources if self._report is not None else ()
        pods = len({each.pod for each in sources})
        of = self._container or "all containers"
        run = ", the run before the last restart" if self._is_previous else ""
        held = "" if self._follows else ", the cursor stays"
        count = f"{len(sources)} in {pods} pods" if pods > 1 else str(len(sources))
        said = f"  {of}{run} ({count}), {self._range.name}{held}"
        name = f"{where}{self._object.name}" if len(self._targets) == 1 else f"{len(self._targets)} that were marked"
        return line(Span(f"{self._object.kind} ", Tone.MUTED), name, Span(f" @{self._where}{said}", Tone.MUTED))

    def _lost(self, report: LogReport, failure: RuntimeFailure) -> Line:
        now, heard_at = self.workbench.now(), report.heard_at
        age = durations.short((now - heard_at).total_seconds()) if heard_at is not None else ""
        since = f", nothing was heard for {age}" if age else ""
        return line(Span(f"{self.workbench.glyphs.unknown} {failure.message}{since}", Tone.WARN))

    def _empty(self) -> str:
        if self._trouble is not None or (self._report is not None and self._report.failure is not None):
            return "nothing is known of what it writes"
        if self._report is None:
            return f"asking {self._where} ..."
        key = self.workbench.key("logs.time-range")
        return f"no log lines: {key} asks for a longer time" if self._report.sources else "no container has run yet"

    def _rows(self, room: int) -> Iterator[Row]:
        sources = self._report.sources if self._report is not None else ()
        pods = len({each.pod for each in sources})
        looks = (self._wraps and room, self._has_times, pods > 1, len(sources) > 1, self._container)
        if looks != self._made_for:
            self._made, self._made_for = {}, looks
        for number, entry in self._entries:
            made = self._made.get(number)
            if made is None:
                before = logs.prefix(entry, has_times=self._has_times, has_sources=len(sources) > 1, pods=pods)
                made = self._made[number] = tuple(self._wrapped(number, entry, before, room))
            yield from made

    def _wrapped(self, number: int, entry: LogLine | LogNote, before: Line, room: int) -> Iterator[Row]:
        said = logs.said(entry, self.workbench.glyphs.unknown)
        search = f"{before}{said.text}".lower()
        after = Span(logs.cut(entry), Tone.WARN)
        width = room - cell_len(str(before))
        if not self._wraps or width < _LEAST_WRAPPED:
            yield Row((number, 0), (line(before, after, said),), search=search)
            return
        for part, text in enumerate(chop_cells(said.text, width) or [""]):
            first = before if part == 0 else line(" " * cell_len(str(before)))
            yield Row((number, part), (line(first, Span(text, said.tone)),), search=search)
        if after.text:
            yield Row((number, -1), (line(after),), search=search)

    def on_resource_table_highlighted(self, event: ResourceTable.Highlighted) -> None:
        """Who goes up reads there: the end is followed again from the last line on."""
        follows = event.table.cursor >= len(event.table.shown) - 1
        if follows != self._follows and event.table.has_focus:
            self._follows = follows
            self.query_one("#title", ToneText).show_all((self._title(), *self.query_one("#title", ToneText).lines[1:]))

    def status(self) -> Line:
        return line(Span(f"{self._count:,} lines read  looking only", Tone.MUTED))

    # --- keys

    def action_follow(self) -> None:
        self._follows = not self._follows
        self.redraw()

    def action_container(self) -> None:
        names = ("", *self._containers)
        self._container = names[(names.index(self._container) + 1) % len(names)] if self._container in names else ""
        self._ask_again()

    def action_previous(self) -> None:
        self._is_previous = not self._is_previous
        self._ask_again()

    def action_range(self) -> None:
        self._range = _RANGES[(_RANGES.index(self._range) + 1) % len(_RANGES)]
        self._ask_again()

    def action_wrap(self) -> None:
        self._wraps = not self._wraps
        self.redraw()

    def action_times(self) -> None:
        self._has_times = not self._has_times
        self.redraw()

    def action_reload(self) -> None:
        self._ask_again()

    def _ask_again(self) -> None:
        self._forget()
        self._again.set()
        self.redraw()

    def action_save(self) -> None:
        """Writes what the filter leaves into the working folder, as it is shown: masked, and nothing else."""
        shown = {row.key[0] for row in self.query_one("#logs", ResourceTable).shown if isinstance(row.key, tuple)}
        entries = [entry for number, entry in self._entries if number in shown]
        if not entries:
            self.notify("there are no lines to save", severity="warning")
            return
        now = self.workbench.now()
        more = f"and-{len(self._targets) - 1}-more" if len(self._targets) > 1 else ""
        path = saving.file_name((self._object.namespace, self._object.name, more), "log", now)
        try:
            saving.save(path, logs.file_lines(entries, str(self._title()), now))
        except OSError as error:
            self.notify(f"not saved: {error}", severity="error")
            return
        self.notify(f"saved {len(entries):,} lines as {path}")
