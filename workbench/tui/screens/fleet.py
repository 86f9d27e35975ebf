"""Fleet: what is wrong right now, over all stacks. Filled and refreshed in the background while the screen is open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from kcl.records import replace
from workbench.engine.fleet import Drifting, StackLook, Standing, Sync, TakenOut
from workbench.present import fleet
from workbench.present.errors import Bug
from workbench.present.fleet import Entry
from workbench.present.text import Line, Span, Tone, line
from workbench.project.owners import owners
from workbench.session import Watchlist
from workbench.tui.frame import MATCH_KEYS, Frame, StateChanged
from workbench.tui.later import later
from workbench.tui.screens.reconcile import MOVES
from workbench.tui.state import StackState
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText

LOOK_AGAIN = timedelta(seconds=30)
"""A stack is looked at again when its look is so old."""
_ASK_AGAIN_SECONDS = 300.0
"""What stacks left that are gone from the repository changes seldom, and every cluster is asked for it."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class FleetScreen(Frame):
    name_in_trail = "Fleet"

    DEFAULT_CSS = """
    FleetScreen #above { height: auto; max-height: 6; padding: 0 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "order", "Order by"),
        Binding("O", "reverse", "Reverse", show=False),
        Binding("b", "group", "Group by"),
        Binding("f", "trouble", "Trouble"),
        Binding("c", "open('spec')", "Spec", show=False),
        Binding("d", "open('diff')", "Diff"),
        Binding("P", "open('plan')", "Plan", show=False),
        Binding("w", "open('reconcile')", "Watch"),
        *MATCH_KEYS,
    ]

    _stays_on_top = True
    """The cursor stays on the worst while the list fills, until somebody moves it."""

    def __init__(self) -> None:
        super().__init__()
        self._order, self._is_reversed, self._group, self._only_trouble = "health", False, "", False
        self._requested = _LONG_AGO
        self._watchlist = Watchlist((), self._since)
        self._taken_out: TakenOut | None = None

    def body(self) -> ComposeResult:
        with VerticalScroll(id="above", can_focus=False):
            yield ToneText(id="counts", wrap=True)
        yield ResourceTable(fleet.COLUMNS, id="stacks", empty="no stacks here")

    def on_key(self, event: events.Key) -> None:
        if event.key in MOVES:
            self._stays_on_top = False

    def on_mount(self) -> None:
        self._take_stacks()
        super().on_mount()
        self.run_worker(later(self._keep_looking), group="fleet", exclusive=True)
        self._ask_what_was_taken_out()
        self.set_interval(_ASK_AGAIN_SECONDS, self._ask_what_was_taken_out)

    def on_screen_resume(self) -> None:
        self._take_stacks()
        super().on_screen_resume()

    def _take_stacks(self) -> None:
        """Takes the stacks there are now, and the looks at them that still say how things are."""
        states = self.workbench.states
        self._watchlist.stacks = tuple(self.workbench.konfig.stacks())
        self._owners = owners(self.workbench.konfig)
        self._watchlist.looks.clear()
        self._watchlist.looks.update({path: each.look for path, each in states.items() if each.look is not None})

    def _since(self) -> datetime:
        """Looks older than this are out of date; while other screens are in front only what nobody looked at is."""
        if not self.is_current:
            return _LONG_AGO
        return max(self._requested, self.workbench.now() - LOOK_AGAIN)

    async def _keep_looking(self) -> None:
        try:
            await self.workbench.session.look_at(self._watchlist, on_look=self._take, keeps_on=True)
        except Exception as error:
            # the boundary of a task: what was seen stays, with its age, and it is said that nobody looks any more
            self.notify(f"nobody looks at the stacks any more. {Bug(error)}", severity="error", timeout=60)

    def _ask_what_was_taken_out(self) -> None:
        if self.is_current:
            self.run_worker(later(self._look_at_taken_out), group="taken out", exclusive=True)

    async def _look_at_taken_out(self) -> None:
        self._taken_out = await self.workbench.taken_out()
        self.redraw_soon()

    def _take(self, look: StackLook) -> None:
        self.workbench.take_look(look)
        self.redraw_soon()

    def on_state_changed(self, event: StateChanged) -> None:
        self.redraw_soon()

    def _entries(self) -> list[Entry]:
        looks, running = self._watchlist.looks, self._watchlist.running
        return [
            Entry(each, self._owners.get(each.path, ""), looks.get(each.path), each.path in running)
            for each in self._watchlist.stacks
        ]

    def show_state(self) -> None:
        glyphs, now, entries = self.workbench.glyphs, self.workbench.now(), self._entries()
        counts = fleet.counts_line(entries, glyphs, now)
        gone = tuple(fleet.taken_out_lines(self._taken_out, glyphs, most=2))
        silent = tuple(fleet.silence_lines(entries, glyphs, now, most=3))
        # where there is no room for both: of silent clusters the rows tell too, of stacks that are gone none does
        is_left = self._taken_out is not None and bool(self._taken_out.left)
        said = (*gone, *silent) if is_left else (*silent, *gone)
        self.query_one("#counts", ToneText).show(counts, *said)
        table = self.query_one("#stacks", ResourceTable)
        self._show_titles(table)
        rows = fleet.rows(
            entries,
            glyphs,
            now,
            order=self._order,
            is_reversed=self._is_reversed,
            group=self._group,
            only_trouble=self._only_trouble,
        )
        table.empty = "no stack in trouble, as far as was looked" if self._only_trouble else "no stacks here"
        table.set_rows(rows)
        if self._stays_on_top:
            table.cursor = 0

    def _show_titles(self, table: ResourceTable) -> None:
        """Marks the column that the stacks are in the order of."""
        up, down = ("^", "v") if self.workbench.is_ascii else ("↑", "↓")
        sign = up if self._is_reversed else down
        columns = tuple(
            replace(each, title=f"{each.title}{sign}") if name == self._order else each
            for each, name in zip(fleet.COLUMNS, fleet.NAMES, strict=True)
        )
        if columns != table.columns:
            table.columns = columns
            table.refresh()

    @property
    def shown_state(self) -> StackState | None:
        path = fleet.path_of(self.query_one("#stacks", ResourceTable).current)
        return self.workbench.states.get(path) if path is not None else None

    def on_resource_table_highlighted(self) -> None:
        self.redraw()

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        """Opens the screen that tells more about what is wrong."""
        state = self.shown_state
        if state is None:
            event.table.action_fold(event.key not in event.table.folded)
        else:
            self.workbench.open_stack(state, _explains(state.look))

    def action_open(self, screen: str) -> None:
        state = self.shown_state
        if state is None:
            self.notify("put the cursor on a stack first", severity="warning")
        else:
            self.workbench.open_stack(state, screen)

    @property
    def order(self) -> str:
        return f"{'-' if self._is_reversed else ''}{self._order}"

    def order_by(self, order: str) -> None:
        name = order.removeprefix("-")
        if name in fleet.NAMES:
            self._order, self._is_reversed = name, order.startswith("-")
            self.redraw()

    def action_order(self) -> None:
        self._order = _next(fleet.NAMES, self._order)
        self.redraw()

    def action_reverse(self) -> None:
        self._is_reversed = not self._is_reversed
        self.redraw()

    def action_group(self) -> None:
        self._group = _next(("", *fleet.GROUPABLE), self._group)
        self.redraw()

    def action_trouble(self) -> None:
        self._only_trouble = not self._only_trouble
        self.redraw()

    def action_reload(self) -> None:
        """Reads the repository again and looks at every stack once more; what is known stays until then."""
        self.workbench.read_tree()
        self._take_stacks()
        self._requested = self.workbench.now()
        self._ask_what_was_taken_out()
        self.redraw()

    def status(self) -> Line:
        watchlist = self._watchlist
        since = self._since()
        due = sum(
            (look := watchlist.looks.get(each.path)) is None or look.looked_at < since for each in watchlist.stacks
        )
        said = f"looking at {len(watchlist.running)}, {due} to go  " if due or watchlist.running else ""
        grouped = f"by {self._group}  " if self._group else ""
        only = "trouble only  " if self._only_trouble else ""
        return line(Span(said, Tone.BUSY), Span(f"{grouped}{only}", Tone.MUTED), super().status())


def _next(names: tuple[str, ...], name: str) -> str:
    return names[(names.index(name) + 1) % len(names)]


def _explains(look: StackLook | None) -> str:
    """Returns the screen that tells more of what a look found."""
    if look is None:
        return "reconcile"
    if look.sync is Sync.BROKEN:
        return "spec"
    if look.standing in (Standing.FAILED, Standing.UNKNOWN, Standing.WAITING):
        return "reconcile"
    return "reconcile" if look.sync is Sync.SAME and look.drifting is Drifting.NONE else "diff"
