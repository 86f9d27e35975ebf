"""From syntax tree to code: the table of how each kind of expression is compiled.

Compiled code is a Python closure over its operands' closures. Each kind of node has one function that makes it,
registered here by `lowers`, so that the modules which define them need not know each other. The closures only arrange
calls; what they do to values is in `operations`, `union`, `schemas` and `functions`.

*Tracked* code also leaves the sites of its value in `Runtime.origin`: where a value comes from survives references,
selections, `or`, conditional expressions and string building.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kcl.evaluator.environments import Environment, Evaluate, Tracked
from kcl.evaluator.lexical import Scope
from kcl.evaluator.union import joined_sites
from kcl.evaluator.value import UNDEFINED, KDict, Sites, Value
from kcl.syntax import ast

Lower = Callable[[Any, Scope], Evaluate]
_F = TypeVar("_F", bound=Callable[[Any, Scope], Evaluate])

_LOWER: dict[type, Lower] = {}
_TRACKED: dict[type, Lower] = {}


def lowers(*kinds: type) -> Callable[[_F], _F]:
    """Registers the function that compiles these kinds of node."""

    def register(function: _F) -> _F:
        for kind in kinds:
            _LOWER[kind] = function
        return function

    return register


def lowers_tracked(*kinds: type) -> Callable[[_F], _F]:
    """Registers the function that compiles these kinds of node to tracked code."""

    def register(function: _F) -> _F:
        for kind in kinds:
            _TRACKED[kind] = function
        return function

    return register


def lower(node: ast.Expr, scope: Scope) -> Evaluate:
    """Code for an expression."""
    evaluate = _LOWER[type(node)](node, scope)
    observation = scope.module.runtime.observation
    return evaluate if observation is None else observation.around(node, scope.module.module, evaluate)


def lower_tracked(node: ast.Expr, scope: Scope) -> Evaluate:
    """Tracked code for an expression."""
    tracked = _TRACKED.get(type(node))
    runtime = scope.module.runtime
    if tracked is not None:
        evaluate = tracked(node, scope)
        return (
            evaluate if runtime.observation is None else runtime.observation.around(node, scope.module.module, evaluate)
        )
    evaluate = lower(node, scope)

    def run(environment: Environment) -> Value:
        value = evaluate(environment)
        runtime.origin = ()
        return value

    return run


def constant_value(node: ast.Constant) -> Value:
    """What `True`, `False`, `None` and `Undefined` stand for."""
    match node.kind:
        case ast.ConstantKind.TRUE:
            return True
        case ast.ConstantKind.FALSE:
            return False
        case ast.ConstantKind.NONE:
            return None
        case ast.ConstantKind.UNDEFINED:
            return UNDEFINED


def may_be_left_out(node: ast.Expr | None) -> bool:
    """Whether nobody could tell that the message of a check or an assertion that holds was not evaluated.

    The official compiler evaluates it first: what fails in it fails the program. Texts and names in them cannot.
    """
    match node:
        case None | ast.Str() | ast.Name() | ast.Constant():
            return True
        case ast.JoinedStr():
            return all(isinstance(part, str) or _is_plain(part) for part in node.parts)
        case _:
            return False


def _is_plain(part: ast.FormattedValue) -> bool:
    return part.spec is None and isinstance(part.value, ast.Name)


def is_tracked(node: ast.Expr) -> bool:
    """Whether the value of an expression may have come from elsewhere."""
    return type(node) in _TRACKED


def lower_value(node: ast.Expr, scope: Scope, site: Sites, *, chooses: bool = False) -> Tracked:
    """Code for a value that is about to be stored: answers it and the sites to store with it.

    With `chooses`, a container that is referred to counts as chosen here: the site is one of each of its entries, too.
    """
    if not is_tracked(node):
        plain = lower(node, scope)
        return lambda environment: (plain(environment), site)
    tracked = lower_tracked(node, scope)
    runtime = scope.module.runtime

    def run(environment: Environment) -> tuple[Value, Sites]:
        value = tracked(environment)
        origin = runtime.origin
        if chooses and origin and isinstance(value, KDict):
            value = value.held(site)
        return value, joined_sites(origin, site)

    return run
