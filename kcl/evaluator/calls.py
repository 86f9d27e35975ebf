"""Compiling calls, lambdas and schema expressions."""

from __future__ import annotations

from kcl.evaluator.environments import Environment, Evaluate
from kcl.evaluator.expressions import module_selector, selector_of
from kcl.evaluator.functions import Lambda, LambdaCode, RuleType, call
from kcl.evaluator.lambda_statements import lower_lambda_body
from kcl.evaluator.lexical import LambdaScope, Scope, Unit, candidates, is_local
from kcl.evaluator.lowering import is_tracked, lower, lower_tracked, lowers, lowers_tracked
from kcl.evaluator.names import imported_module
from kcl.evaluator.parameters import Arguments, lower_parameters
from kcl.evaluator.schemas import SchemaType
from kcl.evaluator.sites import SiteKind
from kcl.evaluator.type_lowering import lower_type
from kcl.evaluator.union import bit_or, joined_sites
from kcl.evaluator.value import Sites, Value, ValueFailure
from kcl.loader.program import ImportKind
from kcl.syntax import ast

_NOWHERE: Sites = ()


class _ArgumentCode:
    """Code for the arguments of a call. It also keeps where each came from, and where it is handed over."""

    __slots__ = ("_args", "_keywords", "_named_places", "_places", "_runtime")

    def __init__(self, node: ast.Call | ast.SchemaExpr, scope: Scope) -> None:
        self._runtime = scope.module.runtime
        self._args = [_operand(arg, scope) for arg in node.args]
        self._keywords = [(word.name, *_operand(word.value, scope)) for word in node.keywords]
        self._places = [_place(arg, scope) for arg in node.args]
        self._named_places = {word.name: _place(word.value, scope) for word in node.keywords}

    def __call__(self, environment: Environment) -> tuple[Arguments, dict[str, Value]]:
        runtime = self._runtime
        args = Arguments()
        args.places, args.named_places = self._places, self._named_places
        origins: list[Sites] = []
        for evaluate, tracked in self._args:
            args.append(evaluate(environment))
            origins.append(runtime.origin if tracked else ())
        args.origins = origins
        args.named_origins = {}
        named: dict[str, Value] = {}
        for name, evaluate, tracked in self._keywords:
            named[name] = evaluate(environment)
            args.named_origins[name] = runtime.origin if tracked else ()
        return args, named


def _operand(node: ast.Expr, scope: Scope) -> tuple[Evaluate, bool]:
    """Code for an operand, and whether it leaves the sites of its value."""
    tracked = is_tracked(node)
    return lower_tracked(node, scope) if tracked else lower(node, scope), tracked


def _place(node: ast.Expr, scope: Scope) -> Sites:
    return scope.module.site(node, SiteKind.ARGUMENT, node)


def argument_nodes(node: ast.Call | ast.SchemaExpr) -> dict[int | str, ast.Expr | ast.Keyword]:
    nodes: dict[int | str, ast.Expr | ast.Keyword] = dict(enumerate(node.args))
    for keyword in node.keywords:
        nodes[keyword.name] = keyword.value
        nodes[f"{keyword.name}="] = keyword
    return nodes


@lowers(ast.Call)
def _call(node: ast.Call, scope: Scope) -> Evaluate:
    function, arguments = lower(node.func, scope), _ArgumentCode(node, scope)
    where = scope.module.where(node)
    where.arguments = argument_nodes(node)
    runtime = scope.module.runtime

    def run(environment: Environment) -> Value:
        callee = function(environment)
        args, named = arguments(environment)
        try:
            return call(runtime, callee, args, named, where)
        except ValueFailure as failure:
            raise where.located(failure) from None

    return run


@lowers_tracked(ast.Call)
def _tracked_call(node: ast.Call, scope: Scope) -> Evaluate:
    """A scalar that a library function makes comes from what it was made of: the receiver and the arguments.

    What a lambda answers comes from where its body took it, else from its arguments.
    """
    module = scope.module
    runtime = module.runtime
    if isinstance(node.func, ast.Name) and node.func.id == "option" and not is_local(scope, "option"):
        option, asked = _call(node, scope), module.option_site(node)

        def run_option(environment: Environment) -> Value:
            value = option(environment)
            runtime.origin = asked
            return value

        return run_option
    function, follows = _tracked_callee(node.func, scope)
    arguments = _ArgumentCode(node, scope)
    where = module.where(node)
    where.arguments = argument_nodes(node)

    def run(environment: Environment) -> Value:
        callee = function(environment)
        sites = runtime.origin if follows else ()
        args, named = arguments(environment)
        try:
            runtime.origin = _NOWHERE
            value = call(runtime, callee, args, named, where)
        except ValueFailure as failure:
            raise where.located(failure) from None
        if isinstance(value, (list, dict)):
            runtime.origin = ()
            return value
        if type(callee) is Lambda and runtime.origin:
            return value
        for origin in args.origins:
            if origin:
                sites = joined_sites(sites, origin)
        for origin in args.named_origins.values():
            sites = joined_sites(sites, origin)
        runtime.origin = sites
        return value

    if not _is_plugin(node.func, scope):
        return run
    made = module.site(node, SiteKind.PLUGIN)

    def run_plugin(environment: Environment) -> Value:
        value = run(environment)
        runtime.origin = joined_sites(made, runtime.origin)
        return value

    return run_plugin


def _is_plugin(function: ast.Expr, scope: Scope) -> bool:
    """Whether this is a function of an imported plugin, made outside of the program."""
    if not isinstance(function, ast.Selector) or not isinstance(function.value, ast.Name):
        return False
    imported = imported_module(scope.module, function.value.id)
    return imported is not None and imported.kind is ImportKind.PLUGIN and not is_local(scope, function.value.id)


def _tracked_callee(function: ast.Expr, scope: Scope) -> tuple[Evaluate, bool]:
    """The function of a call; of a method call, tracking the value it is called on."""
    if not (isinstance(function, ast.Selector) and is_tracked(function.value)):
        return lower(function, scope), False
    of_module = module_selector(function, scope)
    if of_module is not None:
        return of_module, False
    return selector_of(function, scope, lower_tracked(function.value, scope)), True


@lowers(ast.Lambda)
def _lambda(node: ast.Lambda, scope: Scope) -> Evaluate:
    module = scope.module
    inner = LambdaScope(module, Unit(), scope)
    parameters = lower_parameters(node.params, inner)
    result = None if node.result is None else lower_type(node.result, module)
    statements = lower_lambda_body(node.body, inner)
    code = LambdaCode(node, module, inner, parameters, statements, result, module.where(node).span)
    runtime = module.runtime

    def run(environment: Environment) -> Value:
        plain = Lambda(code, environment)
        generated = code.generated
        if generated is None or runtime.compiling is None or not (inner.captures or generated.scope.captures):
            return plain
        return Lambda(generated, environment, plain)

    return run


@lowers(ast.SchemaExpr)
def _schema_expression(node: ast.SchemaExpr, scope: Scope) -> Evaluate:
    return schema_expression_code(node, scope, lower(node.config, scope))


def static_schema(node: ast.SchemaExpr, scope: Scope) -> SchemaType | None:
    """The schema that `node` is an instance of, as far as that is certain before evaluation."""
    module = scope.module
    found: Value = None
    if isinstance(node.name, ast.Name):
        name = node.name.id
        if candidates(scope, name, False)[0] or name in module.scope.setters:
            return None
        found = module.scope.member(name)
    elif isinstance(node.name.value, ast.Name):
        head = node.name.value.id
        imported = imported_module(module, head)
        if is_local(scope, head) or head in module.scope.setters or imported is None:
            return None
        if imported.kind is ImportKind.PACKAGE:
            found = module.runtime.packages[imported.package].member(node.name.name)
    return found if isinstance(found, SchemaType) else None


def schema_expression_code(node: ast.SchemaExpr, scope: Scope, config_code: Evaluate) -> Evaluate:
    """Code for `Schema(args) {...}` over a configuration that is already compiled."""
    module = scope.module
    runtime = module.runtime
    where = module.where(node)
    named_at = module.where(node.name)
    named_at.arguments = argument_nodes(node)
    schema_code = lower(node.name, scope)
    arguments = _ArgumentCode(node, scope)

    def run(environment: Environment) -> Value:
        runtime.schema_expression_depth += 1
        try:
            config = config_code(environment)
            schema = schema_code(environment)
            values, named = arguments(environment)
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
