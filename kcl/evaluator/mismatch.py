"""A value that does not fit the type asked of it, told at the line that gave the value.

Where the sites of a value are known, the finding is one a compiler would make: `expected int, got str(x)` at the entry
the user wrote, with the declaration it contradicts. Where they are not, because the value was computed, the plain
run-time message at the declaration has to do.
"""

from __future__ import annotations

from kcl.diagnostics import Code, Diagnostic, KclError, Label, Span, error
from kcl.evaluator.operations import kind
from kcl.evaluator.provenance import SiteTable
from kcl.evaluator.runtime_types import DictRuntimeType, InstanceType, RuntimeType, pack
from kcl.evaluator.value import UNDEFINED, KDict, KList, NumberMultiplier, SchemaInstance, Sites, Value, ValueFailure


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
