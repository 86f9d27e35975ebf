"""Live objects of any kind, as the servers themselves list them; those that are marked are acted on together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar

import anyio.to_thread
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kcl.records import dataclass, replace
from runtimes.base import KubernetesId, PodTarget, RuntimeFailure
from runtimes.base.metrics import Usage
from runtimes.base.tables import LiveKind, LiveRow
from workbench.engine.live import Listing, UnknownKind, owners
from workbench.engine.live_acts import BadAct, LiveAct, LiveRequest, acts_of
from workbench.present import errors, live
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.tui.attaching import PodAtHand
from workbench.tui.frame import PAINTS_APART_SECONDS, Frame
from workbench.tui.later import later
from workbench.tui.live_source import open_line
from workbench.tui.screens.live_acts import LiveActsScreen
from workbench.tui.screens.live_object import LiveObjectScreen, replicas_problem
from workbench.tui.screens.logs import LogsScreen
from workbench.tui.screens.relations import RelationsScreen
from workbench.tui.state import StackState
from workbench.tui.trying import tried
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText

FIND_AGAIN_SECONDS = 5.0
_FIRST_TO_GO = 99
AT_ONCE = 500
"""So many rows are made without being felt."""
MEASURE_SECONDS = 15.0
"""As often as metrics-server measures."""
MOST_LOGS = 50
_NOBODY_WOULD = "of this kind nobody measures anything"
BUILD_REST = 3.0
"""So many times longer than it took is waited before the rows of a large table are made again."""


class LiveScreen(Frame):
    """`word` is what was typed for the kind; `namespaces` are those to look into, none for all."""

    DEFAULT_CSS = "LiveScreen #clusters { padding: 0 1; max-height: 5; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "order", "Order by"),
        Binding("O", "reverse", "Reverse", show=False),
        Binding("a", "everywhere", "Everywhere"),
        Binding("n", "wide", "Columns"),
        Binding("d", "describe", "Describe"),
        Binding("l", "logs", "Logs"),
        Binding("u", "relations", "Related"),
        Binding("s", "source", "Source"),
        Binding("space", "mark", "Mark"),
        Binding("V", "mark_to", "Mark up to here", show=False),
        Binding("asterisk", "mark_all", "Mark all shown", key_display="*", show=False),
    ]

    def __init__(
        self, word: str, clusters: Sequence[str], namespaces: Sequence[str] = (), state: StackState | None = None
    ) -> None:
        super().__init__(state)
        self.name_in_trail = word
        self._word, self._clusters, self._namespaces = word, tuple(clusters), tuple(namespaces)
        self._is_everywhere, self._is_wide, self._is_reversed, self._order = not namespaces, False, False, ""
        self._kind: LiveKind | None = None
        self._listings: tuple[Listing, ...] = ()
        self._trouble: WorkbenchError | RuntimeFailure | None = None
        self._usage: dict[str, Mapping[tuple[str, str], Usage]] = {}
        self._unmeasured: dict[str, str] = {}
        self._again, self._wanted, self._is_building = asyncio.Event(), asyncio.Event(), False
        self._measurable = asyncio.Event()
        """That there may be something to measure: it is in front again, or something was listed."""
        self._built_of: object = None

    def body(self) -> ComposeResult:
        yield ToneText(id="clusters", wrap=True)
        yield ResourceTable(
            live.columns(()), id="objects", empty=f"asking {', '.join(self._clusters)} ...", markable=True
        )

    def on_mount(self) -> None:
        self._rows = live.LiveRows(owners(self.workbench.states))
        super().on_mount()
        self.run_worker(later(self._keep_following), group="live", exclusive=True)
        self.run_worker(later(self._keep_building), group="rows", exclusive=True)
        self.run_worker(later(self._keep_measuring), group="usage", exclusive=True)

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._measurable.set()

    async def _keep_measuring(self) -> None:
        """Asks now and then what pods and nodes use, where somebody measures it."""
        while True:
            if self.is_current and self._kind is not None and self._listings:
                await asyncio.gather(*(self._measure(self._kind, each) for each in self._clusters))
                self.redraw_soon()
                await asyncio.sleep(MEASURE_SECONDS)
            else:
                self._measurable.clear()
                await self._measurable.wait()

    async def _measure(self, kind: LiveKind, cluster: str) -> None:
        try:
            usage = await self.workbench.session.usage(kind, cluster, self._looked_into)
        except (WorkbenchError, RuntimeFailure) as error:
            self._usage.pop(cluster, None)
            self._unmeasured[cluster] = error.message if isinstance(error, RuntimeFailure) else str(error)
            return
        except Exception as error:
            # the boundary of a task: what is listed stays
            self._usage.pop(cluster, None)
            self._unmeasured[cluster] = str(errors.Bug(error))
            return
        if usage is None:
            self._usage.pop(cluster, None)
            self._unmeasured[cluster] = "" if kind.kind in ("Pod", "Node") and not kind.group else _NOBODY_WOULD
        else:
            self._usage[cluster] = usage
            self._unmeasured.pop(cluster, None)

    @property
    def _measured(self) -> tuple[Listing, ...]:
        usage = self._usage
        return tuple(
            replace(each, usage=usage[each.cluster]) if each.cluster in usage else each for each in self._listings
        )

    async def _keep_following(self) -> None:
        """Follows the clusters while the screen is there; what was there stays when one falls silent."""
        while True:
            self._trouble = await tried(self._follow) or self._trouble
            self.redraw_soon()
            await self._wait_until_again()

    async def _wait_until_again(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._again.wait(), FIND_AGAIN_SECONDS)

    async def _follow(self) -> None:
        """Ends when somebody asks for it again, or for other namespaces."""
        session = self.workbench.session
        self._again.clear()
        if self._kind is None:
            self._kind = await session.find_kind(self._word, self._clusters)
        async with session.follow_live(self._kind, self._clusters, self._looked_into) as found:
            self._trouble = None
            reading = asyncio.create_task(self._read(found))
            asked = asyncio.create_task(self._again.wait())
            try:
                await asyncio.wait((reading, asked), return_when=asyncio.FIRST_COMPLETED)
            finally:
                asked.cancel()
                reading.cancel()
            if reading.done() and not reading.cancelled():
                reading.result()

    async def _read(self, found: AsyncIterator[tuple[Listing, ...]]) -> None:
        async for listings in found:
            before = {each.cluster: each for each in self._listings}
            self._listings = tuple(_after(each, before.get(each.cluster)) for each in listings)
            self._measurable.set()
            self.redraw_soon()

    @property
    def _looked_into(self) -> tuple[str, ...]:
        return () if self._is_everywhere else self._namespaces

    def show_state(self) -> None:
        now, glyphs = self.workbench.now(), self.workbench.glyphs
        above = list(live.cluster_lines(self._listings, glyphs, now))
        if self._trouble is not None:
            above += errors.lines(self._trouble, glyphs)
            if isinstance(self._trouble, UnknownKind):
                key = self.workbench.key("prompt.complete")
                above.append(line(Span(f"there is no command of this name either: {key} completes them", Tone.MUTED)))
        self.query_one("#clusters", ToneText).show_all(above)
        self._empty()
        table = self.query_one("#objects", ResourceTable)
        measured = self._measured
        tables = tuple((each.cluster, each.table, each.usage) for each in measured)
        made_of = (tables, self._order, self._is_reversed, self._is_wide)
        if made_of == self._built_of:
            # only time went by: of ten thousand rows it changes what is seen of those on the screen
            table.fresh = self._rows.by_now(measured, now)
            table.refresh_fresh()
            return
        self._built_of = made_of
        self._wanted.set()
        count = sum(len(each.table.rows) for each in self._listings if each.table is not None)
        if count <= AT_ONCE and not self._is_building:
            self._wanted.clear()
            self._show(self._build())

    def _empty(self) -> None:
        table = self.query_one("#objects", ResourceTable)
        if self._trouble is not None:
            table.empty = "nothing can be listed"
        elif any(each.table is None and each.failure is None for each in self._listings):
            table.empty = f"asking {', '.join(each.cluster for each in self._listings if each.at is None)} ..."
        elif self._listings:
            silent = all(each.table is None for each in self._listings)
            table.empty = "no cluster says what there is" if silent else f"there are none {self._where()}"

    async def _keep_building(self) -> None:
        """Makes the rows of large tables on a thread: ten thousand take long enough for keys to be felt waiting."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if not self.is_current:
                self._built_of = None  # who comes back to it has them made
                continue
            self._is_building, began = True, time.perf_counter()
            try:
                built = await anyio.to_thread.run_sync(self._build)
            finally:
                self._is_building = False
            seconds = time.perf_counter() - began
            self._show(built)
            await asyncio.sleep(max(PAINTS_APART_SECONDS, BUILD_REST * seconds))

    def _build(self) -> _Built:
        """On a thread for large tables: all that goes through every row belongs in here."""
        measured, columns = self._measured, self._columns()
        rows = self._rows.rows(
            measured,
            self.workbench.now(),
            order=self._order,
            is_reversed=self._is_reversed,
            is_wide=self._is_wide,
        )
        if not any(len(row.cells[-1]) for row in rows):
            columns = (*columns[:-1], replace(columns[-1], rank=_FIRST_TO_GO))  # of no stack: its title says nothing
        return _Built(columns, rows)

    def _columns(self) -> tuple[Column, ...]:
        up, down = ("^", "v") if self.workbench.is_ascii else ("↑", "↓")
        sign = up if self._is_reversed else down
        return tuple(
            replace(each, title=f"{each.title}{sign}") if each.title == self._order else each
            for each in live.columns(self._measured, is_wide=self._is_wide)
        )

    def _show(self, built: _Built) -> None:
        table = next(iter(self.query("#objects").results(ResourceTable)), None)
        if table is None:
            return  # the rows were made while the screen was taken down
        are_others = built.columns != table.columns
        table.columns = built.columns
        table.fresh = self._rows.by_now(self._measured, self.workbench.now())
        table.set_rows(built.rows)
        if are_others or not built.rows:
            table.refresh()

    def _where(self) -> str:
        return "in any namespace" if self._is_everywhere else f"in {', '.join(self._namespaces)}"

    def status(self) -> Line:
        kind = self._kind
        what = (
            f"{kind.plural} ({kind.api_version})  {self._where() if kind.is_namespaced else ''}" if kind else self._word
        )
        return line(Span(f"{what}  ", Tone.MUTED), *self._marked_text(), *self._why_not_measured())

    def _marked_text(self) -> Iterator[Span]:
        """How many are marked, those that no filter shows among them, and what can be done to them."""
        marked = self._marked()
        if not marked:
            yield Span(f"{self.workbench.key('live.mark')} marks", Tone.MUTED)
            return
        seen = {row.key for row in self.query_one("#objects", ResourceTable).shown}
        hidden = sum((cluster, row.id) not in seen for cluster, row in marked)
        yield Span(f"{len(marked)} marked{f', {hidden} of them not shown' if hidden else ''}", Tone.STRONG)
        acts = [f":{each.value}{' N' if each is LiveAct.SCALE else ''}" for each in acts_of(marked[0][1].id)]
        yield Span(f"  to type: {', '.join(acts)}", Tone.MUTED)

    def _why_not_measured(self) -> Iterator[Span]:
        without = [cluster for cluster, why in self._unmeasured.items() if not why]
        if without:
            yield Span(f"  no metrics-server: {', '.join(without)}", Tone.MUTED)
        for cluster, why in self._unmeasured.items():
            if why and why != _NOBODY_WOULD:
                yield Span(f"  what is used in {cluster} is not known: {why}", Tone.WARN)

    @property
    def order(self) -> str:
        return f"{'-' if self._is_reversed else ''}{self._order}"

    def order_by(self, order: str) -> None:
        self._order, self._is_reversed = order.removeprefix("-"), order.startswith("-")

    def action_order(self) -> None:
        titles = ("", *(each.title for each in live.columns(self._measured, is_wide=self._is_wide)))
        self._order = titles[(titles.index(self._order) + 1) % len(titles)] if self._order in titles else ""
        self.redraw()

    def action_reverse(self) -> None:
        self._is_reversed = not self._is_reversed
        self.redraw()

    def action_wide(self) -> None:
        self._is_wide = not self._is_wide
        self.redraw()

    def action_everywhere(self) -> None:
        """All namespaces, or only those of the stack again."""
        if not self._namespaces:
            self.notify("these are of all namespaces already", severity="warning")
            return
        self._is_everywhere = not self._is_everywhere
        self._again.set()

    def action_reload(self) -> None:
        self._again.set()

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        match event.key:
            case (str() as cluster, KubernetesId() as id_):
                self.app.push_screen(LiveObjectScreen(cluster, id_, self.state))

    def action_describe(self) -> None:
        match self.query_one("#objects", ResourceTable).current:
            case (str() as cluster, KubernetesId() as id_):
                self.app.push_screen(LiveObjectScreen(cluster, id_, self.state, is_described=True))

    def pod_at_hand(self) -> PodAtHand | None:
        """The pod under the cursor."""
        row = self._row_at_cursor()
        if row is None or row[1].id.kind != "Pod" or row[1].id.group:
            return None
        cluster, found = row
        return PodAtHand(cluster, PodTarget(found.id.namespace, found.id.name, found.uid))

    def _row_at_cursor(self) -> tuple[str, LiveRow] | None:
        key = self.query_one("#objects", ResourceTable).current
        every = ((each.cluster, row) for each in self._listings if each.table is not None for row in each.table.rows)
        return next((each for each in every if key == (each[0], each[1].id)), None)

    def _marked(self) -> list[tuple[str, LiveRow]]:
        """The objects that are marked, in the order they are listed."""
        marks = self.query_one("#objects", ResourceTable).marks
        every = ((each.cluster, row) for each in self._listings if each.table is not None for row in each.table.rows)
        return [each for each in every if (each[0], each[1].id) in marks] if marks else []

    def ask_to(self, act: LiveAct, rest: str) -> None:
        """Asks for the phrase of an act on all that are marked; `rest` is how many replicas there are to be."""
        marked = self._marked()
        if not marked:
            keys = self.workbench.key("live.mark"), self.workbench.key("tables.open")
            said = f"mark what to {act.value} with {keys[0]}, or open the one with {keys[1]}"
            self.notify(f"{said}: what is acted on has to be seen", severity="warning")
            return
        if (problem := replicas_problem(act, rest)) is not None:
            self.notify(problem, severity="warning")
            return
        try:
            requests = [LiveRequest(act, cluster, row.id, row.uid, int(rest or 0)) for cluster, row in marked]
        except BadAct as error:
            self.notify(f"{error}. {error.hint}", severity="warning")
            return
        self.app.push_screen(LiveActsScreen(requests, self.state, self._unmark))

    def why_not_typed(self, word: str) -> str:
        if word not in tuple(LiveAct):
            return super().why_not_typed(word)
        marked = self._marked()
        if not marked:
            return f"mark with {self.workbench.key('live.mark')} what to {word}"
        id_ = marked[0][1].id
        return "" if LiveAct(word) in acts_of(id_) else f"a {id_.kind} has nothing to {word}"

    def _unmark(self) -> None:
        table = self.query_one("#objects", ResourceTable)
        for key in list(table.marks):
            table.toggle_mark(key)

    def action_mark(self) -> None:
        table = self.query_one("#objects", ResourceTable)
        if table.current is not None:
            table.toggle_mark(table.current)
            table.action_cursor(1)
        self._show_marked()

    def action_mark_to(self) -> None:
        """Marks all that are shown from the last one that was marked up to the cursor."""
        if not self.query_one("#objects", ResourceTable).mark_to_cursor(lambda _: True):
            key = self.workbench.key("live.mark")
            self.notify(f"mark where the range begins with {key} first", severity="warning")
        self._show_marked()

    def action_mark_all(self) -> None:
        """Marks all that are shown, or takes the marks away."""
        table = self.query_one("#objects", ResourceTable)
        shown = {row.key for row in table.shown}
        for key in shown - table.marks or shown:
            table.toggle_mark(key)
        self._show_marked()

    def _show_marked(self) -> None:
        self.query_one("#status", ToneText).show(self.status())

    def action_relations(self) -> None:
        match self.query_one("#objects", ResourceTable).current:
            case (str() as cluster, KubernetesId() as id_):
                self.app.push_screen(RelationsScreen(cluster, id_, self.state))

    def action_logs(self) -> None:
        """Of those that are marked together, else of the one under the cursor."""
        marked = [(cluster, row.id) for cluster, row in self._marked()]
        if len(marked) > MOST_LOGS:
            self.notify(f"logs of {MOST_LOGS} at the most are read together: mark fewer", severity="warning")
            return
        if len(marked) > 1:
            (cluster, id_), *others = marked
            self.app.push_screen(LogsScreen(cluster, id_, self.state, others))
            return
        match self.query_one("#objects", ResourceTable).current:
            case (str() as cluster, KubernetesId() as id_):
                self.app.push_screen(LogsScreen(cluster, id_, self.state))

    def action_source(self) -> None:
        """Opens the editor at the KCL line of the object under the cursor, where a stack has it."""
        at_cursor = self._row_at_cursor()
        if at_cursor is not None:
            row = at_cursor[1]
            open_line(self, row.labels, row.id, (), lambda _, file, line: self.workbench.edit(file, line))


@dataclass(frozen=True, slots=True)
class _Built:
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def _after(new: Listing, before: Listing | None) -> Listing:
    """Returns it with what was known before, while or because it is not answered."""
    is_new = new.table is not None and not new.is_listing
    if is_new or before is None or before.table is None or before.is_listing:
        return new
    return replace(before, is_watched=False, failure=new.failure)
