"""Replay: the apply of a release as it went, again: which step ran when, what failed, on one axis of time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from workbench.engine.events import Event, StepFailed
from workbench.engine.release import Release
from workbench.engine.replay import replay
from workbench.present import errors, releases
from workbench.present import replay as shown
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.tui.frame import Frame
from workbench.tui.state import StackState
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.tone_text import ToneText

TICK_SECONDS = 0.25
"""How often it is drawn while it plays: as often as what is live."""
LONGEST_SECONDS = 20.0
"""What took longer is played faster."""


class ReplayScreen(Frame):
    name_in_trail = "Releases › Replay"

    DEFAULT_CSS = "ReplayScreen #head { padding: 0 1; height: auto; max-height: 8; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "play", "Play or pause"),
        Binding("n", "step(1)", "Next event"),
        Binding("N", "step(-1)", "Event before"),
        Binding("f", "failure", "First failure"),
        Binding("r", "reload", "From the beginning"),
    ]

    def __init__(self, state: StackState, release: Release) -> None:
        super().__init__(state)
        self._release = release
        self._events: Sequence[Event] = ()
        self._trouble: WorkbenchError | None = None
        try:
            self._events = replay(release)
        except WorkbenchError as error:
            self._trouble = error
        self._after, self._is_playing = timedelta(), bool(self._events)

    def body(self) -> ComposeResult:
        yield ToneText(id="head", wrap=True)
        empty = "what became of its steps is not known" if self._trouble else "it had nothing to do"
        yield ResourceTable(shown.COLUMNS, id="steps", empty=empty)

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(TICK_SECONDS, self._tick)

    @property
    def _speed(self) -> float:
        return max(1.0, shown.length(self._events).total_seconds() / LONGEST_SECONDS)

    def _tick(self) -> None:
        if self._is_playing and self.is_current:
            self._go_to(self._after + timedelta(seconds=TICK_SECONDS * self._speed))

    def _go_to(self, after: timedelta) -> None:
        """Shows it as it stood so long after it began; at its end it stands still."""
        whole = shown.length(self._events)
        self._after = max(timedelta(), min(after, whole))
        self._is_playing = self._is_playing and self._after < whole
        self.redraw()

    def show_state(self) -> None:
        glyphs, found = self.workbench.glyphs, self._release
        note = releases.note(found)
        title = line(
            Span(f"release #{found.revision} ", Tone.STRONG),
            Span(f"of {found.started:%Y-%m-%d %H:%M:%S} UTC by {found.user}@{found.host}", Tone.MUTED),
            Span(f"  {note}" if note else "", Tone.MUTED),
        )
        if self._trouble is not None:
            self.query_one("#head", ToneText).show_all([title, *errors.lines(self._trouble, glyphs)])
            return
        at = self._events[0].at + self._after
        strip = shown.strip(self._events, at, self.app.size.width - 2, glyphs)
        self.query_one("#head", ToneText).show(title, shown.summary(self._events, at), strip)
        self.query_one("#steps", ResourceTable).set_rows(shown.rows(self._events, at, glyphs))

    def status(self) -> Line:
        is_over = self._after >= shown.length(self._events)
        speed = f" {self._speed:.0f} times as fast" if self._speed > 1 else ""
        said = "" if not self._events else "the end" if is_over else f"plays{speed}" if self._is_playing else "paused"
        what = "a recording: nothing of it happens now"
        return line(Span(f"{what}  ", Tone.WARN), Span(said, Tone.MUTED))

    def action_play(self) -> None:
        if self._events:
            is_over = self._after >= shown.length(self._events)
            self._is_playing = is_over or not self._is_playing
            self._go_to(timedelta() if is_over else self._after)

    def action_step(self, by: int) -> None:
        """To the next moment at which something was told, or the one before; it stands still there."""
        moments = sorted({each.at - self._events[0].at for each in self._events}) if self._events else []
        ahead = [each for each in moments if (each > self._after if by > 0 else each < self._after)]
        self._is_playing = False
        if ahead:
            self._go_to(ahead[0] if by > 0 else ahead[-1])
        else:
            self.redraw()

    def action_failure(self) -> None:
        """To the moment of the first failure, and to its step."""
        failed = next((each for each in self._events if isinstance(each, StepFailed)), None)
        if failed is None:
            self.notify("no step of it failed", severity="warning")
            return
        self._is_playing = False
        self._go_to(failed.at - self._events[0].at)
        self.query_one("#steps", ResourceTable).move_to(failed.address)

    def action_reload(self) -> None:
        if self._events:
            self._is_playing = True
            self._go_to(timedelta())
