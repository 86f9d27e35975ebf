"""Type annotations turned into the types the evaluator checks values against."""

from __future__ import annotations

from typing import assert_never

from kcl.diagnostics import Code
from kcl.evaluator.names import imported_module
from kcl.evaluator.runtime import ModuleContext
from kcl.evaluator.runtime_types import (
    ANY,
    UNWRITTEN,
    BasicRuntimeType,
    DictRuntimeType,
    FunctionRuntimeType,
    InstanceType,
    ListRuntimeType,
    LiteralRuntimeType,
    NumberMultiplierType,
    RuntimeType,
    Schema,
    UnionRuntimeType,
)
from kcl.loader.program import ImportKind
from kcl.syntax import ast

_BASIC = {name: BasicRuntimeType(name) for name in ("int", "float", "str", "bool")}


def lower_type(node: ast.Type, module: ModuleContext) -> RuntimeType:
    """The type an annotation in this file names. Schemas are looked up when a value is first checked."""
    match node:
        case ast.BasicType():
            return _BASIC.get(node.name, ANY)
        case ast.LiteralType():
            if node.suffix is not None:
                return NumberMultiplierType(f"{node.value}{node.suffix}")
            return LiteralRuntimeType(node.value)
        case ast.ListType():
            item = UNWRITTEN if node.item is None else lower_type(node.item, module)
            return ListRuntimeType(item, module.runtime.table)
        case ast.DictType():
            key = UNWRITTEN if node.key is None else lower_type(node.key, module)
            value = UNWRITTEN if node.value is None else lower_type(node.value, module)
            return DictRuntimeType(key, value, module.runtime.table)
        case ast.UnionType():
            return UnionRuntimeType([lower_type(member, module) for member in node.members])
        case ast.FunctionType():
            result = None if node.result is None else lower_type(node.result, module)
            return FunctionRuntimeType([lower_type(param, module) for param in node.params], result)
        case ast.NamedType():
            return _named(node, module)
        case _:
            assert_never(node)


def _named(node: ast.NamedType, module: ModuleContext) -> RuntimeType:
    names = node.names
    if len(names) == 1 and names[0] in module.scope.aliases:
        context, alias = module.scope.aliases[names[0]]
        return lower_type(alias.value, context)
    if len(names) == 2:
        imported = imported_module(module, names[0])
        if imported is not None and imported.kind is ImportKind.SYSTEM:
            return NumberMultiplierType() if names == ("units", "NumberMultiplier") else ANY
        if imported is not None and imported.kind is ImportKind.PACKAGE:
            package = module.runtime.packages[imported.package]
            if names[1] in package.aliases:
                context, alias = package.aliases[names[1]]
                return lower_type(alias.value, context)
    if len(names) == 1 and names[0] in module.scope.setters and names[0] not in module.scope.types:
        return ANY  # a variable: what the checker knew of its type it has said
    text = ".".join(names)
    return InstanceType(text, lambda: find_schema(names, node, module))


def find_schema(names: tuple[str, ...], node: ast.Node, module: ModuleContext) -> Schema:
    """The schema a dotted name stands for in this file. Raises KclError where there is none."""
    found: Schema | None = None
    if len(names) == 1:
        found = module.scope.types.get(names[0])
    else:
        imported = imported_module(module, names[0])
        if imported is not None and imported.kind is ImportKind.PACKAGE:
            found = module.runtime.packages[imported.package].types.get(names[1])
            if found is None:
                message = f"attribute '{names[1]}' not found in 'module '{imported.package}''"
                raise module.where(node).error(Code.TYPE, message)
    if found is not None and found.is_schema:
        return found
    raise module.where(node).error(Code.COMPILE, f"name '{'.'.join(names)}' is not defined")
