"""Types as the official service tells them: a schema with its properties, each with its own type in full.

A schema inside itself is named and not told again, where the official one goes on for some levels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from kcl.compat.programs import ServiceError
from kcl.compat.type_messages import (
    Decorator,
    Example,
    FunctionType,
    IndexSignature,
    KclType,
    LoadPackageResult,
    Parameter,
    SchemaTypes,
    Scope,
    ScopeIndex,
    Symbol,
    SymbolIndex,
)
from kcl.loader.program import MAIN_PACKAGE, Module
from kcl.semantic import scopes, types
from kcl.syntax import ast
from kcl.tools.docstrings import of_attribute, plain
from kcl.tools.lsp.views import View

_MOST_TYPES: Final = 200_000
"""Types in one answer: schemas that use each other many times come out once for each use."""
_EXAMPLE: Final = "Default example"


class TypeMessages:
    """Types of one program. Raises `ServiceError` where they become too many for one answer."""

    def __init__(self, view: View, names: Mapping[str, str]) -> None:
        """`names` are what files are called in the answer, by path, where that is something else."""
        self._view, self._names_of_files = view, names
        self._left = _MOST_TYPES

    def type(self, of: types.Type, within: tuple[types.SchemaInfo, ...] = ()) -> KclType:
        self._left -= 1
        if self._left < 0:
            raise ServiceError(f"the types are more than {_MOST_TYPES} in one answer: ask for one schema by its name")
        match of:
            case types.SchemaType():
                return self.schema(of.info, within)
            case types.ListType():
                return KclType("list", item=self.type(of.item, within))
            case types.DictType():
                return KclType("dict", key=self.type(of.key, within), item=self.type(of.value, within))
            case types.UnionType():
                return KclType("union", union_types=[self.type(each, within) for each in of.members])
            case types.FunctionType():
                params = [Parameter(each.name, self.type(each.type, within)) for each in of.params]
                return KclType("function", function=FunctionType(params, self.type(of.result, within)))
            case _:
                return KclType(str(of))

    def schema(self, info: types.SchemaInfo, within: tuple[types.SchemaInfo, ...] = ()) -> KclType:
        told = KclType("schema", schema_name=info.name, pkg_path=info.package or MAIN_PACKAGE)
        written = self._view.schema(info)
        doc = ""
        if written is not None:
            module, node = written
            told.filename = self._names_of_files.get(module.name, module.name)
            if node.doc is not None:
                doc = plain(node.doc.value)
                told.schema_doc = told.description = _summary(doc)
                told.examples = _examples(doc)
            told.decorators = _decorators(node.decorators, module)
        if info in within:
            return told
        inner = (*within, info)
        for name in self._names(info):
            attribute = info.attribute(name)
            if attribute is not None:
                told.properties[name] = self._property(info, name, attribute, inner)
                told.properties[name].line = len(told.properties)
        told.required = [name for name in told.properties if not _is_optional(info, name)]
        if info.base is not None:
            told.base_schema = self.schema(info.base, inner)
        if info.signature is not None:
            told.index_signature = IndexSignature(
                info.signature.key_name or "",
                self.type(info.signature.key, inner),
                self.type(info.signature.value, inner),
                info.signature.any_other,
            )
        return told

    def _names(self, info: types.SchemaInfo) -> list[str]:
        """The attributes of the bases first, each in the order of its schema."""
        lineage: list[types.SchemaInfo] = []
        current: types.SchemaInfo | None = info
        while current is not None and current not in lineage:
            lineage.insert(0, current)
            current = current.base
        return list(dict.fromkeys(name for each in lineage for name in self._own(each)))

    def _own(self, info: types.SchemaInfo) -> Iterator[str]:
        written = self._view.schema(info)
        declared = [] if written is None else [each.name for each in _attributes(written[1])]
        yield from declared
        for mixin in info.mixins:
            yield from self._own(mixin)
        yield from (name for name, each in info.attributes.items() if each.span is not None)

    def _property(
        self, info: types.SchemaInfo, name: str, attribute: types.Attribute, within: tuple[types.SchemaInfo, ...]
    ) -> KclType:
        told = self.type(attribute.type, within)
        told.description = ""  # that of a schema is not its attribute's
        if isinstance(attribute.type, types.LiteralType):
            told.default = _text_of(attribute.type.value)
        for each in self._declaring(info, name):
            module, schema, node = each
            if node.value is not None:
                told.default = module.source.text[node.value.start : node.value.end]
            if schema.doc is not None:
                told.description = of_attribute(plain(schema.doc.value), name)
            told.decorators = _decorators(node.decorators, module)
        return told

    def _declaring(
        self, info: types.SchemaInfo, name: str
    ) -> Iterator[tuple[Module, ast.Schema | ast.Rule, ast.SchemaAttr]]:
        """Where the attribute as it counts is written: nearest first among the schema and its bases, and one only."""
        current: types.SchemaInfo | None = info
        seen: list[types.SchemaInfo] = []
        while current is not None and current not in seen:
            for each in (current, *reversed(current.mixins)):
                written = self._view.schema(each)
                found = [] if written is None else [one for one in _attributes(written[1]) if one.name == name]
                if written is not None and found:
                    yield (*written, found[-1])
                    return
            seen.append(current)
            current = current.base


def mapping(view: View, names: Mapping[str, str], schema_name: str) -> dict[str, KclType]:
    """The schemas of the main package by name, and variables that hold one by theirs; with a name that schema alone."""
    told = TypeMessages(view, names)
    found: dict[str, KclType] = {}
    for name, binding in view.recorder.top.names.items():
        if isinstance(binding.type, types.SchemaType) and (not schema_name or name == schema_name):
            found[name] = told.type(binding.type)
    return found


def by_package(view: View, names: Mapping[str, str], schema_name: str) -> dict[str, SchemaTypes]:
    """The schemas that each package of the program declares; with a name those that are called so."""
    told = TypeMessages(view, names)
    found: dict[str, SchemaTypes] = {}
    for path, scope in _scopes(view).items():
        every = [told.schema(each.info) for name, each in _schemas(scope) if schema_name in ("", name)]
        if every:
            found[path] = SchemaTypes(every)
    return found


def symbols(view: View, names: Mapping[str, str], into: LoadPackageResult) -> None:
    """Adds symbols and scopes of all packages: schemas with their attributes, and variables."""
    told = TypeMessages(view, names)
    counts: dict[str, int] = {}

    def add(kind: str, symbol: Symbol, full: str) -> SymbolIndex:
        index = SymbolIndex(counts.get(kind, 0), 0, kind)
        counts[kind] = index.i + 1
        into.symbols[_key(index)] = symbol
        into.fully_qualified_name_map[full] = index
        return index

    def local(scope: Scope) -> ScopeIndex:
        index = ScopeIndex(counts.get("scope", 0), 0, "Local")
        counts["scope"] = index.i + 1
        into.scopes[_key(index)] = scope
        return index

    for number, (path, package_scope) in enumerate(_scopes(view).items()):
        package = add("Package", Symbol(KclType("module"), path, is_global=True), path)
        root = ScopeIndex(number, 0, "Root")
        top = into.scopes[_key(root)] = Scope("Package", owner=package)
        into.pkg_scope_map[path] = root
        for name, binding in package_scope.names.items():
            of = binding.type
            if isinstance(of, scopes.ModuleType):
                continue
            is_schema = isinstance(of, types.SchemaType) and not of.is_instance
            kind = "Schema" if is_schema else "TypeAlias" if binding.kind is scopes.Kind.ALIAS else "Value"
            symbol = Symbol(told.type(of), name, package, is_global=True)
            index = add(kind, symbol, f"{path}.{name}")
            top.defs.append(index)
            if isinstance(of, types.SchemaType) and not of.is_instance:
                for attribute, type_ in symbol.ty.properties.items():
                    own = Symbol(type_, attribute, index, is_global=True)
                    symbol.attrs.append(add("Attribute", own, f"{path}.{name}.{attribute}"))
                top.children.append(local(Scope("SchemaDef", root, index, defs=list(symbol.attrs))))


def _scopes(view: View) -> dict[str, scopes.Scope]:
    found = {MAIN_PACKAGE: view.recorder.top}
    for module in view.recorder.modules.values():
        if isinstance(module, scopes.ModuleType) and module.scope is not None:
            found.setdefault(module.path, module.scope)
    return found


def _schemas(scope: scopes.Scope) -> Iterator[tuple[str, types.SchemaType]]:
    for name, binding in scope.names.items():
        if isinstance(binding.type, types.SchemaType) and not binding.type.is_instance:
            yield name, binding.type


def _key(index: SymbolIndex | ScopeIndex) -> str:
    return json.dumps({"i": index.i, "g": index.g, "kind": index.kind}, separators=(",", ":"))


def _attributes(node: ast.Schema | ast.Rule) -> list[ast.SchemaAttr]:
    return [each for each in node.body if isinstance(each, ast.SchemaAttr)] if isinstance(node, ast.Schema) else []


def _is_optional(info: types.SchemaInfo, name: str) -> bool:
    attribute = info.attribute(name)
    return attribute is None or attribute.optional


def _decorators(nodes: list[ast.Decorator], module: Module) -> list[Decorator]:
    text = module.source.text

    def written(node: ast.Node) -> str:
        return text[node.start : node.end]

    return [
        Decorator(
            written(each.name).removeprefix("@"),
            [written(one) for one in each.args],
            {one.name: written(one.value) for one in each.keywords},
        )
        for each in nodes
    ]


def _summary(doc: str) -> str:
    """What stands above the first heading, such as Attributes, as one line."""
    lines = doc.split("\n")
    for at in range(1, len(lines)):
        if lines[at].strip() and not lines[at].strip().strip("-"):
            lines = lines[: at - 1]
            break
    return " ".join(each.strip() for each in lines).strip()


def _examples(doc: str) -> dict[str, Example]:
    lines = doc.split("\n")
    for at, line in enumerate(lines[:-1]):
        if line.strip() == "Examples" and lines[at + 1].strip().startswith("---"):
            return {_EXAMPLE: Example(value="\n".join(lines[at + 2 :]).strip())}
    return {}


def _text_of(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
