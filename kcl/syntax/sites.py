"""Edits at the place a value is written, as provenance names it: everything around it stays to the letter.

A place is what provenance names: the line and column where an entry, an attribute or an assignment begins, or where
its value does. So "change what set this field" needs no search.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kcl.records import fields, is_dataclass
from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.syntax.edit import expression_text
from kcl.syntax.parser import parse


def replace_at(text: str, line: int, column: int, value: Any) -> str:
    """Returns the text with the value that is written at a place replaced by a plain value.

    `line` and `column` count from 1. Raises `ValueError` where no value begins there, or where the text can't be
    parsed.
    """
    source = SourceFile("edit.k", text)
    parsed = parse(source)
    if parsed.diagnostics:
        raise ValueError("the file has syntax errors: correct those first")
    if not 1 <= line <= text.count("\n") + 1:
        raise ValueError(f"the file has no line {line}")
    found = _value_at(parsed.module, source.offset(line, column))
    if found is None:
        raise ValueError(f"no value is written at line {line}, column {column}")
    return text[: found.start] + expression_text(value) + text[found.end :]


def _value_at(module: ast.Module, offset: int) -> ast.Node | None:
    """Prefers the value of what begins at the offset; of several (`a.b.c = 1`) the innermost."""
    named: ast.Node | None = None
    plain: ast.Node | None = None
    for node in _nodes(module):
        match node:
            case ast.Entry(key=key, value=value) if key.start == offset and _is_written(value):
                named = value
            case ast.SchemaAttr(start=start, value=ast.Node() as value) if start == offset:
                named = value
            case ast.Assign(targets=[target, *_], value=value) if target.start == offset:
                named = value
            case ast.Keyword(start=start, value=value) if start == offset:
                named = value
            case _ if node.start == offset and _is_value(node) and plain is None:
                plain = node
    return named or plain


def _is_written(value: ast.Node) -> bool:
    return not (isinstance(value, ast.Config) and not value.written)


def _is_value(node: ast.Node) -> bool:
    return isinstance(
        node, ast.Int | ast.Float | ast.Str | ast.JoinedStr | ast.Constant | ast.List | ast.Config | ast.SchemaExpr
    )


def _nodes(node: Any) -> Iterator[ast.Node]:
    """Every node below, outer before inner. Iterative: nesting is as deep as users make it."""
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, list | tuple):
            pending.extend(reversed(current))
        elif isinstance(current, ast.Node):
            yield current
            if is_dataclass(current):
                pending.extend(getattr(current, each.name) for each in reversed(fields(current)))
