"""Drift of all stacks: what others changed live, who and when, and the two answers to it, each confirmed elsewhere."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from workbench.engine.drift import StackDrift
from workbench.engine.fleet import TakenOut
from workbench.present import drift_board, fleet
from workbench.present.drift_board import Entry
from workbench.present.errors import Bug
from workbench.present.text import Line, Span, Tone, line
from workbench.tui.frame import MATCH_KEYS, Frame, StateChanged
from workbench.tui.later import later
from workbench.tui.screens.adopt import AdoptScreen
from workbench.tui.screens.reconcile import MOVES
from workbench.tui.state import Goal, StackState, Verb
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText


class DriftScreen(Frame):
    """Every stack is looked at once when the screen opens, and again with `r`: each look asks all of its clusters."""

    name_in_trail = "Drift"

    DEFAULT_CSS = "DriftScreen #counts { padding: 0 1; max-height: 6; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("R", "revert", "Revert ..."),
        Binding("A", "adopt", "Adopt ..."),
        Binding("f", "trouble", "Drift only"),
        Binding("s", "source", "Source"),
        Binding("d", "open('diff')", "Diff"),
        Binding("w", "open('reconcile')", "Watch", show=False),
        *MATCH_KEYS,
    ]

    _stays_on_top = True
    """The cursor stays on the first that drifted while the list fills, until somebody moves it."""

    def __init__(self) -> None:
        super().__init__()
        self._only_trouble = False
        self.is_looking = False
        self._pending: set[object] = set()
        self._taken_out: TakenOut | None = None

    def body(self) -> ComposeResult:
        yield ToneText(id="counts", wrap=True)
        yield ResourceTable(drift_board.COLUMNS, id="stacks", empty="no stacks here")

    def on_key(self, event: events.Key) -> None:
        if event.key in MOVES:
            self._stays_on_top = False

    def on_mount(self) -> None:
        super().on_mount()
        self._look()

    def _look(self) -> None:
        self.run_worker(later(self._look_at_all), group="drift", exclusive=True)

    async def _look_at_all(self) -> None:
        stacks = tuple(self.workbench.konfig.stacks())
        self._pending = {each.path for each in stacks}
        self.is_looking = True
        try:
            await self.workbench.session.drift(stacks, on_found=self._take)
        except Exception as error:
            # the boundary of a task: what was seen stays, with its age, and it is said that nobody looks any more
            self.notify(f"nobody looks at the stacks any more. {Bug(error)}", severity="error", timeout=60)
        finally:
            self.is_looking = False
            self._pending = set()
            self.redraw_soon()
        self._taken_out = await self.workbench.taken_out()
        self.redraw_soon()

    def _take(self, look: StackDrift) -> None:
        self._pending.discard(look.stack)
        self.workbench.take_drift(look)
        self.redraw_soon()

    def on_state_changed(self, event: StateChanged) -> None:
        self.redraw_soon()

    def show_state(self) -> None:
        glyphs, now, states = self.workbench.glyphs, self.workbench.now(), self.workbench.states
        entries = [
            Entry(each, states[each.path].known_drift, each.path in self._pending)
            for each in self.workbench.konfig.stacks()
        ]
        gone = fleet.taken_out_lines(self._taken_out, glyphs, most=2)
        self.query_one("#counts", ToneText).show(drift_board.counts_line(entries, glyphs, now), *gone)
        table = self.query_one("#stacks", ResourceTable)
        rows = drift_board.rows(entries, glyphs, now, only_trouble=self._only_trouble)
        is_left_out = self._only_trouble and bool(entries)
        table.empty = "no drift, and everything could be asked" if is_left_out else "no stacks here"
        table.set_rows(rows)
        if self._stays_on_top:
            table.cursor = 0

    @property
    def shown_state(self) -> StackState | None:
        path = drift_board.stack_of(self.query_one("#stacks", ResourceTable).current)
        return self.workbench.states.get(path) if path is not None else None

    def on_resource_table_highlighted(self) -> None:
        self.redraw()

    def on_resource_table_chosen(self) -> None:
        self.action_open("diff")

    def action_open(self, screen: str) -> None:
        if state := self._chosen():
            self.workbench.open_stack(state, screen)

    def action_revert(self) -> None:
        """Opens the plan that takes the drift of the stack back: it asks there, and refuses to do more than that."""
        if state := self._chosen():
            self.workbench.open_plan(state, Goal(Verb.REVERT))

    def action_adopt(self) -> None:
        """Shows the edits of the source that take over what is live."""
        state = self._chosen()
        if state is None:
            return
        look = state.known_drift
        if state.edits:
            self.notify(f"{state.edits} is edited in a What-if: write or drop that first", severity="warning")
        elif look is None or look.diff is None:
            key = self.workbench.key("everywhere.reload")
            self.notify(f"it was not compared yet, or could not be: {key} looks again", severity="warning")
        elif not look.has_drifted:
            self.notify("nothing to take over: no drift was seen", severity="warning")
        else:
            self.app.push_screen(AdoptScreen(state, look.diff))

    def _chosen(self) -> StackState | None:
        state = self.shown_state
        if state is None:
            self.notify("put the cursor on a stack first", severity="warning")
        return state

    def action_trouble(self) -> None:
        self._only_trouble = not self._only_trouble
        self.redraw()

    def action_source(self) -> None:
        """Opens the editor at the line that says the field, or the resource, under the cursor."""
        state = self.shown_state
        found = drift_board.field_of(self.query_one("#stacks", ResourceTable).current)
        compared = state.known_drift.diff if state is not None and state.known_drift is not None else None
        change = (
            next((each for each in compared.changes if found and each.address == found[0]), None) if compared else None
        )
        if found is None or compared is None or change is None:
            self.notify("put the cursor on a resource or a field first", severity="warning")
        else:
            self.edit_field(compared.spec, change, (found[1], 0) if found[1] else None)

    def action_reload(self) -> None:
        """Reads the repository again and looks at every stack once more; what is known stays until then."""
        self.workbench.read_tree()
        self._look()
        self.redraw()

    def status(self) -> Line:
        said = f"looking: {len(self._pending)} to go  " if self.is_looking else ""
        only = "drift only  " if self._only_trouble else ""
        return line(Span(said, Tone.BUSY), Span(only, Tone.MUTED), super().status())
