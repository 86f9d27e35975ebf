"""The shape of a file: symbols, what can be folded, and what a selection grows to. All of the tree alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.syntax import ast
from kcl.syntax.walking import walk
from kcl.tools.lsp.positions import Lines
from kcl.tools.lsp.views import chain_at


class Kind(StrEnum):
    """What a symbol, or a completion, is."""

    SCHEMA = "schema"
    ATTRIBUTE = "attribute"
    VARIABLE = "variable"
    FUNCTION = "function"
    MODULE = "module"
    TYPE = "type"
    KEYWORD = "keyword"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Symbol:
    name: str
    kind: Kind
    start: int
    end: int
    name_start: int
    name_end: int
    children: tuple[Symbol, ...] = ()


def symbols(module: ast.Module) -> list[Symbol]:
    """What a file declares, schemas with their attributes."""
    return list(_symbols(module.body))


def _symbols(body: Sequence[ast.Stmt]) -> Iterator[Symbol]:
    for node in body:
        match node:
            case ast.Schema() | ast.Rule():
                inner = tuple(_symbols(node.body)) if isinstance(node, ast.Schema) else ()
                yield Symbol(node.name, Kind.SCHEMA, node.start, node.end, node.name_start, node.name_end, inner)
            case ast.SchemaAttr():
                yield Symbol(node.name, Kind.ATTRIBUTE, node.start, node.end, node.start, node.name_end)
            case ast.Assign():
                kind = Kind.FUNCTION if isinstance(node.value, ast.Lambda) else Kind.VARIABLE
                for target in node.targets:
                    yield Symbol(target.name, kind, node.start, node.end, target.start, target.name_end)
            case ast.Unification(target=target):
                yield Symbol(target.name, Kind.VARIABLE, node.start, node.end, target.start, target.name_end)
            case ast.TypeAlias():
                yield Symbol(node.name, Kind.TYPE, node.start, node.end, node.start, node.end)
            case ast.If():
                yield from _symbols(node.body)
                yield from _symbols(node.orelse)
            case _:
                pass


_TOP_LEVEL = pattern(
    r"^(?:(?P<word>schema|mixin|protocol|rule|type)[ \t]+)?(?P<name>[A-Za-z_]\w*)(?=[\[( \t]*[:=\[(])", re.MULTILINE
)


def top_level(text: str, query: str, most: int = 200) -> list[tuple[str, Kind, int]]:
    """Names at the beginning of lines that hold the letters of a query in their order, with where they are."""
    wanted = query.lower()
    found: list[tuple[str, Kind, int]] = []
    for each in _TOP_LEVEL.finditer(text):
        name = each["name"]
        letters = iter(name.lower())
        if len(found) < most and all(letter in letters for letter in wanted):
            kind = Kind.VARIABLE if each["word"] is None else Kind.TYPE if each["word"] == "type" else Kind.SCHEMA
            found.append((name, kind, each.start("name")))
    return found


_FOLDED = (ast.Schema, ast.Rule, ast.Config, ast.ConfigComp, ast.List, ast.ListComp, ast.Lambda, ast.If, ast.Quantifier)


def folds(module: ast.Module, lines: Lines) -> list[tuple[int, int, str]]:
    """First and last line of what can be folded, with the kind that the protocol has for it, "" for none."""
    found: set[tuple[int, int, str]] = set()
    for node in walk(module):
        if isinstance(node, _FOLDED) or (isinstance(node, ast.Str) and node.triple):
            end = max(node.start, node.end - 1)
            while end > node.start and lines.text[end].isspace():
                end -= 1
            found.add((lines.place(node.start).line, lines.place(end).line, ""))
    imports = [lines.place(each.start).line for each in module.imports()]
    if imports:
        found.add((imports[0], imports[-1], "imports"))
    comments = {lines.place(each.start).line for each in module.comments}
    for first in comments:
        if first - 1 not in comments:
            last = first
            while last + 1 in comments:
                last += 1
            found.add((first, last, "comment"))
    return sorted(each for each in found if each[1] > each[0])


def selections(module: ast.Module, offset: int) -> list[tuple[int, int]]:
    """What a selection at an offset grows to, the smallest first."""
    found = [(each.start, each.end) for each in chain_at(module, offset)]
    return [each for at, each in enumerate(reversed(found)) if at == 0 or each != found[len(found) - at]]
