"""Two texts side by side in as few lines as their difference takes, what differs in a line standing out.

A line of a text is split into words; what two lines have in common is muted, and cut out where the line is longer than
there is room, so that what differs is always seen. What would look the same (trailing spaces, control characters,
letters of another script) is written out as escapes.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from kcl.records import dataclass
from kcl.terminal import harmless
from workbench.present.alignment import align
from workbench.present.text import LONGEST, Line, Span, Tone, left_out, line, shortened

CONTEXT_LINES: Final = 2
_CONTEXTS: Final = (24, 12, 5)
"""Characters that stay on either side of what is cut out of a line, the most that leave it short enough."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONG_WORD: Final = 24
"""Of longer ones (digests, encoded data) only the part that differs stands out."""
_LEAST_ALIKE: Final = 0.4
"""Lines with less in common are not the same line, changed: nothing in them stands out."""
_NEAR: Final = 200
"""Characters on either side of the first and the last difference that are kept of a line without end."""
_INTERLEAVED: Final = 8
"""So many lines are shown as they were before the first of them is shown as it becomes."""
_LOOKED_AT: Final = 6
_LOOK_ALIKES = str.maketrans(
    "асеорхуіјѕԁһԛԝАВЕКМНОРСТХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "aceopxyijsdhqwABEKMHOPCTXIJSABEZHIKMNOPTYXo"
)


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """`sign` is - or + for a line of one side, ~ for one that tells both, a space for one of both, ⋯ for a gap.

    `sides` are what a line of sign ~ tells of either side; without them they follow from the sign.
    """

    sign: str
    line: Line
    sides: tuple[Line, Line] | None = None

    @property
    def before(self) -> Line | None:
        """What a view of two columns shows on the old side; None where it has nothing there."""
        return self.sides[0] if self.sides else self.line if self.sign in ("-", "!", " ", "⋯") else None

    @property
    def after(self) -> Line | None:
        return self.sides[1] if self.sides else self.line if self.sign in ("+", "!", " ", "⋯") else None


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a line as it was and as it becomes; the same text twice unless `is_changed`."""

    before: str
    after: str
    is_changed: bool


Segments = tuple[Segment, ...]


def segments(before: str, after: str) -> Segments:
    """Splits two lines into what they have in common and what not, in order; no two neighbours are of one sort."""
    words, new_words = _WORD.findall(before), _WORD.findall(after)
    found: list[Segment] = []
    for each in align(words, new_words):
        text, new_text = "".join(words[each.start : each.end]), "".join(new_words[each.new_start : each.new_end])
        if each.is_equal:
            found.append(Segment(text, text, False))
            continue
        head, tail = _common_ends(text, new_text)
        end = len(text) - tail
        found.append(Segment(text[:head], text[:head], False))
        found.append(Segment(text[head:end], new_text[head : len(new_text) - tail], True))
        found.append(Segment(text[end:], text[end:], False))
    return _joined(found)


def _common_ends(one: str, other: str) -> tuple[int, int]:
    """Returns how many characters at the start and at the end of two long texts are the same."""
    if min(len(one), len(other)) < _LONG_WORD:
        return 0, 0
    head = _common_start(one, other)
    return head, _common_start(one[head:][::-1], other[head:][::-1])


def _common_start(one: str, other: str) -> int:
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[:middle] == other[:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _joined(found: Iterable[Segment]) -> Segments:
    joined: list[Segment] = []
    for each in found:
        if joined and joined[-1].is_changed == each.is_changed:
            joined[-1] = Segment(joined[-1].before + each.before, joined[-1].after + each.after, each.is_changed)
        elif each.before or each.after:
            joined.append(each)
    return tuple(joined)


def looks_same(before: str, after: str) -> bool:
    """Whether somebody who reads both would take them for the same."""
    return _look(before) == _look(after)


def _look(text: str) -> str:
    seen = unicodedata.normalize("NFKC", text).translate(_LOOK_ALIKES)
    return harmless("".join(each for each in seen if unicodedata.category(each) != "Cf")).rstrip()


def escaped(text: str) -> str:
    """Returns printable ASCII that no other text is written as."""
    whole = "".join(each if " " <= each <= "~" and each != "\\" else _escape(each) for each in text)
    spaces = len(whole) - len(whole.rstrip(" "))
    return whole[: len(whole) - spaces] + r"\x20" * spaces


def _escape(character: str) -> str:
    short = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    return short or (f"\\u{ord(character):04x}" if ord(character) <= 0xFFFF else f"\\U{ord(character):08x}")


def in_one_line(before: str, after: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Returns two values as they stand within a line, what differs standing out; written out if they look the same."""
    before, after = _bounded(before, after)
    if looks_same(before, after):
        before, after = escaped(before), escaped(after)
    return _spans(segments(before, after))


def _bounded(before: str, after: str) -> tuple[str, str]:
    """Returns two lines as they are, or, of long ones, what is around their first and their last difference."""
    if max(len(before), len(after)) <= LONGEST:
        return before, after
    head, tail = _common_ends(before, after)
    return _around(before, head, tail), _around(after, head, tail)


def _around(text: str, head: int, tail: int) -> str:
    start, end = max(head - _NEAR, 0), min(len(text) - tail + _NEAR, len(text))
    return left_out(start) + shortened(text[start:end]) + left_out(len(text) - end)


def changed_lines(before: str, after: str, width: int) -> Iterator[ChangedLine]:
    """Yields what differs between two texts, with some lines around it; lines are at most `width` cells long.

    The number of lines grows with what changed, not with the texts.
    """
    old, new = _lines(before), _lines(after)
    blocks = align(old, new)
    for number, each in enumerate(blocks):
        if each.is_equal:
            head = CONTEXT_LINES if number else 0
            tail = CONTEXT_LINES if number < len(blocks) - 1 else 0
            yield from _context(old[each.start : each.end], head, tail, width)
        else:
            yield from _replaced(old[each.start : each.end], new[each.new_start : each.new_end], width)
    ends = before.endswith("\n"), after.endswith("\n")
    if old and new and ends[0] != ends[1]:
        sign, tone = ("-", Tone.REMOVED) if ends[0] else ("+", Tone.ADDED)
        yield ChangedLine(sign, line(Span("(a newline at the end)", tone)))


def block(text: str, sign: str, tone: Tone, width: int) -> Iterator[ChangedLine]:
    """Yields a text that only one side has."""
    for each in _lines(text) or [""]:
        for part in _wrapped((Span(harmless(shortened(each)), tone),), width):
            yield ChangedLine(sign, part)


def _lines(text: str) -> list[str]:
    """Only newlines end a line: what else Python takes for an end is shown as what it is."""
    if not text:
        return []
    return text.removesuffix("\n").split("\n")


def _context(lines: Sequence[str], head: int, tail: int, width: int) -> Iterator[ChangedLine]:
    """Yields the first and last of equal lines; a gap that would hide one line has no advantage over the line."""
    hidden = len(lines) - head - tail
    for index, each in enumerate(lines):
        if hidden <= 1 or index < head or index >= len(lines) - tail:
            yield ChangedLine(" ", _cut(each, width))
        elif index == head:
            yield ChangedLine("⋯", line(Span(f"{hidden} equal lines", Tone.MUTED)))


def _replaced(old: Sequence[str], new: Sequence[str], width: int) -> Iterator[ChangedLine]:
    """Yields lines that were replaced, the old ones of a few before the new ones, so that both are always in sight."""
    pairs = list(_paired(old, new))
    for start in range(0, len(pairs), _INTERLEAVED):
        added: list[ChangedLine] = []
        for one, other in pairs[start : start + _INTERLEAVED]:
            removed: Iterable[ChangedLine] = ()
            if one is None and other is not None:
                added += _one_sided(other, "+", Tone.ADDED, width)
            elif other is None and one is not None:
                removed = _one_sided(one, "-", Tone.REMOVED, width)
            elif one is not None and other is not None:
                before, after = _pair(one, other, width)
                removed = (ChangedLine("-", each) for each in before)
                added += (ChangedLine("+", each) for each in after)
            yield from removed
        yield from added


def _paired(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
    """Yields which line became which; a line that became none, or came from none, has None beside it."""
    if len(old) == len(new):
        yield from zip(old, new, strict=True)
        return
    bags = [_words(each) for each in new]
    at = 0
    for each in old:
        words = _words(each)
        near = range(at, min(at + _LOOKED_AT, len(new)))
        best = max(near, key=lambda index: (_likeness(words, bags[index]), -index), default=None)
        if best is None or _likeness(words, bags[best]) < _LEAST_ALIKE:
            yield each, None
            continue
        yield from ((None, other) for other in new[at:best])
        yield each, new[best]
        at = best + 1
    yield from ((None, other) for other in new[at:])


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text[:LONGEST]))


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def _one_sided(text: str, sign: str, tone: Tone, width: int) -> Iterator[ChangedLine]:
    text = shortened(text)
    shown = escaped(text) if text and not _look(text) else harmless(text)
    for each in _wrapped((Span(shown, tone),), width):
        yield ChangedLine(sign, each)


def _pair(before: str, after: str, width: int) -> tuple[list[Line], list[Line]]:
    """Returns two versions of one line, cut and wrapped to the width so that they never look the same."""
    before, after = _bounded(before, after)
    found = segments(before, after)
    common = sum(len(each.before) for each in found if not each.is_changed)
    if 2 * common < _LEAST_ALIKE * (len(before) + len(after)):
        found = (Segment(before, after, True),)
    old, new = next(_versions(found, width))
    return _wrapped(old, width), _wrapped(new, width)


def _versions(found: Segments, width: int) -> Iterator[tuple[tuple[Span, ...], tuple[Span, ...]]]:
    """Yields ways to write both, the best first: as they are, cut where nothing differs, as escapes, uncut."""
    for write in (harmless, escaped):
        for context in (None, *_CONTEXTS):
            shown = _written(found, write, context)
            texts = ["".join(each.before for each in shown), "".join(each.after for each in shown)]
            fits = all(cells(each) <= width for each in texts) or context == _CONTEXTS[-1]
            if fits and not looks_same(*texts):
                yield _spans(shown)
    yield _spans(_written(found, escaped, None))


def _written(found: Segments, write: Callable[[str], str], context: int | None) -> Segments:
    """Returns the segments as they are shown; `context` characters stay on either side of what is cut out."""
    shown: list[Segment] = []
    for number, each in enumerate(found):
        old, new = write(each.before), write(each.after)
        if context is not None and not each.is_changed:
            head = context if number else 0
            tail = context if number < len(found) - 1 else 0
            if len(old) > head + tail + 1:
                old = new = f"{old[:head]}…{old[len(old) - tail :]}"
        shown.append(Segment(old, new, each.is_changed))
    return tuple(shown)


def _spans(found: Segments) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Where a whole line differs nothing in it stands out."""
    is_whole = all(each.is_changed for each in found)
    old_part, new_part = (Tone.REMOVED, Tone.ADDED) if is_whole else (Tone.REMOVED_PART, Tone.ADDED_PART)
    old = (Span(harmless(each.before), old_part if each.is_changed else Tone.REMOVED) for each in found)
    new = (Span(harmless(each.after), new_part if each.is_changed else Tone.ADDED) for each in found)
    return tuple(each for each in old if each.text), tuple(each for each in new if each.text)


def _cut(text: str, width: int) -> Line:
    """Returns a line of both sides: cut at its end, as nothing in it differs."""
    shown = harmless(text[: 4 * width])
    is_whole = len(text) <= 4 * width and cells(shown) <= width
    return line(Span(shown if is_whole else f"{_taken(shown, width - 1)}…", Tone.MUTED))


def cells(text: str) -> int:
    """Returns how many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _taken(text: str, width: int) -> str:
    """Returns as much of the start of a text as has room; at least one character."""
    if text.isascii():
        return text[: max(1, width)]
    used = 0
    for index, each in enumerate(text):
        used += _cells(each)
        if used > width:
            return text[: max(1, index)]
    return text


def end_of(path: str, width: int) -> str:
    """Cuts a long path at its beginning: what tells it from others is at its end."""
    return path if cells(path) <= width else f"…{_taken(path[::-1], width - 1)[::-1]}"


def _wrapped(spans: Iterable[Span], width: int) -> list[Line]:
    found: list[list[Span]] = [[]]
    room = width
    for span in spans:
        text = span.text
        while text:
            if room < 1 or (cells(text[0]) > room and found[-1]):
                found.append([])
                room = width
            part = _taken(text, room)
            found[-1].append(Span(part, span.tone))
            room -= cells(part)
            text = text[len(part) :]
    return [Line(tuple(each)) for each in found]


__all__ = [
    "ChangedLine",
    "Segment",
    "block",
    "cells",
    "changed_lines",
    "end_of",
    "escaped",
    "in_one_line",
    "looks_same",
    "segments",
]
