"""Unifications of the main package with one name, made one statement before anything is evaluated.

`x: S {...}` in several files (and one `x = S {...}` before them) describe one instance. Their entries are joined, in
the order of the files, under the last of the statements; entries of one key stand together where the key first
appeared, and an entry written with `=` discards those of its key before it. Each entry is still compiled in the file it
was written in. The variable is declared, and printed, where the last of the statements stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from kcl.records import dataclass
from kcl.syntax import ast


@dataclass(frozen=True, slots=True)
class PlacedItem:
    """An entry of a joined configuration, and the index of the file it was written in."""

    file: int
    item: ast.ConfigItem


@dataclass(frozen=True, slots=True)
class Merged:
    """A statement that carries the joined entries of several; `dropped` are the others."""

    statement: ast.Unification | ast.Assign
    items: tuple[PlacedItem, ...]
    parts: tuple[tuple[int, ast.Unification | ast.Assign], ...]
    """All that were joined, this one too, each with the index of its file."""


@dataclass(frozen=True, slots=True)
class Merges:
    """What joining found: `merged` by the identity of the statement that stays, `dropped` identities of the rest."""

    merged: dict[int, Merged]
    dropped: frozenset[int]


def find_merges(files: Sequence[Sequence[ast.Stmt]]) -> Merges:
    """Joins the unifications of one name among the statements of the main package's files."""
    declared: dict[str, list[tuple[int, ast.Unification | ast.Assign]]] = {}
    for file, statements in enumerate(files):
        for statement in statements:
            match statement:
                case ast.Unification():
                    declared.setdefault(statement.target.name, []).append((file, statement))
                case ast.Assign(value=ast.SchemaExpr()):
                    for target in statement.targets:
                        if target.path:
                            continue
                        known = declared.get(target.name)
                        if known is None:
                            declared[target.name] = [(file, statement)]
                        elif target.name.startswith("_"):
                            known[:] = [(file, statement)]
                case _:
                    pass
    merged: dict[int, Merged] = {}
    dropped: set[int] = set()
    for places in declared.values():
        if len(places) < 2:
            continue
        items = [
            PlacedItem(file, item)
            for file, statement in places
            if isinstance(config := schema_expression(statement).config, ast.Config)
            for item in config.items
        ]
        last = places[-1][1]
        merged[id(last)] = Merged(last, tuple(_grouped(items)), tuple(places))
        dropped.update(id(statement) for _, statement in places[:-1])
    return Merges(merged, frozenset(dropped))


def schema_expression(statement: ast.Unification | ast.Assign) -> ast.SchemaExpr:
    assert isinstance(statement.value, ast.SchemaExpr)
    return statement.value


def _grouped(items: Sequence[PlacedItem]) -> list[PlacedItem]:
    groups: dict[str | None, list[PlacedItem]] = {}
    for placed in items:
        key = _static_key(placed.item)
        group = groups.setdefault(key, [])
        if isinstance(placed.item, ast.Entry) and placed.item.op is ast.ConfigOp.OVERRIDE and key is not None:
            group.clear()
        group.append(placed)
    return [placed for group in groups.values() for placed in group]


def _static_key(item: ast.ConfigItem) -> str | None:
    if not isinstance(item, ast.Entry):
        return None  # `list[0] = 1` counts among the entries of `list`, and discards them
    if isinstance(item.key, ast.Name):
        return item.key.id
    return item.key.value if isinstance(item.key, ast.Str) else None
