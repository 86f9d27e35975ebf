"""Edits at the place a value is written, as provenance names it: everything around it stays to the letter.

A place is what provenance names: the line and column where an entry, an attribute or an assignment begins, or where
its value does. So "change what set this field" needs no search.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from kcl.records import dataclass
from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.syntax.edit import expression_text
from kcl.syntax.parser import parse
from kcl.syntax.walking import walk, written_key


def replace_at(text: str, line: int, column: int, value: Any) -> str:
    """Returns the text with the value that is written at a place replaced by a plain value.

    `line` and `column` count from 1. Raises `ValueError` where no value begins there, or where the text can't be
    parsed.
    """
    source, module = _read(text)
    found = _placed(source, module, line, column)
    return text[: found.start] + _written_like(text[found.start : found.end], value) + text[found.end :]


@dataclass(frozen=True, slots=True)
class Written:
    """An expression of a text. `line` and `column` are where it begins, counted from 1.

    `is_plain` tells a value that is written out, from nothing else: `value` is it then. `names` are what the
    expression reads, by the last name of each: `port` for `server.port`.
    """

    line: int
    column: int
    text: str
    is_plain: bool
    value: Any = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enclosing:
    """What leads to a place: the variable or, in a schema, its name, and the keys below it, the last one its own."""

    name: str
    is_schema: bool
    keys: tuple[str, ...]


def written_at(text: str, line: int, column: int) -> Written:
    """Returns what `replace_at` would replace. Raises `ValueError` as it does."""
    source, module = _read(text)
    return _written(source, _placed(source, module, line, column))


def literals_at(text: str, line: int, column: int) -> tuple[Written, ...]:
    """Returns the plain values within the expression at a place, in order. Raises `ValueError` as `replace_at`."""
    source, module = _read(text)
    inside = walk(_placed(source, module, line, column))
    return tuple(_written(source, node) for node in inside if isinstance(node, _SCALARS))


def literals_named(text: str, name: str) -> tuple[Written, ...]:
    """Returns the plain scalars that a file gives to a name: a variable, an attribute or a key, wherever it stands.

    Empty for a file with syntax errors.
    """
    if name not in text and "\\" not in text:  # a key may be written with escapes
        return ()
    try:
        source, module = _read(text)
    except ValueError:
        return ()
    given = (value for node in walk(module) for value in _given(node, name))
    return tuple(_written(source, value) for value in given if isinstance(value, _SCALARS))


def enclosing_at(text: str, line: int, column: int) -> Enclosing | None:
    """Returns what leads to the entry or attribute that begins at a place; None where no names alone do.

    Raises `ValueError` as `replace_at`.
    """
    source, module = _read(text)
    offset = source.offset(line, column)
    for statement in module.body:
        if not statement.start <= offset < statement.end:
            continue
        match statement:
            case ast.Unification(target=ast.Target(name=name, path=[]), value=value):
                keys = _keys_to(value, offset)
                return Enclosing(name, False, keys) if keys else None
            case ast.Assign(targets=[ast.Target(name=name, path=[])], value=value):
                keys = () if statement.start == offset else _keys_to(value, offset)
                return Enclosing(name, False, keys) if keys is not None else None
            case ast.Schema(name=name, body=body):
                return _in_schema(name, body, offset)
            case _:
                pass
    return None


def configured(text: str) -> tuple[tuple[str, tuple[str, ...], str], ...]:
    """Returns the configurations that a file's statements write out: variable, keys below it, name of the schema.

    The name is empty where none is written. Empty for a file with syntax errors.
    """
    try:
        _, module = _read(text)
    except ValueError:
        return ()
    found: list[tuple[str, tuple[str, ...], str]] = []
    for statement in module.body:
        match statement:
            case ast.Unification(target=ast.Target(name=name, path=[]), value=value):
                found.extend((name, keys, schema) for keys, schema in _configurations(value, ()))
            case ast.Assign(targets=[ast.Target(name=name, path=[])], value=value):
                found.extend((name, keys, schema) for keys, schema in _configurations(value, ()))
            case _:
                pass
    return tuple(found)


def attributes_of(text: str, schema: str) -> tuple[str, ...]:
    """Returns the names of attributes that a file declares with a schema, by its last name, as their type.

    Empty for a file with syntax errors.
    """
    if schema not in text:
        return ()
    try:
        _, module = _read(text)
    except ValueError:
        return ()
    declared = (each for each in walk(module) if isinstance(each, ast.SchemaAttr))
    return tuple(
        each.name for each in declared if isinstance(each.type, ast.NamedType) and each.type.names[-1] == schema
    )


_SCALARS = ast.Int | ast.Float | ast.Str | ast.Constant


@lru_cache(maxsize=8)  # who sets a field asks for one place of a file after the other, and for the files in turn
def _read(text: str) -> tuple[SourceFile, ast.Module]:
    """Returns a tree that callers share, and must not change."""
    source = SourceFile("edit.k", text)
    parsed = parse(source)
    if parsed.diagnostics:
        raise ValueError("the file has syntax errors: correct those first")
    return source, parsed.module


def _placed(source: SourceFile, module: ast.Module, line: int, column: int) -> ast.Node:
    if not 1 <= line <= source.text.count("\n") + 1:
        raise ValueError(f"the file has no line {line}")
    found = _value_at(module, source.offset(line, column))
    if found is None:
        raise ValueError(f"no value is written at line {line}, column {column}")
    return found


def _written_like(old: str, value: Any) -> str:
    """The text of a value, in the quotes of what it replaces where they take it."""
    if isinstance(value, str) and old[:1] == "'" != old[1:2] and not any(each in value for each in "'\\$\n\r\t"):
        return f"'{value}'" if value.isprintable() else expression_text(value)
    if isinstance(value, str) and "\n" in value and old[:3] in ('"""', "'''"):
        text = f"{old[:3]}{_CONTINUED if old[3:].startswith(_CONTINUED) else ''}{value}{old[:3]}"
        if all(_reads_as(text, value, dedent) for dedent in (True, False)):
            return text
    return expression_text(value)


_CONTINUED = "\\\n"
"""What stands before the first line of a text that begins on the next one."""


def _reads_as(text: str, value: str, dedent: bool) -> bool:
    result = parse(SourceFile("value.k", f"value = {text}\n"), dedent=dedent)
    match result.module.body:
        case [ast.Assign(value=ast.Str(value=said))]:
            return said == value and not result.diagnostics
        case _:
            return False


def _written(source: SourceFile, node: ast.Node) -> Written:
    place = source.position(node.start)
    is_plain, value = _plain(node)
    names: dict[str, None] = {}
    for each in () if is_plain else walk(node):
        if isinstance(each, ast.Selector | ast.Name):
            names.setdefault(each.name if isinstance(each, ast.Selector) else each.id)
    return Written(place.line, place.column, source.text[node.start : node.end], is_plain, value, tuple(names))


def _plain(node: Any) -> tuple[bool, Any]:
    """Whether a node is a value written out, and the value."""
    match node:
        case ast.Paren(value=value):
            return _plain(value)
        case ast.Unary(op=ast.UnaryOp.MINUS, operand=ast.Int() | ast.Float() as operand):
            return True, -operand.value
        case ast.Int() | ast.Float() | ast.Str():
            return True, node.value
        case ast.Constant(kind=kind) if kind in _CONSTANTS:
            return True, _CONSTANTS[kind]
        case ast.List(items=items):
            return _all_plain(items)
        case ast.Config(items=items):
            keys = [written_key(each) for each in items]
            is_plain, values = _all_plain([each.value for each in items if isinstance(each, ast.Entry)])
            if not is_plain or None in keys:
                return False, None
            return True, dict(zip(keys, values, strict=True))
        case _:
            return False, None


_CONSTANTS = {ast.ConstantKind.TRUE: True, ast.ConstantKind.FALSE: False, ast.ConstantKind.NONE: None}


def _all_plain(nodes: list[Any]) -> tuple[bool, Any]:
    found = [_plain(each) for each in nodes]
    return all(is_plain for is_plain, _ in found), [value for _, value in found]


def _given(node: ast.Node, name: str) -> Iterator[Any]:
    match node:
        case ast.Entry(value=value) if written_key(node) == name:
            yield value
        case ast.SchemaAttr(name=own, value=ast.Node() as value) if own == name:
            yield value
        case ast.Assign(targets=targets, value=value) if any(each.name == name and not each.path for each in targets):
            yield value
        case ast.Keyword(name=own, value=value) if own == name:
            yield value
        case _:
            pass


def _keys_to(value: Any, offset: int) -> tuple[str, ...] | None:
    """The keys that lead from a configuration to the entry at an offset."""
    if isinstance(value, ast.SchemaExpr):
        value = value.config
    for item in value.items if isinstance(value, ast.Config) else ():
        name = written_key(item)
        if name is None or not isinstance(item, ast.Entry) or not item.start <= offset < item.end:
            continue
        if item.start == offset and not (isinstance(item.value, ast.Config) and not item.value.written):
            return (name,)
        below = _keys_to(item.value, offset)
        if below is None and item.start == offset:
            below = _unwritten_keys(item.value)
        return (name, *below) if below else None
    return None


def _unwritten_keys(value: Any) -> tuple[str, ...] | None:
    """The rest of the keys of `a.b.c = 1`, whose place is the beginning of the first."""
    keys: list[str] = []
    while isinstance(value, ast.Config) and not value.written and len(value.items) == 1:
        only = value.items[0]
        name = written_key(only)
        if name is None or not isinstance(only, ast.Entry):
            return None
        keys.append(name)
        value = only.value
    return tuple(keys) or None


def _in_schema(name: str, body: list[Any], offset: int) -> Enclosing | None:
    for each in body:
        match each:
            case ast.SchemaAttr(name=own, start=start, end=end, value=value) if start <= offset < end:
                keys = () if start == offset else _keys_to(value, offset)
                return Enclosing(name, True, (own, *keys)) if keys is not None else None
            case _:
                pass
    return None


def _dotted(name: ast.Name | ast.Selector) -> str:
    if isinstance(name, ast.Name):
        return name.id
    return f"{_dotted(name.value)}.{name.name}" if isinstance(name.value, ast.Name | ast.Selector) else name.name


def _configurations(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    name = ""
    if isinstance(value, ast.SchemaExpr):
        name = _dotted(value.name)
        value = value.config
    if not isinstance(value, ast.Config) or not value.written:
        return
    yield keys, name
    for item in value.items:
        own = written_key(item)
        if own is not None and isinstance(item, ast.Entry):
            yield from _configurations(item.value, (*keys, own))


def _value_at(module: ast.Module, offset: int) -> ast.Node | None:
    """Prefers the value of what begins at the offset; of several (`a.b.c = 1`) the innermost."""
    named: ast.Node | None = None
    plain: ast.Node | None = None
    for node in walk(module):
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
