"""What schemas rest on, what rests on them, and who makes instances of them.

A schema is a type with supertypes (its base, mixins, protocol) and subtypes. An instance of it, `Server {...}`, is also
what a call is of a function: so editors show under "calls" who makes instances of a schema, beside who calls a lambda.
Configurations that are instances only because an attribute has the type of the schema are not among them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from kcl.loader.program import Module
from kcl.records import dataclass
from kcl.syntax import ast
from kcl.syntax.walking import walk
from kcl.tools.lsp.outline import Kind
from kcl.tools.lsp.referring import uses
from kcl.tools.lsp.resolving import Declaration, Name, name_at
from kcl.tools.lsp.sessions import Session
from kcl.tools.lsp.views import View, chain_at


@dataclass(frozen=True, slots=True)
class Item:
    """A schema, a function, or whatever else calls: `name` at its declaration, and all of it from `start` to `end`."""

    name: str
    kind: Kind
    declaration: Declaration
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Calls:
    """One who calls, or is called, and the places of the calls, which all are in the file of who calls."""

    item: Item
    places: tuple[Declaration, ...]


def schema_at(session: Session, path: str, offset: int) -> Item | None:
    """The schema whose name is at an offset, or which what is named there is an instance of."""
    view = session.view(path)
    found = None if view is None else name_at(view, offset)
    if view is None or found is None:
        return None
    if isinstance(found.node, ast.Schema | ast.Rule):
        return _item(found)
    info = getattr(found.type, "info", None)
    written = None if info is None else view.schema(info)
    return None if written is None else _of_schema(*written)


def callable_at(session: Session, path: str, offset: int) -> Item | None:
    """The schema or lambda whose name is at an offset."""
    view = session.view(path)
    found = None if view is None else name_at(view, offset)
    return None if found is None else _item(found)


def supertypes(session: Session, path: str, offset: int) -> list[Item]:
    """What the schema declared at an offset is written with: base, mixins and protocol, as far as they are found."""
    view, name = _declared(session, path, offset)
    if view is None or name is None:
        return []
    found = (name_at(view, each.end) for each in _heads(name.node))
    return [item for each in found if each is not None and (item := _item(each)) is not None]


def subtypes(session: Session, path: str, offset: int, is_over: Callable[[], bool] = bool) -> list[Item]:
    """The schemas that are written with the one declared at an offset, over all files of the repository."""
    found: dict[Item, None] = {}
    for use, _, chain, module in _uses(session, path, offset, is_over):
        for node in chain:
            if isinstance(node, ast.Schema | ast.Rule) and any(
                each.start <= use.start and use.end <= each.end for each in _heads(node)
            ):
                found[_of_schema(module, node)] = None
    return list(found)


def callers(session: Session, path: str, offset: int, is_over: Callable[[], bool] = bool) -> list[Calls]:
    """Who makes instances of the schema, or calls the lambda, declared at an offset, over all files."""
    found: dict[Item, list[Declaration]] = {}
    for use, view, chain, module in _uses(session, path, offset, is_over):
        if any(_is_call(node, use) for node in chain):
            found.setdefault(_around(view, chain, module), []).append(use)
    return [Calls(item, tuple(places)) for item, places in found.items()]


def callees(session: Session, path: str, offset: int) -> list[Calls]:
    """What the schema or lambda at an offset makes instances of, or calls."""
    view, name = _declared(session, path, offset)
    if view is None or name is None or name.node is None:
        return []
    found: dict[Item, list[Declaration]] = {}
    for node in walk(name.node):
        called = node.name if isinstance(node, ast.SchemaExpr) else node.func if isinstance(node, ast.Call) else None
        target = None if called is None else name_at(view, called.end)
        item = None if target is None else _item(target)
        if target is not None and item is not None:
            found.setdefault(item, []).append(Declaration(path, target.start, target.end))
    return [Calls(item, tuple(sorted(places, key=lambda each: each.start))) for item, places in found.items()]


def _declared(session: Session, path: str, offset: int) -> tuple[View | None, Name | None]:
    view = session.view(path)
    name = None if view is None else name_at(view, offset)
    own = name is not None and name.module is not None and name.module.source.path == path
    return view, name if own else None


def _uses(
    session: Session, path: str, offset: int, is_over: Callable[[], bool]
) -> Iterator[tuple[Declaration, View, list[ast.Node], Module]]:
    documents = session.documents
    view = session.view(path, documents)
    name = None if view is None else name_at(view, offset)
    if view is None or name is None or name.declaration is None:
        return
    for use in uses(session, documents, view, name, is_over):
        own = session.view(use.path, documents)
        if use != name.declaration and own is not None:
            yield use, own, chain_at(own.module.tree, use.start + 1), own.module


def _heads(node: ast.Node | None) -> Sequence[ast.Expr]:
    """What a schema is written with, outside of its body."""
    match node:
        case ast.Schema():
            found = (node.parent, *node.mixins, node.host)
        case ast.Rule():
            found = (*node.parents, node.host)
        case _:
            found = ()
    return [each for each in found if each is not None]


def _is_call(node: ast.Node, use: Declaration) -> bool:
    match node:
        case ast.SchemaExpr():
            return node.name.end == use.end
        case ast.Call():
            return node.func.end == use.end
        case ast.Assign(type=ast.NamedType() as type_, value=ast.Config()):  # `web: Server = {...}`
            return type_.end == use.end
        case _:
            return False


def _around(view: View, chain: Sequence[ast.Node], module: Module) -> Item:
    """The schema or variable that a place is in, else its file."""
    for node in chain:
        match node:
            case ast.Schema() | ast.Rule():
                return _of_schema(module, node)
            case ast.Assign(targets=[target, *_]) | ast.Unification(target=target):
                declaration = Declaration(module.source.path, target.start, target.name_end)
                is_function = isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
                kind = Kind.FUNCTION if is_function else Kind.VARIABLE
                return Item(target.name, kind, declaration, node.start, node.end)
            case _:
                pass
    path = module.source.path
    return Item(os.path.basename(path), Kind.MODULE, Declaration(path, 0, 0), 0, len(view.text))


def _item(name: Name) -> Item | None:
    match name.node:
        case ast.Schema() | ast.Rule() if name.module is not None:
            return _of_schema(name.module, name.node)
        case ast.Assign(value=ast.Lambda()) if name.declaration is not None:
            return Item(name.text, Kind.FUNCTION, name.declaration, name.node.start, name.node.end)
        case _:
            return None


def _of_schema(module: Module, node: ast.Schema | ast.Rule) -> Item:
    declaration = Declaration(module.source.path, node.name_start, node.name_end)
    return Item(node.name, Kind.SCHEMA, declaration, node.start, node.end)
