"""What `enter` opens on a row: the fields a step of a plan changes, or an object of the stack in full."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from runtimes.base import Address
from workbench.present import diff, objects, reconcile
from workbench.present.rows import Key
from workbench.present.text import Line, line
from workbench.tui.frame import Frame
from workbench.tui.state import StackState
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText


class StepScreen(Frame):
    """The fields of one step of the plan, each with the line that set it."""

    name_in_trail = "Plan › Step"

    DEFAULT_CSS = "StepScreen #title { padding: 0 1; }"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("s", "source", "Go to source")]

    def __init__(self, state: StackState, address: Address) -> None:
        super().__init__(state)
        self._address = address

    def body(self) -> ComposeResult:
        yield ToneText(id="title", wrap=True)
        yield ResourceTable(diff.FIELD_COLUMNS, id="fields", header=False, empty="no fields")

    def show_state(self) -> None:
        made = self.state.plan if self.state else None
        change = made.by_address().get(self._address) if made else None
        title, fields = self.query_one("#title", ToneText), self.query_one("#fields", ResourceTable)
        title.show(reconcile.short_id(self._address))
        if made is None or change is None:
            fields.empty = "the plan is made again" if made is None else "the plan has no such step any more"
            fields.set_rows(())
            return
        now, glyphs = self.workbench.now(), self.workbench.glyphs
        fields.set_rows(diff.detail_rows(change, made.spec, self.roots, glyphs, now, width=max(40, fields.room)))

    def on_resize(self) -> None:
        self.redraw_soon()

    def action_source(self) -> None:
        """Opens the editor at the line that set the field under the cursor."""
        made = self.state.plan if self.state else None
        change = made.by_address().get(self._address) if made else None
        if made is None or change is None:
            return
        self.edit_field(made.spec, change, self.query_one("#fields", ResourceTable).current)

    def on_resource_table_chosen(self) -> None:
        self.action_source()


class ObjectScreen(Frame):
    """One object of the stack: its state and why, what it owns, its events, as of now."""

    name_in_trail = "Reconcile › Object"

    DEFAULT_CSS = "ObjectScreen #about { padding: 0 1; }"

    def __init__(self, state: StackState, key: Key) -> None:
        super().__init__(state)
        self._key = key

    def body(self) -> ComposeResult:
        with VerticalScroll(id="scroll"):
            yield ToneText(id="about", wrap=True)

    def focus_main(self) -> None:
        self.query_one("#scroll").focus()

    def show_state(self) -> None:
        self.query_one("#about", ToneText).show_all(self._lines())

    def _lines(self) -> tuple[Line, ...]:
        tree = self.state.tree if self.state else None
        if tree is None:
            return (line("nothing was heard of it yet"),)
        return objects.lines(tree, self._key, self.workbench.glyphs, self.workbench.now())

    def copied(self) -> str:
        return "\n".join(map(str, self._lines()))
