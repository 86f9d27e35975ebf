"""A few lines of toned text, drawn as they are: banners, summaries, the WHY line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.widget import Widget

from workbench.present.text import Line
from workbench.tui.tones import TONE_CLASSES, segments_of, tone_css


class ToneText(Widget):
    DEFAULT_CSS = "ToneText { height: auto; width: 1fr; }\n" + tone_css("ToneText")
    COMPONENT_CLASSES: ClassVar[set[str]] = set(TONE_CLASSES)

    def __init__(self, *lines: Line, wrap: bool = False, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines = tuple(lines)
        self._wrap = wrap

    @property
    def lines(self) -> tuple[Line, ...]:
        return self._lines

    def show(self, *lines: Line) -> None:
        """Replaces the lines; draws only if they differ."""
        self.show_all(lines)

    def show_all(self, lines: Iterable[Line]) -> None:
        new = tuple(lines)
        if new != self._lines:
            grows = len(new) != len(self._lines) or self._wrap
            self._lines = new
            self.refresh(layout=grows)

    def render(self) -> Text:
        text = Text(no_wrap=not self._wrap, overflow="fold" if self._wrap else "ellipsis", end="")
        for number, each in enumerate(self._lines):
            if number:
                text.append("\n")
            for shown, style in segments_of(self, each, Style()):
                text.append(shown, style)
        return text
