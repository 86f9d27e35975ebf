"""Reconcile: everything the stack has, becoming ready; the WHY line; events and logs of what is under the cursor."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from kcl.records import dataclass
from runtimes.base import Status, StatusNode
from workbench.engine.status import ResourceStatus, StatusTree
from workbench.present import durations, reconcile
from workbench.present.rows import Column, Key, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.tui.frame import MATCH_KEYS, Frame
from workbench.tui.screens.details import ObjectScreen
from workbench.tui.screens.timeline import TimelineScreen
from workbench.tui.state import StackState
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText
from workbench.words import counted

LOG_COLUMNS = (Column("", grow=True),)
MOVES = {"j", "k", "up", "down", "home", "end", "G", "pageup", "pagedown", "ctrl+u", "ctrl+d", "left", "right"}
MOVES |= {"n", "N"}


@dataclass(frozen=True, slots=True)
class _Held:
    """A picture that stays as it was at a moment, and how many changes the timeline had by then."""

    tree: StatusTree
    at: datetime
    changes: int


class ReconcileScreen(Frame):
    name_in_trail = "Reconcile"

    DEFAULT_CSS = """
    ReconcileScreen #why { padding: 0 1; max-height: 4; }
    ReconcileScreen.paused #why { max-height: 5; }
    ReconcileScreen #panes { layout: horizontal; height: 1fr; }
    ReconcileScreen.-narrow #panes, ReconcileScreen.-two #panes { layout: vertical; }
    ReconcileScreen #objects { width: 1fr; height: 3fr; }
    ReconcileScreen #side { width: 1fr; height: 100%; border-left: solid $panel; }
    ReconcileScreen.-narrow #side { height: 2fr; border-left: none; border-top: solid $panel; }
    ReconcileScreen.-two #side { height: 2fr; border-left: none; border-top: solid $panel; }
    ReconcileScreen #side ResourceTable { height: 1fr; }
    ReconcileScreen #events, ReconcileScreen #logs { display: none; }
    ReconcileScreen #side.events #events { display: block; }
    ReconcileScreen #side.logs #logs { display: block; }
    ReconcileScreen #what { height: 1; padding: 0 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "app.switch_to('whatif')", "What if", show=False),
        Binding("l", "logs", "Logs"),
        Binding("v", "events", "Events"),
        Binding("f", "faults", "Faults only"),
        Binding("p", "pause", "Pause", show=False),
        Binding("o", "why", "Go to WHY"),
        Binding("T", "timeline", "Timeline"),
        Binding("U", "app.undo", "Undo the last release", show=False),
        Binding("d", "app.switch_to('diff')", "Diff", show=False),
        Binding("P", "app.switch_to('plan')", "Plan", show=False),
        Binding("c", "app.switch_to('spec')", "Spec", show=False),
        *MATCH_KEYS,
    ]

    faults_only = False
    _follows = True
    """The cursor stays on what blocks, until somebody moves it."""
    _held: _Held | None = None
    """What the tables show while they are paused."""

    def body(self) -> ComposeResult:
        yield ToneText(id="why", wrap=True)
        with Container(id="panes"):
            yield ResourceTable(reconcile.COLUMNS, id="objects", empty="waiting for the clusters ...")
            with Container(id="side", classes="events"):
                yield ToneText(id="what")
                yield ResourceTable(reconcile.EVENT_COLUMNS, id="events", empty="no events")
                yield ResourceTable(LOG_COLUMNS, id="logs", header=False, empty="no log lines")

    def __init__(self, state: StackState) -> None:
        super().__init__(state)
        self._seen: set[Key] = set()

    def on_key(self, event: events.Key) -> None:
        if event.key in MOVES:
            self._follows = False

    def on_mount(self) -> None:
        super().on_mount()
        if self.state is not None:
            self.workbench.follow_stack(self.state)

    def on_screen_resume(self) -> None:
        """What was watched may have ended while another screen lay above."""
        super().on_screen_resume()
        if self.state is not None:
            self.workbench.follow_stack(self.state)

    def on_unmount(self) -> None:
        if self.state is not None:
            self.workbench.leave_stack(self.state, self)

    def show_state(self) -> None:
        now = self.workbench.now()
        tree = self.state.tree.as_of(now) if self.state and self.state.tree else None
        objects = self.query_one("#objects", ResourceTable)
        if tree is None:
            objects.empty = "nothing to watch" if self.state and self.state.error else "waiting for the clusters ..."
            objects.refresh()
            return
        glyphs = self.workbench.glyphs
        above = [reconcile.summary(tree, glyphs, now), reconcile.why_line(tree, glyphs, now)]
        if self._held is not None:
            above.insert(0, self._paused(self._held))
            tree, now = self._held.tree, self._held.at
        self.query_one("#why", ToneText).show_all(above)
        objects.empty = "no faults" if self.faults_only else "this stack has no resources"
        rows = reconcile.rows(tree, glyphs, now, faults_only=self.faults_only)
        # what is ready is folded when it first shows up; what is not stays open
        ready = {each.address for each in tree.resources if each.health.status is Status.CURRENT}
        for row in rows:
            if row.depth == 0 and row.key not in self._seen:
                self._seen.add(row.key)
                objects.folded |= {row.key} if isinstance(row.key, tuple) and row.key[0] in ready else set()
        objects.set_rows(rows)
        if self._follows and self._held is None:
            self._go_to_why()
        self._show_side()

    def _paused(self, held: _Held) -> Line:
        """What the tables leave out while they are paused: the lines below it go on."""
        now = self.workbench.now()
        since = counted(self._changes() - held.changes, "change")
        age = durations.short((now - held.at).total_seconds())
        key = self.workbench.key("reconcile.pause")
        return line(Span(f"paused, {since} since, {age} ago: {key} goes on", Tone.WARN))

    def _changes(self) -> int:
        return self.state.timeline.changes if self.state else 0

    def action_pause(self) -> None:
        """Holds what the tables show, or lets them go on; counts, the WHY line and the watch itself never pause."""
        tree, now = self.state.tree if self.state else None, self.workbench.now()
        if self._held is not None:
            self._go_on()
        elif tree is None:
            self.notify("nothing is watched yet", severity="warning")
            return
        else:
            self._held = _Held(tree.as_of(now), now, self._changes())
            self.add_class("paused")
        self.redraw()

    def _go_on(self) -> None:
        self._held = None
        self.remove_class("paused")

    @property
    def _drawn(self) -> StatusTree | None:
        """What the tables show: what is known, or what they are held at."""
        return self._held.tree if self._held is not None else self.state.tree if self.state else None

    def _show_side(self) -> None:
        found = self._selected()
        if found is None:
            return
        status, node = found
        what = reconcile.short_id(status.address)
        if node is not None and status.tree is not None and node is not status.tree:
            what = line(what, f" {node.ref}")
        has_logs = self.query_one("#side").has_class("logs")
        self.query_one("#what", ToneText).show(line(Span("logs of " if has_logs else "events of ", Tone.MUTED), what))
        if node is not None:
            now = self._held.at if self._held is not None else self.workbench.now()
            self.query_one("#events", ResourceTable).set_rows(reconcile.event_rows(node, now))

    def _selected(self) -> tuple[ResourceStatus, StatusNode | None] | None:
        tree = self._drawn
        key = self.query_one("#objects", ResourceTable).current
        return reconcile.find(tree, key) if tree and key is not None else None

    def on_resource_table_highlighted(self, event: ResourceTable.Highlighted) -> None:
        if event.table.id == "objects":
            self.query_one("#side").set_classes("events")
            self._show_side()

    def on_resource_table_chosen(self, event: ResourceTable.Chosen) -> None:
        """Opens the object under the cursor, from its events and logs too."""
        key = self.query_one("#objects", ResourceTable).current
        if self.state is not None and key is not None:
            self.app.push_screen(ObjectScreen(self.state, key))

    def action_faults(self) -> None:
        self.faults_only = not self.faults_only
        self.redraw()

    def action_events(self) -> None:
        self.query_one("#side").set_classes("events")
        self._show_side()

    def action_why(self) -> None:
        """Puts the cursor on the object the WHY line speaks of, and keeps it there while that changes; where what is
        shown is paused, it goes on, as that object may not be in it."""
        self._follows = True
        if self._held is not None:
            self._go_on()
            self.redraw()
        self._go_to_why()

    def _go_to_why(self) -> None:
        tree = self.state.tree if self.state else None
        why = tree.why if tree else None
        if why is None:
            return
        objects = self.query_one("#objects", ResourceTable)
        blocking = why.blocking.ref if why.blocking else None
        objects.move_to((why.address, (blocking.uid or str(blocking)) if blocking else ""))
        if objects.current is not None and isinstance(objects.current, tuple) and objects.current[0] != why.address:
            objects.move_to((why.address, ""))

    def action_timeline(self) -> None:
        """What each object was since it is watched, on one axis of time."""
        if self.state is not None:
            self.app.push_screen(TimelineScreen(self.state))

    def action_logs(self) -> None:
        """Shows the last log lines of the pods that the row stands for, of all of their containers."""
        found, tree = self._selected(), self._drawn
        if found is None or tree is None:
            return
        pods = reconcile.pods(tree, self.query_one("#objects", ResourceTable).current)
        if not pods:
            self.notify("there is no pod here to have logs", severity="warning")
            return
        self.query_one("#side").set_classes("logs")
        self._show_side()
        self.workbench.fetch_logs(found[0].address.cluster, pods, self)

    def show_logs(self, lines: tuple[str, ...]) -> None:
        rows = tuple(Row(number, (line(text),)) for number, text in enumerate(lines))
        if not self.is_attached or not self.query("#logs"):
            return  # it was left while they were read
        logs = self.query_one("#logs", ResourceTable)
        logs.set_rows(rows)
        logs.action_edge(1)

    def status(self) -> Line:
        if self.state is not None and self.state.tree is not None and not self.state.is_watched:
            key = self.workbench.key("everywhere.reload")
            return line(super().status(), Span(f"NOT WATCHED: {key} watches again", Tone.WARN))
        return super().status()
