"""Live objects of any kind, as the servers themselves list them. Nothing can be changed here."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

import anyio.to_thread
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from runtimes.base import KubernetesId, RuntimeFailure
from runtimes.base.tables import LiveKind
from workbench.engine.live import Listing, UnknownKind, owner_of
from workbench.present import errors, live
from workbench.present.text import Line, Span, Tone, line
from workbench.project import StackPath, WorkbenchError
from workbench.tui.frame import Frame
from workbench.tui.screens.live_object import LiveObjectScreen
from workbench.tui.state import StackState
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText

LIST_AGAIN_SECONDS = 5.0


class LiveScreen(Frame):
    """`word` is what was typed for the kind; `namespaces` are those to look into, none for all."""

    DEFAULT_CSS = "LiveScreen #clusters { padding: 0 1; max-height: 5; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "order", "Order by"),
        Binding("O", "reverse", "Reverse", show=False),
        Binding("a", "everywhere", "Everywhere"),
        Binding("n", "wide", "Columns"),
        Binding("s", "source", "Source"),
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
        self._soon = asyncio.Event()

    def body(self) -> ComposeResult:
        yield ToneText(id="clusters", wrap=True)
        yield ResourceTable(live.columns(()), id="objects", empty=f"asking {', '.join(self._clusters)} ...")

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._keep_listing(), group="live", exclusive=True)

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._soon.set()

    async def _keep_listing(self) -> None:
        """Lists again and again while the screen is in front; what was there stays when a cluster falls silent."""
        while True:
            try:
                await self._list()
                self._trouble = None
            except (WorkbenchError, RuntimeFailure) as error:
                self._trouble = error
            except Exception as error:
                # the boundary of a task: it is said, and tried again
                self._trouble = errors.Bug(error)
            self.redraw_soon()
            while True:
                self._soon.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._soon.wait(), LIST_AGAIN_SECONDS)
                if self.is_current:
                    break

    async def _list(self) -> None:
        session = self.workbench.session
        if self._kind is None:
            self._kind = await session.find_kind(self._word, self._clusters)
        before = {each.cluster: each for each in self._listings}
        namespaces = () if self._is_everywhere else self._namespaces
        found = await session.list_live(self._kind, self._clusters, namespaces)
        if namespaces == (() if self._is_everywhere else self._namespaces):  # nobody asked for others meanwhile
            self._listings = tuple(each.after(before.get(each.cluster)) for each in found)

    def show_state(self) -> None:
        now, glyphs = self.workbench.now(), self.workbench.glyphs
        above = list(live.cluster_lines(self._listings, glyphs, now))
        if self._trouble is not None:
            above += errors.lines(self._trouble, glyphs)
            if isinstance(self._trouble, UnknownKind):
                above.append(line(Span("there is no command of this name either: tab completes them", Tone.MUTED)))
        self.query_one("#clusters", ToneText).show_all(above)
        table = self.query_one("#objects", ResourceTable)
        self._show_columns(table)
        if self._trouble is not None:
            table.empty = "nothing can be listed"
        elif self._listings:
            silent = all(each.table is None for each in self._listings)
            table.empty = "no cluster says what there is" if silent else f"there are none {self._where()}"
        table.set_rows(
            live.rows(
                self._listings,
                self._owner,
                now,
                order=self._order,
                is_reversed=self._is_reversed,
                is_wide=self._is_wide,
            )
        )

    def _show_columns(self, table: ResourceTable) -> None:
        up, down = ("^", "v") if self.workbench.is_ascii else ("↑", "↓")
        sign = up if self._is_reversed else down
        columns = tuple(
            replace(each, title=f"{each.title}{sign}") if each.title == self._order else each
            for each in live.columns(self._listings, is_wide=self._is_wide)
        )
        if columns != table.columns:
            table.columns = columns
            table.set_rows(())
            table.refresh()

    def _owner(self, labels: Mapping[str, str]) -> StackPath | None:
        return owner_of(labels, self.workbench.states)

    def _where(self) -> str:
        return "in any namespace" if self._is_everywhere else f"in {', '.join(self._namespaces)}"

    def status(self) -> Line:
        kind = self._kind
        what = (
            f"{kind.plural} ({kind.api_version})  {self._where() if kind.is_namespaced else ''}" if kind else self._word
        )
        return line(Span(f"{what}  ", Tone.MUTED), Span("looking only", Tone.MUTED))

    def action_order(self) -> None:
        titles = ("", *(each.title for each in live.columns(self._listings, is_wide=self._is_wide)))
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
        self._soon.set()

    def action_reload(self) -> None:
        self._soon.set()

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        match event.key:
            case (str() as cluster, KubernetesId() as id_):
                self.app.push_screen(LiveObjectScreen(cluster, id_, self.state))

    def action_source(self) -> None:
        """Opens the editor at the KCL line of the object under the cursor, where a stack has it."""
        key = self.query_one("#objects", ResourceTable).current
        row = next(
            (
                each
                for listing in self._listings
                for each in (listing.table.rows if listing.table is not None else ())
                if key == (listing.cluster, each.id)
            ),
            None,
        )
        path = self._owner(row.labels) if row is not None else None
        if row is None or path is None:
            self.notify("it carries the labels of no stack here: no KCL line is known for it", severity="warning")
            return
        self.run_worker(self._open_source(self.workbench.states[path], row.id), group="source", exclusive=True)

    async def _open_source(self, state: StackState, id_: KubernetesId) -> None:
        try:
            compiled = state.compiled or await self.workbench.session.compile(state.stack, state.inputs)
        except (WorkbenchError, RuntimeFailure) as error:
            self.notify(str(error), severity="warning")
            return
        await anyio.to_thread.run_sync(compiled.spec.await_provenance)
        for each in compiled.spec:
            found = each.id
            if isinstance(found, KubernetesId) and (found.group, found.kind, found.name) == (
                id_.group,
                id_.kind,
                id_.name,
            ):
                if found.namespace in ("", id_.namespace) and (chain := compiled.spec.chain(found, ())):
                    self.workbench.edit(chain[0].file, chain[0].line)
                    return
        self.notify(f"the configuration of {state.stack.name} does not name it any more", severity="warning")
