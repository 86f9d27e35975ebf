"""Parse a file: tokens, tables and builder together, and what to say when they disagree.

After an error the parser goes on without the broken statement, so one run reports every one, and
what could be read is still in the tree.
"""

from __future__ import annotations

from dataclasses import dataclass

from kcl.diagnostics import Code, Diagnostic, error
from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.syntax.builder import Builder
from kcl.syntax.driver import UnexpectedToken, run
from kcl.syntax.lexer import tokenize
from kcl.syntax.recovery import next_statement_of_file, statement_of_file, without_error
from kcl.syntax.unexpected import describe

_MAX_ERRORS = 50


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
        tokens, text, first = self._tokens, self._source.text, 0
        for _ in range(_MAX_ERRORS):
            try:
                body += run("file", tokens, self._builder, first)
                break
            except UnexpectedToken as unexpected:
                self._report(*describe(tokens, unexpected.index, unexpected.accepted, text))
                if isinstance(unexpected.done, list):
                    body += self._builder.file(unexpected.done)
                first = statement_of_file(tokens, unexpected.index, text)
                rest = without_error(tokens, first, unexpected.index, unexpected.accepted)
                if rest is not None:
                    tokens = rest
                else:
                    first = next_statement_of_file(tokens, unexpected.index, text)
        return body

    def _report(self, start: int, end: int, message: str, code: Code = Code.INVALID_SYNTAX, /) -> None:
        # The official compiler shows no caret for an error in the first column.
        first_column = start == 0 or self._source.text[start - 1 : start] == "\n"
        diagnostic = error(code, message, self._source.span(start, end), line_only=first_column)
        if diagnostic not in self._diagnostics:  # a statement of the file is read again when a part of it is broken
            self._diagnostics.append(diagnostic)
