"""One file of source text, and offsets turned into lines and columns."""

from __future__ import annotations

from bisect import bisect_right

from kcl.diagnostics import Position, Span


class SourceFile:
    """A path and its text. The line index is built at the first question about lines."""

    __slots__ = ("_line_starts", "path", "text")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._line_starts: list[int] | None = None

    def __repr__(self) -> str:
        return f"SourceFile({self.path!r}, {len(self.text)} characters)"

    def span(self, start: int, end: int) -> Span:
        return Span(self.path, start, end)

    def position(self, offset: int) -> Position:
        """Line and column, both from 1; an offset past the end counts as the end."""
        offset = min(max(offset, 0), len(self.text))
        starts = self._starts()
        line = bisect_right(starts, offset)
        return Position(line, offset - starts[line - 1] + 1)

    def offset(self, line: int, column: int = 1) -> int:
        """The inverse of `position`; a line or column that does not exist gives the nearest that does."""
        starts = self._starts()
        line = min(max(line, 1), len(starts))
        end = starts[line] - 1 if line < len(starts) else len(self.text)
        return min(starts[line - 1] + max(column, 1) - 1, end)

    def line(self, number: int) -> str:
        """The text of a line (from 1) without its end; "" if there is no such line."""
        starts = self._starts()
        if not 1 <= number <= len(starts):
            return ""
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r")

    def _starts(self) -> list[int]:
        if self._line_starts is None:
            starts, at = [0], self.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.text.find("\n", at + 1)
            self._line_starts = starts
        return self._line_starts
