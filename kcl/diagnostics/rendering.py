"""Diagnostics as text, in the layout users of the official compiler know.

    error[E2G22]: TypeError
     --> main.k:6:5
      |
    6 |     name: "test"
      |     ^ expected int, got str(test)
      |

Labels follow as further blocks, then `note:` and `suggestion:` lines. What we say beside the official words comes last:
the places of hints, and `help:` lines. Diagnostics that follow from others are counted at the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from unicodedata import combining, east_asian_width

from kcl.diagnostics.diagnostic import Code, Diagnostic, Label, Span
from kcl.patterns import pattern
from kcl.records import dataclass

_LINE_END = pattern("\n")
_LARGE = 8_000_000
"""Characters of a text whose lines are counted each time, rather than kept."""
_LONGEST_LINE = 1_000
"""Characters of a source line that are shown."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place as editors count: line and column from 1, columns in characters."""

    line: int
    column: int


def position(text: str, offset: int) -> Position:
    """Where `offset` lies in `text`; an offset past the end counts as the end."""
    offset = min(max(offset, 0), len(text))
    line_start = text.rfind("\n", 0, offset) + 1
    if len(text) > _LARGE:
        return Position(text.count("\n", 0, line_start) + 1, offset - line_start + 1)
    return Position(bisect_right(_line_starts(text), line_start), offset - line_start + 1)


@lru_cache(maxsize=2)
def _line_starts(text: str) -> list[int]:
    """Counted once for all that is said of a file: there may be as many findings as lines."""
    return [0, *(found.end() for found in _LINE_END.finditer(text))]


def render(
    diagnostics: Iterable[Diagnostic],
    sources: Mapping[str, str],
    *,
    official_columns: bool = False,
    guided: bool = False,
) -> str:
    """The diagnostics one after the other, each ended by a newline; "" for none.

    These are the official words, all of them. `guided` is for people: hints are shown, and diagnostics that follow from
    others are counted.

    `sources` maps the paths in spans to file texts; a file that is missing there is named without
    its line. With `official_columns`, places marked `line_only` are shown as the official
    compiler shows them, at column 1 without a caret, where we know better.
    """
    given = list(diagnostics)
    shown = [each for each in given if not each.follows] if guided else given
    parts = [_diagnostic(each, sources, official_columns, with_hints=guided) for each in shown]
    if len(shown) < len(given):
        parts.append(f"note: {following(len(given) - len(shown))}\n")
    return "\n".join(parts)


def following(count: int) -> str:
    """What is said of so many diagnostics that are not shown."""
    more = "1 more message" if count == 1 else f"{count} more messages"
    return f"{more} may follow from the above; kcl run --all-errors shows all"


def _diagnostic(diagnostic: Diagnostic, sources: Mapping[str, str], official_columns: bool, *, with_hints: bool) -> str:
    code = diagnostic.code
    header = f"{diagnostic.severity}[{code.number}]: {code.title}"
    if official_columns and code is Code.RECURSIVE_LOAD:
        header = f"{diagnostic.severity}[{Code.EVALUATION.number}]: {header}"  # the official command wraps this one
    lines = [header]
    if diagnostic.primary is None:
        lines.append(diagnostic.message)
    else:
        primary = Label(diagnostic.primary, diagnostic.message, diagnostic.line_only)
        for index, label in enumerate((primary, *diagnostic.labels)):
            if index:
                lines.append("")
            lines += _block(label, sources, official_columns)
    lines += [f"note: {note}" for note in diagnostic.notes]
    lines += [f"suggestion: {suggestion}" for suggestion in diagnostic.suggestions]
    for hint in diagnostic.hints if with_hints else ():
        for label in hint.labels:
            lines += ["", *_block(label, sources, official_columns=False)]
        lines.append(f"help: {hint.message}")
    return "\n".join(lines) + "\n"


def _block(label: Label, sources: Mapping[str, str], official_columns: bool) -> list[str]:
    span = label.span
    text = sources.get(span.path)
    if text is None:
        return [f" --> {span.path}", f"  | {label.message}"]
    place = position(text, span.start)
    line_only = official_columns and label.line_only
    number = str(place.line)
    gutter = " " * (len(number) + 1) + "|"
    source_line, column = _shown(_line_at(text, span), place.column)
    caret = "" if line_only else " " * _width(source_line[: column - 1]) + "^"
    first, *rest = label.message.split("\n")
    return [
        f"{' ' * len(number)}--> {span.path}:{place.line}:{1 if line_only else place.column}",
        gutter,
        f"{number} | {source_line}",
        f"{gutter} {caret} {first}" if first else f"{gutter} {caret}",
        *rest,
        gutter,
    ]


def _line_at(text: str, span: Span) -> str:
    offset = min(span.start, len(text))
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    return (text[start:] if end < 0 else text[start:end]).rstrip("\r")


def _shown(line: str, column: int) -> tuple[str, int]:
    """The line, of one that is very long the part around the column, and where the column is in it."""
    if len(line) <= _LONGEST_LINE:
        return line, column
    start = max(0, column - 1 - _LONGEST_LINE // 2)
    part = line[start : start + _LONGEST_LINE]
    before, after = "..." if start else "", "..." if start + _LONGEST_LINE < len(line) else ""
    return f"{before}{part}{after}", column - start + len(before)


def _width(text: str) -> int:
    """Columns `text` takes in a terminal; control characters, tabs too, take none, as in the official layout."""
    width = 0
    for character in text:
        if character < " " or combining(character):
            continue
        width += 2 if east_asian_width(character) in "WF" else 1
    return width
