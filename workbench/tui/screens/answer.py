"""What was asked of one object or field: who set it, which lines say it, what names it. Each row may lead to a line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kcl.records import dataclass, field
from workbench.present import errors
from workbench.present.rows import Column, Key, Row
from workbench.present.text import Line, line
from workbench.tui.frame import MATCH_KEYS, Frame
from workbench.tui.later import later
from workbench.tui.state import StackState, Trouble
from workbench.tui.trying import tried
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText


@dataclass(frozen=True, slots=True)
class Answer:
    """`title` stands above the rows; `sources` are the lines that rows lead to, by their keys."""

    title: tuple[Line, ...]
    rows: tuple[Row, ...]
    sources: Mapping[Key, tuple[Path, int]] = field(default_factory=dict)
    empty: str = "nothing"


class AnswerScreen(Frame):
    """Asked once, and again with `r`. `asks` gives more and more of the answer; a `WorkbenchError` or `RuntimeFailure`
    of it is shown."""

    DEFAULT_CSS = "AnswerScreen #title { padding: 0 1; max-height: 6; }"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("s", "source", "Go to source"), *MATCH_KEYS]

    def __init__(
        self,
        name: str,
        columns: Sequence[Column],
        asks: Callable[[], AsyncIterator[Answer]],
        state: StackState | None = None,
    ) -> None:
        super().__init__(state)
        self.name_in_trail = name
        self._columns, self._asks = tuple(columns), asks
        self._answer: Answer | None = None
        self._trouble: Trouble | None = None

    def body(self) -> ComposeResult:
        yield ToneText(id="title", wrap=True)
        yield ResourceTable(self._columns, id="answer", empty="asking ...")

    def on_mount(self) -> None:
        super().on_mount()
        self.action_reload()

    def action_reload(self) -> None:
        self.run_worker(later(self._ask), group="answer", exclusive=True)

    async def _ask(self) -> None:
        self._trouble = None
        self._trouble = await tried(self._take_answers)
        self.redraw_soon()

    async def _take_answers(self) -> None:
        async for answer in self._asks():
            self._answer = answer
            self.redraw_soon()

    def show_state(self) -> None:
        answer, table = self._answer, self.query_one("#answer", ResourceTable)
        title = [*(answer.title if answer is not None else ())]
        if self._trouble is not None:
            title += errors.lines(self._trouble, self.workbench.glyphs)
        self.query_one("#title", ToneText).show_all(title or [line("")])
        if answer is not None:
            table.empty = answer.empty
            table.set_rows(answer.rows)
        elif self._trouble is not None:
            table.empty = "nothing is known of it"
            table.refresh()

    def on_resource_table_chosen(self) -> None:
        self.action_source()

    def action_source(self) -> None:
        """Opens the editor at the line that the row under the cursor names."""
        key = self.query_one("#answer", ResourceTable).current
        found = self._answer.sources.get(key) if self._answer is not None and key is not None else None
        if found is None:
            self.notify("no source line is known for this", severity="warning")
        else:
            self.workbench.edit(*found)
