"""Statements: what they declare, and what they give to what is declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kcl.diagnostics import Code, Label, Span
from kcl.semantic.calls import takes_context
from kcl.semantic.expressions import Expressions
from kcl.semantic.scopes import Kind, is_private
from kcl.semantic.state import Context
from kcl.semantic.types import (
    ANY,
    DICT_FLAG,
    LIST_FLAG,
    UNION_FLAG,
    SchemaType,
    Type,
    common,
    is_upper_bound,
    widened,
)
from kcl.syntax import ast

BUILTIN_TYPES: Final = ("any", "int", "float", "str", "bool")
_QUOTES: Final = "\"'"
_OPERATORS: Final = {operator: ast.BinaryOp(operator.value[:-1]) for operator in ast.AugOp}


def assigned_names(statements: Iterable[ast.Stmt]) -> Iterator[tuple[str, ast.Node]]:
    """Every name the body of a schema gives a value or a type to."""
    for statement in statements:
        match statement:
            case ast.Assign():
                for target in statement.targets:
                    yield target.name, target
            case ast.AugAssign() | ast.Unification():
                yield statement.target.name, statement.target
            case ast.SchemaAttr():
                yield statement.name, statement
            case ast.If():
                yield from assigned_names(statement.body)
                yield from assigned_names(statement.orelse)
            case _:
                pass


class Statements(Expressions):
    def statements(self, nodes: Sequence[ast.Stmt]) -> Type:
        last: Type = ANY
        for node in nodes:
            last = self.statement(node)
        return last

    def statement(self, node: ast.Stmt) -> Type:
        self.here = self.place(node)
        match node:
            case ast.SchemaAttr():
                return self._schema_attribute(node)
            case ast.Assign():
                return self._assign(node)
            case ast.ExprStmt():
                return self.expression(node.value)
            case ast.Unification():
                return self._unification(node)
            case ast.AugAssign():
                return self._augmented(node)
            case ast.If():
                self.expression(node.cond)
                return common([self.statements(node.body), self.statements(node.orelse)])
            case ast.Assert():
                self.expression(node.test)
                if node.cond is not None:
                    self.aside(node.cond)
                if node.message is not None:
                    self.must_be_str(node.message)
                return ANY
            case ast.TypeAlias():
                return self.alias(node)
            case ast.Schema() | ast.Rule():
                self.schema_body(node)
                return ANY
            case _:
                return ANY

    def schema_body(self, node: ast.Schema | ast.Rule) -> None:
        raise NotImplementedError

    # ------------------------------------------------------------ assignments

    def _target(self, target: ast.Target, *, store: bool) -> Type:
        place = self.span(target)
        whole = self.place(target)
        type_ = self.stored(target.name, place) if store else self.named((target.name,), whole)
        for step in target.path:
            if isinstance(step, ast.Member):
                type_ = self.checked_member(type_, step.name, whole)
            else:
                if isinstance(step.value, ast.Str):
                    self.check_key(step.value.value, type_, place, None)
                type_ = self.item(type_, step.value, place)
        return type_

    def _declare(self, name: str, place: Span, *, replaces: bool) -> None:
        if self.level == 0 and (is_private(name) or replaces or name not in self.declared):
            self.declared[name] = place

    def _assign(self, node: ast.Assign) -> Type:
        self.loop_names.clear()
        value: Type = ANY
        replaces = isinstance(node.value, ast.SchemaExpr)
        for target in node.targets:
            name, place = target.name, self.span(target)
            self._declare(name, place, replaces=replaces)
            if target.path:
                if self.scope.find(name) is None:
                    self.unknown(name, self.place(target))
                expected = self._target(target, store=True)
                value = self.expression(node.value)
                self._check_annotation(node, value)
                self.must_fit(value, expected, place)
                continue
            expected = self._target(target, store=True)
            if takes_context(expected):
                context: Context = (expected, Span(self.path, node.targets[0].start, node.value.end))
                value = self.expression_within(node.value, context)
            else:
                value = self.expression(node.value)
            if not isinstance(expected, SchemaType):
                self._check_annotation(node, value)
            self.must_fit(value, expected, place)
            if value is not ANY and expected is ANY and node.type is None:
                self._infer(name, value, target)
        return value

    def _infer(self, name: str, value: Type, target: ast.Node) -> None:
        """Gives a variable without annotation the type of its first value."""
        type_ = widened(value)
        binding = self.scope.names.get(name)
        if binding is None:
            self.compile_error(f"name '{name}' is not defined", self.span(target))
        else:
            binding.type = type_
        if self.schema is not None:
            self.assigned[name] = type_

    def _check_annotation(self, node: ast.Assign, value: Type) -> None:
        if node.type is None:
            return
        for target in node.targets:
            annotation = self.annotated(node.type)
            binding = self.scope.names.get(target.name)
            if binding is None:
                continue
            if binding.type is ANY:
                binding.type = annotation
            elif not is_upper_bound(annotation, binding.type):
                self.type_changes(target, annotation, binding.type, binding.span, shown=annotation)
            self.must_fit(value, binding.type, self.span(target))

    def type_changes(self, target: ast.Target, type_: Type, before: Type, place: Span | None, *, shown: Type) -> None:
        labels = () if place is None else (Label(place, f"expected {before}"),)
        message = f"can not change the type of '{target.name}' to {shown}"
        self.report(Code.TYPE, message, self.span(target), labels)

    def _unification(self, node: ast.Unification) -> Type:
        name = node.target.name
        made = node.value.name
        if isinstance(made, ast.Name) and self.schema is not None and self.schema.is_mixin:
            # Even a mixin, which may leave names open, must know the schema it makes an instance of.
            if self.scope.find(made.id) is None and self.attribute_type(made.id) is None:
                self.unknown(made.id, self.place(made))
        if node.target.path:
            self.compile_error("unification identifier can not be selected", self.span(node.target))
        expected = self._target(node.target, store=True)
        context: Context = (expected, self.span(node.value))
        value = self.expression_within(node.value, context)
        self.must_fit(value, expected, self.span(node.target))
        if value is not ANY and expected is ANY:
            self._infer(name, value, node.target)
        return expected

    def _augmented(self, node: ast.AugAssign) -> Type:
        target = node.target
        name, place = target.name, self.span(target)
        if is_private(name) or isinstance(node.value, ast.SchemaExpr) or name not in self.declared:
            if self.level == 0:
                self.declared[name] = place
        else:
            self.report(
                Code.IMMUTABLE,
                f"Immutable variable '{name}' is modified during compiling",
                place,
                (Label(self.declared[name], f"The variable '{name}' is declared here firstly"),),
                (mutable_note(name),),
            )
        left = self._target(target, store=False)
        right = self.expression(node.value)
        result = self.binary(left, right, _OPERATORS[node.op], place)
        self.must_fit(result, self._target(target, store=True), place)
        return result

    # ------------------------------------------------------------ declarations

    def alias(self, node: ast.TypeAlias) -> Type:
        start = self.text.find(node.name, node.start + len("type"), node.end)
        start = node.start if start < 0 else start
        name = ast.Name(start, start + len(node.name), node.name)
        place = self.span(name)
        type_ = self.annotated(node.value, self.place(name))
        if node.name in BUILTIN_TYPES:
            listed = ", ".join(f'"{each}"' for each in BUILTIN_TYPES)
            self.type_error(f"type alias '{node.name}' cannot be the same as the built-in types ([{listed}])", place)
        self.bind(node.name, type_, place, Kind.ALIAS)
        return type_

    def defaults_come_last(self, params: Sequence[ast.Param]) -> None:
        """Reports defaults that a parameter without one follows, the last first."""
        follows = False
        for param in reversed(params):
            if param.default is None:
                follows = True
            elif follows:
                self.report(
                    Code.ILLEGAL_PARAMETER,
                    "non-default argument follows default argument",
                    self.span(param.default),
                    notes=("A default argument",),
                )

    def _schema_attribute(self, node: ast.SchemaAttr) -> Type:
        self.loop_names.clear()
        place = Span(self.path, node.start, node.name_end)
        name = node.name
        if "." in name and self.text[node.name_end - 1] not in _QUOTES:
            self.compile_error("schema attribute can not be selected", place)
            name = name.partition(".")[0]
        expected = self.attribute_type(name) or ANY
        self.bind(name, expected, place)
        if node.value is None:
            if isinstance(node.type, ast.LiteralType):  # which is its own default
                self.must_fit(self.annotated(node.type), expected, place)
            return ANY
        if isinstance(expected, SchemaType) or expected.flags & (LIST_FLAG | DICT_FLAG | UNION_FLAG):
            value = self.expression_within(node.value, (expected, self.span(node.value)))
        else:
            value = self.expression(node.value)
        if node.op is ast.AugOp.BIT_OR:
            value = self.binary(value, expected, ast.BinaryOp.BIT_OR, place)
        self.must_fit(value, expected, place)
        return ANY


def mutable_note(name: str) -> str:
    return f"change the variable name to '_{name}' to make it mutable"
