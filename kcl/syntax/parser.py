"""Parse a file: tokens, tables and builder together, and what to say when they disagree.

After an error the parser goes on at the next statement of the file that begins in the first
column, so one run reports every broken statement, and what could be read is still in the tree.
"""

from __future__ import annotations

from dataclasses import dataclass

from kcl.diagnostics import Code, Diagnostic, error
from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.syntax.builder import Builder
from kcl.syntax.driver import UnexpectedToken, run
from kcl.syntax.lexer import tokenize
from kcl.syntax.unexpected import describe

_MAX_ERRORS = 50

_NOT_STARTING = frozenset(("INDENT", "DEDENT", "NEWLINE", "ELIF", "ELSE", "RPAR", "RBRACKET", "RBRACE"))


@dataclass(frozen=True, slots=True)
class ParseResult:
    """The tree, whole if `diagnostics` is empty, and else of what could be read."""

    module: ast.Module
    diagnostics: tuple[Diagnostic, ...]


def parse(source: SourceFile, *, dedent: bool = True) -> ParseResult:
    """Parse a file. Never raises: what is wrong is in the result.

    `dedent` takes the common indentation off triple-quoted strings; older dialects keep it.
    """
    return _Parse(source, dedent).result()


class _Parse:
    def __init__(self, source: SourceFile, dedent: bool) -> None:
        self._source = source
        self._diagnostics: list[Diagnostic] = []
        self._comments: list[ast.Comment] = []
        self._tokens = tokenize(source.text, self._report, self._comments)
        self._builder = Builder(source.text, self._report, dedent)

    def result(self) -> ParseResult:
        body = self._statements()
        doc, rest = self._builder.split_doc(body)
        if doc is not None:
            # Below a blank line or a comment the official compiler takes it for a value the file states.
            doc, body = (None, body) if "\n" in self._source.text[: doc.start] else (doc, rest)
        module = ast.Module(0, len(self._source.text), self._source.path, doc, body, self._comments)
        self._diagnostics.sort(key=lambda diagnostic: diagnostic.primary.start if diagnostic.primary else 0)
        return ParseResult(module, tuple(self._diagnostics))

    def _statements(self) -> list[ast.Stmt]:
        body: list[ast.Stmt] = []
        first = 0
        while True:
            try:
                body += run("file", self._tokens, self._builder, first)
                return body
            except UnexpectedToken as unexpected:
                self._unexpected(unexpected)
                if isinstance(unexpected.done, list):
                    body += self._builder.file(unexpected.done)
                first = self._next_statement(unexpected.index)
                if first == len(self._tokens) - 1 or len(self._diagnostics) >= _MAX_ERRORS:
                    return body

    def _next_statement(self, index: int) -> int:
        """The number of the next token that begins a statement of the file, in its first column."""
        tokens, text = self._tokens, self._source.text
        for number in range(max(index, 1), len(tokens) - 1):
            start = tokens[number][1]
            if tokens[number - 1][0] in ("NEWLINE", "DEDENT") and tokens[number][0] not in _NOT_STARTING:
                if start == 0 or text[start - 1] == "\n":
                    return number
        return len(tokens) - 1

    def _report(self, start: int, end: int, message: str, code: Code = Code.INVALID_SYNTAX, /) -> None:
        # The official compiler shows no caret for an error in the first column.
        first_column = start == 0 or self._source.text[start - 1 : start] == "\n"
        span = self._source.span(start, end)
        self._diagnostics.append(error(code, message, span, line_only=first_column))

    def _unexpected(self, unexpected: UnexpectedToken) -> None:
        self._report(*describe(self._tokens, unexpected.index, unexpected.accepted, self._source.text))
