"""Going through a tree: the nodes below a node, and the keys that lead to them."""

from __future__ import annotations

from collections.abc import Iterator

from kcl.records import fields
from kcl.syntax import ast

_CHILDREN: dict[type, tuple[str, ...]] = {}
_PLAIN = frozenset(("str", "int", "float", "bool", "str | None", "int | None"))
"""Types of fields that hold no node, as they are written."""


def children(node: ast.Node) -> list[ast.Node]:
    """The nodes right below a node, in the order of the tree's fields."""
    names = _CHILDREN.get(type(node))
    if names is None:
        names = _CHILDREN[type(node)] = tuple(each.name for each in fields(node) if each.type not in _PLAIN)
    found: list[ast.Node] = []
    for name in names:
        value = getattr(node, name)
        if type(value) is list:
            found += [each for each in value if isinstance(each, ast.Node)]
        elif isinstance(value, ast.Node):
            found.append(value)
    return found


def walk(root: ast.Node) -> Iterator[ast.Node]:
    """A node and all below it, outer before inner, in the order of `children`. Iterative: as deep as the tree is."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        below = children(node)
        if below:
            below.reverse()
            pending += below


def written_key(item: object) -> str | None:
    """The key under which an entry stands; None where it is computed, or an item of what stands there (`a[0] = 1`)."""
    match item:
        case ast.Entry(key=ast.Name(id=name), index=None) | ast.Entry(key=ast.Str(value=name), index=None):
            return name
        case _:
            return None
