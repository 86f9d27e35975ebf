"""Rules on schemas that inherit: no cycles, no second schema of a name, nothing weaker than the base declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kcl.diagnostics import Code, Diagnostic, Label, Span, error
from kcl.loader.program import MAIN_PACKAGE, ImportKind, Module, Program
from kcl.syntax import ast


@dataclass(frozen=True, slots=True, eq=False)
class _Schema:
    node: ast.Schema
    module: Module
    package: str

    @property
    def name_span(self) -> Span:
        return Span(self.module.source.path, self.node.name_start, self.node.name_end)

    @property
    def shown(self) -> str:
        return self.node.name if self.package == MAIN_PACKAGE else f"{self.package}.{self.node.name}"


def check_inheritance(program: Program) -> list[Diagnostic]:
    """Findings about the schemas of every package."""
    schemas: dict[str, dict[str, _Schema]] = {}
    found: list[Diagnostic] = []
    for path, package in program.packages.items():
        known = schemas.setdefault(path, {})
        for module in package.modules:
            for statement in module.tree.body:
                if isinstance(statement, ast.Schema):
                    schema = _Schema(statement, module, path)
                    if statement.name in known:
                        found += _repeated(schema, known[statement.name])
                    else:
                        known[statement.name] = schema
    in_cycle: set[int] = set()
    for known in schemas.values():
        for schema in known.values():
            found += _schema(schema, schemas, in_cycle)
    return found


def _repeated(schema: _Schema, first: _Schema) -> Iterator[Diagnostic]:
    message = f"Unique key error name '{schema.node.name}'"
    start = Span(schema.module.source.path, schema.node.start, schema.node.end)
    yield error(Code.UNIQUE_KEY, message, start)
    label = Label(first.name_span, f"The variable '{schema.node.name}' is declared here")
    yield error(Code.UNIQUE_KEY, message, schema.name_span, labels=(label,))


def _schema(schema: _Schema, schemas: Mapping[str, Mapping[str, _Schema]], in_cycle: set[int]) -> Iterator[Diagnostic]:
    chain = _chain(schema, schemas)
    if isinstance(chain, tuple):
        if id(schema.node) not in in_cycle and schema is chain[0]:
            in_cycle.update(id(member.node) for member in chain)
            names = ", ".join(member.shown for member in chain)
            for member in chain:
                message = f"There is a circular reference between schemas {names}"
                yield error(Code.COMPILE, message, member.name_span)
        return
    yield from _index_signature(schema)
    for base in chain:
        declared = {attr.name: attr for attr in _attributes(base)}
        for attr in _attributes(schema):
            inherited = declared.get(attr.name)
            if inherited is not None and attr.optional and not inherited.optional:
                message = f"can't change the required schema attribute of '{attr.name}' to optional"
                yield error(Code.TYPE, message, Span(schema.module.source.path, attr.start, attr.end))


def _chain(schema: _Schema, schemas: Mapping[str, Mapping[str, _Schema]]) -> list[_Schema] | tuple[_Schema, ...]:
    """The bases of a schema, the nearest first; a tuple is the cycle its bases end in."""
    seen = [schema]
    while (base := _base(seen[-1], schemas)) is not None:
        if base in seen:
            return tuple(seen[seen.index(base) :])
        seen.append(base)
    return seen[1:]


def _base(schema: _Schema, schemas: Mapping[str, Mapping[str, _Schema]]) -> _Schema | None:
    match schema.node.parent:
        case ast.Name(id=name):
            return schemas[schema.package].get(name)
        case ast.Selector(value=ast.Name(id=alias), name=name):
            imported = schema.module.imports.get(alias)
            if imported is not None and imported.kind is ImportKind.PACKAGE:
                return schemas.get(imported.package, {}).get(name)
        case _:
            pass
    return None


def _attributes(schema: _Schema) -> Iterator[ast.SchemaAttr]:
    for statement in schema.node.body:
        if isinstance(statement, ast.SchemaAttr):
            yield statement


def _index_signature(schema: _Schema) -> Iterator[Diagnostic]:
    """Attributes whose plain type is not the one the index signature gives to all of them."""
    signature = schema.node.index_signature
    if signature is None or signature.any_other:
        return
    if not isinstance(signature.value_type, ast.BasicType) or not isinstance(signature.key_type, ast.BasicType):
        return
    wanted = signature.value_type.name
    if wanted is ast.BasicTypeName.ANY:
        return
    admitted = {wanted, ast.BasicTypeName.ANY}
    if wanted is ast.BasicTypeName.FLOAT:
        admitted.add(ast.BasicTypeName.INT)
    for attr in _attributes(schema):
        declared = attr.type
        if isinstance(declared, ast.BasicType) and declared.name not in admitted:
            yield error(
                Code.INDEX_SIGNATURE,
                f"the type '{declared.name}' of schema attribute '{attr.name}' does not meet the index signature "
                f"definition [{signature.key_type.name}]: {wanted}",
                Span(schema.module.source.path, attr.start, attr.end),
            )
