"""Tokens to what the rules of grammar.lark stand for, by lark's LALR parser."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import lark
from lark.lexer import Lexer

import kcl.syntax
from kcl.diagnostics import Code
from kcl.syntax import ast
from tests.kcl.syntax.reference.builder import Builder
from tests.kcl.syntax.reference.interpolation import Refused
from tests.kcl.syntax.reference.lexer import tokenize
from tests.kcl.syntax.reference.tokens import Token

_GRAMMAR = Path(kcl.syntax.__path__[0], "grammar.lark")


def read(text: str) -> list[ast.Stmt] | None:
    """The statements of a file; None where the grammar, or a method that a rule names, refuses it."""
    try:
        tokens = tokenize(text, _refuse, [])
        body: list[ast.Stmt] = _run("file", tokens, Builder(text, _refuse, True, _run))
    except Refused:
        return None
    return body


def _refuse(start: int, end: int, message: str, code: Code = Code.INVALID_SYNTAX, /) -> None:
    raise Refused(message)


def _run(start: str, tokens: list[Token], builder: Builder) -> Any:
    """What the builder makes of `tokens`, which must end in `$END`. Raises Refused."""
    try:
        tree = _parser().parse(tokens, start=start)
    except lark.exceptions.UnexpectedInput as unexpected:
        raise Refused from unexpected
    return _built(tree, tokens, builder)


def _built(node: Any, tokens: list[Token], builder: Builder) -> Any:
    if not hasattr(node, "children"):
        return tokens[int(node)]
    values = [_built(child, tokens, builder) for child in node.children]
    return getattr(builder, str(node.data))(*values)


class _NoLexer(Lexer):  # type: ignore[misc]  # lark is untyped here
    """Tokens are made elsewhere; each carries its number in the stream as its text."""

    __future_interface__ = False

    def __init__(self, _configuration: object) -> None:
        pass

    def lex(self, data: Iterable[Token]) -> Iterator[lark.Token]:
        for number, token in enumerate(data):
            if token[0] != "$END":
                yield lark.Token(token[0], str(number))


@cache
def _parser() -> Any:
    return _made()


def _made() -> Any:
    return lark.Lark(
        _GRAMMAR.read_text(encoding="utf-8"),
        parser="lalr",
        lexer=_NoLexer,
        start=["file", "expression"],
        keep_all_tokens=True,
        maybe_placeholders=False,
    )


def conflicts() -> list[str]:
    """What lark decided by shifting, one line each: the terminal and the rule that could have been reduced."""
    records: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record.getMessage())

    collector, logger = Collect(), lark.logger
    level = logger.level
    logger.addHandler(collector)
    logger.setLevel(logging.DEBUG)
    try:
        _made()
    finally:
        logger.removeHandler(collector)
        logger.setLevel(level)
    starts = [number for number, text in enumerate(records) if "Shift/Reduce" in text]
    return sorted(
        {f"{records[at].split('terminal ')[1].split(':')[0]}: {records[at + 1].strip(' *')}" for at in starts}
    )
