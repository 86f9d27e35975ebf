"""A text with errors, as those look at it who want to mend it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

from kcl.diagnostics import Diagnostic
from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.source import SourceFile
from kcl.syntax.parser import parse_with_tokens
from kcl.syntax.tokens import Token

TAB: Final = 4
"""Blanks that a tab stands for when lines are compared."""
LONGEST_LINE: Final = 1_000
"""Characters of a line that somebody may have written. A longer one is not looked into: most patterns take time by the
square of what they search."""
_LINE_END = pattern(r"\n")
_STRING, _COMMENT = b"\1", b"\2"


@dataclass(frozen=True, slots=True)
class Change:
    """`text` in place of the characters `start` up to `end`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """What might mend an error. `label` is a place to be shown with what is said there.

    What is not `offered` shows that the hint is about this error, and is not what a person would write. What mends
    nearly anything is `last_resort`: it counts only where nothing else does.
    """

    message: str
    changes: tuple[Change, ...]
    label: tuple[int, int, str] | None = None
    offered: bool = True
    last_resort: bool = False


class View:
    """Lines count from 0 here."""

    def __init__(self, text: str) -> None:
        self.text = text
        result, tokens = parse_with_tokens(SourceFile("", text))
        self.errors: tuple[Diagnostic, ...] = result.diagnostics
        self.tokens: list[Token] = [each for each in tokens if each[0] not in ("indent", "dedent", "eof")]
        self.starts = [0, *(found.end() for found in _LINE_END.finditer(text))]
        self._quoted = bytearray(len(text) + 1)
        for kind, start, end, _ in self.tokens:
            if kind == "str":
                self._quoted[start:end] = _STRING * (end - start)
        for comment in result.module.comments:
            self._quoted[comment.start : comment.end] = _COMMENT * (comment.end - comment.start)

    def line_of(self, offset: int) -> int:
        return bisect_right(self.starts, min(offset, len(self.text))) - 1

    def line(self, number: int) -> str:
        """A line without its end; "" past the last."""
        if not 0 <= number < len(self.starts):
            return ""
        start = self.starts[number]
        end = self.starts[number + 1] - 1 if number + 1 < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r")

    def code_end(self, number: int) -> int:
        """Where a line ends without its comment and the blanks before that."""
        start, line = self.starts[number], self.line(number)
        end = len(line)
        while end and (line[end - 1].isspace() or self._quoted[start + end - 1] == _COMMENT[0]):
            end -= 1
        return start + end

    def is_quoted(self, offset: int) -> bool:
        """Whether a character stands in a string or a comment."""
        return bool(self._quoted[offset])

    def is_empty(self, number: int) -> bool:
        """Whether a line has nothing but blanks and a comment."""
        return self.code_end(number) <= self.starts[number]

    def indent(self, number: int) -> int:
        """The columns before what stands in a line."""
        line = self.line(number)
        blanks = line[: len(line) - len(line.lstrip())]
        return len(blanks) + blanks.count("\t") * (TAB - 1)

    def before(self, number: int) -> int | None:
        """The nearest line above that says something."""
        return next((each for each in range(number - 1, -1, -1) if not self.is_empty(each)), None)

    def after(self, number: int) -> int | None:
        """The nearest line below that says something."""
        return next((each for each in range(number + 1, len(self.starts)) if not self.is_empty(each)), None)

    def block(self, number: int) -> int:
        """The last line of those that are indented deeper than this one, right below it; itself if there are none."""
        last, depth = number, self.indent(number)
        for each in range(number + 1, len(self.starts)):
            if self.is_empty(each):
                continue
            if self.indent(each) <= depth:
                break
            last = each
        return last

    def changed(self, changes: tuple[Change, ...]) -> str:
        """The text with changes as `joined` gives them."""
        text = self.text
        for change in reversed(changes):
            text = text[: change.start] + change.text + text[change.end :]
        return text


def joined(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes by place, one for each: what is inserted at one place stays in the order given."""
    made: list[Change] = []
    for change in sorted(changes, key=lambda each: each.start):
        if made and made[-1].end == change.start and made[-1].start == change.start:
            made[-1] = Change(change.start, change.end, made[-1].text + change.text)
        else:
            made.append(change)
    return tuple(made)


def nearby(view: View, offset: int) -> list[int]:
    """The line an error was reported in, and the one before it: much is missed only where the next line begins.

    Without those that are too long for anybody to have written them.
    """
    line = view.line_of(offset)
    lines = [] if view.is_empty(line) else [line]
    earlier = view.before(line)
    if earlier is not None:
        lines.append(earlier)
    return [each for each in lines if len(view.line(each)) <= LONGEST_LINE]
