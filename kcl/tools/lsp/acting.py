"""Edits that are offered at a place: attributes that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kcl.diagnostics import Diagnostic, Hint
from kcl.records import dataclass
from kcl.semantic.scopes import is_private
from kcl.semantic.types import (
    BOOL_FLAG,
    DICT_FLAG,
    FLOAT_FLAG,
    INT_FLAG,
    LIST_FLAG,
    SCHEMA_FLAG,
    STR_FLAG,
    LiteralType,
    SchemaType,
    Type,
    UnionType,
)
from kcl.syntax import ast
from kcl.tools.lsp.completing import all_attributes, given_attributes
from kcl.tools.lsp.views import View, chain_at

_VALUES = (
    (STR_FLAG, '""'),
    (INT_FLAG, "0"),
    (FLOAT_FLAG, "0.0"),
    (BOOL_FLAG, "False"),
    (LIST_FLAG, "[]"),
    (DICT_FLAG | SCHEMA_FLAG, "{}"),
)


@dataclass(frozen=True, slots=True)
class Action:
    """`text` in place of the characters `start` up to `end`."""

    title: str
    start: int
    end: int
    text: str
    against: Diagnostic | None = None
    """The finding that is gone after it, if it is one."""


def actions(view: View, start: int) -> list[Action]:
    """What is offered for a selection, beside what mends findings of the linter (`advising`)."""
    return list(_missing_attributes(view, start))


def mending(diagnostics: Iterable[Diagnostic], path: str, start: int, end: int) -> Iterator[Hint]:
    """The hints with edits of what is wrong with a selection of the file at `path`, and with the lines they change."""
    for item in diagnostics:
        for hint in item.hints:
            spans = [each.span for each in hint.edits]
            if not spans or item.primary is None or any(span.path != path for span in spans):
                continue
            if any(span.path == path and span.start <= end and start <= span.end for span in (item.primary, *spans)):
                yield hint


def _missing_attributes(view: View, offset: int) -> Iterator[Action]:
    chain = chain_at(view.module.tree, offset)
    for node in reversed(chain):
        if isinstance(node, ast.SchemaExpr) and isinstance(node.config, ast.Config):
            type_ = view.type_of(node.name, chain)
            if isinstance(type_, SchemaType) and not type_.is_instance:
                yield from _missing(view, type_, node.config)
            return


def _missing(view: View, type_: SchemaType, config: ast.Config) -> Iterator[Action]:
    written = {item.key.id for item in config.items if isinstance(item, ast.Entry) and isinstance(item.key, ast.Name)}
    given = written | given_attributes(view, type_.info)
    needed = {
        name: each
        for name, each, is_optional in all_attributes(type_.info)
        if not is_optional and name not in given and not is_private(name)
    }
    text = view.text
    if not needed or text[config.start : config.start + 1] != "{":
        return
    line = text[text.rfind("\n", 0, config.start) + 1 : config.start]
    indent = line[: len(line) - len(line.lstrip())] + "    "
    lines = "".join(f"\n{indent}{name} = {_value(each)}" for name, each in needed.items())
    rest = text[config.start + 1 : config.end]
    if "\n" not in rest.partition("}")[0].partition("{")[0]:
        lines += "\n" + indent if rest.rstrip("} ") else "\n" + indent[:-4]
    title = f"Add {', '.join(needed)}" if len(needed) < 4 else f"Add {len(needed)} missing attributes"
    yield Action(title, config.start + 1, config.start + 1, lines)


def _value(type_: Type) -> str:
    """A value that has the type, to begin with."""
    if isinstance(type_, UnionType):
        return _value(type_.members[0])
    if isinstance(type_, LiteralType):
        return f'"{type_.value}"' if isinstance(type_.value, str) else str(type_.value)
    return next((value for flag, value in _VALUES if type_.flags & flag), "None")
