"""Compiling configurations and lists, and the loops that make them."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Final, TypeVar, assert_never

from kcl.diagnostics import Code
from kcl.evaluator.attributes import sites_of
from kcl.evaluator.environments import UNSET, Environment, Evaluate, ItemStep
from kcl.evaluator.lexical import (
    ConfigScope,
    LoopScope,
    Scope,
    Variable,
    child,
    loop_variable,
)
from kcl.evaluator.lowering import constant_value, lower, lower_value, lowers
from kcl.evaluator.operations import iterate, kind, truthy
from kcl.evaluator.runtime import TRIED, CodeKind, Where
from kcl.evaluator.sites import SiteKind
from kcl.evaluator.sizes import MOST_ITEMS, items_of
from kcl.evaluator.union import merge_all, merge_entry
from kcl.evaluator.value import INSERT, OVERRIDE, UNDEFINED, UNION, KDict, KList, Sites, Value, ValueFailure
from kcl.syntax import ast

# Adds to the configuration being built.
Step = Callable[[Environment, KDict], None]

_Fact = TypeVar("_Fact")

ELEMENTS: Final[CodeKind[[ast.Expr | ast.Starred, Scope], ItemStep]] = CodeKind()
"""Of the element of a list comprehension."""

OPERATORS = {ast.ConfigOp.UNION: UNION, ast.ConfigOp.OVERRIDE: OVERRIDE, ast.ConfigOp.INSERT: INSERT}
SITE_KINDS = {
    ast.ConfigOp.UNION: SiteKind.LITERAL,
    ast.ConfigOp.OVERRIDE: SiteKind.OVERRIDE,
    ast.ConfigOp.INSERT: SiteKind.INSERT,
}


# --- Configurations ---


@lowers(ast.Config)
def lower_config(node: ast.Config, scope: Scope) -> Evaluate:
    if _is_data(node) and not _in_a_loop(scope) and not _is_counted(scope):
        whole = _data(node, scope)
        return lambda environment: whole
    inner = child(scope, ConfigScope)
    return config_code([lower_item(item, inner) for item in node.items], inner)


def _is_data(node: ast.Expr | ast.Starred | ast.ListIf) -> bool:
    """Whether a value is written out as a whole: one container serves every evaluation, since nobody changes values."""
    match node:
        case ast.Str() | ast.Float() | ast.Constant():
            return True
        case ast.Int():
            return node.suffix is None
        case ast.List():
            return all(map(_is_data, node.items))
        case ast.Config():
            keys = set()
            for item in node.items:
                if not isinstance(item, ast.Entry) or item.index is not None or item.op is ast.ConfigOp.INSERT:
                    return False
                key = item.key
                if type(item.value) is not ast.Str and not _is_data(item.value):
                    return False
                if not isinstance(key, (ast.Name, ast.Str)):
                    return False
                keys.add(key.id if type(key) is ast.Name else key.value)  # type: ignore[union-attr]
            return len(keys) == len(node.items)
        case _:
            return False


def _data(node: ast.Expr, scope: Scope) -> Value:
    """The value of what `_is_data`."""
    match node:
        case ast.Str() | ast.Int() | ast.Float():
            return node.value
        case ast.Constant():
            return constant_value(node)
        case ast.List():
            items = [item for item in node.items if not isinstance(item, (ast.Starred, ast.ListIf))]
            return KList(
                [_data(item, scope) for item in items],
                [scope.module.site(item, SiteKind.LITERAL, item) for item in items],
            )
        case ast.Config():
            return _data_config(node, scope)
        case _:
            raise AssertionError(node)


def _data_config(node: ast.Config, scope: Scope) -> KDict:
    source, add = scope.module.module.source, scope.module.runtime.table.add
    result = KDict()
    sites: dict[str, Sites] = {}
    operators: dict[str, int] = {}
    for item in node.items:  # of files that programs write there are very many: `ModuleContext.site` in a line
        assert isinstance(item, ast.Entry) and isinstance(item.key, (ast.Name, ast.Str))
        at, value = item.key, item.value
        key = at.id if isinstance(at, ast.Name) else at.value
        literal = None if isinstance(value, (ast.Config, ast.List)) else (value.start, value.end)
        dict.__setitem__(result, key, value.value if isinstance(value, ast.Str) else _data(value, scope))
        sites[key] = add(source, at.start, at.end, SITE_KINDS[item.op], literal)
        if item.op is ast.ConfigOp.OVERRIDE:
            operators[key] = OVERRIDE
    result.sites = sites or None
    result.operators = operators or None
    return result


def _is_counted(scope: Scope) -> bool:
    """Whether somebody wants to know of each entry whether it was evaluated."""
    observation = scope.module.runtime.observation
    return observation is not None and observation.coverage is not None


def _in_a_loop(scope: Scope) -> bool:
    """Whether a word before a colon may be a variable here."""
    current: Scope | None = scope
    while current is not None:
        if isinstance(current, LoopScope):
            return True
        current = current.parent
    return False


def config_code(steps: Sequence[Step], scope: Scope) -> Evaluate:
    """Code that builds a configuration; the keys some expression reads start without a value each time."""
    slots = [variable.slot for variable in scope.variables.values() if variable.slot is not None]

    def run(environment: Environment) -> Value:
        for slot in slots:
            environment[slot] = UNSET
        result = KDict()
        for step in steps:
            step(environment, result)
        return result

    return run


def lower_item(item: ast.ConfigItem, scope: Scope, kind: SiteKind | None = None) -> Step:
    """Code for an entry, an unpacked value or an `if` in a configuration; `kind` is what an entry's place is called."""
    match item:
        case ast.Entry():
            return lower_entry(item, scope, kind)
        case ast.Unpack():
            return _unpack(item, scope)
        case ast.ConfigIf():
            return _config_if(item, scope)
        case _:
            assert_never(item)


def _key(node: ast.Expr, scope: Scope) -> tuple[str | None, Evaluate]:
    """The key as far as it is known before evaluation, and code for it."""
    if isinstance(node, ast.Name) and loop_variable(scope, node.id) is None:
        name = node.id
        return name, lambda environment: name
    if isinstance(node, ast.Str):
        text = node.value
        return text, lambda environment: text
    return None, _checked_key(node, scope)


def _checked_key(node: ast.Expr, scope: Scope) -> Evaluate:
    evaluate = lower(node, scope)
    where = scope.module.where(node)

    def run(environment: Environment) -> Value:
        key = evaluate(environment)
        if type(key) is not str:
            raise where.error(Code.ILLEGAL_ATTRIBUTE, f"A attribute must be string type, got '{kind(key)}'")
        return key

    return run


def lower_entry(node: ast.Entry, scope: Scope, site_kind: SiteKind | None = None) -> Step:
    """Code for one entry; its key becomes a variable for what follows in the same configuration."""
    module = scope.module
    where = module.where(node)
    span = where.span
    operator = OPERATORS[node.op]
    site = module.site(node.key, site_kind or SITE_KINDS[node.op], node.value)
    evaluate = lower_value(node.value, scope, site, chooses=True)
    key_node, index_node = node.key, node.index
    if index_node is not None and not _is_list_index(index_node):
        # `d["k"]: v`: not a place in a list but the key that `d["k"]` is.
        key_node, index_node = ast.Subscript(node.key.start, node.key.end, node.key, index_node, False), None
    index = None if index_node is None else lower(index_node, scope)
    name, key_code = _key(key_node, scope)
    variable: Variable | None = None
    if name is not None:
        variable = scope.variables.get(name) or scope.declare(name, definite=False)

    def run(environment: Environment, target: KDict) -> None:
        value, sites = evaluate(environment)
        key = name if name is not None else key_code(environment)
        at = None if index is None else index(environment)
        if at is not None and type(at) is not int:
            raise where.error(Code.TYPE, f"the index of an entry must be an int, got '{kind(at)}'")
        try:
            merge_entry(target, key, value, operator, at, sites, span)
        except ValueFailure as failure:
            raise where.located(failure) from None
        if variable is not None and variable.slot is not None:
            environment[variable.slot] = target[key]
            if variable.sites_slot is not None:
                environment[variable.sites_slot] = target.sites_of(key)

    return run


def _is_list_index(node: ast.Expr) -> bool:
    if isinstance(node, ast.Unary) and node.op is ast.UnaryOp.MINUS:
        node = node.operand
    return isinstance(node, ast.Int) and node.suffix is None


def _unpack(node: ast.Unpack, scope: Scope) -> Step:
    where = scope.module.where(node)
    span = where.span
    evaluate = lower(node.value, scope)

    def run(environment: Environment, target: KDict) -> None:
        value = evaluate(environment)
        if value is None or value is UNDEFINED:
            return
        if not isinstance(value, KDict):
            raise where.error(Code.TYPE, f"only dict and schema can be used ** unpack, got '{kind(value)}'")
        try:
            merge_all(target, value, span)
        except ValueFailure as failure:
            raise where.located(failure) from None

    return run


def _config_if(node: ast.ConfigIf, scope: Scope) -> Step:
    condition = lower(node.cond, scope)
    body = [lower_item(item, scope) for item in node.body]
    orelse = [lower_item(item, scope) for item in node.orelse]

    def run(environment: Environment, target: KDict) -> None:
        for step in body if truthy(condition(environment)) else orelse:
            step(environment, target)

    return run


@lowers(ast.ConfigComp)
def _config_comprehension(node: ast.ConfigComp, scope: Scope) -> Evaluate:
    loop, start = _loops(node.clauses, scope)
    inner = child(loop, ConfigScope)
    entry = node.entry
    if isinstance(entry, ast.Entry):
        entry = computed_key(entry)
    if isinstance(entry, ast.Entry) and isinstance(entry.key, ast.Name):
        # Here a bare name is the value of the variable.
        key: ast.Expr = ast.Paren(entry.key.start, entry.key.end, entry.key)
        entry = ast.Entry(entry.start, entry.end, key, entry.index, entry.op, entry.value)
    step = lower_item(entry, inner, SiteKind.COMPREHENSION)

    def run(environment: Environment) -> Value:
        result = KDict()
        start(environment, lambda: step(environment, result))
        return result

    return run


def computed_key(entry: ast.Entry) -> ast.Entry:
    """The entry with a dotted key, `{s.name: s for s in l}`, as the selection it is in a comprehension."""
    key, index, op, value = entry.key, entry.index, entry.op, entry.value
    while isinstance(value, ast.Config) and not value.written and len(value.items) == 1:
        (inner,) = value.items
        if not isinstance(inner, ast.Entry) or not isinstance(inner.key, ast.Name):
            break
        name = inner.key
        key = ast.Selector(key.start, name.end, key, name.id, False, name.start)
        index, op, value = inner.index, inner.op, inner.value
    return entry if key is entry.key else ast.Entry(entry.start, entry.end, key, index, op, value)


# --- Loops ---


# Gives the loop variables their values: takes the (item, key, value) and the container they come from.
_AssignTargets = Callable[[Environment, tuple[Value, Value, Value], Value], None]
# Where the container stands, code for it, for its variables, and for the conditions.
_Loop = tuple[Where, Evaluate, _AssignTargets, list[Evaluate]]


def _assign_targets(targets: Sequence[ast.Name], scope: Scope) -> _AssignTargets:
    """Code that gives the loop variables their values: one takes the item, two the key or index and the value.

    It is called with the (item, key, value) and the container they come from.
    """
    variables = [scope.declare(target.id) for target in targets]
    slots = [variable.place() for variable in variables]
    last = variables[-1]
    if len(slots) == 1:
        (item_slot,) = slots

        def assign_one(environment: Environment, triple: tuple[Value, Value, Value], container: Value) -> None:
            environment[item_slot] = triple[0]
            if last.sites_slot is not None:
                environment[last.sites_slot] = () if isinstance(container, dict) else sites_of(container, triple[1])

        return assign_one
    if len(slots) != 2:
        where = scope.module.where(targets[0])
        raise where.error(Code.COMPILE, f"the number of loop variables is {len(slots)}, which can only be 1 or 2")
    key_slot, value_slot = slots
    key_variable = variables[0]

    def assign_two(environment: Environment, triple: tuple[Value, Value, Value], container: Value) -> None:
        environment[key_slot], environment[value_slot] = triple[1], triple[2]
        if key_variable.sites_slot is not None:
            environment[key_variable.sites_slot] = ()
        if last.sites_slot is not None:
            environment[last.sites_slot] = sites_of(container, triple[1])

    return assign_two


def _loops(
    clauses: Sequence[ast.CompClause], scope: Scope
) -> tuple[Scope, Callable[[Environment, Callable[[], None]], None]]:
    """The scope inside all the loops, and code that runs a body for each combination."""
    inner = scope
    compiled: list[_Loop] = []
    for clause in clauses:
        where = scope.module.where(clause.iter)
        iterable = lower(clause.iter, inner)
        inner = child(inner, LoopScope)
        assign = _assign_targets(clause.targets, inner)
        compiled.append((where, iterable, assign, [lower(condition, inner) for condition in clause.conds]))

    return inner, lambda environment, body: _run_loops(compiled, 0, environment, body)


def _run_loops(compiled: Sequence[_Loop], depth: int, environment: Environment, body: Callable[[], None]) -> None:
    """Runs `body` for each combination of the items of the loops from `depth` on."""
    if depth == len(compiled):
        body()
        return
    where, iterable, assign, conditions = compiled[depth]
    container = iterable(environment)
    try:
        triples = iterate(container)
    except ValueFailure as failure:
        raise where.located(failure) from None
    for triple in triples:
        assign(environment, triple, container)
        for condition in conditions:
            if not truthy(condition(environment)):
                break
        else:
            _run_loops(compiled, depth + 1, environment, body)


@lowers(ast.Quantifier)
def _quantifier(node: ast.Quantifier, scope: Scope) -> Evaluate:
    where = scope.module.where(node.iter)
    iterable = lower(node.iter, scope)
    inner = child(scope, LoopScope)
    assign = _assign_targets(node.targets, inner)
    condition = None if node.cond is None else lower(node.cond, inner)
    if node.op is ast.QuantifierOp.MAP:
        return _map(node, inner, assign, condition, iterable)
    body = lower(node.body, inner)

    def items(environment: Environment) -> tuple[Value, list[tuple[Value, Value, Value]]]:
        value = iterable(environment)
        try:
            return value, iterate(value)
        except ValueFailure as failure:
            raise where.located(failure) from None

    def chosen(environment: Environment, triple: tuple[Value, Value, Value]) -> bool:
        assign(environment, triple, None)
        return condition is None or truthy(condition(environment))

    def run_all(environment: Environment) -> Value:
        for triple in items(environment)[1]:
            if chosen(environment, triple) and not truthy(body(environment)):
                return False
        return True

    def run_any(environment: Environment) -> Value:
        triples = items(environment)[1]
        return any(chosen(environment, triple) and truthy(body(environment)) for triple in triples)

    def run_filter(environment: Environment) -> Value:
        value, triples = items(environment)
        kept = [triple for triple in triples if not chosen(environment, triple) or truthy(body(environment))]
        if isinstance(value, dict):
            result = KDict([(key, item) for _, key, item in kept])
            if isinstance(value, KDict):
                # Officially a copy that entries are taken out of: those left merge by the operator they have.
                result.sites = _of_keys(value.sites, result)
                result.operators = _of_keys(value.operators, result)
                result.indexes = _of_keys(value.indexes, result)
            return result
        if isinstance(value, list):
            sites = [sites_of(value, index) for _, index, _ in kept] if getattr(value, "sites", None) else None
            return KList([item for item, _, _ in kept], sites)
        raise where.located(ValueFailure("only list, dict and schema can be removed item"))

    match node.op:
        case ast.QuantifierOp.ALL:
            return run_all
        case ast.QuantifierOp.ANY:
            return run_any
        case ast.QuantifierOp.FILTER:
            return run_filter
        case _:
            assert_never(node.op)


def _of_keys(facts: dict[str, _Fact] | None, keys: Container[str]) -> dict[str, _Fact] | None:
    return ({key: fact for key, fact in facts.items() if key in keys} or None) if facts else None


def _map(
    node: ast.Quantifier,
    scope: Scope,
    assign: _AssignTargets,
    condition: Evaluate | None,
    iterable: Evaluate,
) -> Evaluate:
    where = scope.module.where(node.iter)
    body = lower_value(node.body, scope, scope.module.site(node.body, SiteKind.COMPREHENSION, node.body))

    def run(environment: Environment) -> Value:
        container = iterable(environment)
        try:
            triples = iterate(container)
        except ValueFailure as failure:
            raise where.located(failure) from None
        items: list[Value] = []
        sites: list[Sites] = []
        for triple in triples:
            assign(environment, triple, container)
            if condition is None or truthy(condition(environment)):
                value, site = body(environment)
                items.append(value)
                sites.append(site)
        return KList(items, sites)

    return run


# --- Lists ---


@lowers(ast.List)
def _list(node: ast.List, scope: Scope) -> Evaluate:
    if _is_data(node) and not _in_a_loop(scope) and not _is_counted(scope):
        whole = _data(node, scope)
        return lambda environment: whole
    steps = [lower_list_item(item, scope) for item in node.items]

    def run(environment: Environment) -> Value:
        items: list[Value] = []
        sites: list[Sites] = []
        for step in steps:
            step(environment, items, sites)
        return KList(items, sites)

    return run


def lower_list_item(node: ast.ListItem, scope: Scope, site_kind: SiteKind = SiteKind.LITERAL) -> ItemStep:
    match node:
        case ast.Starred():
            return _starred(node, scope)
        case ast.ListIf():
            return _list_if(node, scope)
        case _:
            evaluate = lower_value(node, scope, scope.module.site(node, site_kind, node))

            def run(environment: Environment, items: list[Value], sites: list[Sites]) -> None:
                value, site = evaluate(environment)
                items.append(value)
                sites.append(site)

            return run


def _starred(node: ast.Starred, scope: Scope) -> ItemStep:
    where = scope.module.where(node)
    evaluate = lower_value(node.value, scope, scope.module.site(node, SiteKind.LITERAL))

    def run(environment: Environment, items: list[Value], sites: list[Sites]) -> None:
        value, site = evaluate(environment)
        if value is None or value is UNDEFINED:
            return
        if isinstance(value, KList):
            items.extend(value)
            sites.extend([own or site for own in value.sites] if value.sites else [site] * len(value))
        elif isinstance(value, (dict, str)):
            items.extend(value)
            sites.extend([site] * len(value))
        else:
            raise where.error(Code.TYPE, f"only list, dict, schema object can be used * unpacked, got {kind(value)}")

    return run


def _list_if(node: ast.ListIf, scope: Scope) -> ItemStep:
    condition = lower(node.cond, scope)
    body = [lower_list_item(item, scope) for item in node.body]
    orelse = [lower_list_item(item, scope) for item in node.orelse]

    def run(environment: Environment, items: list[Value], sites: list[Sites]) -> None:
        for step in body if truthy(condition(environment)) else orelse:
            step(environment, items, sites)

    return run


@lowers(ast.ListComp)
def _list_comprehension(node: ast.ListComp, scope: Scope) -> Evaluate:
    loop, start = _loops(node.clauses, scope)
    step = lower_list_item(node.element, loop, SiteKind.COMPREHENSION)
    where = scope.module.where(node)
    runtime = scope.module.runtime
    generated: ItemStep | None = None
    added = 0  # items so far, or TRIED

    def run(environment: Environment) -> Value:
        items: list[Value] = []
        sites: list[Sites] = []
        compiling = runtime.compiling
        add_item = step

        def begin() -> None:
            nonlocal add_item
            if compiling is not None and generated is not None:
                # What was written for it may have variables of its own.
                environment.extend([UNSET] * (loop.unit.size - len(environment)))
                add_item = generated

        def add() -> None:
            nonlocal added, generated
            if added != TRIED and compiling is not None:
                added += 1
                if added > 2 * compiling.after:
                    added = TRIED
                    generated = compiling.code(ELEMENTS, node.element, loop)
                    begin()
            add_item(environment, items, sites)
            if len(items) > MOST_ITEMS:
                try:
                    items_of(len(items))
                except ValueFailure as failure:
                    raise where.located(failure) from None

        begin()
        start(environment, add)
        return KList(items, sites)

    return run
