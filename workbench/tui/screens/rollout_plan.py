"""A rollout before it begins: what goes out in which stage and batch, what speaks against it, its phrase."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from workbench.engine.rollout.planned import PlannedRollout
from workbench.present import errors, rollout
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.tui.frame import MATCH_KEYS, Frame, is_protected
from workbench.tui.later import later
from workbench.tui.rolling_out import AskedRollout
from workbench.tui.screens.rollouts import RolloutsScreen
from workbench.tui.state import Trouble
from workbench.tui.trying import tried
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

_COLUMNS = (Column("Rollout", grow=True),)
_GROUP = "plan rollout"


class RolloutPlanScreen(Frame):
    """The globs of what was asked for choose among the stacks of the stages; none of them means all."""

    writes = True
    name_in_trail = "Rollouts › New"

    DEFAULT_CSS = """
    RolloutPlanScreen #head { padding: 0 1; max-height: 8; }
    RolloutPlanScreen #row { padding: 0 1; max-height: 6; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "ask", "Roll out ..."),
        Binding("K", "call_off", "Stop planning", show=False),
        *MATCH_KEYS,
    ]

    def __init__(self, asked: AskedRollout) -> None:
        super().__init__()
        self._asked = asked
        self._planned: PlannedRollout | None = None
        self._trouble: Trouble | None = None
        self._since: float | None = None

    def body(self) -> ComposeResult:
        yield ToneText(id="head", wrap=True)
        yield ResourceTable(_COLUMNS, id="schedule", header=False, empty="")
        yield ToneText(id="row", wrap=True)
        yield TypedConfirmation("Roll out", "that is not the phrase: nothing was begun")

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(1.0, self._show_waiting)
        self.action_reload()

    def _show_waiting(self) -> None:
        if self._since is not None:
            self.query_one("#status", ToneText).show(self.status())

    def action_reload(self) -> None:
        """Plans all stacks of the stages again."""
        self.query_one(TypedConfirmation).close()
        self._planned, self._trouble, self._since = None, None, time.monotonic()
        self.workbench.command_log.add(self.workbench.now(), "planned a rollout", f"{self._asked.line} --dry-run")
        self.run_worker(later(self._plan), group=_GROUP, exclusive=True)
        self.redraw()

    async def _plan(self) -> None:
        async def plan() -> None:
            self._planned = await self.workbench.session.plan_rollout(*self._asked.globs, inputs=self._asked.inputs)

        self._trouble = await tried(plan)
        self._since = None
        self.redraw()

    def action_call_off(self) -> None:
        if self._since is None:
            self.notify("nothing is planned now", severity="warning")
            return
        self.workers.cancel_group(self, _GROUP)
        self._since = None
        hint = f"{self.workbench.key('everywhere.reload')} plans it again"
        self._trouble = WorkbenchError("stopped while planning: nothing was begun", hint=hint)
        self.redraw()

    def show_state(self) -> None:
        planned, glyphs = self._planned, self.workbench.glyphs
        table = self.query_one("#schedule", ResourceTable)
        table.empty = "planning every stack of the stages ..." if self._since is not None else "nothing is planned"
        self.query_one("#head", ToneText).show_all(self._above())
        found = rollout.planned_lines(planned, glyphs) if planned is not None else ()
        table.set_rows(Row(number, (each,)) for number, each in enumerate(found))
        self._show_row()

    def on_resource_table_highlighted(self) -> None:
        self._show_row()

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._show_row)

    def _show_row(self) -> None:
        """Says the row under the cursor whole, where it has no room: what goes out has to be seen."""
        table = self.query_one("#schedule", ResourceTable)
        said = table.current_row.cells[0] if table.current_row is not None else line()
        self.query_one("#row", ToneText).show(*([said] if len(said) > table.room else []))

    def _above(self) -> Iterator[Line]:
        planned = self._planned
        if self._trouble is not None:
            yield from errors.lines(self._trouble, self.workbench.glyphs)
        if planned is None:
            return
        why_not = self._why_not(planned)
        asks = f"{self.workbench.key('rollout-plan.roll-out')} asks for the phrase, and begins it here"
        yield line(Span(why_not, Tone.WARN) if why_not else Span(asks, Tone.MUTED))
        edited = [each.stack.name for each in self.workbench.states.values() if each.edits]
        if edited:
            said = f"what is edited in a What-if is not in it: {', '.join(edited)}"
            yield line(Span(f"{self.workbench.glyphs.finding} {said}", Tone.WARN))

    def why_not(self, action: str) -> str:
        match action:
            case "ask":
                return self._why_not(self._planned) if self._planned is not None else "it is not planned"
            case "call_off":
                return "" if self._since is not None else "nothing is planned now"
        return super().why_not(action)

    def _why_not(self, planned: PlannedRollout) -> str:
        if self.workbench.rolling_out.is_running:
            return f"{self.workbench.rolling_out.id or 'another'} is carried out here: one at a time"
        if planned.refused:
            return f"refused: the guards of {', '.join(str(each.stack) for each in planned.refused)} say why"
        if planned.overtaken:
            return "refused: it changes itself what its stacks read of each other"
        if planned.is_empty:
            return "nothing changes in any stage" if planned.is_certain else "it is not known what changes"
        return ""

    def action_ask(self) -> None:
        planned = self._planned
        why_not = self._why_not(planned) if planned is not None else "nothing is planned"
        if planned is None or why_not:
            self.notify(why_not, severity="warning")
            return
        phrase = planned.confirmation.phrase
        count = f"{len(planned.schedule.targets)} targets, stage by stage, from this program"
        question = line("type ", Span(phrase, Tone.STRONG), Span(f" ({count})", Tone.WARN))
        self.query_one(TypedConfirmation).ask(question, phrase)

    def on_typed_confirmation_confirmed(self, event: TypedConfirmation.Confirmed) -> None:
        if self._planned is None or self._why_not(self._planned):
            return
        self.workbench.command_log.add(self.workbench.now(), "began a rollout", self._asked.line)
        self.workbench.rolling_out.begin(self._planned, event.phrase, self._asked)
        board = RolloutsScreen()
        board.command = "rollouts"
        self.app.switch_screen(board)

    def on_typed_confirmation_closed(self) -> None:
        self.query_one("#schedule").focus()

    def action_back(self) -> None:
        question = self.query_one(TypedConfirmation)
        if question.is_asked:
            question.close()
        else:
            super().action_back()

    def status(self) -> Line:
        if self._since is not None:
            key = self.workbench.key("rollout-plan.stop-planning")
            return line(Span(f"planning ... {time.monotonic() - self._since:.0f}s, {key} stops it", Tone.BUSY))
        what = ", ".join(self._asked.globs) or "all stages"
        given = "".join(f"  -D {name}=..." for name in self._asked.options)
        return line(Span(f"{what}{given}  ", Tone.MUTED), super().status())

    @property
    def is_protected(self) -> bool:
        planned = self._planned.plans if self._planned is not None else ()
        every = self.workbench.states.values()
        return any(is_protected(each) for each in every if each.stack.name in planned)
