"""Reconcile: everything the stack has, becoming ready; the WHY line; events and logs of what is under the cursor."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from runtimes.base import Status, StatusNode
from workbench.engine.status import ResourceStatus
from workbench.present import reconcile
from workbench.present.rows import Column, Key, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.tui.frame import Frame
from workbench.tui.screens.details import ObjectScreen
from workbench.tui.screens.timeline import TimelineScreen
from workbench.tui.state import StackState
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText

LOG_COLUMNS = (Column("", grow=True),)
MOVES = {"j", "k", "up", "down", "home", "end", "G", "pageup", "pagedown", "ctrl+u", "ctrl+d", "left", "right"}


class ReconcileScreen(Frame):
    name_in_trail = "Reconcile"

    DEFAULT_CSS = """
    ReconcileScreen #why { padding: 0 1; max-height: 4; }
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
        Binding("o", "why", "Go to WHY"),
        Binding("T", "timeline", "Timeline"),
        Binding("U", "app.undo", "Undo the last release", show=False),
        Binding("d", "app.switch_to('diff')", "Diff", show=False),
        Binding("P", "app.switch_to('plan')", "Plan", show=False),
        Binding("c", "app.switch_to('spec')", "Spec", show=False),
    ]

    faults_only = False
    _follows = True
    """The cursor stays on what blocks, until somebody moves it."""

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
        self.query_one("#why", ToneText).show(
            reconcile.summary(tree, glyphs, now), reconcile.why_line(tree, glyphs, now)
        )
        objects.empty = "no faults" if self.faults_only else "this stack has no resources"
        rows = reconcile.rows(tree, glyphs, now, faults_only=self.faults_only)
        # what is ready is folded when it first shows up; what is not stays open
        ready = {each.address for each in tree.resources if each.health.status is Status.CURRENT}
        for row in rows:
            if row.depth == 0 and row.key not in self._seen:
                self._seen.add(row.key)
                objects.folded |= {row.key} if isinstance(row.key, tuple) and row.key[0] in ready else set()
        objects.set_rows(rows)
        if self._follows:
            self.action_why()
        self._show_side()

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
            self.query_one("#events", ResourceTable).set_rows(reconcile.event_rows(node, self.workbench.now()))

    def _selected(self) -> tuple[ResourceStatus, StatusNode | None] | None:
        tree = self.state.tree if self.state else None
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
        """Puts the cursor on the object the WHY line speaks of, and keeps it there while that changes."""
        self._follows = True
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
        found, tree = self._selected(), self.state.tree if self.state else None
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
        logs = self.query_one("#logs", ResourceTable)
        logs.set_rows(rows)
        logs.action_edge(1)

    def status(self) -> Line:
        if self.state is not None and self.state.tree is not None and not self.state.is_watched:
            key = self.workbench.key("everywhere.reload")
            return line(super().status(), Span(f"NOT WATCHED: {key} watches again", Tone.WARN))
        return super().status()
