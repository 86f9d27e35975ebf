"""Compiling schemas and rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kcl.diagnostics import Code, KclError, Label, Span, error, warning
from kcl.evaluator.environments import NOT_ASSIGNED, Environment, Evaluate
from kcl.evaluator.functions import RuleType
from kcl.evaluator.layouts import CompiledBody, IndexSignatureCode, SchemaFrame, SchemaLayout
from kcl.evaluator.lexical import GlobalScope, SchemaScope, Scope, Unit
from kcl.evaluator.lowering import lower, lower_value, may_be_left_out
from kcl.evaluator.operations import number_multiplier, truthy
from kcl.evaluator.parameters import lower_parameters
from kcl.evaluator.runtime import Where, evaluation_error
from kcl.evaluator.runtime_types import RuntimeType, pack
from kcl.evaluator.schemas import SchemaType, attribute_type, dotted, store
from kcl.evaluator.scopes import LazyScope, Setter
from kcl.evaluator.sites import SiteKind
from kcl.evaluator.statements import Assigning, Body, lower_assignment, lower_setter, lower_statements
from kcl.evaluator.type_lowering import find_schema, lower_type
from kcl.evaluator.union import bit_or, joined_sites
from kcl.evaluator.value import OVERRIDE, UNDEFINED, KDict, SchemaInstance, Value, ValueFailure
from kcl.records import dataclass
from kcl.syntax import ast


def compile_body(schema: SchemaType) -> CompiledBody:
    """Compiles what a schema itself declares. All of it at once: its code shares one set of local variables."""
    node, module = schema.node, schema.module
    unit = Unit()
    scope = SchemaScope(module, unit, GlobalScope(module, unit))
    parameters = lower_parameters(node.params, scope)
    body = Body(node.body)
    setters: dict[str, list[Setter]] = {}
    types: dict[str, list[RuntimeType | None]] = {}
    optional: dict[str, bool] = {}
    for name, places in body.assigning.items():
        for place in places:
            code = lower_setter(place, body, scope, _assign(place, scope), _frame)
            setters.setdefault(name, []).append(Setter(_already(code)))
            statement = place.statement
            declared = lower_type(statement.type, module) if isinstance(statement, ast.SchemaAttr) else None
            types.setdefault(name, []).append(declared)
            if isinstance(statement, ast.SchemaAttr):
                optional[name] = statement.optional
    statements = lower_statements(node.body, body, scope, ignore)
    observation = module.runtime.observation
    if observation is not None and observation.coverage is not None:
        coverage = observation.coverage
        statements.insert(0, lambda environment, variables, first: coverage.reach(node, module.module))
    return CompiledBody(
        unit,
        scope,
        body,
        parameters,
        setters,
        types,
        optional,
        statements,  # type: ignore[arg-type]  # a schema's statements run on a SchemaFrame, a LazyScope
        [lower_check(check, scope) for check in node.checks],
        _decorators(node, scope),
        _index_signature(node, scope),
    )


def _already(code: Evaluate) -> Callable[[], Evaluate]:
    return lambda: code


def ignore(node: ast.ExprStmt, value: Value) -> None:
    """What a schema states comes to nothing."""


def _frame(environment: Environment) -> LazyScope:
    frame: LazyScope = environment[0]
    return frame


def _assign(place: Assigning, scope: Scope) -> Evaluate:
    if isinstance(place.statement, ast.SchemaAttr):
        return _attribute(place.statement, scope)
    name = place.name
    declared = scope.module.where(place.statement).span
    is_unification = isinstance(place.statement, ast.Unification)

    def finish(environment: Environment, value: Value) -> Value:
        return store(environment[0], name, value, declared, merge_insertions=not is_unification)

    return lower_assignment(place, scope, _frame, finish)


def _attribute(node: ast.SchemaAttr, scope: Scope) -> Evaluate:
    """Code for an attribute's declaration: its default, unless the configuration replaces it altogether."""
    module = scope.module
    runtime = module.runtime
    where = module.where(node)
    site = module.site(node, SiteKind.DEFAULT, node.value)
    default = None if node.value is None else lower_value(node.value, scope, site, chooses=True)
    literal = literal_default(node)
    if literal is not None:
        default = lambda environment: (literal.value, site)  # noqa: E731
    name = node.name
    unites = node.op is ast.AugOp.BIT_OR
    declared = where.span

    def _packed(frame: SchemaFrame, type_: RuntimeType, value: Value) -> Value:
        return pack(type_, value, frame.instance.origin)

    def run(environment: Environment) -> Value:
        frame: SchemaFrame = environment[0]
        config = frame.config
        try:
            if name in config and config.operator(name) == OVERRIDE and config.index(name) is None:
                type_ = attribute_type(frame, name)
                value = config[name]
                if type_ is not None:
                    value = _packed(frame, type_, value)
                runtime.origin = joined_sites(config.sites_of(name), site) if default else config.sites_of(name)
                return value
            if default is None:
                if frame.running(name) > 0:
                    value = frame.previous(name)
                    if value is not UNDEFINED:
                        type_ = attribute_type(frame, name)
                        return value if type_ is None else pack(type_, value, frame.instance.origin)
                if name not in config:
                    return NOT_ASSIGNED
                runtime.origin = ()
                return store(frame, name, UNDEFINED, declared)
            value, sites = default(environment)
            if unites:
                present = frame.previous(name)
                value = bit_or(present, value, where.span)
            runtime.origin = sites
            return store(frame, name, value, declared)
        except ValueFailure as failure:
            raise where.located(failure) from None

    return run


@dataclass(frozen=True, slots=True)
class LiteralDefault:
    value: Value


def literal_default(node: ast.SchemaAttr) -> LiteralDefault | None:
    """The default of an attribute that must have a value, is declared without one, and of a type with one value."""
    type_ = node.type
    if node.optional or node.value is not None or not isinstance(type_, ast.LiteralType):
        return None
    if type_.suffix is not None and isinstance(type_.value, int):
        return LiteralDefault(number_multiplier(type_.value, type_.suffix))
    return LiteralDefault(type_.value)


def lower_check(node: ast.Check, scope: Scope) -> Evaluate:
    """Code that raises KclError at the check, naming the instance, if it does not hold."""
    module = scope.module
    place = module.where(node)
    if node.message is not None and "\n" in module.module.source.text[node.start : node.message.start]:
        # The official compiler blames the last line it evaluated.
        place = module.where(node.message)
    test = lower(node.test, scope)
    condition = None if node.cond is None else lower(node.cond, scope)
    message = None if node.message is None else lower(node.message, scope)
    needs_no_message = may_be_left_out(node.message)
    observation = module.runtime.observation
    gathered = None if observation is None else observation.failed_checks

    def run(environment: Environment) -> Value:
        if condition is not None and not truthy(condition(environment)):
            return True
        holds = truthy(test(environment))
        if holds and needs_no_message:
            return True
        text = "" if message is None else message(environment)
        if holds:
            return True
        problem = _check_failure(place, text if isinstance(text, str) else "", environment[0])
        from kcl.evaluator.explaining import written  # nothing fails in most runs

        problem = written(problem, node.test, environment[0], module.runtime)
        if gathered is None:
            raise problem
        gathered.extend(problem.diagnostics)
        return True

    return run


def _check_failure(where: Where, text: str, frame: SchemaFrame | None) -> KclError:
    """What a failed check says: where the instance was written, and which check it failed."""
    origin = None if frame is None else frame.instance.origin
    said = f"Check failed on the condition: {text}" if text else "Check failed on the condition"
    if origin is None:
        return evaluation_error(said, where.span)
    return KclError(
        (
            error(
                Code.EVALUATION,
                "Instance check failed",
                origin,
                labels=(Label(where.span, said, line_only=True),),
            ),
        )
    )


def _index_signature(node: ast.Schema, scope: Scope) -> IndexSignatureCode | None:
    signature = node.index_signature
    if signature is None:
        return None
    default = None if signature.default is None else lower(signature.default, scope)
    return IndexSignatureCode(signature.name, lower_type(signature.value_type, scope.module), default)


def _decorators(node: ast.Schema, scope: Scope) -> list[Callable[[Environment, SchemaFrame], None]]:
    runs = [_decorator(decorator, node.name, True, scope) for decorator in node.decorators]
    for statement in node.body:
        if isinstance(statement, ast.SchemaAttr):
            runs += [_decorator(decorator, statement.name, False, scope) for decorator in statement.decorators]
    return runs


def _decorator(
    node: ast.Decorator, subject: str, is_schema: bool, scope: Scope
) -> Callable[[Environment, SchemaFrame], None]:
    """Code for `@deprecated` and `@info`; the former complains when the schema or attribute is used."""
    where = scope.module.where(node.name)
    name = node.name.id if isinstance(node.name, ast.Name) else node.name.name
    args = [lower(arg, scope) for arg in node.args]
    keywords = [(keyword.name, lower(keyword.value, scope)) for keyword in node.keywords]
    if name not in ("deprecated", "info"):
        raise where.error(Code.COMPILE, f"UnKnown decorator {name}")

    def run(environment: Environment, frame: SchemaFrame) -> None:
        if name != "deprecated" or not (is_schema or subject in frame.config):
            return
        values = dict(zip(("version", "reason", "strict"), [arg(environment) for arg in args], strict=False))
        values.update({key: value(environment) for key, value in keywords})
        version, reason = values.get("version") or "", values.get("reason") or ""
        message = f"{subject} was deprecated " + (f"since version {version}" if version else "")
        if reason:
            message += f", {reason}" if version else str(reason)
        if truthy(values.get("strict", True)):
            raise evaluation_error(message, frame.instance.origin or where.span)
        scope.module.runtime.warn(warning(Code.COMPILER_WARNING, message, frame.instance.origin))

    return run


# --- Rules ---


def run_rule(rule: RuleType, config: KDict, args: Sequence[Value], kwargs: Mapping[str, Value], where: Where) -> Value:
    """Checks a rule: its host built from the configuration, then the rules it extends, then its own conditions."""
    node, module = rule.node, rule.module
    runtime = module.runtime
    value: Value = KDict()
    if node.host is not None:
        host = find_schema(dotted(node.host), node.host, module)
        value = host.rebuild(config, (), {}, where.span)
    unit = Unit()
    scope = SchemaScope(module, unit, GlobalScope(module, unit))
    parameters = lower_parameters(node.params, scope)
    parameters.check_call(rule.name, args, kwargs, where)
    checks = [lower_check(check, scope) for check in node.checks]
    frame = _RuleFrame(rule, value, config, where.span)
    environment = unit.environment(frame)
    caller = runtime.module
    runtime.enter(where.span)
    runtime.module = module
    try:
        parameters.bind(environment, args, kwargs, where)
        for parent in node.parents:
            found = lower(parent, scope)(environment)
            if isinstance(found, RuleType):
                found.check(config, args, kwargs, where)
        for check in checks:
            check(environment)
    finally:
        runtime.depth -= 1
        runtime.module = caller
    return value


class _RuleFrame(SchemaFrame):
    """The attributes a rule's conditions read: those of its host."""

    __slots__ = ()

    def __init__(self, rule: RuleType, value: Value, config: KDict, origin: Span | None) -> None:
        layout = SchemaLayout([], {}, {}, frozenset(), (), None, 0)
        instance = SchemaInstance(rule)  # type: ignore[arg-type]  # stands in: nothing is ever built from it
        instance.origin = origin
        super().__init__(rule.module.runtime, layout, instance, config, (), {})
        if isinstance(value, dict):
            self.final.update(value)
