"""Compiling expressions, all but configurations, comprehensions and calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kcl.diagnostics import Code, KclError
from kcl.evaluator import operations
from kcl.evaluator.attributes import load_attribute, sites_of
from kcl.evaluator.environments import Environment, Evaluate
from kcl.evaluator.lexical import Scope, is_local, reader
from kcl.evaluator.lowering import constant_value, is_tracked, lower, lower_tracked, lowers, lowers_tracked
from kcl.evaluator.names import global_reader, imported_module, is_unknown, module_member
from kcl.evaluator.runtime import Where
from kcl.evaluator.runtime_types import pack
from kcl.evaluator.sizes import MOST_CHARACTERS, text_of
from kcl.evaluator.type_lowering import lower_type
from kcl.evaluator.union import bit_or, joined_sites
from kcl.evaluator.value import UNDEFINED, Sites, Value, ValueFailure
from kcl.syntax import ast


def constant(value: Value) -> Evaluate:
    return lambda environment: value


@lowers(ast.Constant)
def _constant(node: ast.Constant, scope: Scope) -> Evaluate:
    return constant(constant_value(node))


@lowers(ast.Int)
def _int(node: ast.Int, scope: Scope) -> Evaluate:
    if node.suffix is not None:
        return constant(operations.number_multiplier(node.value, node.suffix))
    return constant(node.value)


@lowers(ast.Float)
def _float(node: ast.Float, scope: Scope) -> Evaluate:
    return constant(node.value)


@lowers(ast.Str)
def _str(node: ast.Str, scope: Scope) -> Evaluate:
    return constant(node.value)


@lowers(ast.Paren)
def _paren(node: ast.Paren, scope: Scope) -> Evaluate:
    return lower(node.value, scope)


@lowers_tracked(ast.Paren)
def _tracked_paren(node: ast.Paren, scope: Scope) -> Evaluate:
    return lower_tracked(node.value, scope)


# --- Strings ---


@lowers(ast.JoinedStr)
def _joined(node: ast.JoinedStr, scope: Scope) -> Evaluate:
    where = scope.module.where(node)
    parts: list[str | Callable[[Environment], str]] = [
        part if isinstance(part, str) else _formatted(part, scope, lower(part.value, scope)) for part in node.parts
    ]

    def run(environment: Environment) -> Value:
        return _within_limits("".join([part if isinstance(part, str) else part(environment) for part in parts]), where)

    return run


@lowers_tracked(ast.JoinedStr)
def _tracked_joined(node: ast.JoinedStr, scope: Scope) -> Evaluate:
    runtime, where = scope.module.runtime, scope.module.where(node)
    parts: list[str | Callable[[Environment], str]] = [
        part if isinstance(part, str) else _formatted(part, scope, lower_tracked(part.value, scope))
        for part in node.parts
    ]

    def run(environment: Environment) -> Value:
        texts: list[str] = []
        sites: Sites = ()
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
            else:
                texts.append(part(environment))
                sites = joined_sites(sites, runtime.origin)
        runtime.origin = sites
        return _within_limits("".join(texts), where)

    return run


def _within_limits(text: str, where: Where) -> str:
    if len(text) > MOST_CHARACTERS:
        try:
            text_of(len(text))
        except ValueFailure as failure:
            raise where.located(failure) from None
    return text


def _formatted(part: ast.FormattedValue, scope: Scope, evaluate: Evaluate) -> Callable[[Environment], str]:
    where = scope.module.where(part)
    match part.spec:
        case None:
            return lambda environment: operations.to_str(evaluate(environment))
        case "json" | "yaml":
            encoder = scope.module.runtime.library.modules.get(part.spec, {}).get("encode")
            encode = getattr(encoder, "function", None)
            if encode is None:
                import json  # hardly ever there is no module of the library

                return lambda environment: json.dumps(evaluate(environment))
            return lambda environment: str(encode(evaluate(environment)))
        case _:
            raise where.error(Code.INVALID_SYNTAX, f"{part.spec} is a invalid format spec")


# --- Operators ---


def _of_operands(
    problem: KclError, values: Iterable[Value], operands: Sequence[ast.Expr], scope: Scope, environment: Environment
) -> KclError:
    """The failure of an operation, with what is missing of its operands."""
    if not any(value is UNDEFINED for value in values):
        return problem
    from kcl.evaluator.explaining import missing  # nothing fails in most runs

    return missing(problem, operands, scope, environment)


@lowers(ast.Unary)
def _unary(node: ast.Unary, scope: Scope) -> Evaluate:
    operand = lower(node.operand, scope)
    truthy = operations.truthy
    if node.op is ast.UnaryOp.NOT:
        return lambda environment: not truthy(operand(environment))
    where = scope.module.where(node)
    apply = {
        ast.UnaryOp.MINUS: scope.module.runtime.arithmetic.negate,
        ast.UnaryOp.PLUS: operations.positive,
        ast.UnaryOp.INVERT: operations.invert,
    }[node.op]

    def run(environment: Environment) -> Value:
        value = operand(environment)
        try:
            return apply(value)
        except ValueFailure as failure:
            raise _of_operands(where.located(failure), (value,), (node.operand,), scope, environment) from None

    return run


@lowers(ast.Binary)
def _binary(node: ast.Binary, scope: Scope) -> Evaluate:
    return _binary_code(node, scope, lower(node.left, scope), lower(node.right, scope))


def _binary_code(node: ast.Binary, scope: Scope, left: Evaluate, right: Evaluate) -> Evaluate:
    truthy = operations.truthy
    match node.op:
        case ast.BinaryOp.AND:

            def run_and(environment: Environment) -> Value:
                value = left(environment)
                return right(environment) if truthy(value) else value

            return run_and
        case ast.BinaryOp.OR:

            def run_or(environment: Environment) -> Value:
                value = left(environment)
                return value if truthy(value) else right(environment)

            return run_or
        case _:
            pass
    where = scope.module.where(node)
    span = where.span
    apply: Callable[[Value, Value], Value]
    if node.op is ast.BinaryOp.BIT_OR:

        def apply(one: Value, other: Value) -> Value:
            return bit_or(one, other, span)
    else:
        apply = scope.module.runtime.arithmetic.binary[node.op]

    def run(environment: Environment) -> Value:
        one = left(environment)
        other = right(environment)
        try:
            return apply(one, other)
        except ValueFailure as failure:
            operands = node.left, node.right
            raise _of_operands(where.located(failure), (one, other), operands, scope, environment) from None

    return run


@lowers_tracked(ast.Binary)
def _tracked_binary(node: ast.Binary, scope: Scope) -> Evaluate:
    runtime = scope.module.runtime
    if node.op in (ast.BinaryOp.AND, ast.BinaryOp.OR):
        return _binary_code(node, scope, lower_tracked(node.left, scope), lower_tracked(node.right, scope))
    if not (is_tracked(node.left) or is_tracked(node.right)):
        code = _binary(node, scope)

        def run_plain(environment: Environment) -> Value:
            value = code(environment)
            runtime.origin = ()
            return value

        return run_plain
    tracked_left, tracked_right = lower_tracked(node.left, scope), lower_tracked(node.right, scope)

    def right_joined(environment: Environment) -> Value:
        before = runtime.origin
        value = tracked_right(environment)
        runtime.origin = joined_sites(before, runtime.origin)
        return value

    code = _binary_code(node, scope, tracked_left, right_joined)

    def run(environment: Environment) -> Value:
        value = code(environment)
        if isinstance(value, (list, dict)):
            runtime.origin = ()
        return value

    return run


@lowers(ast.Compare)
def _compare(node: ast.Compare, scope: Scope) -> Evaluate:
    where = scope.module.where(node)
    first = lower(node.left, scope)
    rest = [
        (operations.COMPARISONS[op], lower(other, scope)) for op, other in zip(node.ops, node.comparators, strict=True)
    ]
    if len(rest) == 1:
        ((test, other),) = rest

        def run_one(environment: Environment) -> Value:
            left, right = first(environment), other(environment)
            try:
                return test(left, right)
            except ValueFailure as failure:
                operands = node.left, *node.comparators
                raise _of_operands(where.located(failure), (left, right), operands, scope, environment) from None

        return run_one

    def run(environment: Environment) -> Value:
        left = first(environment)
        for test, evaluate in rest:
            right = evaluate(environment)
            try:
                if not test(left, right):
                    return False
            except ValueFailure as failure:
                operands = node.left, *node.comparators
                raise _of_operands(where.located(failure), (left, right), operands, scope, environment) from None
            left = right
        return True

    return run


@lowers(ast.IfExpr)
def _if(node: ast.IfExpr, scope: Scope) -> Evaluate:
    return _if_code(node, scope, lower(node.body, scope), lower(node.orelse, scope))


@lowers_tracked(ast.IfExpr)
def _tracked_if(node: ast.IfExpr, scope: Scope) -> Evaluate:
    return _if_code(node, scope, lower_tracked(node.body, scope), lower_tracked(node.orelse, scope))


def _if_code(node: ast.IfExpr, scope: Scope, body: Evaluate, orelse: Evaluate) -> Evaluate:
    truthy = operations.truthy
    condition = lower(node.cond, scope)
    return lambda environment: body(environment) if truthy(condition(environment)) else orelse(environment)


@lowers(ast.Cast)
def _cast(node: ast.Cast, scope: Scope) -> Evaluate:
    where = scope.module.where(node)
    evaluate = lower(node.value, scope)
    type_ = lower_type(node.type, scope.module)

    def run(environment: Environment) -> Value:
        value = evaluate(environment)
        try:
            return pack(type_, value, where.span)
        except ValueFailure as failure:
            raise where.located(failure) from None

    return run


# --- Names, selections, subscripts ---


@lowers(ast.Name)
def _name(node: ast.Name, scope: Scope) -> Evaluate:
    return reader(scope, node.id, lambda: global_reader(node, scope))


@lowers_tracked(ast.Name)
def _tracked_name(node: ast.Name, scope: Scope) -> Evaluate:
    runtime = scope.module.runtime
    read = reader(scope, node.id, lambda: global_reader(node, scope), tracked=True)

    def run(environment: Environment) -> Value:
        # Reading a variable or an attribute sets the origin, a function or schema of that name leaves it.
        runtime.origin = ()
        return read(environment)

    return run


def module_selector(node: ast.Selector, scope: Scope) -> Evaluate | None:
    """Code for `alias.name` where the alias is an import of the file, None if the selector is something else."""
    head = node.value
    if not isinstance(head, ast.Name) or node.optional or is_local(scope, head.id):
        return None
    if head.id in scope.module.scope.setters:
        return None
    imported = imported_module(scope.module, head.id)
    if imported is not None:
        return module_member(imported, node, scope)
    if scope.module.runtime.dialect.unknown_name_is_undefined and is_unknown(scope, head.id):
        return constant(UNDEFINED)
    return None


@lowers(ast.Selector)
def _selector(node: ast.Selector, scope: Scope) -> Evaluate:
    of_module = module_selector(node, scope)
    if of_module is not None:
        return of_module
    return selector_of(node, scope, lower(node.value, scope))


def selector_of(node: ast.Selector, scope: Scope, evaluate: Evaluate) -> Evaluate:
    """Code for the selection of a member of what `evaluate` answers."""
    where = scope.module.where(node)
    runtime = scope.module.runtime
    name = node.name

    if node.optional:

        def run_optional(environment: Environment) -> Value:
            value = evaluate(environment)
            if not operations.truthy(value):
                return None
            if isinstance(value, dict) and name in value:
                return value[name]
            try:
                return load_attribute(runtime, value, name)
            except ValueFailure as failure:
                raise where.located(failure) from None

        return run_optional

    def run(environment: Environment) -> Value:
        value = evaluate(environment)
        if isinstance(value, dict) and name in value:
            return value[name]
        try:
            return load_attribute(runtime, value, name)
        except ValueFailure as failure:
            raise _of_operands(where.located(failure), (value,), (node.value,), scope, environment) from None

    return run


@lowers_tracked(ast.Selector)
def _tracked_selector(node: ast.Selector, scope: Scope) -> Evaluate:
    runtime = scope.module.runtime
    of_module = module_selector(node, scope)
    if of_module is not None:

        def run_member(environment: Environment) -> Value:
            # Reading a variable sets the origin, anything else of a module leaves it.
            runtime.origin = ()
            return of_module(environment)

        return run_member
    where = scope.module.where(node)
    evaluate = lower(node.value, scope)
    name, optional = node.name, node.optional

    def run(environment: Environment) -> Value:
        value = evaluate(environment)
        runtime.origin = sites_of(value, name)
        if optional and not operations.truthy(value):
            return None
        try:
            return load_attribute(runtime, value, name)
        except ValueFailure as failure:
            raise _of_operands(where.located(failure), (value,), (node.value,), scope, environment) from None

    return run


def _subscript_code(node: ast.Subscript, scope: Scope, tracked: bool) -> Evaluate:
    where = scope.module.where(node)
    runtime = scope.module.runtime
    evaluate, index = lower(node.value, scope), lower(node.index, scope)
    optional = node.optional

    def run(environment: Environment) -> Value:
        value = evaluate(environment)
        at = index(environment)
        if tracked:
            runtime.origin = sites_of(value, at)
        if optional and not operations.truthy(value):
            return None
        try:
            return operations.subscript(value, at)
        except ValueFailure as failure:
            raise _of_operands(where.located(failure), (value,), (node.value,), scope, environment) from None

    return run


@lowers(ast.Subscript)
def _subscript(node: ast.Subscript, scope: Scope) -> Evaluate:
    return _subscript_code(node, scope, False)


@lowers_tracked(ast.Subscript)
def _tracked_subscript(node: ast.Subscript, scope: Scope) -> Evaluate:
    return _subscript_code(node, scope, True)


@lowers(ast.Slice)
def _slice(node: ast.Slice, scope: Scope) -> Evaluate:
    where = scope.module.where(node)
    evaluate = lower(node.value, scope)
    lower_bound, upper_bound, step = [
        constant(None) if bound is None else lower(bound, scope) for bound in (node.lower, node.upper, node.step)
    ]

    def run(environment: Environment) -> Value:
        value = evaluate(environment)
        if node.optional and not operations.truthy(value):
            return None
        try:
            return operations.slice_of(value, lower_bound(environment), upper_bound(environment), step(environment))
        except ValueFailure as failure:
            raise where.located(failure) from None

    return run
