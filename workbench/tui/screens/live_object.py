"""One live object: as YAML with who set each field, and its events. Nothing can be changed here."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from runtimes.base import KubernetesId, RuntimeFailure
from workbench.engine.live import LiveObject
from workbench.present import durations, errors, live, reconcile
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.tui import equivalents
from workbench.tui.frame import Frame
from workbench.tui.screens.logs import LogsScreen
from workbench.tui.state import StackState
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText

READ_AGAIN_SECONDS = 5.0


class LiveObjectScreen(Frame):
    name_in_trail = "Live object"

    DEFAULT_CSS = """
    LiveObjectScreen #title { padding: 0 1; max-height: 4; }
    LiveObjectScreen #panes { layout: vertical; height: 1fr; }
    LiveObjectScreen #yaml { height: 2fr; }
    LiveObjectScreen #side { height: 1fr; border-top: solid $panel; }
    LiveObjectScreen #what { height: 1; padding: 0 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l", "logs", "Logs"),
        Binding("v", "events", "Events"),
    ]

    def __init__(self, cluster: str, id_: KubernetesId, state: StackState | None = None) -> None:
        super().__init__(state)
        self._cluster, self._object = cluster, id_
        self._found: LiveObject | None = None
        self._is_gone = False
        self._trouble: WorkbenchError | RuntimeFailure | None = None
        self._soon = asyncio.Event()

    def body(self) -> ComposeResult:
        yield ToneText(id="title", wrap=True)
        with Container(id="panes"):
            yield ResourceTable(live.YAML_COLUMNS, id="yaml", empty=f"asking {self._cluster} ...")
            with Container(id="side"):
                yield ToneText(line(Span("events", Tone.MUTED)), id="what")
                yield ResourceTable(reconcile.EVENT_COLUMNS, id="events", empty="no events")

    def on_mount(self) -> None:
        place = self.workbench.places.get(self._cluster)
        said = equivalents.show(self._object, place)
        self.workbench.command_log.add(self.workbench.now(), f"opened {self._object.kind} {self._object.name}", said)
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
                await asyncio.wait_for(self._soon.wait(), READ_AGAIN_SECONDS)
            if self.is_current:
                return

    async def _read(self) -> None:
        session = self.workbench.session
        found = await session.read_live(self._cluster, self._object)
        self._is_gone = found is None
        self._found = found or self._found

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

    def action_logs(self) -> None:
        self.app.push_screen(LogsScreen(self._cluster, self._object, self.state))

    def action_events(self) -> None:
        self.query_one("#events", ResourceTable).focus()

    def action_reload(self) -> None:
        self._ask_again()

    def _ask_again(self) -> None:
        self._soon.set()
        self.redraw()

    def status(self) -> Line:
        return line(Span(f"{self._object.api_version}  looking only", Tone.MUTED))
