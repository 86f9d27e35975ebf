"""Places and names in the official tree, for all that stands in one."""

from __future__ import annotations

from typing import Any, Final

from kcl.patterns import pattern as regular_expression
from kcl.source import SourceFile
from kcl.syntax import ast

Json = dict[str, Any]

_BLANK: Final = regular_expression(r"(?:\s|#[^\n]*|\\\r?\n)*")
_LINES: Final = regular_expression(r"(?:\s|#[^\n]*)*")
_TOKEN: Final = regular_expression(r"""\$?\w+|\*\*|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|.""")
_WORD: Final = regular_expression(r"\$?\w+")


def bare_identifier(names: list[Json], ctx: str = "Load") -> Json:
    return {"names": names, "pkgpath": "", "ctx": ctx}


class Places:
    """One text. Methods answer nodes with their place, those that begin with `bare` what stands in one."""

    def __init__(self, source: SourceFile, path: str) -> None:
        self._source = source
        self._path = path
        self.text = source.text

    def at(self, start: int, end: int, node: Any) -> Json:
        first, last = self._source.position(start), self._source.position(end)
        if end == len(self.text) and last.column == 1 and end > start:
            before = self._source.position(end - 1)
            last = type(last)(before.line, before.column + 1)
        return {
            "node": node,
            "filename": self._path,
            "line": first.line,
            "column": first.column - 1,
            "end_line": last.line,
            "end_column": last.column - 1,
        }

    def of(self, node: ast.Node, made: Any) -> Json:
        return self.at(node.start, node.end, made)

    def next_token(self, offset: int) -> int:
        found = _BLANK.match(self.text, offset)
        return found.end() if found else offset

    def token_end(self, offset: int) -> int:
        """Where the token ends that begins there."""
        found = _TOKEN.match(self.text, offset)
        return found.end() if found else offset

    def margin(self, offset: int) -> int:
        """How far the line is indented."""
        first = self.text.rfind("\n", 0, offset) + 1
        before = self.text[first:offset]
        return len(before) - len(before.lstrip())

    def next_line(self, offset: int) -> int:
        """Where the line of the next token begins, if it is another line."""
        found = _LINES.match(self.text, offset)
        after = found.end() if found else offset
        line = self.text.rfind("\n", 0, after) + 1
        return line if line > offset else offset

    def word(self, start: int) -> Json:
        """The identifier that begins there."""
        end = self.word_end(start)
        return self.at(start, end, self.text[start:end])

    def word_end(self, start: int) -> int:
        found = _WORD.match(self.text, start)
        return found.end() if found else start

    def identifier(self, start: int, end: int, names: list[Json], ctx: str = "Load") -> Json:
        return self.at(start, end, bare_identifier(names, ctx))

    def lone(self, start: int) -> Json:
        """An identifier of one name."""
        return self.identifier(start, self.word_end(start), [self.word(start)])

    def segments(self, start: int, end: int) -> list[Json]:
        return [self.word(start + found.start()) for found in _WORD.finditer(self.text[start:end])]

    def dotted(self, value: ast.Name | ast.Selector | None) -> Json | None:
        if value is None:
            return None
        return self.identifier(value.start, value.end, self.segments(value.start, value.end))
