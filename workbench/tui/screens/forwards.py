"""The ports of pods that this program forwards to this machine, until it ends."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from workbench.present import durations
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.session.attaching import LOOPBACK, Forward
from workbench.tui.frame import Frame
from workbench.tui.widgets.resource_table import ResourceTable

COLUMNS = (
    Column("On this machine", width=15),
    Column("Pod", grow=True, has_tail=True),
    Column("Port", right=True),
    Column("Cluster", most=14, rank=2),
    Column("Since", right=True, rank=1),
    Column("Calls", right=True),
    Column("", most=60, rank=3),
)
LOOK_SECONDS = 1.0


class ForwardsScreen(Frame):
    name_in_trail = "Forwarded ports"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("K", "stop", "Stop it")]

    def body(self) -> ComposeResult:
        yield ResourceTable(COLUMNS, id="forwards", empty="no port is forwarded: :forward 8080 on a pod does that")

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        if self.is_current:
            self.show_state()

    def show_state(self) -> None:
        table = self.query_one("#forwards", ResourceTable)
        table.set_rows([self._row(each) for each in self.workbench.forwards.open])

    def _row(self, each: Forward) -> Row:
        age = durations.coarse((self.workbench.now() - each.since).total_seconds())
        state = Span(each.failure, Tone.BAD) if each.failure else Span(f"{each.connections} open", Tone.MUTED)
        cells = (
            line(f"{LOOPBACK}:{each.local}"),
            line(f"{each.pod.namespace}/{each.pod.name}"),
            line(str(each.port)),
            line(each.cluster),
            line(age),
            line(str(each.opened)),
            line(state),
        )
        return Row(each.local, cells)

    def action_stop(self) -> None:
        current = self.query_one("#forwards", ResourceTable).current
        for each in self.workbench.forwards.open:
            if each.local == current:
                self.workbench.forwards.stop(each)
                self.set_timer(0.1, self.show_state)

    def status(self) -> Line:
        return line(Span("on loopback alone; they end with this program", Tone.MUTED))
