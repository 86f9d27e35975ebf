"""Brackets and quotes that are not closed, closed twice, or closed by another kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kcl.records import dataclass
from kcl.teaching.view import Change, Remedy, View

_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_MOST_TRIED: Final = 12


@dataclass(frozen=True, slots=True)
class _Open:
    sign: str
    start: int
    line: int

    @property
    def closing(self) -> str:
        return _CLOSING[self.sign]


def bracket_remedies(view: View, at: int, message: str) -> Iterator[Remedy]:
    yield from _wrong_closing(view, at, message)
    yield from _unclosed(view, at)


def _unclosed(view: View, at: int) -> Iterator[Remedy]:
    """Brackets open where a line begins no deeper than the one they were opened in, or a block ends."""
    found: list[Remedy] = []
    stack: list[_Open] = []
    last_line = -1
    for kind, start, _, _ in view.tokens:
        if kind == "newline":
            continue
        line = view.line_of(start)
        if line != last_line and stack and kind not in _CLOSING.values():
            left: list[_Open] = []
            while stack and stack[-1].line != line and view.indent(line) <= view.indent(stack[-1].line):
                left.insert(0, stack.pop())
            if left:
                found.append(_closed(view, left, last_line))
        last_line = line
        if kind in _CLOSING:
            stack.append(_Open(kind, start, line))
        elif kind in _CLOSING.values() and stack:
            if stack[-1].closing != kind and any(each.closing == kind for each in stack):
                while stack[-1].closing != kind:
                    found.append(_closed_before(stack.pop(), start))
            stack.pop()
    if stack:
        found.append(_closed(view, stack, last_line))
    yield from sorted(found, key=lambda each: abs(each.changes[0].start - at))[:_MOST_TRIED]


def _closed_before(opened: _Open, place: int) -> Remedy:
    return _never_closed((opened,), (Change(place, place, opened.closing),))


def _closed(view: View, opened: list[_Open], last: int) -> Remedy:
    """All of them closed behind line `last`: in it, or in lines of their own where they enclose lines."""
    end = view.code_end(last)
    written = ""
    for each in reversed(opened):
        if each.line == last or view.text[each.start + 1 : view.code_end(each.line)].strip():
            written += each.closing
        else:
            written += "\n" + " " * view.indent(each.line) + each.closing
    return _never_closed(tuple(opened), (Change(end, end, written),))


def _never_closed(opened: tuple[_Open, ...], changes: tuple[Change, ...]) -> Remedy:
    innermost = opened[-1]
    missing = " ".join(f"`{each.closing}`" for each in reversed(opened))
    says = "is" if len(opened) == 1 else "are"
    return Remedy(
        f"{missing} {says} missing: what was opened has to be closed",
        changes,
        (innermost.start, innermost.start + 1, f"this `{innermost.sign}` is never closed"),
    )


def _wrong_closing(view: View, at: int, message: str) -> Iterator[Remedy]:
    sign = view.text[at : at + 1]
    if sign not in _CLOSING.values():
        return
    stack: list[_Open] = []
    for kind, start, _, _ in view.tokens:
        if start >= at:
            break
        if kind in _CLOSING:
            stack.append(_Open(kind, start, 0))
        elif kind in _CLOSING.values() and stack:
            stack.pop()
    if not stack:
        yield Remedy(f"no bracket is open that this `{sign}` could close: take it away", (Change(at, at + 1, ""),))
        return
    opened = stack[-1]
    if opened.closing != sign:
        yield Remedy(
            f"a `{opened.sign}` is closed by `{opened.closing}`, not by `{sign}`",
            (Change(at, at + 1, opened.closing),),
            (opened.start, opened.start + 1, f"this `{opened.sign}` was opened here"),
        )
    else:
        yield Remedy(f"one `{sign}` too many: take it away", (Change(at, at + 1, ""),))


# ------------------------------------------------------------------ strings


def string_remedies(view: View, at: int, message: str) -> Iterator[Remedy]:
    if message == "invalid joined string":
        yield from _interpolations(view, at)
    if message != "unterminated string":
        return
    quote = view.text[at : at + 1]
    if view.text.startswith(quote * 3, at):
        yield from _long_strings(view, at, quote * 3)
        return
    line = view.line_of(at)
    end = view.starts[line] + len(view.line(line))
    opened = (at, at + 1, "this string is never closed")
    for place in _ends_of_words(view.text, at + 1, end):
        yield Remedy(f"a `{quote}` is missing where the string ends", (Change(place, place, quote),), opened)
    for place in _ends_of_words(view.text, view.starts[line], at):
        yield Remedy(f"a `{quote}` is missing in this line", (Change(place, place, quote),))


def _ends_of_words(text: str, start: int, end: int) -> list[int]:
    """Where a string may end: before what closes or separates, and at the end, that first unless something closes."""
    stops = [place for place in range(start + 1, end + 1) if place == end or text[place] in ",)]}:#"]
    places = [place - (len(text[start:place]) - len(text[start:place].rstrip())) for place in stops]
    return list(dict.fromkeys([*places[-1:], *places[:-1][::-1]]))[:_MOST_TRIED]


def _long_strings(view: View, at: int, quotes: str) -> Iterator[Remedy]:
    opened = (at, at + 3, f"the text that this `{quotes}` begins never ends")
    first = view.line_of(at)
    ends = [first]
    for line in range(first + 1, len(view.starts)):
        text = view.line(line)
        if text[:1].strip() and len(ends) < _MOST_TRIED:
            ends.append(line - 1)
    ends.append(len(view.starts) - 1)
    for line in dict.fromkeys(ends):
        place = view.starts[line] + len(view.line(line).rstrip())
        yield Remedy(f"`{quotes}` is missing where the text ends", (Change(place, place, quotes),), opened)


def _interpolations(view: View, at: int) -> Iterator[Remedy]:
    line = view.line_of(at)
    for kind, start, end, _ in view.tokens:
        if kind != "str" or view.line_of(end) < line - 1:
            continue
        if start > at:
            break
        opening = view.text.rfind("${", start, end)
        if opening >= 0 and "}" not in view.text[opening:end]:
            close = end - (3 if view.text[end - 3 : end] in ('"""', "'''") else 1)
            label = (opening, opening + 2, "this `${` is never closed")
            yield Remedy("`}` is missing where the value in the text ends", (Change(close, close, "}"),), label)
