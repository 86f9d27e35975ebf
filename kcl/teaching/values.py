"""Values of another type than is asked for, where what was meant is easily written: in quotes, without, spelt right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kcl.diagnostics import Hint, Replacement, Span
from kcl.patterns import pattern
from kcl.teaching.distances import distance

_WANTS_NUMBER = pattern(
    r"expected (?:int|float|bool)(?: \| (?:int|float|bool))*, got str\((-?\d+(?:\.\d+)?|True|False)\)$"
)
_WANTS_TEXT = pattern(r"expected str, got (?:int|float|bool)\((-?[\w.]+)\)$")
_WANTS_ONE_OF = pattern(r"expected (str\([^()|]+\)(?: \| str\([^()|]+\))*), got str\(([^()|]+)\)$")
_ONE = pattern(r"str\(([^()|]+)\)")
_ADDED = pattern(
    r"unsupported operand type\(s\) for \+: '(?:str\b.*' and '(?:int|float)\b|(?:int|float)\b.*' and 'str\b)"
)
_APPENDED = pattern(r"attribute '(?:append|extend|insert|push)' not found in '\[")
_KEYWORD = pattern(r'"([A-Z]\w*)" got an unexpected keyword argument ')
_FARTHEST: Final = 3


def value_hints(message: str, span: Span, text: str) -> Iterator[Hint]:
    """Hints for what the checker says of values."""
    if _ADDED.match(message):
        yield Hint("a number becomes a text by `str(...)`, or within one: `${...}`")
    elif (found := _KEYWORD.match(message)) is not None:
        yield Hint(f"attributes stand in braces: `{found[1]} {{name = value}}`; in round brackets are parameters")
    elif _APPENDED.match(message):
        yield Hint("a list is not changed: `old + [more]` is another, with more in it")
    elif (found := _WANTS_NUMBER.match(message)) is not None:
        said = "a number" if found[1] not in ("True", "False") else "a bool"
        for quoted in (f'"{found[1]}"', f"'{found[1]}'"):
            yield from _rewritten(quoted, found[1], f"{said} is written without quotes: `{found[1]}`", span, text)
    elif (found := _WANTS_TEXT.match(message)) is not None:
        yield from _rewritten(found[1], f'"{found[1]}"', f'a text is written in quotes: `"{found[1]}"`', span, text)
    elif (found := _WANTS_ONE_OF.match(message)) is not None:
        wrong = found[2]
        rated = sorted((distance(wrong, each), each) for each in _ONE.findall(found[1]))
        far, near = rated[0]
        if far <= min(_FARTHEST, len(near) // 2) and (len(rated) == 1 or rated[1][0] > far):
            yield from _rewritten(f'"{wrong}"', f'"{near}"', f"did you mean `{near}`?", span, text)


def _rewritten(old: str, new: str, message: str, span: Span, text: str) -> Iterator[Hint]:
    """A hint to write something else in the line of a finding, behind its beginning, where it stands once."""
    end = text.find("\n", span.start)
    line = text[span.start : len(text) if end < 0 else end]
    places = [each.start() for each in re.finditer(rf"(?<![\w.\"'-]){re.escape(old)}(?![\w.\"'])", line)]
    if len(places) == 1:
        start = span.start + places[0]
        yield Hint(message, edits=(Replacement(Span(span.path, start, start + len(old)), new),))
