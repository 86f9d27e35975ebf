"""Schemas as they are declared: attributes with types, defaults, documentation and decorators, those of bases as well.

A base is followed where one of the files declares it; what is declared elsewhere is named and not followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcl.records import dataclass
from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.tools.docstrings import of_attribute, plain
from kcl.tools.query.reading import tree


@dataclass(frozen=True, slots=True)
class Attribute:
    """`default` is an expression, None where there is none. `of` names the schema that declares it."""

    name: str
    type: str
    is_optional: bool
    default: str | None
    doc: str
    decorators: tuple[str, ...]
    of: str
    line: int

    def document(self) -> dict[str, Any]:
        said: dict[str, Any] = {
            "name": self.name,
            "type": self.type,
            "optional": self.is_optional,
            "default": self.default,
            "of": self.of,
            "line": self.line,
        }
        if self.doc:
            said["doc"] = self.doc
        if self.decorators:
            said["decorators"] = list(self.decorators)
        return said


@dataclass(frozen=True, slots=True)
class Schema:
    """One schema. `attributes` are those of its bases and then its own; one that is declared again stands once."""

    name: str
    base: str
    mixins: tuple[str, ...]
    doc: str
    decorators: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    file: str
    line: int

    def document(self) -> dict[str, Any]:
        said: dict[str, Any] = {"name": self.name, "file": self.file, "line": self.line}
        if self.base:
            said["base"] = self.base
        if self.mixins:
            said["mixins"] = list(self.mixins)
        if self.doc:
            said["doc"] = self.doc
        if self.decorators:
            said["decorators"] = list(self.decorators)
        said["attributes"] = [each.document() for each in self.attributes]
        return said


def schemas(files: Sequence[SourceFile]) -> dict[str, Schema]:
    """The schemas that the files declare, by name, in order. Raises Unreadable."""
    declared: dict[str, tuple[SourceFile, ast.Schema]] = {}
    for file in files:
        for statement in tree(file).body:
            if isinstance(statement, ast.Schema):
                declared[statement.name] = (file, statement)
    return {name: _schema(name, declared) for name in declared}


def _schema(name: str, declared: Mapping[str, tuple[SourceFile, ast.Schema]]) -> Schema:
    file, node = declared[name]
    attributes: dict[str, Attribute] = {}
    for above in _lineage(name, declared):
        for each in _own(*declared[above]):
            former = attributes.get(each.name)
            attributes[each.name] = each
            if former is not None and each.default is None:
                attributes[each.name] = _with_default(each, former)
    return Schema(
        name,
        _text(file, node.parent),
        tuple(_text(file, each) for each in node.mixins),
        plain(node.doc.value) if node.doc is not None else "",
        tuple(_text(file, each) for each in node.decorators),
        tuple(attributes.values()),
        file.path,
        file.position(node.start).line,
    )


def _with_default(each: Attribute, former: Attribute) -> Attribute:
    doc = each.doc or former.doc
    return Attribute(each.name, each.type, each.is_optional, former.default, doc, each.decorators, each.of, each.line)


def _lineage(name: str, declared: Mapping[str, tuple[SourceFile, ast.Schema]]) -> list[str]:
    """The bases that are known, the outermost first, and the schema itself. A circle is left where it closes."""
    found = [name]
    while True:
        file, node = declared[found[0]]
        above = _text(file, node.parent)
        if above not in declared or above in found:
            return found
        found.insert(0, above)


def _own(file: SourceFile, node: ast.Schema) -> list[Attribute]:
    doc = plain(node.doc.value) if node.doc is not None else ""
    return [
        Attribute(
            each.name,
            _text(file, each.type),
            each.optional,
            None if each.value is None else _text(file, each.value),
            of_attribute(doc, each.name),
            tuple(_text(file, one) for one in each.decorators),
            node.name,
            file.position(each.start).line,
        )
        for each in node.body
        if isinstance(each, ast.SchemaAttr)
    ]


def _text(file: SourceFile, node: ast.Node | None) -> str:
    return "" if node is None else file.text[node.start : node.end].removeprefix("@")
