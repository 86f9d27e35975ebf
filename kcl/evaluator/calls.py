"""Compiling calls, lambdas and schema expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kcl.evaluator.expressions import module_selector, selector_of
from kcl.evaluator.functions import Lambda, LambdaCode, RuleType, call
from kcl.evaluator.lambda_statements import lower_lambda_body
from kcl.evaluator.lexical import LambdaScope, Scope, Unit, is_local
from kcl.evaluator.lowering import is_tracked, lower, lower_tracked, lowers, lowers_tracked
from kcl.evaluator.parameters import lower_parameters
from kcl.evaluator.provenance import SiteKind
from kcl.evaluator.runtime import Environment, Evaluate
from kcl.evaluator.schemas import SchemaType
from kcl.evaluator.type_lowering import lower_type
from kcl.evaluator.union import bit_or, joined_sites
from kcl.evaluator.value import Value, ValueFailure
from kcl.syntax import ast


def _lower_arguments(
    args: Sequence[ast.Expr], keywords: Sequence[ast.Keyword], scope: Scope
) -> tuple[list[Evaluate], list[tuple[str, Evaluate]]]:
    return [lower(arg, scope) for arg in args], [(keyword.name, lower(keyword.value, scope)) for keyword in keywords]


def _argument_nodes(node: ast.Call | ast.SchemaExpr) -> dict[int | str, ast.Expr | ast.Keyword]:
    nodes: dict[int | str, ast.Expr | ast.Keyword] = dict(enumerate(node.args))
    for keyword in node.keywords:
        nodes[keyword.name] = keyword.value
        nodes[f"{keyword.name}="] = keyword
    return nodes


@lowers(ast.Call)
def _call(node: ast.Call, scope: Scope) -> Evaluate:
    return _call_code(node, scope, lower(node.func, scope), *_lower_arguments(node.args, node.keywords, scope))


def _call_code(
    node: ast.Call,
    scope: Scope,
    function: Evaluate,
    args: Sequence[Evaluate],
    keywords: Sequence[tuple[str, Evaluate]],
) -> Evaluate:
    where = scope.module.where(node)
    where.arguments = _argument_nodes(node)
    runtime = scope.module.runtime

    def run(environment: Environment) -> Value:
        callee = function(environment)
        values = [arg(environment) for arg in args]
        named = {name: value(environment) for name, value in keywords} if keywords else {}
        try:
            return call(runtime, callee, values, named, where)
        except ValueFailure as failure:
            raise where.located(failure) from None

    return run


@lowers_tracked(ast.Call)
def _tracked_call(node: ast.Call, scope: Scope) -> Evaluate:
    """A scalar that a function makes comes from what it was made of: the receiver and the arguments."""
    module = scope.module
    runtime = module.runtime
    if isinstance(node.func, ast.Name) and node.func.id == "option" and not is_local(scope, "option"):
        code, site = _call(node, scope), module.site(node, SiteKind.OPTION)

        def run_option(environment: Environment) -> Value:
            value = code(environment)
            runtime.origin = site
            return value

        return run_option
    gathered: list[tuple[int, ...]] = []

    def gathering(evaluate: Evaluate) -> Evaluate:
        def run_gathering(environment: Environment) -> Value:
            value = evaluate(environment)
            gathered.append(runtime.origin)
            return value

        return run_gathering

    def tracked_operand(operand: ast.Expr) -> Evaluate:
        return gathering(lower_tracked(operand, scope)) if is_tracked(operand) else lower(operand, scope)

    function = _tracked_callee(node.func, scope, tracked_operand)
    args = [tracked_operand(arg) for arg in node.args]
    code = _call_code(node, scope, function, args, [(word.name, tracked_operand(word.value)) for word in node.keywords])

    def run(environment: Environment) -> Value:
        mark = len(gathered)
        value = code(environment)
        sites: tuple[int, ...] = ()
        if not isinstance(value, (list, dict)):
            for found in gathered[mark:]:
                sites = joined_sites(sites, found)
        del gathered[mark:]
        runtime.origin = sites
        return value

    return run


def _tracked_callee(function: ast.Expr, scope: Scope, tracked: Callable[[ast.Expr], Evaluate]) -> Evaluate:
    """The function of a call; of a method call, tracking the value it is called on."""
    if not (isinstance(function, ast.Selector) and is_tracked(function.value)):
        return lower(function, scope)
    of_module = module_selector(function, scope)
    if of_module is not None:
        return of_module
    return selector_of(function, scope, tracked(function.value))


@lowers(ast.Lambda)
def _lambda(node: ast.Lambda, scope: Scope) -> Evaluate:
    module = scope.module
    inner = LambdaScope(module, Unit(), scope)
    parameters = lower_parameters(node.params, inner)
    result = None if node.result is None else lower_type(node.result, module)
    statements = lower_lambda_body(node.body, inner)
    code = LambdaCode(module, inner, parameters, statements, result, module.where(node).span)
    return lambda environment: Lambda(code, environment)


@lowers(ast.SchemaExpr)
def _schema_expression(node: ast.SchemaExpr, scope: Scope) -> Evaluate:
    return schema_expression_code(node, scope, lower(node.config, scope))


def schema_expression_code(node: ast.SchemaExpr, scope: Scope, config_code: Evaluate) -> Evaluate:
    """Code for `Schema(args) {...}` over a configuration that is already compiled."""
    module = scope.module
    runtime = module.runtime
    where = module.where(node)
    named_at = module.where(node.name)
    named_at.arguments = _argument_nodes(node)
    schema_code = lower(node.name, scope)
    args, keywords = _lower_arguments(node.args, node.keywords, scope)

    def run(environment: Environment) -> Value:
        runtime.schema_expression_depth += 1
        try:
            config = config_code(environment)
            schema = schema_code(environment)
            values = [arg(environment) for arg in args]
            named = {name: value(environment) for name, value in keywords} if keywords else {}
            if isinstance(schema, SchemaType):
                return schema.instantiate(config, values, named, named_at)
            if isinstance(schema, RuleType):
                return schema.check(config, values, named, named_at)
            return bit_or(schema, config, named_at.span)
        except ValueFailure as failure:
            raise where.located(failure) from None
        finally:
            runtime.schema_expression_depth -= 1

    return run
