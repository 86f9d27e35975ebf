"""A value that does not fit the type asked of it, told at the line that gave the value.

Where the sites of a value are known, the finding is one a compiler would make: `expected int, got str(x)` at the entry
the user wrote, with the declaration it contradicts. Where they are not, because the value was computed, the plain
run-time message at the declaration has to do.
"""

from __future__ import annotations

from kcl.diagnostics import Code, Diagnostic, KclError, Label, Span, error
from kcl.evaluator.lexical import Scope, in_schema, is_local
from kcl.evaluator.operations import kind
from kcl.evaluator.provenance import SiteTable
from kcl.evaluator.runtime import Where, is_literal
from kcl.evaluator.runtime_types import DictRuntimeType, InstanceType, RuntimeType, pack
from kcl.evaluator.value import UNDEFINED, KDict, KList, NumberMultiplier, SchemaInstance, Sites, Value, ValueFailure
from kcl.syntax import ast


def pack_entry(
    type_: RuntimeType, value: Value, sites: Sites, table: SiteTable, declared: Span | None, origin: Span | None
) -> Value:
    """The value as a member of the type.

    Raises KclError at the value's own place if it is not one, ValueFailure if no place is known. `declared` is where
    the type was asked for, when that says more than the place of the value does.
    """
    try:
        return pack(type_, value, origin)
    except ValueFailure:
        found = _findings(type_, value, sites, table, declared)
        if not found:
            raise
        raise KclError(tuple(found)) from None


def wrong_type(type_: RuntimeType, value: Value, literal: bool, table: SiteTable, place: Span) -> KclError:
    """The error for a value written at `place`; `literal` says it stands there as it is."""
    return KclError((error(Code.TYPE, f"expected {type_.static}, got {spelled(value, literal, table)}", place),))


def _findings(
    type_: RuntimeType, value: Value, sites: Sites, table: SiteTable, declared: Span | None
) -> list[Diagnostic]:
    if not sites or (type(value) is int and type_.has_float_literal):
        # The official compiler takes an int for a float of whatever value and leaves the rest to the run.
        return []
    if isinstance(type_, InstanceType) and isinstance(value, KDict) and not isinstance(value, SchemaInstance):
        unknown = type_.schema.unknown_keys(value)
        places = [(key, value.sites_of(key)) for key in unknown]
        if places and all(key_sites for _, key_sites in places):
            return [type_.schema.unknown_attribute(key, table.span(key_sites[0])) for key, key_sites in places]
    found: list[Diagnostic] = []
    if isinstance(type_, DictRuntimeType) and isinstance(value, KDict):
        for key, item in value.items():
            try:
                pack(type_.value, item, None)
            except ValueFailure:
                found += _findings(type_.value, item, value.sites_of(key), table, declared)
    got = spelled(value, table.is_literal(sites[0]), table)
    labels: tuple[Label, ...] = ()
    if declared is not None:
        text = f"variable is defined here, its type is {type_.static}, but got {got}"
        labels = (Label(declared, text),)
    found.append(error(Code.TYPE, f"expected {type_.static}, got {got}", table.span(sites[0]), labels=labels))
    return found


_TRUTH_VALUES = (ast.ConstantKind.TRUE, ast.ConstantKind.FALSE)


def operator_mismatch(
    symbol: str, left: ast.Expr, left_value: Value, right: ast.Expr, right_value: Value, where: Where, scope: Scope
) -> KclError | None:
    """The error for operands that do not go together, when their types can be read off the expression; else None."""
    if not (_type_is_plain(left, scope) and _type_is_plain(right, scope)):
        return None
    table = scope.module.runtime.table
    texts = [
        widened(value) if isinstance(node, ast.Name) else spelled(value, is_literal(node), table)
        for node, value in ((left, left_value), (right, right_value))
    ]
    return where.error(Code.TYPE, f"unsupported operand type(s) for {symbol}: '{texts[0]}' and '{texts[1]}'")


def _type_is_plain(node: ast.Expr, scope: Scope) -> bool:
    """Whether an expression is of one type whatever happens: a literal, or a variable of the package."""
    if isinstance(node, ast.Name):
        if is_local(scope, node.id) or in_schema(scope):
            return False
        first = scope.module.scope.first_assignments.get(node.id)
        if first is None or (isinstance(first[1].value, ast.Constant) and first[1].value.kind not in _TRUTH_VALUES):
            # Of no type yet: None and Undefined may become anything.
            return False
        return _type_is_plain(first[1].value, scope)
    return is_literal(node) or isinstance(node, (ast.List, ast.Config, ast.SchemaExpr))


def widened(value: Value) -> str:
    """The type of a variable that holds the value, without the values of literals."""
    if isinstance(value, KDict) and not isinstance(value, SchemaInstance):
        return f"{{{'str' if value else 'any'}:{_joined([widened(item) for item in value.values()])}}}"
    if isinstance(value, KList):
        return f"[{_joined([widened(item) for item in value])}]"
    return value.schema.name if isinstance(value, SchemaInstance) else kind(value)


def spelled(value: Value, literal: bool, table: SiteTable) -> str:
    """The type of a value as compile-time messages spell it: a literal carries its value, a container its items."""
    if value is None or value is UNDEFINED:
        return kind(value)
    if isinstance(value, SchemaInstance):
        return value.schema.name
    if isinstance(value, KDict):
        keys = _joined([f"str({key})" for key in value])
        values = _joined([spelled(item, _literal(value.sites_of(key), table), table) for key, item in value.items()])
        return f"{{{keys}:{values}}}"
    if isinstance(value, KList):
        sites = value.sites or [()] * len(value)
        items = [spelled(item, _literal(site, table), table) for item, site in zip(value, sites, strict=True)]
        return f"[{_joined(items)}]"
    name = kind(value)
    if not literal or isinstance(value, NumberMultiplier):
        return name
    if isinstance(value, float) and value.is_integer():
        return f"{name}({int(value)})"
    return f"{name}({value})" if isinstance(value, (str, int, float)) else name


def _literal(sites: Sites, table: SiteTable) -> bool:
    return bool(sites) and table.is_literal(sites[0])


def _joined(texts: list[str]) -> str:
    return " | ".join(dict.fromkeys(texts)) or "any"
