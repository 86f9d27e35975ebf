"""Parse a file: its text to tokens, its tokens to a tree, and what is wrong with it in the official words.

Files that programs write are mostly lines of plain data, which the scanner hands on as one token each (runs.py). Where
a token like that stands in a place that takes none the text is read again by single tokens; so it is where anything is
wrong, since what is said of it depends on each of them.
"""

from __future__ import annotations

import contextlib
import sys
import threading

from kcl.collection import paused
from kcl.diagnostics import Code, Diagnostic, error
from kcl.records import dataclass
from kcl.source import SourceFile
from kcl.syntax import ast, descent
from kcl.syntax.descent.reader import MOST_NESTED, GaveUp
from kcl.syntax.nodes import split_documentation
from kcl.syntax.tokens import Token

_MOST_ERRORS = 50
# A level of nesting takes ten Python frames at most, and they lie on the heap.
_DEEP = 10 * MOST_NESTED + 1_000
# As kcl/evaluator/evaluate.py sets it, for the rest of the process.
_EVALUATION = 60_000
_ONE_AT_A_TIME = threading.Lock()


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
        return _parse(source, dedent, None)


def parse_with_tokens(source: SourceFile) -> tuple[ParseResult, list[Token]]:
    """As `parse`, and the tokens that the tree was read from, each by itself; the last is `eof`."""
    tokens: list[Token] = []
    with paused():
        return _parse(source, True, tokens), tokens


def scanned(text: str) -> tuple[list[Token], list[ast.Comment]] | None:
    """The tokens of a text, as `parse_with_tokens` gives them, and its comments; None where one of them is wrong.

    All that the parser decides rests on kinds and words of tokens, and neither on where they stand nor on how many line
    ends follow each other; but a string that a file begins with is documentation only in the first line.
    """
    comments: list[ast.Comment] = []
    try:
        with paused():
            return descent.tokens_of(text, _refuse, comments, with_runs=False), comments
    except _Refused:
        return None


def _parse(source: SourceFile, dedents: bool, tokens: list[Token] | None) -> ParseResult:
    findings = _Findings(source)
    body, comments = _statements(source.text, findings, dedents, tokens)
    doc, rest = split_documentation(body, source.text, dedents=dedents)
    if doc is not None:
        # Below a blank line or a comment the official compiler takes it for a value the file states.
        doc, body = (None, body) if "\n" in source.text[: doc.start] else (doc, rest)
    module = ast.Module(0, len(source.text), source.path, doc, body, comments)
    return ParseResult(module, tuple(findings.found))


def _statements(
    text: str, findings: _Findings, dedents: bool, tokens: list[Token] | None
) -> tuple[list[ast.Stmt], list[ast.Comment]]:
    try:
        return _read(text, findings, dedents, tokens)
    except RecursionError:
        pass  # too deep for what is usual
    with _ONE_AT_A_TIME:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, _DEEP))
        try:
            return _read(text, findings, dedents, tokens)
        except RecursionError:  # the stack was nearly used up where this was called from
            with contextlib.suppress(GaveUp):
                findings.report(0, 0, "too many levels of nesting")
            return [], []
        finally:
            # Another thread may have begun an evaluation meanwhile, and found as much as it needs.
            sys.setrecursionlimit(max(before, _EVALUATION))


def _read(
    text: str, findings: _Findings, dedents: bool, tokens: list[Token] | None
) -> tuple[list[ast.Stmt], list[ast.Comment]]:
    """`tokens` takes single tokens, if they are wanted."""
    comments: list[ast.Comment] = []
    if tokens is None:
        try:
            return descent.read(text, _refuse, comments, dedents=dedents, with_runs=True), comments
        except _Refused:
            comments.clear()
    try:
        return descent.read(text, findings.report, comments, dedents=dedents, with_runs=False, tokens=tokens), comments
    except GaveUp:
        return [], comments


class _Refused(Exception):
    """Something is wrong with the text, or with having taken lines of it for plain data."""


def _refuse(start: int, end: int, message: str, code: Code = Code.INVALID_SYNTAX, /) -> None:
    raise _Refused


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
