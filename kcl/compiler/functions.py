"""Lambdas and the elements of comprehensions as Python functions.

Only those that stand in a package or a schema, not inside another lambda or a configuration: there a name is looked up
among what was written before it, and what is written now comes after everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from kcl.compiler.containers import TooDeep
from kcl.compiler.expressions import Expressions
from kcl.compiler.source import CodeOf, Source, compiled
from kcl.compiler.writing import NOWHERE, NoAttributes
from kcl.diagnostics import KclError
from kcl.evaluator.environments import ItemStep, Tracked
from kcl.evaluator.functions import LambdaCode
from kcl.evaluator.lambda_statements import lower_lambda_statement
from kcl.evaluator.lexical import (
    GlobalScope,
    LambdaScope,
    LoopScope,
    SchemaScope,
    Scope,
    Unit,
    Variable,
    local_variable,
)
from kcl.evaluator.parameters import lower_parameters
from kcl.evaluator.runtime import is_literal
from kcl.evaluator.runtime_types import pack
from kcl.evaluator.sites import SiteKind
from kcl.evaluator.type_lowering import lower_type
from kcl.evaluator.value import UNDEFINED, Sites
from kcl.syntax import ast


def compile_lambda(code: LambdaCode, code_of: CodeOf = compiled) -> LambdaCode | None:
    """The same lambda with a body of generated code, in a scope of its own; None where there cannot be one."""
    parent, module, node = code.scope.parent, code.module, code.node
    if not isinstance(parent, (GlobalScope, SchemaScope)):
        return None
    scope = LambdaScope(module, Unit(), parent)
    try:
        parameters = lower_parameters(node.params, scope)
        body = _Body(scope)
        body.write(node.body)
    except (KclError, TooDeep):
        return None
    made = LambdaCode(node, module, scope, parameters, (), code.result, code.span)
    made.body = body.source.function("body", "def body(environment):", module.package, "a lambda", code_of)
    return made


def compile_element(node: ast.Expr | ast.Starred, scope: Scope, code_of: CodeOf = compiled) -> ItemStep | None:
    """Generated code that adds the element of a list comprehension to its items; None where there cannot be any."""
    outer: Scope | None = scope
    while isinstance(outer, LoopScope):
        outer = outer.parent
    if not isinstance(outer, (GlobalScope, SchemaScope)):
        return None
    source = Source()
    expressions = Expressions(source, NoAttributes())
    try:
        with source.tried():
            expressions.add_list_items([node], scope, "items", "sites", SiteKind.COMPREHENSION)
    except (KclError, TooDeep):
        return None
    head = "def add(environment, items, sites):"
    return source.function("add", head, scope.module.package, "an element", code_of)


def compile_value(node: ast.Expr, scope: Scope, site: Sites, code_of: CodeOf = compiled) -> Tracked | None:
    """Generated code for the value of a package's variable and its sites; None where there cannot be any."""
    source = Source()
    expressions = Expressions(source, NoAttributes())
    try:
        with source.tried():
            value, sites = expressions.stored(node, scope, site)
            source.line(f"return {value}, {sites}")
    except (KclError, TooDeep):
        return None
    return source.function("value", "def value(environment):", scope.module.package, "a value", code_of)


class _Body:
    """Writes the statements of a lambda."""

    def __init__(self, scope: LambdaScope) -> None:
        self.source = Source()
        self._expressions = Expressions(self.source, NoAttributes())
        self._scope = scope
        self._runtime = self.source.constant(scope.module.runtime)

    def write(self, statements: Sequence[ast.Stmt]) -> None:
        """Lines that run the statements, leave the sites of the last one's value, and answer it."""
        with self.source.tried():
            value, sites = self._statements(statements)
            self.source.line(f"{self._runtime}.origin = {sites}")
            self.source.line(f"return {value}")

    def _statements(self, statements: Sequence[ast.Stmt]) -> tuple[str, str]:
        value, sites = self.source.constant(UNDEFINED), NOWHERE
        for statement in statements:
            value, sites = self._statement(statement)
        return value, sites

    def _statement(self, node: ast.Stmt) -> tuple[str, str]:
        match node:
            case ast.ExprStmt():
                return self._value(node.value)
            case ast.Assign() if not any(target.path for target in node.targets):
                return self._assign(node)
            case ast.If():
                return self._if(node)
            case _:
                code = lower_lambda_statement(node, self._scope)
                value = self.source.assign(self._expressions.called(code))
                return value, self._expressions.origin(self._scope)

    def _value(self, node: ast.Expr) -> tuple[str, str]:
        """A value and its sites: a literal comes from where it stands."""
        if is_literal(node):
            site = self._scope.module.site(node, SiteKind.LITERAL, node)
            return self._expressions.value(node, self._scope), self._expressions.sites(site)
        return self._expressions.tracked(node, self._scope)

    def _assign(self, node: ast.Assign) -> tuple[str, str]:
        source, scope = self.source, self._scope
        value, sites = self._value(node.value)
        if node.type is not None:
            type_ = source.constant(lower_type(node.type, scope.module))
            span = source.constant(scope.module.where(node).span)
            value = source.assign(f"{source.constant(pack)}({type_}, {value}, {span})")
        for target in node.targets:
            variable = local_variable(scope, target.name) or scope.declare(target.name, definite=False)
            source.line(f"environment[{variable.place()}] = {value}")
            self._keep_sites(variable, value, sites)
        return value, sites

    def _keep_sites(self, variable: Variable, value: str, sites: str) -> None:
        def line() -> str | None:
            if variable.sites_slot is None:
                return None
            return f"environment[{variable.sites_slot}] = () if isinstance({value}, (list, dict)) else {sites}"

        self.source.line(line)

    def _if(self, node: ast.If) -> tuple[str, str]:
        source = self.source
        condition = self._expressions.value(node.cond, self._scope)
        result, sites = source.temporary(), source.temporary()
        for head, statements in ((f"if {condition}:", node.body), ("else:", node.orelse)):
            with source.block(head):
                value, origin = self._statements(statements)
                source.line(f"{result}, {sites} = {value}, {origin}")
        return result, sites
