"""Parse a file: by the tables, and where they refuse it, by the tolerant parser.

The tables read what people write. What they refuse is either wrong or merely unusual; the tolerant parser tells which,
says what is wrong as the official parser does, and makes a tree of what could be read.
"""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass

from kcl.collection import paused
from kcl.diagnostics import Code, Diagnostic, error
from kcl.source import SourceFile
from kcl.syntax import ast, runs, tolerant
from kcl.syntax.builder import Builder
from kcl.syntax.driver import UnexpectedToken, run
from kcl.syntax.lexer import tokenize
from kcl.syntax.tolerant.reader import GaveUp

_MOST_ERRORS = 50
# The tolerant parser takes some ten Python frames for a level of nesting, whose number it limits.
_RECURSION_LIMIT = 6_000


@dataclass(frozen=True, slots=True)
class ParseResult:
    """The tree, whole if `diagnostics` is empty, and else of what could be read."""

    module: ast.Module
    diagnostics: tuple[Diagnostic, ...]


def parse(source: SourceFile, *, dedent: bool = True) -> ParseResult:
    """Parse a file. Never raises: what is wrong is in the result.

    `dedent` takes the common indentation off triple-quoted strings; older dialects keep it.
    """
    with paused():
        return _parse(source, dedent)


def _parse(source: SourceFile, dedent: bool) -> ParseResult:
    findings = _Findings(source)
    comments: list[ast.Comment] = []
    builder = Builder(source.text, findings.report, dedent)
    body = _by_tables(source.text, findings, comments, builder)
    if body is None or findings.found:
        findings = _Findings(source)
        builder = Builder(source.text, findings.report, dedent)
        body = _tolerantly(source.text, findings, builder)
    doc, rest = builder.split_doc(body)
    if doc is not None:
        # Below a blank line or a comment the official compiler takes it for a value the file states.
        doc, body = (None, body) if "\n" in source.text[: doc.start] else (doc, rest)
    module = ast.Module(0, len(source.text), source.path, doc, body, comments)
    return ParseResult(module, tuple(findings.found))


def _by_tables(text: str, findings: _Findings, comments: list[ast.Comment], builder: Builder) -> list[ast.Stmt] | None:
    """The statements of a file; None if the tables refuse it, or something else is wrong with it."""
    for with_runs in (True, False):
        comments.clear()
        try:
            tokens = tokenize(text, findings.report, comments, with_runs=with_runs)
            if findings.found:
                return None
            body: list[ast.Stmt] = run("file", tokens, builder)
        except UnexpectedToken:
            # What looks like plain data may be a type that is written over lines.
            if any(token[0] in runs.TYPES for token in tokens):
                continue
        except GaveUp:
            pass
        else:
            return body
        break
    return None


def _tolerantly(text: str, findings: _Findings, builder: Builder) -> list[ast.Stmt]:
    before = sys.getrecursionlimit()
    if before < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)
    try:
        return tolerant.read(text, findings.report, builder)
    except GaveUp:
        return []
    except RecursionError:  # the stack was nearly used up where this was called from
        with contextlib.suppress(GaveUp):
            findings.report(0, 0, "too many levels of nesting around an error")
        return []
    finally:
        if before < _RECURSION_LIMIT == sys.getrecursionlimit():
            sys.setrecursionlimit(before)


class _Findings:
    """What is wrong with a file, each thing once, in the order of the official compiler."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self.found: list[Diagnostic] = []
        self._said: set[tuple[int, str]] = set()

    def report(self, start: int, end: int, message: str, code: Code = Code.INVALID_SYNTAX, /) -> None:
        """Raises GaveUp when there are enough."""
        if (start, message) in self._said:
            return
        self._said.add((start, message))
        start = self._shown_at(start)
        text = self._source.text
        # The official compiler shows no caret for an error in the first column.
        first_column = start == 0 or text[start - 1 : start] == "\n"
        diagnostic = error(code, message, self._source.span(start, max(start, end)), line_only=first_column)
        self.found.append(diagnostic)
        if len(self.found) >= _MOST_ERRORS:
            raise GaveUp

    def _shown_at(self, start: int) -> int:
        """What is missing at the end of a line is shown at its last character, as the official compiler has it."""
        text = self._source.text
        if start >= len(text) and text.endswith("\n"):
            start = len(text) - 1
        at_end = start >= len(text) or text[start] == "\n"
        return start - 1 if at_end and start and text[start - 1] != "\n" else start
