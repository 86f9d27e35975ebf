"""Strings, and the expressions inside them.

`"a ${b} c"` becomes its literal pieces and its values when it is parsed, so that an error in an
interpolation is a syntax error at its own place, and evaluation only joins. As in the official
compiler, an interpolation ends at the first `}`, whatever stands between.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kcl.diagnostics import Code
from kcl.syntax import ast
from kcl.syntax.literals import LiteralError, dedent, string_parts, unescape, with_line_ends
from tests.kcl.syntax.reference.lexer import tokenize
from tests.kcl.syntax.reference.tokens import Report, Token

_SPEC = re.compile(r":\s*(#[^\n]*)\Z")
_PLAIN_SPEC = re.compile(r":\s*\w+\s*\Z")


class Refused(Exception):
    """The grammar does not take the text."""


Run = Callable[[str, list[Token], Any], Any]
"""Reads tokens that end in `$END` by the rule of a name, and makes what a builder makes of them. Raises Refused."""


class Strings:
    """The part of the builder that makes strings; holds what all of it needs."""

    def __init__(self, text: str, report: Report, dedents: bool, run: Run) -> None:
        self.text = text
        self.report = report
        self.dedents = dedents
        self.run = run

    def string(self, token: Token) -> ast.Str | ast.JoinedStr:
        _, start, end, written = token
        content, raw, triple = string_parts(written)
        value = with_line_ends(content)
        if not raw and "\\" in content:
            try:
                value = unescape(value)
            except LiteralError as error:
                self.report(start, end, str(error))
        if triple and self.dedents:
            value = dedent(value)
        if "${" in value and not raw:
            return self._joined(start, end, content, value, 3 if triple else 1)
        return ast.Str(start, end, value, raw, triple)

    def _joined(self, start: int, end: int, content: str, value: str, quotes: int) -> ast.JoinedStr:
        """Split at the interpolations.

        `content` is as written, and gives their places; `value` is unescaped and dedented, and gives
        the pieces between them. The two are walked side by side.
        """
        parts: list[str | ast.FormattedValue] = []
        offset = start + quotes
        written_at = value_at = 0
        while True:
            opening = content.find("${", written_at)
            value_opening = value.find("${", value_at)
            if opening < 0 or value_opening < 0:
                break
            closing = content.find("}", opening)
            value_closing = value.find("}", value_opening)
            if closing < 0 or value_closing < 0:
                self.report(start, end, "invalid joined string")
                break
            piece = value[value_at:value_opening]
            if opening > written_at and content[opening - 1] == "\\":
                _add(parts, piece.removesuffix("\\") + value[value_opening : value_closing + 1])
            else:
                _add(parts, piece)
                parts.append(self._interpolation(offset + opening, offset + closing + 1))
            written_at, value_at = closing + 1, value_closing + 1
        _add(parts, value[value_at:])
        return ast.JoinedStr(start, end, parts, quotes == 3)

    def _interpolation(self, start: int, end: int) -> ast.FormattedValue:
        """`${value}` or `${value: #spec}` at `text[start:end]`."""
        inner_start, inner_end = start + 2, end - 1
        inner = self.text[inner_start:inner_end]
        spec = None
        found = _SPEC.search(inner)
        if found:
            inner_end = inner_start + found.start()
            spec = found[1][1:].lower()
            if spec not in ("json", "yaml"):
                self.report(inner_start, end - 1, f"{found[1]} is a invalid format spec", Code.COMPILE)
                spec = None
        elif _PLAIN_SPEC.search(inner):
            place = inner_start + inner.rfind(":")
            self.report(place + 1, inner_start + len(inner), "invalid joined string spec without #")
            inner_end = place
        return ast.FormattedValue(start, end, self._inner_expression(inner_start, inner_end, inner), spec)

    def _inner_expression(self, start: int, end: int, shown: str) -> ast.Expr:
        tokens = tokenize(self.text, self.report, [], start, end)
        if len(tokens) > 1 and tokens[-2][0] == "NEWLINE":
            del tokens[-2]
        try:
            value: ast.Expr = self.run("expression", tokens, self)
        except Refused:
            self.report(start, end, f"invalid string interpolation expression: '{shown}'")
            return ast.Constant(start, end, ast.ConstantKind.UNDEFINED)
        return value


def _add(parts: list[str | ast.FormattedValue], piece: str) -> None:
    """Append a literal piece, one with the piece before it."""
    if not piece:
        return
    if parts and isinstance(parts[-1], str):
        parts[-1] += piece
    else:
        parts.append(piece)
