"""Compiling the statements of packages and schema bodies: setters of variables, and what is run in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from kcl.evaluator.attributes import load_path
from kcl.evaluator.environments import NOT_ASSIGNED, UNSET, Environment, Evaluate, Tracked
from kcl.evaluator.lambda_statements import augmented, lower_assert, lower_path
from kcl.evaluator.lexical import GlobalScope, Scope, Unit
from kcl.evaluator.lowering import lower, lower_value
from kcl.evaluator.operations import truthy, with_path
from kcl.evaluator.runtime import TRIED, CodeKind, Runtime, is_literal
from kcl.evaluator.runtime_types import RuntimeType, pack
from kcl.evaluator.scopes import LazyScope
from kcl.evaluator.sites import SiteKind
from kcl.evaluator.type_lowering import lower_type
from kcl.evaluator.union import bit_or, joined_sites
from kcl.evaluator.value import Sites, Value, ValueFailure
from kcl.records import dataclass
from kcl.syntax import ast

Assignment = ast.Assign | ast.AugAssign | ast.Unification | ast.SchemaAttr
# The `if` statements on the way to a statement, and whether it stands in the body or the `else` of each.
Conditions = tuple[tuple[ast.If, bool], ...]
# For names an `if` assigns, the index of the first setter inside it.
Pins = Mapping[str, int]
# Takes a value a statement assigns and answers what its variable becomes; the sites are in `Runtime.origin`.
Finish = Callable[[Environment, Value], Value]
# Runs a statement: its variables, its scope, and the index of the first own setter of each name.
Run = Callable[[Environment, LazyScope, Mapping[str, int]], None]

VALUES: Final[CodeKind[[ast.Expr, Scope, Sites], Tracked]] = CodeKind()
"""Of what a statement of a package assigns, with the sites of the statement."""


@dataclass(frozen=True, slots=True)
class Assigning:
    """One place where a statement assigns a variable: the `if` conditions on the way, and the target."""

    name: str
    index: int
    conditions: Conditions
    statement: Assignment
    target: ast.Target | None


class Body:
    """The statements of a file or schema, sorted by the variables they assign."""

    def __init__(self, statements: Sequence[ast.Stmt]) -> None:
        self.statements = statements
        self.assigning: dict[str, list[Assigning]] = {}
        # Where the file's setters of a name begin among those of its package.
        self.first: dict[str, int] = {}
        self._by_statement: dict[int, list[Assigning]] = {}
        self._pins: dict[int, Pins] = {}
        self._collect(statements, ())

    def pins(self, statement: ast.If) -> Pins:
        """What an `if` assigns: its own condition sees the values from before."""
        return self._pins[id(statement)]

    def of(self, statement: ast.Stmt) -> list[Assigning]:
        return self._by_statement.get(id(statement), [])

    def _collect(self, statements: Sequence[ast.Stmt], conditions: Conditions) -> None:
        for statement in statements:
            match statement:
                case ast.If():
                    before = {name: len(places) for name, places in self.assigning.items()}
                    self._collect(statement.body, (*conditions, (statement, True)))
                    self._collect(statement.orelse, (*conditions, (statement, False)))
                    self._pins[id(statement)] = {
                        name: before.get(name, 0)
                        for name, places in self.assigning.items()
                        if len(places) > before.get(name, 0)
                    }
                case ast.Assign() | ast.AugAssign() | ast.Unification() | ast.SchemaAttr():
                    for name, target in _targets(statement):
                        known = self.assigning.setdefault(name, [])
                        assigning = Assigning(name, len(known), conditions, statement, target)
                        known.append(assigning)
                        self._by_statement.setdefault(id(statement), []).append(assigning)
                case _:
                    pass


def _targets(statement: Assignment) -> Iterator[tuple[str, ast.Target | None]]:
    match statement:
        case ast.Assign():
            for target in statement.targets:
                yield target.name, target
        case ast.SchemaAttr():
            yield statement.name, None
        case _:
            yield statement.target.name, statement.target


def lower_setter(
    assigning: Assigning,
    body: Body,
    scope: Scope,
    assign: Evaluate,
    owner: Callable[[Environment], LazyScope],
) -> Evaluate:
    """Code that runs the assignment if the conditions on the way to it hold."""
    if not assigning.conditions:
        return assign
    conditions = [
        (lower(statement.cond, scope), expected, body.pins(statement)) for statement, expected in assigning.conditions
    ]

    def run(environment: Environment) -> Value:
        variables = owner(environment)
        if variables.is_reached():
            return assign(environment)
        first = variables.first
        for condition, expected, pins in conditions:
            if _holds(condition, environment, variables, pins, first) is not expected:
                return NOT_ASSIGNED
        return assign(environment)

    return run


def _holds(
    condition: Evaluate, environment: Environment, variables: LazyScope, pins: Pins, first: Mapping[str, int]
) -> bool:
    """Whether the condition of an `if` is true, given what its variables are before it."""
    outer = variables.pinned
    variables.pinned = {**outer, **{name: first.get(name, 0) + index for name, index in pins.items()}}
    try:
        return truthy(condition(environment))
    finally:
        variables.pinned = outer


def lower_assignment(
    assigning: Assigning,
    scope: Scope,
    owner: Callable[[Environment], LazyScope],
    finish: Finish,
    right_side: Callable[[], Evaluate] | None = None,
    meaning: tuple[object, ...] = (),
) -> Evaluate:
    """Code for an assignment, augmented assignment or unification of one variable of a lazy scope.

    `right_side` makes the code for the value where it is not simply what stands in the statement. `meaning` are objects
    that stand for the text, the places and the names of all that it comes from, see `reuse`; none where none do.
    """
    statement, target = assigning.statement, assigning.target
    assert target is not None
    module = scope.module
    where = module.where(statement)
    runtime = module.runtime
    name = assigning.name
    path = lower_path(target, scope)
    site = module.site(target, SiteKind.LITERAL, statement.value)

    def lowered() -> Tracked:
        return _value(statement, scope, site) if right_side is None else _with_site(right_side(), site)

    type_: RuntimeType | None = None
    several = False
    if isinstance(statement, ast.Assign):
        type_ = None if statement.type is None else lower_type(statement.type, module)
        several = len(statement.targets) > 1  # whose value has the place of the target that is read first
    evaluate = _as_part(meaning, runtime, _when_run(lowered, scope.unit)) if meaning and not several else lowered()
    span = where.span

    def right(environment: Environment, variables: LazyScope) -> tuple[Value, Sites]:
        if not several:
            return evaluate(environment)
        shared = variables.shared
        if id(statement) not in shared:
            shared[id(statement)] = evaluate(environment)
        found: tuple[Value, Sites] = shared[id(statement)]
        return found

    def run(environment: Environment) -> Value:
        variables = owner(environment)
        value, sites = right(environment, variables)
        try:
            if type_ is not None:
                value = pack(type_, value, span)
            if isinstance(statement, ast.Unification):
                present = variables.previous(name)
                sites = joined_sites(sites, runtime.origin)
                value = bit_or(present, value, span)
            elif isinstance(statement, ast.AugAssign):
                value, sites = _augment(statement, environment, variables, value, sites)
            elif path:
                steps = [step(environment) for step in path]
                value = with_path(variables.previous(name), steps, value, sites, span)
                sites = joined_sites(runtime.origin, sites)
            runtime.origin = sites
            return finish(environment, value)
        except ValueFailure as failure:
            raise where.located(failure) from None

    def _augment(
        node: ast.AugAssign, environment: Environment, variables: LazyScope, value: Value, sites: Sites
    ) -> tuple[Value, Sites]:
        whole = variables.previous(name)
        before = runtime.origin
        steps = [step(environment) for step in path]
        present = load_path(runtime, whole, target.path, steps)
        changed = augmented(node.op, present, value, where)
        return with_path(whole, steps, changed, sites, span), joined_sites(sites, before)

    return run


def _when_run(lowered: Callable[[], Tracked], unit: Unit) -> Tracked:
    """Code that is made when it runs for the first time: a part that stays as it was needs none."""
    code: Tracked | None = None

    def run(environment: Environment) -> tuple[Value, Sites]:
        nonlocal code
        if code is None:
            code = lowered()
            environment.extend([UNSET] * (unit.size - len(environment)))
        return code(environment)

    return run


def _as_part(meaning: tuple[object, ...], runtime: Runtime, evaluate: Tracked) -> Tracked:
    def run(environment: Environment) -> tuple[Value, Sites]:
        parts = runtime.parts
        return evaluate(environment) if parts is None else parts.part(meaning, lambda: evaluate(environment))

    return run


def _value(statement: Assignment, scope: Scope, site: Sites) -> Tracked:
    node = statement.value
    assert node is not None
    return _often(node, scope, site, lower_value(node, scope, site))


def _often(node: ast.Expr, scope: Scope, site: Sites, evaluate: Tracked) -> Tracked:
    """The same code; generated code in its place, where a statement of a package is evaluated again and again."""
    if not isinstance(scope, GlobalScope) or is_literal(node):
        return evaluate
    runtime = scope.module.runtime
    evaluated = 0
    generated: Tracked | None = None

    def run(environment: Environment) -> tuple[Value, Sites]:
        nonlocal evaluated, generated
        compiling = runtime.compiling
        if compiling is None:
            return evaluate(environment)
        if evaluated != TRIED:
            evaluated += 1
            if evaluated >= compiling.after:
                evaluated = TRIED
                generated = compiling.code(VALUES, node, scope, site)
        if generated is None:
            return evaluate(environment)
        # What was written for it may have variables of its own.
        environment.extend([UNSET] * (scope.unit.size - len(environment)))
        return generated(environment)

    return run


def _with_site(code: Evaluate, site: Sites) -> Tracked:
    return lambda environment: (code(environment), site)


def lower_statements(
    statements: Sequence[ast.Stmt], body: Body, scope: Scope, on_value: Callable[[ast.ExprStmt, Value], None]
) -> list[Run]:
    """Code that runs the statements in order; assignments are carried out by the setters of their variables."""
    runs: list[Run] = []
    for statement in statements:
        run = _statement(statement, body, scope, on_value)
        if run is not None:
            runs.append(run)
    return runs


def _statement(node: ast.Stmt, body: Body, scope: Scope, on_value: Callable[[ast.ExprStmt, Value], None]) -> Run | None:
    match node:
        case ast.Assign() | ast.AugAssign() | ast.Unification() | ast.SchemaAttr():
            places = [(assigning.name, assigning.index) for assigning in body.of(node)]

            def run_assignment(environment: Environment, variables: LazyScope, first: Mapping[str, int]) -> None:
                for name, index in places:
                    variables.force(name, first.get(name, 0) + index)

            return run_assignment
        case ast.If():
            condition = lower(node.cond, scope)
            pins = body.pins(node)
            then = lower_statements(node.body, body, scope, on_value)
            otherwise = lower_statements(node.orelse, body, scope, on_value)

            def run_if(environment: Environment, variables: LazyScope, first: Mapping[str, int]) -> None:
                for run in then if _holds(condition, environment, variables, pins, first) else otherwise:
                    run(environment, variables, first)

            return run_if
        case ast.ExprStmt():
            plain = lower(node.value, scope)
            evaluate = _often(node.value, scope, (), lambda environment: (plain(environment), ()))

            def run_expression(environment: Environment, variables: LazyScope, first: Mapping[str, int]) -> None:
                on_value(node, evaluate(environment)[0])

            return run_expression
        case ast.Assert():
            check = lower_assert(node, scope)

            def run_assert(environment: Environment, variables: LazyScope, first: Mapping[str, int]) -> None:
                check(environment)

            return run_assert
        case _:
            return None
