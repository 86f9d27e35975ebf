"""Go structs as they are written out: what is left out where it is empty, and what an absent value is written as."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from runtimes.sandbox.schema.registry import KindSchema
from runtimes.sandbox.schema.types import OWN_JSON, Field, MapShape, Type

Object = dict[str, Any]


def empty_object(kind: KindSchema) -> Object:
    """What the server starts from when it creates: the zero struct as it is written out."""
    if kind.is_custom:
        return {"apiVersion": kind.api_version, "kind": kind.kind}
    made = zero_struct(kind.type)
    made |= {"apiVersion": kind.api_version, "kind": kind.kind}
    return made


def written(shape: MapShape, found: dict[str, Any]) -> Object:
    """A struct's members as they are written out, given those that were read (None: null or absent)."""
    out: dict[str, Any] = {}
    for name, member in _written_at_all(shape, frozenset(found)):
        value = found.get(name)
        if value is None:
            value = _zero(member)
            if value is not _OMITTED:
                out[name] = value
        elif not _is_left_out(value, member):
            out[name] = value
    return out


@lru_cache(maxsize=4096)
def _written_at_all(shape: MapShape, found: frozenset[str]) -> tuple[tuple[str, Field], ...]:
    """The members, in order, that were read or are written where they are absent: a few of the dozens of a struct."""
    return tuple(each for each in shape.fields.items() if each[0] in found or _zero(each[1]) is not _OMITTED)


_OMITTED: Any = object()
_SAID_BY_EMPTINESS: Final = frozenset({"[]v2.HPAScalingPolicy"})
"""Go types of members that get a default where they are absent and none where they are empty; empty ones are refused
afterwards, so none is stored."""


def _is_left_out(value: Any, member: Field) -> bool:
    if member.pointer or member.go in _SAID_BY_EMPTINESS:
        return False
    return (member.omit_empty and _is_empty(value, member)) or (member.omit_zero and value == zero_value(member))


def _is_empty(value: Any, member: Field) -> bool:
    """Empty as `omitempty` means it: false, 0, "", no elements; a struct never is."""
    if member.type.format in OWN_JSON:
        return False
    if isinstance(value, dict):
        return not value and not _is_struct(member.type)
    if member.type.format in ("quantity", "int-or-string", "time", "micro-time", "duration"):
        return False
    return not value


def _is_struct(type_: Type) -> bool:
    return type_.map is not None and type_.scalar is None and bool(type_.map.fields or type_.map.element is None)


def zero_value(member: Field) -> Any:
    """What an absent value of this field is written as when it is not left out."""
    if member.pointer:
        return None
    match member.type.format:
        case "quantity":
            return "0"
        case "int-or-string":
            return 0
        case "duration":
            return "0s"
        case "time" | "micro-time":
            return None
    if member.type.format in OWN_JSON:
        return None
    if _is_struct(member.type):
        return zero_struct(member.type)
    match member.type.scalar:
        case "string":
            return ""
        case "numeric":
            return 0
        case "boolean":
            return False
    return None


def _zero(member: Field) -> Any:
    """`zero_value`, or _OMITTED if an absent value is left out."""
    if member.omit_zero:
        return _OMITTED
    value = zero_value(member)
    if not member.omit_empty:
        return value
    if member.pointer:
        return _OMITTED
    special = member.type.format in ("quantity", "int-or-string", "time", "micro-time")
    is_raw = member.type.format == "raw" and member.go.endswith(("RawExtension", "JSON"))
    return value if special or is_raw or _is_struct(member.type) else _OMITTED


def stored(kind: KindSchema, obj: Object) -> Object:
    """`obj` as it comes back from storage, which does not tell empty lists and maps from absent ones."""
    return obj if kind.is_custom else _emptied(kind.type, obj)


def _emptied(type_: Type, value: Any) -> Any:
    if isinstance(value, list) and type_.list is not None and type_.list.element.map is not None:
        return [_emptied(type_.list.element, item) for item in value]
    if not isinstance(value, dict) or type_.map is None or type_.scalar is not None:
        return value
    out: Object = {}
    for name, inner in value.items():
        if not isinstance(inner, dict | list):
            out[name] = inner
            continue
        member = type_.map.fields.get(name)
        is_open = member is not None and not member.pointer and not _is_struct(member.type)
        is_open = is_open and member is not None and member.type.format not in OWN_JSON
        if inner in ([], {}) and is_open:
            out[name] = None
        else:
            below = type_.map.member(name)
            out[name] = inner if below is None else _emptied(below, inner)
    return out


def zero_struct(type_: Type) -> Object:
    assert type_.map is not None
    return written(type_.map, {})


def zero_element(type_: Type, go: str) -> Any:
    """What null stands for in a list or map of non-pointers."""
    if "]*" in go:
        return None
    if type_.format == "byte":
        return ""
    return zero_value(Field("", type_, pointer=False))


_EXPONENT_FROM: Final = 1e21
"""From here on Go writes a number with an exponent, as JavaScript does."""
MOST_EXACT: Final = 2**53 - 1
"""Up to here floating point has every whole number; above, only the digits that tell it from its neighbours count."""


def whole_numbers(value: Any) -> Any:
    """A custom resource's `2.0` is written as `2`, as Go writes one; the value itself where there is none of these."""
    match value:
        case float() if value.is_integer() and abs(value) < _EXPONENT_FROM:
            return int(value) if abs(value) <= MOST_EXACT else int(Decimal(repr(value)))
        case dict():
            made = {key: whole_numbers(each) for key, each in value.items()}
            return made if any(made[key] is not value[key] for key in value) else value
        case list():
            items = [whole_numbers(each) for each in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value
