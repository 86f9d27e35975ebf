"""Text with tones.

A face decides what a tone looks like: a colour in the terminal, a CSS class in a notebook, nothing at all where colour
is not wanted. So a tone never carries meaning alone: the text beside it says the same in words or signs.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from kcl.records import dataclass
from kcl.terminal import harmless


class Tone(StrEnum):
    PLAIN = "plain"
    STRONG = "strong"
    MUTED = "muted"
    GOOD = "good"
    BUSY = "busy"
    WARN = "warn"
    BAD = "bad"
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    ADDED_PART = "added-part"
    """What is new in a line of which the rest was there before."""
    REMOVED_PART = "removed-part"
    SOURCE = "source"
    """Where something comes from: a file and line."""
    KEY = "key"
    """The key of a mapping, in YAML or in a path."""
    VALUE = "value"
    ENVIRONMENT = "environment"
    PROTECTED = "protected"
    """An environment where mistakes are dear."""


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Line:
    """One line of spans. `str()` gives the text alone, with everything taken out that could drive a terminal."""

    spans: tuple[Span, ...] = ()

    def __str__(self) -> str:
        return "".join(harmless(span.text) for span in self.spans)

    def __len__(self) -> int:
        return sum(len(span.text) for span in self.spans)


LONGEST = 4_000
"""Characters that a screen shows of a text at most: more than a terminal of any size has room for in a line."""


def shortened(text: str) -> str:
    """Returns a text without end as its start and its end, with the number of characters that are left out."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else text[:half] + left_out(len(text) - 2 * half) + text[-half:]


def left_out(count: int) -> str:
    return f" …{count:,} characters… " if count else ""


def line(*parts: Span | str | Line) -> Line:
    """Joins parts to a line; text from outside is made harmless on the way (`kcl.terminal`)."""
    return Line(tuple(_spans(parts)))


def _spans(parts: Iterable[Span | str | Line]) -> Iterable[Span]:
    for part in parts:
        match part:
            case str():
                yield Span(harmless(part))
            case Span():
                yield Span(harmless(part.text), part.tone)
            case Line():
                yield from part.spans
