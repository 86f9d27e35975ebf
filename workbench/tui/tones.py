"""What tones look like in the terminal: component classes, so that themes, NO_COLOR and users' styles apply."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.widget import Widget

from kcl.terminal import harmless, has_orders
from workbench.present.glyphs import plain
from workbench.present.text import Line, Span, Tone, shortened

ASCII_CLASS = "-ascii"
"""An app that has this class shows nothing outside of ASCII."""

_LOOKS = {
    Tone.STRONG: "text-style: bold;",
    Tone.MUTED: "text-style: dim;",
    Tone.GOOD: "color: $text-success;",
    Tone.BUSY: "color: $text-accent;",
    Tone.WARN: "color: $text-warning; text-style: bold;",
    Tone.BAD: "color: $text-error; text-style: bold;",
    Tone.ADDED: "color: $text-success;",
    Tone.REMOVED: "color: $text-error;",
    Tone.CHANGED: "color: $text-warning;",
    Tone.ADDED_PART: "color: $text-success; text-style: bold underline;",
    Tone.REMOVED_PART: "color: $text-error; text-style: bold underline;",
    Tone.SOURCE: "color: $text-accent;",
    Tone.KEY: "color: $text-primary;",
    Tone.VALUE: "",
    Tone.ENVIRONMENT: "color: $text-primary; text-style: bold;",
    Tone.PROTECTED: "color: $text-error; text-style: bold reverse;",
    Tone.PLAIN: "",
}

TONE_CLASSES = {f"tone--{tone}" for tone, look in _LOOKS.items() if look}
"""Of tones that have a look: Textual matches all styles against each of them whenever a widget's may have changed."""


def tone_css(widget: str) -> str:
    """Returns the default look of all tones inside a widget class, for its DEFAULT_CSS."""
    return "\n".join(f"{widget} > .tone--{tone} {{ {look} }}" for tone, look in _LOOKS.items() if look)


def tone_style(widget: Widget, tone: Tone) -> Style:
    """Returns foreground and text style only: what is behind is the row's business."""
    if not _LOOKS[tone]:
        return Style()
    return widget.get_component_rich_style(f"tone--{tone}", partial=True)


def segments_of(widget: Widget, line: Line, base: Style) -> list[tuple[str, Style]]:
    """Returns what a line draws, of texts without end their ends; where only ASCII can be shown, with signs of it."""
    shown = plain if widget.app.has_class(ASCII_CLASS) else str
    return [(shown(harmless(shortened(span.text))), base + tone_style(widget, span.tone)) for span in line.spans]


class WithoutOrders(LineFilter):
    """The last thing that every line of every screen goes through: what a widget draws of itself gives no orders.

    Texts that are edited, for one, are drawn as they are. The sign for an order would take a cell that nobody counted,
    so what takes none is left out.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [each if each.control or not has_orders(each.text) else _without_orders(each) for each in segments]


_IN_ASCII = str.maketrans(
    dict.fromkeys("─━╌╍┄┅═▔▁▂▂🬂", "-")
    | dict.fromkeys("│┃║▏▎▍▌▐▕┆┊╎", "|")
    | dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯╔╗╚╝", "+")
    | dict.fromkeys("▃▄▅▆▇█▀▉▊▋▖▗▘▝", " ")
    | {"…": ">", "•": "*", "●": "*", "·": ".", "↑": "^", "↓": "v", "→": ">", "←": "<", "\u2002": " ", "\xa0": " "}
)
"""Signs that Textual itself draws, each with one of as many cells."""


class OnlyAscii(LineFilter):
    """What a terminal that knows no other signs gets: what has no sign like it is as many question marks as cells."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [each if each.control or each.text.isascii() else _in_ascii(each) for each in segments]


def _in_ascii(segment: Segment) -> Segment:
    text = segment.text.translate(_IN_ASCII)
    return Segment("".join(each if each.isascii() else "?" * cell_len(each) for each in text), segment.style)


def _without_orders(segment: Segment) -> Segment:
    text = "".join(sign if cell_len(each) else "" for each in segment.text for sign in harmless(each))
    return Segment(text, segment.style)


__all__ = [
    "TONE_CLASSES",
    "Line",
    "OnlyAscii",
    "Span",
    "Tone",
    "WithoutOrders",
    "segments_of",
    "tone_css",
    "tone_style",
]
