"""Bookmarks: places of this repository that have a name."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.tui import places
from workbench.tui.frame import Frame
from workbench.tui.widgets.resource_table import ResourceTable

_COLUMNS = (Column("Name"), Column("Opens", grow=True), Column("Filter", most=30), Column("Order", most=20))


class BookmarksScreen(Frame):
    name_in_trail = "Bookmarks"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("X", "drop", "Take away ...")]

    def body(self) -> ComposeResult:
        key = self.workbench.key("everywhere.bookmark")
        yield ResourceTable(_COLUMNS, id="bookmarks", empty=f"no bookmarks: {key} sets one where you are")

    def show_state(self) -> None:
        self._found, self._problem = self.workbench.memory.remembered()
        self.query_one("#bookmarks", ResourceTable).set_rows(
            Row(name, tuple(line(each) for each in (Span(name, Tone.STRONG), place.command, place.filter, place.order)))
            for name, place in sorted(self._found.bookmarks.items())
        )

    def status(self) -> Line:
        _, problem = self.workbench.memory.remembered()
        going = f"{self.workbench.key('tables.open')} goes there"
        return line(Span(problem, Tone.WARN) if problem else Span(going, Tone.MUTED))

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        places.go(self.workbench, str(event.key), self)

    def action_drop(self) -> None:
        name = self.query_one("#bookmarks", ResourceTable).current
        if name is not None:
            self.open_command(f"unbookmark {name}")
