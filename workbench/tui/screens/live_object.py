"""One live object: as YAML with who set each field, its events, and the logs of a pod. Nothing can be changed here."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from runtimes.base import KubernetesId, ObjectRef, RuntimeFailure
from workbench.engine.live import LiveObject
from workbench.present import durations, errors, live, reconcile
from workbench.present.rows import Row
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.tui.frame import Frame
from workbench.tui.screens.reconcile import LOG_COLUMNS
from workbench.tui.state import StackState
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText

READ_AGAIN_SECONDS, LOGS_AGAIN_SECONDS = 5.0, 2.0
LOG_LINES = 500


class LiveObjectScreen(Frame):
    name_in_trail = "Live object"

    DEFAULT_CSS = """
    LiveObjectScreen #title { padding: 0 1; max-height: 4; }
    LiveObjectScreen #panes { layout: vertical; height: 1fr; }
    LiveObjectScreen #yaml { height: 2fr; }
    LiveObjectScreen #side { height: 1fr; border-top: solid $panel; }
    LiveObjectScreen #events, LiveObjectScreen #logs { display: none; }
    LiveObjectScreen #side.events #events { display: block; }
    LiveObjectScreen #side.logs #logs { display: block; }
    LiveObjectScreen #what { height: 1; padding: 0 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l", "side('logs')", "Logs"),
        Binding("v", "side('events')", "Events"),
        Binding("c", "container", "Container", show=False),
        Binding("p", "previous", "Previous run", show=False),
        Binding("f", "follow", "Follow", show=False),
    ]

    def __init__(self, cluster: str, id_: KubernetesId, state: StackState | None = None) -> None:
        super().__init__(state)
        self._cluster, self._object = cluster, id_
        self._found: LiveObject | None = None
        self._is_gone = False
        self._trouble: WorkbenchError | RuntimeFailure | None = None
        self._container, self._is_previous, self._follows = "", False, True
        self._logs: tuple[str, ...] | None = None
        self._soon = asyncio.Event()

    def body(self) -> ComposeResult:
        yield ToneText(id="title", wrap=True)
        with Container(id="panes"):
            yield ResourceTable(live.YAML_COLUMNS, id="yaml", empty=f"asking {self._cluster} ...")
            with Container(id="side", classes="events"):
                yield ToneText(id="what")
                yield ResourceTable(reconcile.EVENT_COLUMNS, id="events", empty="no events")
                yield ResourceTable(LOG_COLUMNS, id="logs", header=False, empty="no log lines")

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._keep_reading(), group="live object", exclusive=True)

    async def _keep_reading(self) -> None:
        """Reads again and again while the screen is in front; what was read stays, with its age."""
        while True:
            try:
                await self._read()
                self._trouble = None
            except (WorkbenchError, RuntimeFailure) as error:
                self._trouble = error
            except Exception as error:
                # the boundary of a task: it is said, and tried again
                self._trouble = errors.Bug(error)
            self.redraw_soon()
            await self._pause()

    async def _pause(self) -> None:
        while True:
            self._soon.clear()
            with suppress(TimeoutError):
                seconds = LOGS_AGAIN_SECONDS if self._shows_logs else READ_AGAIN_SECONDS
                await asyncio.wait_for(self._soon.wait(), seconds)
            if self.is_current:
                return

    async def _read(self) -> None:
        session = self.workbench.session
        found = await session.read_live(self._cluster, self._object)
        self._is_gone = found is None
        self._found = found or self._found
        if self._shows_logs and found is not None:
            wanted = self._container, self._is_previous
            ref = ObjectRef(self._object.kind, self._object.namespace, self._object.name)
            lines = await session.logs(
                self._cluster, ref, container=wanted[0], previous=wanted[1], tail_lines=LOG_LINES
            )
            if wanted == (self._container, self._is_previous):
                self._logs = lines

    @property
    def _shows_logs(self) -> bool:
        return self.query_one("#side").has_class("logs")

    def show_state(self) -> None:
        now, glyphs, found = self.workbench.now(), self.workbench.glyphs, self._found
        title = [self._title()]
        if self._trouble is not None:
            title += errors.lines(self._trouble, glyphs)
        self.query_one("#title", ToneText).show_all(title)
        yaml = self.query_one("#yaml", ResourceTable)
        if found is None:
            yaml.empty = (
                "it is not there" if self._is_gone else "nothing is known of it" if self._trouble else yaml.empty
            )
            yaml.refresh()
            return
        yaml.set_rows(live.yaml_rows(found, now))
        events = self.query_one("#events", ResourceTable)
        refused = found.events_failure
        events.empty = f"events can't be read: {refused.message}" if refused is not None else "no events"
        events.set_rows(live.event_rows(found, now))
        self._show_logs()

    def _title(self) -> Line:
        found, now = self._found, self.workbench.now()
        where = f"{self._object.namespace}/" if self._object.namespace else ""
        name = line(
            Span(f"{self._object.kind} ", Tone.MUTED),
            f"{where}{self._object.name}",
            Span(f" @{self._cluster}", Tone.MUTED),
        )
        if found is None:
            return name
        age = durations.short((now - found.read_at).total_seconds())
        gone = Span("  it is not there any more, this is how it was", Tone.WARN) if self._is_gone else Span("")
        return line(name, Span(f"  read {age} ago", Tone.WARN if self._trouble else Tone.MUTED), gone)

    def _show_logs(self) -> None:
        what = "events"
        if self._shows_logs:
            run = ", the run before" if self._is_previous else ""
            follows = "" if self._follows else ", not followed"
            what = f"logs of {self._container or 'all containers'}{run}{follows}, the last {LOG_LINES} lines"
        self.query_one("#what", ToneText).show(line(Span(what, Tone.MUTED)))
        logs = self.query_one("#logs", ResourceTable)
        logs.empty = "reading ..." if self._logs is None else "no log lines"
        logs.set_rows(Row(number, (line(text),)) for number, text in enumerate(self._logs or ()))
        if self._follows and self._shows_logs:
            logs.action_edge(1)

    def action_side(self, which: str) -> None:
        if which == "logs" and self._object.kind != "Pod":
            self.notify("only pods have logs", severity="warning")
            return
        self.query_one("#side").set_classes(which)
        self.query_one(f"#{which}", ResourceTable).focus()
        self._ask_again()

    def action_container(self) -> None:
        names = ("", *(self._found.containers if self._found is not None else ()))
        self._container = names[(names.index(self._container) + 1) % len(names)] if self._container in names else ""
        self._logs = None
        self._ask_again()

    def action_previous(self) -> None:
        self._is_previous, self._logs = not self._is_previous, None
        self._ask_again()

    def action_follow(self) -> None:
        self._follows = not self._follows
        self.redraw()

    def action_reload(self) -> None:
        self._ask_again()

    def _ask_again(self) -> None:
        self._soon.set()
        self.redraw()

    def status(self) -> Line:
        return line(Span(f"{self._object.api_version}  looking only", Tone.MUTED))
