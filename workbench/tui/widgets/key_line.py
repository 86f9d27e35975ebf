"""The keys of the screen that is shown, on its last line."""

from __future__ import annotations

from itertools import accumulate
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events
from textual.screen import Screen
from textual.widget import Widget

from kcl.records import dataclass


@dataclass(frozen=True, slots=True)
class _Key:
    """`key` is what is pressed, `display` how it is written."""

    key: str
    display: str
    description: str
    is_enabled: bool
    tooltip: str

    @property
    def width(self) -> int:
        return cell_len(self.display) + 1 + cell_len(self.description)


class KeyLine(Widget, can_focus=False):
    """Draws the keys as one widget, and only where others are to be seen than before.

    Textual's Footer mounts a widget a key, and mounts all of them again with each change of focus: most of what a
    screen mounted was its. A click presses the key; where there is no room for all, the mouse wheel moves on.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-line--key", "key-line--description", "key-line--hover"}
    DEFAULT_CSS = """
    KeyLine {
        height: 1;
        color: $footer-foreground;
        background: $footer-background;
        .key-line--key {
            color: $footer-key-foreground;
            background: $footer-key-background;
            text-style: bold;
        }
        .key-line--description {
            color: $footer-description-foreground;
            background: $footer-description-background;
        }
        .key-line--hover {
            color: $footer-key-foreground;
            background: $block-hover-background;
        }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: tuple[_Key, ...] = ()
        self._first = 0
        self._hovered: _Key | None = None

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[object]) -> None:
        # while another window has the focus no widget of this one has it, and keys come and go with that
        if screen is not self.screen or not self.is_attached or not self.app.app_focus:
            return
        shown: dict[str, _Key] = {}
        for _, binding, is_enabled, tooltip in screen.active_bindings.values():
            if binding.show and binding.action not in shown:
                display = self.app.get_key_display(binding)
                shown[binding.action] = _Key(binding.key, display, binding.description, is_enabled, tooltip)
        keys = tuple(shown.values())
        if keys != self._keys:
            self._keys, self._first, self._hovered = keys, 0, None
            self.refresh()

    @property
    def _seen(self) -> tuple[_Key, ...]:
        """Those there is room for, each whole: half of one tells nothing."""
        ends = accumulate((each.width + 1 for each in self._keys[self._first :]), initial=-1)
        fitting = sum(end <= self.size.width for end in ends) - 1
        return self._keys[self._first : self._first + fitting]

    def render(self) -> Text:
        styles = {each: self.get_component_rich_style(f"key-line--{each}") for each in ("key", "description", "hover")}
        text = Text(no_wrap=True, overflow="crop", end="")
        for each in self._seen:
            dimmed = Style(dim=not each.is_enabled)
            for shown, part in ((each.display, "key"), (f" {each.description}", "description")):
                text.append(shown, styles["hover" if each == self._hovered else part] + dimmed)
            text.append(" ")
        return text

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._hover(self._at(event.x))

    def on_leave(self) -> None:
        self._hover(None)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if (found := self._at(event.x)) is not None and found.is_enabled:
            self.app.simulate_key(found.key)
        elif found is not None:
            self.app.bell()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._move(1, event)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._move(-1, event)

    def _move(self, step: int, event: events.MouseEvent) -> None:
        """Shows what has no room, one key at a time."""
        is_cut = len(self._seen) < len(self._keys) - self._first
        first = max(0, self._first + step) if step < 0 or is_cut else self._first
        if first != self._first:
            self._first = first
            event.stop()
            self.refresh()

    def _hover(self, key: _Key | None) -> None:
        if key != self._hovered:
            self._hovered = key
            self.tooltip = (key.tooltip or None) if key is not None else None
            self.refresh()

    def _at(self, x: int) -> _Key | None:
        start = 0
        for each in self._seen:
            if start <= x < start + each.width:
                return each
            start += each.width + 1
        return None
