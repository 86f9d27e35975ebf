"""What names and attributes stand for, and the types that annotations name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from kcl.diagnostics import Code, Label, Span
from kcl.semantic.scopes import Kind, ModuleType, is_private
from kcl.semantic.signatures import function_type
from kcl.semantic.state import Place, State
from kcl.semantic.suggestions import did_you_mean, listed, similar
from kcl.semantic.types import (
    ANY,
    BASIC,
    BOOL,
    DICT_FLAG,
    MULTIPLIER,
    SCHEMA_FLAG,
    STR_FLAG,
    UNION_FLAG,
    DictType,
    FunctionType,
    ListType,
    LiteralType,
    MultiplierType,
    Parameter,
    SchemaInfo,
    SchemaType,
    Type,
    UnionType,
    is_key,
)
from kcl.syntax import ast

_INSTANCES: Final = FunctionType((Parameter("full_pkg", BOOL, True),), ListType(ANY))
_SCHEMA_FUNCTIONS: Final = ("instances",)


def dotted(node: ast.Expr) -> tuple[str, ...] | None:
    """The names of `a.b.c`; None for any other expression."""
    if isinstance(node, ast.Name):
        return (node.id,)
    names: list[str] = []
    current: ast.Expr = node
    while isinstance(current, ast.Selector) and not current.optional:
        names.append(current.name)
        current = current.value
    if not isinstance(current, ast.Name):
        return None
    names.append(current.id)
    return tuple(reversed(names))


_MOST_SUGGESTIONS: Final = 1_000
"""Findings after which no name is looked for that was meant: each takes a walk through all names."""


class Names(State):
    # ------------------------------------------------------------ variables

    def named(self, names: Sequence[str], place: Place) -> Type:
        """The type of `a.b.c`. What is not found is reported at `place`, that of the whole."""
        type_ = self._first_name(names, place)
        for name in names[1:]:
            type_ = self.member(type_, name, place)
        return type_

    def _first_name(self, names: Sequence[str], place: Place) -> Type:
        name = names[0]
        if len(names) > 1 and self.rules.file_scoped_imports and name in self.imports:
            return self.modules[self.path, name]
        found = self.scope.find(name)
        schema = self.schema
        if schema is None:
            return found.type if found is not None else self.unknown(name, place)
        if name in self.loop_names:
            return ANY if found is None else found.type
        attribute = self.attribute_type(name)
        if attribute is not None:
            if attribute is not ANY:
                return attribute
        elif not schema.is_mixin:
            for mixin in schema.mixins:
                inherited = mixin.attribute(name)
                if inherited is not None:
                    return inherited.type
        if found is not None:
            return found.type
        if attribute is None and not schema.is_mixin and not schema.is_rule:
            return self.unknown(name, place)
        return ANY

    def stored(self, name: str, place: Span) -> Type:
        """The type expected of a value assigned to `name`, which is bound if it was not."""
        if self.schema is None:
            if name not in self.scope.names:
                self.bind(name, ANY, place)
                return ANY
            return self.scope.names[name].type
        attribute = self.attribute_type(name)
        if attribute is None or name not in self.scope.names:
            self.bind(name, ANY, place)
            if attribute is None:
                self.assigned[name] = ANY
            return ANY
        return attribute

    def unknown(self, name: str, place: Place) -> Type:
        if not self.rules.unknown_names:
            few = len(self.findings) < _MOST_SUGGESTIONS
            suggestion = did_you_mean(name, self.scope.visible()) if few else ""
            self.compile_error(f"name '{name}' is not defined{suggestion}", Span(*place))
        return ANY

    # ------------------------------------------------------------ members

    def member(self, value: Type, name: str, place: Place) -> Type:
        """The type of an attribute of a value."""
        flags = value.flags
        suggestion = ""
        near: list[str] = []
        if value is ANY or flags & UNION_FLAG:
            return ANY
        if isinstance(value, SchemaType):
            found = self.schema_member(value, name)
            if found is not None:
                return found
            known = list(value.info.attributes) if value.is_instance else _SCHEMA_FUNCTIONS
            suggestion = did_you_mean(name, known)
        elif isinstance(value, DictType):
            entry = value.attributes.get(name)
            return value.value if entry is None else entry.type
        elif flags & STR_FLAG:
            signature = self.library.string_methods.get(name)
            if signature is not None:
                return function_type(signature)
            near = similar(name, self.library.string_methods)
        elif isinstance(value, ModuleType):
            found = self._module_member(value, name, place)
            if found is not None:
                return found
            near = similar(name, self._module_names(value))
        # Where the official message offers nothing, a note after it does.
        notes = (f"did you mean '{near[-1]}'?",) if near else ()
        self.report(Code.TYPE, f"attribute '{name}' not found in '{value}'{suggestion}", Span(*place), notes=notes)
        return ANY

    def _module_names(self, module: ModuleType) -> list[str]:
        if module.scope is not None:
            return [each for each, binding in module.scope.names.items() if binding.kind is not Kind.MODULE]
        members = self.library.modules.get(module.path)
        return [] if members is None else members.names()

    @staticmethod
    def schema_member(value: SchemaType, name: str) -> Type | None:
        info = value.info
        attribute = info.attribute(name)
        if attribute is not None:
            return attribute.type
        if info.is_mixin or info.signature is not None:
            return ANY
        if not value.is_instance and name in _SCHEMA_FUNCTIONS:
            return _INSTANCES
        return None

    def _module_member(self, module: ModuleType, name: str, place: Place) -> Type | None:
        if module.scope is None:
            if module.path == "units" and name == "NumberMultiplier":
                return MULTIPLIER
            if module.path not in self.library.modules:
                return ANY  # a plugin: what it offers is known when it runs
            found = self.library.member(module.path, name)
        else:
            binding = module.scope.names.get(name)
            if binding is not None and binding.kind is Kind.MODULE:
                message = f"can not import the attribute '{name}' from the module '{module.path}'"
                self.compile_error(message, Span(*place))
            found = None if binding is None else binding.type
            if found is not None and is_private(name) and not self.rules.private_members:
                message = f"cannot reference private member '{name}' from module '{module.path}'"
                self.compile_error(message, Span(*place))
        return ANY if found is None and self.rules.unknown_names else found

    def checked_member(self, value: Type, name: str, place: Place) -> Type:
        """The type of an attribute that is assigned to."""
        self.check_key(name, value, Span(*place), None)
        return self.member(value, name, place)

    def check_key(self, name: str, type_: Type, place: Span, defined: Span | None) -> None:
        """Reports a key that a schema, or all schemas of a union, do not have.

        `place` is where it is written, `defined` where else its value comes from.
        """
        raise NotImplementedError

    # ------------------------------------------------------------ subscripts

    def item(self, value: Type, index: ast.Expr, place: Span) -> Type:
        """The type of `value[index]`."""
        if value is ANY:
            return ANY
        if value.flags & STR_FLAG or isinstance(value, ListType):
            self.must_be_int(index)
            return value.item if isinstance(value, ListType) else BASIC[ast.BasicTypeName.STR]
        if not value.flags & (DICT_FLAG | SCHEMA_FLAG):
            self.compile_error(f"'{value}' object is not subscriptable", place)
            return ANY
        key = self.expression(index)
        if isinstance(key, LiteralType) and isinstance(key.value, str):
            return self.member(value, key.value, (place.path, place.start, place.end))
        if not key.flags & 3 and not is_key(key):  # neither None nor any
            self.compile_error(f"invalid dict/schema key type: '{key}'", place)
            return ANY
        if isinstance(value, SchemaType):
            return value.info.value_type
        assert isinstance(value, DictType)
        return value.value

    def must_be_int(self, node: ast.Expr) -> None:
        raise NotImplementedError

    # ------------------------------------------------------------ annotations

    def annotated(self, node: ast.Type | None, place: Place | None = None) -> Type:
        """The type an annotation stands for. Names nobody defines are reported at `place`, else at the annotation."""
        if node is None:
            return ANY
        if isinstance(node, ast.BasicType):
            return BASIC[node.name]
        return self._annotated(node, place or self.place(node))

    def _annotated(self, node: ast.Type | None, place: Place) -> Type:
        match node:
            case None:
                return ANY
            case ast.BasicType():
                return BASIC[node.name]
            case ast.NamedType():
                return self.named(node.names, place)
            case ast.ListType():
                return ListType(self._annotated(node.item, place))
            case ast.LiteralType():
                if node.suffix is not None:
                    return MultiplierType(f"{node.value}{node.suffix}")
                return LiteralType(node.value)
            case ast.DictType():
                return DictType(self._annotated(node.key, place), self._annotated(node.value, place))
            case ast.UnionType():
                return UnionType([self._annotated(member, place) for member in node.members])
            case ast.FunctionType():
                annotation = self.span(node)
                params = [Parameter("", self._annotated(param, place), False, annotation) for param in node.params]
                return FunctionType(params, self._annotated(node.result, place))
            case _:
                assert_never(node)

    # ------------------------------------------------------------ keys of configurations

    def no_such_key(self, name: str, schema: SchemaInfo, known: Sequence[str]) -> str:
        return f"Cannot add member '{name}' to schema '{schema.name}'{did_you_mean(name, known)}"


class Keys(Names):
    """Whether keys are attributes of the schemas they are written for."""

    def check_key(self, name: str, type_: Type, place: Span, defined: Span | None) -> None:
        if isinstance(type_, SchemaType):
            message = self._misplaced(name, type_.info)
        elif isinstance(type_, UnionType):
            message = self._misplaced_in_all(name, type_)
        else:
            return
        if message is not None:
            self.report(Code.COMPILE, message, place, _defined_here(defined))

    def _misplaced(self, name: str, schema: SchemaInfo) -> str | None:
        signature = schema.signature
        if signature is None:
            if schema.is_mixin or schema.attribute(name) is not None:
                return None
            return self.no_such_key(name, schema, list(schema.attributes))
        keys = _literal_keys(signature.key)
        if signature.any_other or keys is None or name in keys:
            return None
        return self.no_such_key(name, schema, keys)

    @staticmethod
    def _misplaced_in_all(name: str, union: UnionType) -> str | None:
        schemas: list[str] = []
        suggested: list[str] = []
        for member in union.members:
            if isinstance(member, SchemaType):
                info = member.info
                if info.attribute(name) is not None or info.is_mixin or info.signature is not None:
                    return None
                suggested += similar(name, info.attributes)
                schemas.append(info.name)
            elif isinstance(member, DictType):
                return None
        if not schemas:
            return None
        quoted = ", ".join(f'"{schema}"' for schema in schemas)
        target = f"schemas [{quoted}]" if len(schemas) > 1 else f"schema {schemas[0]}"
        return f"Cannot add member '{name}' to '{target}'{listed(suggested)}"


def _literal_keys(key: Type) -> list[str] | None:
    """The keys a type allows when it names each; None when it does not."""
    if isinstance(key, LiteralType) and isinstance(key.value, str):
        return [key.value]
    if isinstance(key, UnionType):
        return [each.value for each in key.members if isinstance(each, LiteralType) and isinstance(each.value, str)]
    return None


def _defined_here(place: Span | None) -> tuple[Label, ...]:
    return () if place is None else (Label(place, "config attribute is defined here"),)
