"""What was done on the screens so far, each with the line that does the same in a shell."""

from __future__ import annotations

from datetime import UTC

from textual.app import ComposeResult

from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.tui.frame import Frame
from workbench.tui.widgets.resource_table import ResourceTable

_COLUMNS = (Column("UTC", width=8), Column("Did", most=40), Column("In a shell", grow=True))


class CommandLogScreen(Frame):
    """`y` copies the lines that the filter leaves."""

    name_in_trail = "Command log"

    def body(self) -> ComposeResult:
        yield ResourceTable(_COLUMNS, id="acts", empty="nothing was done yet")

    def show_state(self) -> None:
        acts = self.workbench.command_log.acts
        rows = (
            Row(
                (number, each.at),
                (
                    line(Span(f"{each.at.astimezone(UTC):%H:%M:%S}", Tone.MUTED)),
                    line(each.what),
                    line(Span(each.line or "no one line does this", Tone.SOURCE if each.line else Tone.MUTED)),
                ),
            )
            for number, each in enumerate(acts)
        )
        table = self.query_one("#acts", ResourceTable)
        table.set_rows(rows)
        if not self._was_shown:
            self._was_shown = True
            table.action_edge(1)

    _was_shown = False

    def copied(self) -> str:
        table = self.query_one("#acts", ResourceTable)
        shown = {row.key for row in table.shown}
        acts = enumerate(self.workbench.command_log.acts)
        return "\n".join(each.line for number, each in acts if each.line and (number, each.at) in shown)

    def status(self) -> Line:
        count, key = len(self.workbench.command_log.acts), self.workbench.key("everywhere.copy")
        return line(Span(f"{count} acts of this session, kept in memory alone: {key} copies the lines", Tone.MUTED))
