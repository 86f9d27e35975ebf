"""What each word of a file is, for editors that colour by meaning, and the types that are nowhere written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kcl.records import dataclass
from kcl.semantic.types import ANY, widened
from kcl.syntax import ast
from kcl.syntax.walking import walk
from kcl.tools.lsp.hovering import shown
from kcl.tools.lsp.positions import Lines
from kcl.tools.lsp.views import View

KINDS: Final = ("namespace", "struct", "property", "variable", "parameter", "function", "comment", "string", "number")
_TOLD = (ast.SchemaExpr, ast.Constant, ast.Int, ast.Float, ast.Str, ast.JoinedStr, ast.Lambda, ast.List, ast.Config)


@dataclass(frozen=True, slots=True)
class Hint:
    """What could have been written at an offset."""

    at: int
    text: str


def tokens(text: str, module: ast.Module) -> list[tuple[int, int, str]]:
    """The words of a file with what they are, in order; none overlaps another or the end of a line."""
    imported = {each.name for each in module.imports()}
    declared = {each.name for each in module.body if isinstance(each, ast.Schema | ast.Rule)}
    found = {start: (end, kind) for node in walk(module) for start, end, kind in _of(node, text, imported, declared)}
    ordered: list[tuple[int, int, str]] = []
    for start, (end, kind) in sorted(found.items()):
        if end > start and (not ordered or ordered[-1][1] <= start) and not _ends_line(text, start, end):
            ordered.append((start, end, kind))
    return ordered


def _ends_line(text: str, start: int, end: int) -> bool:
    return "\n" in text[start:end] or "\r" in text[start:end]


def _of(node: ast.Node, text: str, imported: set[str], declared: set[str]) -> Iterator[tuple[int, int, str]]:
    match node:
        case ast.Comment():
            yield node.start, node.end, "comment"
        case ast.Str():
            yield node.start, node.end, "string"
        case ast.Int() | ast.Float():
            yield node.start, node.end, "number"
        case ast.Entry(key=ast.Name() as key):
            yield key.start, key.end, "property"
        case ast.Name(id=name):
            yield (
                node.start,
                node.end,
                "namespace" if name in imported else "struct" if name in declared else "variable",
            )
        case ast.Selector():
            yield node.name_start, node.name_start + len(node.name), "property"
        case ast.Call(func=ast.Name() as func):
            yield func.start, func.end, "function"
        case ast.NamedType(names=(_,)):
            yield node.start, node.end, "struct"
        case ast.NamedType():
            dot = text.find(".", node.start, node.end)
            yield node.start, dot, "namespace"
            yield text.rfind(".", node.start, node.end) + 1, node.end, "struct"
        case ast.SchemaAttr():
            yield node.start, node.name_end, "property"
        case ast.Schema() | ast.Rule():
            yield node.name_start, node.name_end, "struct"
        case ast.Param():
            yield node.start, node.start + len(node.name), "parameter"
        case ast.Target():
            yield node.start, node.name_end, "variable"
        case _:
            pass


def encoded(found: list[tuple[int, int, str]], lines: Lines) -> list[int]:
    """Tokens as the protocol packs them: five numbers each, places relative to the one before."""
    numbers: list[int] = []
    line = column = 0
    for start, end, kind in found:
        place = lines.place(start)
        width = lines.place(end).column - place.column
        column = place.column - (column if place.line == line else 0)
        numbers += [place.line - line, column, width, KINDS.index(kind), 0]
        line, column = place.line, place.column
    return numbers


def hints(view: View, start: int, end: int) -> list[Hint]:
    """The types of variables whose value does not show them."""
    found: list[Hint] = []
    for node in view.module.tree.body:
        if not isinstance(node, ast.Assign) or node.type is not None or isinstance(node.value, _TOLD):
            continue
        type_ = view.type_of(node.value, [])
        for target in node.targets:
            if type_ is not ANY and not target.path and start <= target.name_end <= end:
                found.append(Hint(target.name_end, f": {shown(widened(type_))}"))  # a value may be a secret
    return found
