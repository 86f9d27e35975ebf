"""Calls: of lambdas, library functions and schemas. Count, names and types of the arguments."""

from __future__ import annotations

from collections.abc import Sequence

from kcl.diagnostics import Span
from kcl.semantic.names import dotted
from kcl.semantic.operators import Operators
from kcl.semantic.suggestions import similar
from kcl.semantic.types import (
    ANY,
    DICT_FLAG,
    LIST_FLAG,
    UNION_FLAG,
    VARIADIC,
    FunctionType,
    SchemaType,
    Type,
)
from kcl.syntax import ast


class Calls(Operators):
    def call(self, node: ast.Call) -> Type:
        callee = self.expression(node.func)
        if callee is ANY:
            self.arguments(node.func, node.args, node.keywords, self._declared_lambda(node.func) or VARIADIC)
            return ANY
        if isinstance(callee, FunctionType):
            self.arguments(node.func, node.args, node.keywords, callee)
            return callee.result
        if isinstance(callee, SchemaType) and not callee.is_instance:
            self.arguments(node.func, node.args, node.keywords, callee.info.function)
            return SchemaType(callee.info, True)
        what = f"schema '{callee}' instance is" if isinstance(callee, SchemaType) else f"'{callee}' object is"
        self.compile_error(f"{what} not callable", self.span(node.func))
        return ANY

    def _declared_lambda(self, func: ast.Expr) -> FunctionType | None:
        """The parameters of a lambda the package assigns to a variable further down."""
        if not isinstance(func, ast.Name) or func.id not in self.lambdas:
            return None
        return self.lambdas[func.id] if self.scope.find(func.id) is self.top.names.get(func.id) else None

    def arguments(
        self, func: ast.Expr, args: Sequence[ast.Expr], keywords: Sequence[ast.Keyword], function: FunctionType
    ) -> None:
        """Checks the arguments of a call against the parameters of what is called."""
        params = function.params
        for index, arg in enumerate(args):
            if index < len(params):
                self.expression_for(params[index].type, arg, self.span(arg), params[index].span)
                continue
            self.expression(arg)
            if not function.variadic:
                message = f"{_called(func)} takes {_positional(len(params))} but {len(args)} were given"
                self.compile_error(message, self.span(arg))
                break
        given = self._keywords(func, keywords, function)
        if function.variadic or self.rules.missing_arguments:
            return
        needed = [param.name for param in params if not param.has_default]
        found = sum(name in given for name in needed) + len(args)
        if found < len(needed):
            self.compile_error(f"expected {_positional(len(needed))}, found {found}", self.span(func))

    def _keywords(self, func: ast.Expr, keywords: Sequence[ast.Keyword], function: FunctionType) -> set[str]:
        given: set[str] = set()
        previous: int | None = None
        params = {param.name: param for param in reversed(function.params)}
        for keyword in keywords:
            name = keyword.name.partition(".")[0]
            if name in given:
                start = keyword.end if previous is None else previous
                message = f"{_called(func)} has duplicated keyword argument {name}"
                self.compile_error(message, Span(self.path, start, keyword.end))
            given.add(name)
            param = params.get(name)
            if param is not None:
                self.expression_for(param.type, keyword.value, self.span(keyword.value), param.span)
            elif not function.variadic:
                near = similar(name, [each.name for each in function.params])
                suggestion = f", did you mean '{' or '.join(near)}'?" if near else ""
                message = f"{_called(func)} got an unexpected keyword argument '{name}'{suggestion}"
                self.compile_error(message, self.span(keyword))
            previous = keyword.end
        return given

    def expression_for(self, expected: Type, node: ast.Expr, place: Span, annotation: Span | None) -> Type:
        """The type of an expression that must fit a type, its configurations checked against that."""
        context = (expected, self.span(node)) if takes_context(expected) else None
        found = self.expression_within(node, context)
        self.must_fit(found, expected, place, annotation)
        return found


def takes_context(expected: Type) -> bool:
    """Whether configurations given for a type are checked key by key."""
    return isinstance(expected, SchemaType) or bool(expected.flags & (LIST_FLAG | DICT_FLAG | UNION_FLAG))


def _called(func: ast.Expr) -> str:
    while isinstance(func, ast.Paren):
        func = func.value
    names = dotted(func)
    if names is not None:
        return f'"{".".join(names)}"'
    return f'"{func.name}"' if isinstance(func, ast.Selector) else "anonymous function"


def _positional(count: int) -> str:
    return f"{count} positional argument{'s' if count > 1 else ''}"
