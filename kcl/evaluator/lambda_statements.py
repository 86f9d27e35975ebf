"""Compiling the body of a lambda: statements in order, over local variables."""

from __future__ import annotations

from collections.abc import Sequence

from kcl.diagnostics import KclError
from kcl.evaluator.attributes import load_path
from kcl.evaluator.environments import Environment, Evaluate
from kcl.evaluator.lexical import Scope, Variable, is_local, local_variable
from kcl.evaluator.lowering import lower, lower_tracked, may_be_left_out
from kcl.evaluator.operations import truthy, with_path
from kcl.evaluator.runtime import Where, evaluation_error, is_literal
from kcl.evaluator.runtime_types import pack
from kcl.evaluator.sites import SiteKind
from kcl.evaluator.type_lowering import lower_type
from kcl.evaluator.union import bit_or
from kcl.evaluator.value import UNDEFINED, Sites, Value, ValueFailure
from kcl.records import replace
from kcl.syntax import ast


def lower_lambda_body(body: Sequence[ast.Stmt], scope: Scope) -> list[Evaluate]:
    """Code for each statement; the value of the last one is the lambda's, and its sites are in `Runtime.origin`."""
    return [lower_lambda_statement(statement, scope) for statement in body]


def lower_lambda_statement(node: ast.Stmt, scope: Scope) -> Evaluate:
    """Code for one statement, as `lower_lambda_body`."""
    match node:
        case ast.ExprStmt():
            return _value(node.value, scope)
        case ast.Assign():
            return _assign(node, scope)
        case ast.AugAssign():
            return _augmented(node, scope)
        case ast.Unification():
            return _unification(node, scope)
        case ast.If():
            return _if(node, scope)
        case ast.Assert():
            return lower_assert(node, scope)
        case _:
            return lambda environment: UNDEFINED


def _value(node: ast.Expr, scope: Scope) -> Evaluate:
    """Code for a value that leaves its sites: a literal comes from where it stands."""
    if not is_literal(node):
        return lower_tracked(node, scope)
    evaluate, site = lower(node, scope), scope.module.site(node, SiteKind.LITERAL, node)
    runtime = scope.module.runtime

    def run(environment: Environment) -> Value:
        runtime.origin = site
        return evaluate(environment)

    return run


def _assign(node: ast.Assign, scope: Scope) -> Evaluate:
    where = scope.module.where(node)
    runtime = scope.module.runtime
    evaluate = _value(node.value, scope)
    type_ = None if node.type is None else lower_type(node.type, scope.module)
    stores = [_store(target, scope) for target in node.targets]

    def run(environment: Environment) -> Value:
        value = evaluate(environment)
        sites = runtime.origin
        try:
            if type_ is not None:
                value = pack(type_, value, where.span)
            for store in stores:
                store(environment, value, sites)
        except ValueFailure as failure:
            raise where.located(failure) from None
        runtime.origin = sites
        return value

    return run


class _Store:
    """Puts a value into a local variable, or into a place inside the value it has."""

    __slots__ = ("_origin", "_path", "_read", "_runtime", "_target", "_variable")

    def __init__(self, target: ast.Target, variable: Variable, read: Evaluate, scope: Scope) -> None:
        self._target = target
        self._variable = variable
        self._read = read
        self._path = lower_path(target, scope)
        self._origin = scope.module.where(target).span
        self._runtime = scope.module.runtime

    def __call__(self, environment: Environment, value: Value, sites: Sites = ()) -> None:
        if self._path:
            path = [step(environment) for step in self._path]
            value = with_path(self._read(environment), path, value, sites, self._origin)
        variable = self._variable
        environment[variable.place()] = value
        if variable.sites_slot is not None:
            environment[variable.sites_slot] = () if isinstance(value, (list, dict)) else sites

    def load(self, environment: Environment) -> Value:
        steps = [step(environment) for step in self._path]
        return load_path(self._runtime, self._read(environment), self._target.path, steps)


def _store(target: ast.Target, scope: Scope) -> _Store:
    read = lower(ast.Name(target.start, target.name_end, target.name), scope)
    variable = local_variable(scope, target.name) or scope.declare(target.name, definite=False)
    variable.place()
    return _Store(target, variable, read, scope)


def lower_path(target: ast.Target, scope: Scope) -> list[Evaluate]:
    """Code for each step of an assignment target's path: the key or index."""
    return [_constant(step.name) if isinstance(step, ast.Member) else lower(step.value, scope) for step in target.path]


def _constant(value: Value) -> Evaluate:
    return lambda environment: value


def _augmented(node: ast.AugAssign, scope: Scope) -> Evaluate:
    where = scope.module.where(node)
    evaluate = lower(node.value, scope)
    store = _store(node.target, scope)

    def run(environment: Environment) -> Value:
        value = evaluate(environment)
        try:
            value = augmented(node.op, store.load(environment), value, where)
            store(environment, value)
        except ValueFailure as failure:
            raise where.located(failure) from None
        return value

    return run


def augmented(op: ast.AugOp, value: Value, operand: Value, where: Where) -> Value:
    """What `value op= operand` makes."""
    if op is ast.AugOp.BIT_OR:
        return bit_or(value, operand, where.span)
    return where.module.runtime.arithmetic.binary[op.value[:-1]](value, operand)


def _unification(node: ast.Unification, scope: Scope) -> Evaluate:
    where = scope.module.where(node)
    evaluate = lower(node.value, scope)
    known = is_local(scope, node.target.name)
    store = _store(node.target, scope)

    def run(environment: Environment) -> Value:
        value = evaluate(environment)
        if known:
            try:
                value = bit_or(store.load(environment), value, where.span)
            except ValueFailure as failure:
                raise where.located(failure) from None
        store(environment, value)
        return value

    return run


def _if(node: ast.If, scope: Scope) -> Evaluate:
    condition = lower(node.cond, scope)
    body, orelse = lower_lambda_body(node.body, scope), lower_lambda_body(node.orelse, scope)

    def run(environment: Environment) -> Value:
        value: Value = UNDEFINED
        for statement in body if truthy(condition(environment)) else orelse:
            value = statement(environment)
        return value

    return run


def lower_assert(node: ast.Assert, scope: Scope) -> Evaluate:
    """Code that raises KclError with the assertion's message if it does not hold."""
    where = scope.module.where(node)
    observation = scope.module.runtime.observation
    reasons = None if observation is None else observation.asserting(node, scope.module.module)
    test = lower(node.test, scope)
    condition = None if node.cond is None else lower(node.cond, scope)
    message = None if node.message is None else lower(node.message, scope)
    needs_no_message = may_be_left_out(node.message)

    def run(environment: Environment) -> Value:
        if condition is not None and not truthy(condition(environment)):
            return UNDEFINED
        holds = truthy(test(environment))
        if holds and needs_no_message:
            return UNDEFINED
        text = "" if message is None else message(environment)
        if not holds:
            problem = evaluation_error(text if isinstance(text, str) else "", where.span)
            raise problem if reasons is None else _with_notes(problem, reasons())
        return UNDEFINED

    return run


def _with_notes(problem: KclError, notes: tuple[str, ...]) -> KclError:
    return KclError(tuple(replace(each, notes=(*each.notes, *notes)) for each in problem.diagnostics))
