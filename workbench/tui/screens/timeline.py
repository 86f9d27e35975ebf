"""Timeline: what every object of a stack was while it was watched, on one axis of time; below, one of them."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from workbench.engine.timeline import Track
from workbench.present import timeline
from workbench.present.rows import Column
from workbench.present.text import Line, Span, Tone, line
from workbench.tui.frame import MATCH_KEYS, Frame
from workbench.tui.screens.details import ObjectScreen
from workbench.tui.state import StackState, not_watched
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText

TICK_SECONDS = 1.0
"""How often the strips are drawn on while time alone goes by: of most nothing differs until a cell is full."""
_SCROLLBAR = 2


class TimelineScreen(Frame):
    name_in_trail = "Reconcile › Timeline"

    DEFAULT_CSS = """
    TimelineScreen #legend { padding: 0 1; height: 1; }
    TimelineScreen #tracks { height: 2fr; }
    TimelineScreen #changes { height: 1fr; border-top: solid $panel; }
    App.-ascii TimelineScreen #changes { border-top: ascii $panel; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("f", "faults", "Faults only"), *MATCH_KEYS]

    faults_only = False

    def __init__(self, state: StackState) -> None:
        super().__init__(state)
        self._found = state.timeline

    def body(self) -> ComposeResult:
        yield ToneText(id="legend")
        with Container(id="panes"):
            yield ResourceTable((Column("Object", grow=True),), id="tracks", empty="nothing was heard of it yet")
            yield ResourceTable(timeline.CHANGE_COLUMNS, id="changes", empty="")

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        if self.is_current:
            self.show_state()

    def show_state(self) -> None:
        glyphs, now = self.workbench.glyphs, self.workbench.now()
        self.query_one("#legend", ToneText).show(timeline.legend(glyphs))
        table = self.query_one("#tracks", ResourceTable)
        over = timeline.axis(self._found, now, timeline.strip_width(table.room - _SCROLLBAR))
        columns = timeline.columns(over, table.room - _SCROLLBAR)
        are_others, table.columns = columns != table.columns, columns
        table.empty = "nothing was anything but ready" if self.faults_only else "nothing was heard of it yet"
        table.set_rows(timeline.rows(self._found, over, now, glyphs, faults_only=self.faults_only))
        if are_others:
            table.on_resize()
        self._show_changes(now)

    def _show_changes(self, now: datetime) -> None:
        track = self._track()
        changes = self.query_one("#changes", ResourceTable)
        changes.set_rows(timeline.change_rows(track, now, self.workbench.glyphs) if track is not None else ())

    def _track(self) -> Track | None:
        key = self.query_one("#tracks", ResourceTable).current
        return next((each for each in self._found.tracks() if each.key == key), None)

    def on_resize(self) -> None:
        super().on_resize()
        self.redraw_soon()

    def on_resource_table_highlighted(self, event: ResourceTable.Highlighted) -> None:
        if event.table.id == "tracks":
            self._show_changes(self.workbench.now())

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        """Opens the object under the cursor."""
        if self.state is not None and event.table.id == "tracks":
            self.app.push_screen(ObjectScreen(self.state, event.key))

    def action_faults(self) -> None:
        self.faults_only = not self.faults_only
        self.redraw()

    def action_reload(self) -> None:
        """Watches again, where nobody does."""
        if self.state is not None:
            self.workbench.follow_stack(self.state)

    def status(self) -> Line:
        found, state = self._found, self.state
        held = f"  {found.left_out} objects more came and are not held" if found.left_out else ""
        said = not_watched(state, self.workbench.key("everywhere.reload")) if state is not None else ""
        return line(super().status(), Span(f"{said}{held}", Tone.WARN))
