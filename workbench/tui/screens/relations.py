"""What a live object has to do with others: owners, owned, referred to, used by. Each leads on."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from runtimes.base import KubernetesId, RuntimeFailure
from runtimes.base.relations import Relations
from workbench.present import errors, relations
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.tui.frame import MATCH_KEYS, Frame
from workbench.tui.later import later
from workbench.tui.state import StackState
from workbench.tui.trying import tried
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText


class RelationsScreen(Frame):
    """Read once, and again with `r`: everything in the namespace that could name the object is listed for it."""

    name_in_trail = "Related"

    DEFAULT_CSS = "RelationsScreen #title { padding: 0 1; max-height: 5; }"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("d", "describe", "Describe"), *MATCH_KEYS]

    def __init__(self, cluster: str, id_: KubernetesId, state: StackState | None = None) -> None:
        super().__init__(state)
        self._cluster, self._object = cluster, id_
        self._found: Relations | None = None
        self._trouble: WorkbenchError | RuntimeFailure | None = None
        self._is_gone = False

    def body(self) -> ComposeResult:
        yield ToneText(id="title", wrap=True)
        yield ResourceTable(relations.COLUMNS, id="related", empty=f"asking {self._cluster} ...")

    def on_mount(self) -> None:
        super().on_mount()
        self.action_reload()

    def action_reload(self) -> None:
        self.run_worker(later(self._look), group="related", exclusive=True)

    async def _look(self) -> None:
        self._trouble = None
        self._trouble = await tried(self._read)
        self.redraw_soon()

    async def _read(self) -> None:
        found = await self.workbench.session.relations(self._cluster, self._object)
        self._is_gone, self._found = found is None, found or self._found

    def show_state(self) -> None:
        where = f"{self._object.namespace}/" if self._object.namespace else ""
        name = line(
            Span(f"{self._object.kind} ", Tone.MUTED),
            f"{where}{self._object.name}",
            Span(f" @{self._cluster}", Tone.MUTED),
            Span("  it is not there any more" if self._is_gone else "", Tone.WARN),
        )
        title, glyphs = [name], self.workbench.glyphs
        if self._trouble is not None:
            title += errors.lines(self._trouble, glyphs)
        if self._found is not None:
            title += relations.not_known(self._found, glyphs)
        self.query_one("#title", ToneText).show_all(title)
        table = self.query_one("#related", ResourceTable)
        if self._found is not None:
            table.set_rows(relations.rows(self._found, self._object))
        elif self._trouble is not None or self._is_gone:
            table.empty = "nothing is known of it"
            table.refresh()

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        self._open(event.key, is_described=False)

    def action_describe(self) -> None:
        self._open(self.query_one("#related", ResourceTable).current, is_described=True)

    def _open(self, key: object, *, is_described: bool) -> None:
        from workbench.tui.screens.live_object import LiveObjectScreen

        match key:
            case (str(), KubernetesId() as id_):
                self.app.push_screen(LiveObjectScreen(self._cluster, id_, self.state, is_described=is_described))

    def status(self) -> Line:
        said = "what custom resources name in fields of their own is not known"
        return line(Span(said, Tone.MUTED))
