"""Expressions: one method for each kind of node, found by its class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kcl.diagnostics import Span
from kcl.semantic.configurations import Configurations
from kcl.semantic.names import dotted
from kcl.semantic.scopes import ModuleType
from kcl.semantic.signatures import LibraryTypes
from kcl.semantic.state import Rules
from kcl.semantic.types import (
    ANY,
    BOOL,
    INT,
    LIST_FLAG,
    NONE,
    STR,
    STR_FLAG,
    DictType,
    FunctionType,
    ListType,
    LiteralType,
    MultiplierType,
    Parameter,
    SchemaType,
    Type,
    common,
)
from kcl.syntax import ast

_FORMATS: Final = frozenset({None, "json", "yaml", "#json", "#yaml"})


class Expressions(Configurations):
    def __init__(self, library: LibraryTypes, rules: Rules) -> None:
        super().__init__(library, rules)
        # Functions and not bound methods, which would make the checker and all it found out refer to itself.
        cls = type(self)
        self._walks: Final[Mapping[type, Callable[[Any, Any], Type]]] = {
            ast.Binary: cls._operation,
            ast.Call: cls.call,
            ast.Cast: cls._cast,
            ast.Compare: cls._compare,
            ast.Config: cls.config,
            ast.ConfigComp: cls.config_comprehension,
            ast.Constant: cls._constant,
            ast.Missing: cls._missing,
            ast.Float: cls._literal,
            ast.IfExpr: cls._conditional,
            ast.Int: cls._integer,
            ast.JoinedStr: cls._joined,
            ast.Lambda: cls._lambda,
            ast.List: cls.list_literal,
            ast.ListComp: cls.list_comprehension,
            ast.ListIf: cls.list_if,
            ast.Name: cls._name,
            ast.Paren: cls._paren,
            ast.Quantifier: cls.quantifier,
            ast.SchemaExpr: cls._schema_expression,
            ast.Selector: cls._selector,
            ast.Slice: cls._slice,
            ast.Starred: cls.starred,
            ast.Str: cls._literal,
            ast.Subscript: cls._subscript,
            ast.Unary: cls._unary,
        }

    def expression(self, node: ast.Expr | ast.ListItem) -> Type:
        cls = type(node)
        if cls is ast.Name or cls is ast.Selector:
            self.here = (self.path, node.start, node.end)
        return self._walks[cls](self, node)

    def aside(self, node: ast.Expr) -> Type:
        names = dotted(node)
        if names is not None:
            return self.named(names, self.here)
        return self._walks[type(node)](self, node)

    # ------------------------------------------------------------ values

    def _literal(self, node: ast.Str | ast.Float) -> Type:
        return LiteralType(node.value)

    def _integer(self, node: ast.Int) -> Type:
        return LiteralType(node.value) if node.suffix is None else MultiplierType(f"{node.value}{node.suffix}")

    def _constant(self, node: ast.Constant) -> Type:
        match node.kind:
            case ast.ConstantKind.TRUE:
                return LiteralType(True)
            case ast.ConstantKind.FALSE:
                return LiteralType(False)
            case _:
                return NONE

    def _missing(self, node: ast.Missing) -> Type:
        return ANY

    def _joined(self, node: ast.JoinedStr) -> Type:
        for part in node.parts:
            if not isinstance(part, str):
                if part.spec not in _FORMATS:
                    self.compile_error(f"{part.spec} is a invalid format spec", self.span(part.value))
                self.expression(part.value)
        return STR

    def _paren(self, node: ast.Paren) -> Type:
        return self.expression(node.value)

    # ------------------------------------------------------------ names and parts

    def _name(self, node: ast.Name) -> Type:
        return self.named((node.id,), self.place(node))

    def _selector(self, node: ast.Selector) -> Type:
        names = dotted(node)
        if names is not None:
            return self.named(names, self.place(node))
        value = self.expression(node.value)
        if isinstance(value, ModuleType) and node.optional:
            message = (
                f"For the module type, the use of '?.{node.name}' is unnecessary and it can be modified as "
                f"'.{node.name}'"
            )
            self.compile_error(message, Span(self.path, node.value.end, node.name_start))
        found = self.member(value, node.name, (self.path, node.name_start, node.end))
        if isinstance(found, FunctionType):
            # The official compiler lets the name of a method be a name from here on; what uses it so passes there.
            self.bind(node.name, found, Span(self.path, node.name_start, node.end))
        return found

    def _subscript(self, node: ast.Subscript) -> Type:
        return self.item(self.expression(node.value), node.index, self.span(node.value))

    def _slice(self, node: ast.Slice) -> Type:
        value = self.expression(node.value)
        if value is ANY:
            return ANY
        if value.flags & (STR_FLAG | LIST_FLAG):
            for bound in (node.lower, node.upper, node.step):
                if bound is not None:
                    self.must_fit(self.expression(bound), INT, self.span(bound))
            return value if value.flags & LIST_FLAG else STR
        if isinstance(value, (DictType, SchemaType)):
            self.compile_error("unhashable type: 'slice'", self.span(node.value))
        else:
            self.compile_error(f"'{value}' object is not subscriptable", self.span(node.value))
        return ANY

    # ------------------------------------------------------------ operators

    def _unary(self, node: ast.Unary) -> Type:
        return self.unary(self.expression(node.operand), node.op, self.span(node.operand))

    def _operation(self, node: ast.Binary) -> Type:
        # Chains of one operator lean to the left, and are as long as users make them.
        rights: list[ast.Binary] = [node]
        left = node.left
        while isinstance(left, ast.Binary):
            rights.append(left)
            left = left.left
        type_ = self.expression(left)
        for each in reversed(rights):
            right = self.expression(each.right)
            type_ = self.binary(type_, right, each.op, Span(self.path, each.start, each.right.end))
        return type_

    def _compare(self, node: ast.Compare) -> Type:
        left = self.expression(node.left)
        right = self.expression(node.comparators[0])
        self.compare(left, right, node.ops[0], Span(self.path, node.left.start, node.comparators[0].end))
        # The last operand of a longer chain is left to the run, as the official compiler does.
        for operator, operand in zip(node.ops[2:], node.comparators[1:-1], strict=False):
            self.compare(left, self.expression(operand), operator, self.span(operand))
        return BOOL

    def _conditional(self, node: ast.IfExpr) -> Type:
        self.expression(node.cond)
        return common([self.expression(node.body), self.expression(node.orelse)])

    def _cast(self, node: ast.Cast) -> Type:
        value = self.expression(node.value)
        if not isinstance(node.type, (ast.BasicType, ast.NamedType)) or _is_constant(node.type):
            self._type_as_operand(node.type)
            self.compile_error("keyword 'as' right operand must be a type", self.span(node))
            return value
        target = self.annotated(node.type)
        if isinstance(target, SchemaType):
            target = SchemaType(target.info, True)
        return self.cast(value, target, self.span(node))

    def _type_as_operand(self, node: ast.Type | None) -> Type:
        """The type a written type has as an expression, which the official compiler takes it for after `as`."""
        match node:
            case ast.UnionType():
                first, *others = node.members
                type_ = self._type_as_operand(first)
                for other in others:
                    place = Span(self.path, first.start, other.end)
                    type_ = self.binary(type_, self._type_as_operand(other), ast.BinaryOp.BIT_OR, place)
                return type_
            case ast.ListType():
                return ListType(self._type_as_operand(node.item))
            case ast.LiteralType(suffix=None):
                return LiteralType(node.value)
            case ast.BasicType():
                builtin = self.builtins.names.get(node.name)
                return ANY if builtin is None else builtin.type
            case _:
                return ANY

    # ------------------------------------------------------------ schemas and lambdas

    def instantiated(self, node: ast.SchemaExpr) -> Type:
        names = dotted(node.name)
        if names is None:
            return self.expression(node.name)
        return self.named(names, self.place(node.name))

    def _schema_expression(self, node: ast.SchemaExpr) -> Type:
        type_ = self.instantiated(node)
        if not isinstance(node.config, ast.Config):
            message = "Invalid schema config expr, expect config entries, e.g., {k1 = v1, k2 = v2}"
            self.compile_error(message, self.span(node.config))
        if type_ is ANY:
            return ANY
        if isinstance(type_, DictType):
            config = self.expression_within(node.config, (type_, None))
            return self.binary(type_, config, ast.BinaryOp.BIT_OR, self.span(node.name))
        if not isinstance(type_, SchemaType):
            self.compile_error(f"Invalid schema type '{type_}'", self.span(node.name))
            return ANY
        if not type_.is_instance and isinstance(node.config, ast.Config):
            self.must_have_attributes(type_.info, node.config)
        self.expression_within(node.config, (type_, None))
        if not type_.is_instance:
            self.arguments(node.name, node.args, node.keywords, type_.info.function)
        elif node.args or node.keywords:
            message = "Arguments cannot be used in the schema modification expression"
            self.compile_error(message, self.span(node.name))
        return SchemaType(type_.info, True)

    def defaults_come_last(self, params: list[ast.Param]) -> None:
        raise NotImplementedError

    def statement(self, node: ast.Stmt) -> Type:
        raise NotImplementedError

    def lambda_parameters(self, node: ast.Lambda) -> list[Parameter]:
        found: list[Parameter] = []
        for param in node.params:
            type_ = self.annotated(param.type)
            if isinstance(type_, SchemaType):
                type_ = SchemaType(type_.info, True)
            found.append(Parameter(param.name, type_, param.default is not None, name_span(self.path, param)))
        return found

    def _lambda(self, node: ast.Lambda) -> Type:
        self.defaults_come_last(node.params)
        params = self.lambda_parameters(node)
        for param in node.params:
            if param.default is not None:
                self.aside(param.default)
        here = self.here
        expected = self.annotated(node.result, here)
        self.enter()
        for parameter in params:
            self.bind(parameter.name, parameter.type, Span(*here))
        result: Type = ANY
        if node.body:
            *before, last = node.body
            if not isinstance(last, (ast.ExprStmt, ast.Assign, ast.AugAssign, ast.Assert)):
                message = "The last statement of the lambda body must be a expression e.g., x, 1, etc."
                self.compile_error(message, self.span(last))
            for statement in before:
                self.statement(statement)
            if isinstance(last, ast.ExprStmt):
                annotation = None if node.result is None else self.span(node.result)
                result = self.expression_for(expected, last.value, self.span(last.value), annotation)
            else:
                result = self.statement(last)
                self.must_fit(result, expected, Span(*here))
        self.leave()
        return FunctionType(params, result if node.result is None else expected)


def _is_constant(node: ast.BasicType | ast.NamedType) -> bool:
    return isinstance(node, ast.NamedType) and node.names[0] in ("None", "Undefined")


def name_span(path: str, param: ast.Param) -> Span:
    return Span(path, param.start, param.start + len(param.name))
