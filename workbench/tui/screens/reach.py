"""Blast radius: every stack, resource and field that the edits at hand change, and what that is live."""

from __future__ import annotations

from collections.abc import Iterator

from textual.app import ComposeResult

from workbench.present import errors, impact
from workbench.present.reach import reach_line
from workbench.present.rows import Column, Row
from workbench.present.text import Line, line
from workbench.tui.frame import Frame
from workbench.tui.state import StackState
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText

_COLUMNS = (Column("Change", grow=True),)


class ReachScreen(Frame):
    name_in_trail = "Blast radius"

    DEFAULT_CSS = "ReachScreen #sum { padding: 0 1; }"

    def __init__(self, state: StackState) -> None:
        super().__init__(state)
        self._stack_state = state

    def body(self) -> ComposeResult:
        yield ToneText(id="sum", wrap=True)
        yield ResourceTable(_COLUMNS, id="changes", header=False, empty="working it out ...")

    def show_state(self) -> None:
        self.query_one("#sum", ToneText).show(shown_reach(self, self._stack_state))
        reach = self._stack_state.reach
        table = self.query_one("#changes", ResourceTable)
        table.empty = "not known" if reach is not None and reach.error is not None else "working it out ..."
        table.set_rows(Row(number, (each,)) for number, each in enumerate(self._lines()))

    def _lines(self) -> Iterator[Line]:
        reach, glyphs = self._stack_state.reach, self.workbench.glyphs
        if reach is None:
            return
        if reach.error is not None:
            yield from errors.lines(reach.error, glyphs)
        if reach.report is not None:
            yield from impact.lines(reach.report, glyphs, self.workbench.now(), live_hint=False)

    def action_reload(self) -> None:
        self.workbench.measure_reach(self._stack_state)


def shown_reach(screen: Frame, state: StackState) -> Line:
    """Returns the line about the reach of the edits of a stack; an empty one where nobody asked for it."""
    reach = state.reach
    if reach is None:
        return line("")
    failure = reach.error.message if reach.error is not None else ""
    glyphs = screen.workbench.glyphs
    return reach_line(reach.what, reach.report, glyphs, is_asking=reach.is_asking, failure=failure)
