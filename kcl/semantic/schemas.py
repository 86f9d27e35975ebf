"""Schemas and rules: what their heads and attributes declare, and the walk through their bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kcl.diagnostics import Code, Diagnostic, Label, Span, error
from kcl.semantic.expressions import name_span
from kcl.semantic.names import dotted
from kcl.semantic.signatures import LibraryTypes, function_type
from kcl.semantic.state import Rules
from kcl.semantic.statements import BUILTIN_TYPES, Statements, assigned_names
from kcl.semantic.types import (
    ANY,
    STR_FLAG,
    Attribute,
    FunctionType,
    Parameter,
    SchemaInfo,
    SchemaType,
    Signature,
    Type,
    all_of,
    is_upper_bound,
)
from kcl.syntax import ast

_MIXIN: Final = "Mixin"
_PROTOCOL: Final = "Protocol"
_Test = Callable[[SchemaInfo], bool]


class Schemas(Statements):
    def __init__(self, library: LibraryTypes, rules: Rules) -> None:
        super().__init__(library, rules)
        self.infos: dict[int, SchemaInfo] = {}
        """By the identity of the statement that declares one; of two with one name, both mean the first."""
        self.order: dict[SchemaInfo, int] = {}
        """Where the package declares its schemas."""
        self.later: list[Diagnostic] = []
        """What shows only once schemas further down are known."""

    # ------------------------------------------------------------ heads

    def build_schema(self, node: ast.Schema) -> None:
        info = self.infos[id(node)]
        self.here = self.place(node)
        info.base = self._base(node)
        if info.base is not None:
            self._built(info.base)
        info.protocol = self._protocol(node)
        name_place = Span(self.path, node.name_start, node.name_end)
        self._check_name(node, name_place)
        if info.base is not None and info.base.name.endswith(_MIXIN):
            self.report(Code.ILLEGAL_INHERIT, f"mixin inheritance {info.base.name} is prohibited", name_place)
        names = {name for name, _ in assigned_names(node.body)}
        info.signature = self._signature(node, names)
        self._attributes(node, info)
        self._mixins(node, info)
        params: list[Parameter] = []
        for param in node.params:
            place = name_span(self.path, param)
            if param.name in names:
                message = f"Unexpected parameter name '{param.name}' with the same name as the schema attribute"
                self.compile_error(message, place)
            type_ = self.annotated(param.type, self.place(_head(param)))
            params.append(Parameter(param.name, type_, param.default is not None, place))
        info.function = FunctionType(params, ANY)
        info.required = _required(node, info)
        self.decorators(node.decorators)

    def build_rule(self, node: ast.Rule) -> None:
        info = self.infos[id(node)]
        self.here = self.place(node)
        if node.host is not None:
            info.protocol = self._named_schema(node.host, "protocol", lambda found: found.is_protocol)
        if node.name in BUILTIN_TYPES:
            message = f"rule name '{node.name}' cannot be the same as the built-in types ({_listed(BUILTIN_TYPES)})"
            self.compile_error(message, Span(self.path, node.name_start, node.name_end))
        for parent in node.parents:
            type_ = self._head_type(parent)
            if isinstance(type_, SchemaType) and type_.info.is_rule and not type_.is_instance:
                info.mixins.append(type_.info)
            else:
                self.report(Code.ILLEGAL_INHERIT, f"illegal rule type '{type_}'", self.span(parent))
        # A rule may be called with fewer arguments than it has parameters.
        info.function = FunctionType(
            [
                Parameter(
                    param.name, self.annotated(param.type, self.place(_head(param))), True, name_span(self.path, param)
                )
                for param in node.params
            ],
            ANY,
        )
        info.signature = None if info.protocol is None else info.protocol.signature
        self.decorators(node.decorators)

    def _head_type(self, node: ast.Expr) -> Type:
        names = dotted(node)
        return ANY if names is None else self.named(names, self.place(node))

    def _named_schema(self, node: ast.Expr, wanted: str, is_right: _Test) -> SchemaInfo | None:
        type_ = self._head_type(node)
        if isinstance(type_, SchemaType) and not type_.is_instance and is_right(type_.info):
            return type_.info
        message = f"invalid schema inherit object type, expect {wanted}, got '{type_}'"
        self.report(Code.ILLEGAL_INHERIT, message, self.span(node))
        return None

    def _base(self, node: ast.Schema) -> SchemaInfo | None:
        if node.parent is None:
            return None
        return self._named_schema(node.parent, "schema", lambda found: not (found.is_protocol or found.is_mixin))

    def _protocol(self, node: ast.Schema) -> SchemaInfo | None:
        if node.host is None:
            return None
        if not node.is_mixin:
            message = "only schema mixin can inherit from protocol"
            self.report(Code.ILLEGAL_INHERIT, message, self.span(node.host))
            return None
        return self._named_schema(node.host, "protocol", lambda found: found.is_protocol)

    def _check_name(self, node: ast.Schema, place: Span) -> None:
        if node.name in BUILTIN_TYPES:
            message = f"schema name '{node.name}' cannot be the same as the built-in types ({_listed(BUILTIN_TYPES)})"
            self.compile_error(message, place)
        if node.is_protocol and not node.name.endswith(_PROTOCOL):
            end = Span(self.path, node.name_end, node.name_end)
            self.compile_error(f"schema protocol name must end with '{_PROTOCOL}'", end)
        if node.is_protocol and not _only_attributes(node):
            self.compile_error("a protocol is only allowed to define attributes in it", place)

    def _signature(self, node: ast.Schema, names: set[str]) -> Signature | None:
        written = node.index_signature
        if written is None:
            return None
        if written.name is not None and written.name in names:
            message = f"index signature attribute name '{written.name}' cannot have the same name as schema attributes"
            self.report(Code.INDEX_SIGNATURE, message, self.span(written))
        key, value = self.annotated(written.key_type), self.annotated(written.value_type)
        if not all_of(key, STR_FLAG):
            place = Span(self.path, node.name_start, node.name_end)
            self.report(Code.INDEX_SIGNATURE, f"invalid index signature key type: '{key}'", place)
        return Signature(written.name, key, value, written.any_other)

    # ------------------------------------------------------------ attributes

    def _attributes(self, node: ast.Schema, info: SchemaInfo) -> None:
        attributes = info.attributes
        own_order = self.order[info]
        for statement in node.body:
            match statement:
                case ast.SchemaAttr():
                    name, optional = statement.name, statement.optional
                    type_ = self.annotated(statement.type)
                    if statement.decorators:
                        self.decorators(statement.decorators)
                case ast.Unification():
                    name, optional = statement.target.name, False
                    names = dotted(statement.value.name)
                    type_ = ANY if names is None else self.named(names, self.place(statement))
                case _:
                    continue
            place = self.span(statement)
            if isinstance(statement, ast.SchemaAttr) and statement.decorators:
                place = Span(self.path, statement.decorators[0].start, statement.end)
            inherited = None if info.base is None else info.base.attribute(name)
            attribute = attributes.get(name)
            if attribute is None:
                kept = optional if inherited is None else inherited.optional
                attribute = attributes[name] = Attribute(type_, kept, place)
            found = list(self._changes(name, type_, optional, attribute, inherited, place))
            if found:
                if inherited is not None and self._declared_later(info.base, own_order):
                    self.later += found
                else:
                    self.findings.update(dict.fromkeys(found))
            self._meets_signature(name, type_, info.signature, place)

    def _built(self, info: SchemaInfo) -> SchemaInfo:
        """The schema with its attributes known, wherever in the package it is declared."""
        raise NotImplementedError

    def _declared_later(self, base: SchemaInfo | None, own: int) -> bool:
        seen = 0
        while base is not None and seen < 1000:
            if self.order.get(base, -1) > own:
                return True
            base = base.base
            seen += 1
        return False

    @staticmethod
    def _changes(
        name: str, type_: Type, optional: bool, attribute: Attribute, inherited: Attribute | None, place: Span
    ) -> Iterator[Diagnostic]:
        base_type = ANY if inherited is None else inherited.type
        if not is_upper_bound(attribute.type, type_) or not is_upper_bound(base_type, type_):
            message = f"can't change schema field type of '{name}' from {attribute.type} to {type_}"
            yield error(Code.TYPE, message, place)
        if optional and not attribute.optional:
            message = f"can't change the required schema attribute of '{name}' to optional"
            yield error(Code.TYPE, message, place)

    def _meets_signature(self, name: str, type_: Type, signature: Signature | None, place: Span) -> None:
        if signature is None or signature.any_other or is_upper_bound(signature.value, type_):
            return
        message = (
            f"the type '{type_}' of schema attribute '{name}' does not meet the index signature definition {signature}"
        )
        self.report(Code.INDEX_SIGNATURE, message, place)

    def _mixins(self, node: ast.Schema, info: SchemaInfo) -> None:
        for mixin in node.mixins:
            names = dotted(mixin) or ("",)
            if not names[-1].endswith(_MIXIN):
                message = f"a valid mixin name should end with 'Mixin', got '{names[-1]}'"
                self.report(Code.NAME, message, self.span(mixin))
            type_ = self._head_type(mixin)
            found = type_.info if isinstance(type_, SchemaType) and not type_.is_instance else None
            if found is None or found.is_protocol or not found.is_mixin:
                message = f"illegal schema mixin object type, expected mixin, got '{type_}'"
                self.report(Code.ILLEGAL_INHERIT, message, self.span(mixin))
                continue
            info.mixins.append(found)
            for name, attribute in self._built(found).attributes.items():
                info.attributes.setdefault(name, attribute)

    # ------------------------------------------------------------ decorators

    def decorators(self, decorators: Sequence[ast.Decorator]) -> None:
        for decorator in decorators:
            if not isinstance(decorator.name, ast.Name):
                self.type_error("decorator name must be a single identifier", self.span(decorator.name))
                continue
            signature = self.library.decorators.get(decorator.name.id)
            if signature is None:
                self.compile_error(f"UnKnown decorator {decorator.name.id}", self.span(decorator.name))
            else:
                self.arguments(decorator.name, decorator.args, decorator.keywords, function_type(signature))

    # ------------------------------------------------------------ bodies

    def schema_body(self, node: ast.Schema | ast.Rule) -> None:
        place = Span(self.path, node.name_start, node.name_end)
        self._must_be_unique(node.name, place)
        binding = self.scope.find(node.name)
        if binding is None or not isinstance(binding.type, SchemaType):
            wanted = "schema" if isinstance(node, ast.Schema) else "rule"
            type_ = ANY if binding is None else binding.type
            self.type_error(f"expected {wanted} type, got {type_}", place)
            return
        info = binding.type.info
        self.schema, self.assigned = info, {}
        self.defaults_come_last(node.params)
        self.enter()
        for param in info.function.params:
            self.bind(param.name, param.type, self.span(node))
        if isinstance(node, ast.Schema):
            self._schema_body(node, info)
        for check in node.checks:
            if check.message is not None:
                self.must_be_str(check.message)
            if check.cond is not None:
                self.aside(check.cond)
            self.expression(check.test)
        self.leave()
        self.schema, self.assigned = None, {}

    def _schema_body(self, node: ast.Schema, info: SchemaInfo) -> None:
        if node.index_signature is not None and info.signature is not None:
            self._signature_default(node.index_signature, info.signature)
        names = self.scope.names
        for name, where in assigned_names(node.body):
            if name not in names:
                self.bind(name, ANY, self.span(where))
        self.statements(node.body)

    def _signature_default(self, written: ast.IndexSignature, signature: Signature) -> None:
        if signature.key_name is not None:
            self.bind(signature.key_name, signature.key, self.span(written))
        if written.default is None:
            return
        if isinstance(signature.value, SchemaType):
            value = self.expression_within(written.default, (signature.value, self.span(written.default)))
        else:
            value = self.expression(written.default)
        self.must_fit(value, signature.value, self.span(written))

    def _must_be_unique(self, name: str, place: Span) -> None:
        first = self.declared.get(name)
        if first is None:
            self.declared[name] = place
            return
        label = Label(first, f"The variable '{name}' is declared here")
        self.report(Code.UNIQUE_KEY, f"Unique key error name '{name}'", place, (label,))


def _listed(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _head(param: ast.Param) -> ast.Name:
    """The name of a parameter, as a place."""
    return ast.Name(param.start, param.start + len(param.name), param.name)


def _required(node: ast.Schema, info: SchemaInfo) -> tuple[str, ...]:
    """As `SchemaInfo.required`. Of several declarations of one attribute the first counts."""
    if info.base is not None or node.mixins or node.is_mixin or node.index_signature is not None:
        return ()
    needed: dict[str, bool] = {}
    for statement in node.body:
        match statement:
            case ast.SchemaAttr():
                has_default = statement.value is not None or isinstance(statement.type, ast.LiteralType)
                needed.setdefault(statement.name, not (statement.optional or has_default))
            case ast.Unification():
                needed.setdefault(statement.target.name, False)
            case _:
                return ()
    return tuple(name for name, is_needed in needed.items() if is_needed)


def _only_attributes(node: ast.Schema) -> bool:
    return not (node.params or node.mixins or node.checks or node.parent or node.host) and all(
        isinstance(statement, (ast.SchemaAttr, ast.Unification)) for statement in node.body
    )
