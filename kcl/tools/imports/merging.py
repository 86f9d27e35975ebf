"""`allOf` as one shape, where that says the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kcl.records import fields, replace
from kcl.tools.imports.shapes import INTEGER, NUMBER, Shape

_LEAST: Final = ("least_properties", "least_items", "least_length", "minimum", "above")
_MOST: Final = ("most_properties", "most_items", "most_length", "maximum", "below")
_TEXTS: Final = ("where", "description", "format")
_JOINED: Final = ("all_of", "rules", "unchecked")
_APART: Final = frozenset(
    (*_LEAST, *_MOST, *_TEXTS, *_JOINED, "types", "is_nullable", "default", "has_default", "properties", "required")
)
_BARE: Final = Shape("")


def flat(shape: Shape) -> Shape:
    """The shape with as much of its `all_of` taken in as can be. A lone reference becomes the reference itself."""
    if len(shape.all_of) == 1 and shape.all_of[0].ref and _says_nothing(shape):
        other = shape.all_of[0]
        return replace(shape, all_of=(), ref=other.ref, is_nullable=False)
    if not shape.all_of:
        return shape
    left: list[Shape] = []
    merged = replace(shape, all_of=())
    for each in shape.all_of:
        inner = flat(each)
        taken = None if inner.ref or not inner.is_open else _merged(merged, inner)
        if taken is None:
            left.append(inner)
        else:
            merged = taken
    return replace(merged, all_of=(*merged.all_of, *left))


def with_references(shape: Shape, target: Callable[[str], Shape]) -> Shape:
    """As `flat`, with the objects that `all_of` refers to taken in as well."""
    merged = flat(shape)
    if merged.ref or not any(each.ref for each in merged.all_of):
        return merged
    seen: set[str] = set()

    def opened(of: Shape) -> Shape:
        if of.ref and of.ref not in seen:
            seen.add(of.ref)
            found = opened(flat(target(of.ref)))
            return found if found.properties or found.all_of else of
        return replace(of, all_of=tuple(opened(each) for each in of.all_of)) if of.all_of else of

    return flat(replace(shape, all_of=tuple(opened(each) for each in shape.all_of)))


def _says_nothing(shape: Shape) -> bool:
    ignored = {
        "where",
        "description",
        "default",
        "has_default",
        "all_of",
        "is_nullable",
        "types",
        "is_open",
        "rules",
        "unchecked",
    }
    same = all(
        getattr(shape, each.name) == getattr(_BARE, each.name) for each in fields(shape) if each.name not in ignored
    )
    return same and not shape.types and not shape.rules and not shape.unchecked


def _merged(one: Shape, other: Shape) -> Shape | None:
    """None where both say something that cannot be said once."""
    changes: dict[str, Any] = {}
    if one.never or other.never or not (one.is_open or not other.properties):
        return None
    types = _types(one.types, other.types)
    if types is None:
        return None
    changes["types"] = types
    changes["is_nullable"] = one.is_nullable and other.is_nullable
    for name in _LEAST + _MOST:
        given = [each for each in (getattr(one, name), getattr(other, name)) if each is not None]
        if given:
            changes[name] = max(given) if name in _LEAST else min(given)
    for name in _TEXTS:
        changes[name] = getattr(one, name) or getattr(other, name)
    if not one.has_default and other.has_default:
        changes["default"], changes["has_default"] = other.default, True
    for name in _JOINED:
        changes[name] = (*getattr(one, name), *getattr(other, name))
    properties = dict(one.properties)
    for name, each in other.properties.items():
        if name not in properties:
            properties[name] = each
        elif properties[name] != each:
            properties[name] = replace(_BARE, where=each.where, is_nullable=True, all_of=(properties[name], each))
            properties[name] = flat(properties[name])
    changes["properties"] = properties
    changes["required"] = tuple(dict.fromkeys((*one.required, *other.required)))
    for name in [each.name for each in fields(one) if each.name not in _APART]:
        mine, theirs, nothing = (getattr(of, name) for of in (one, other, _BARE))
        if mine == nothing:
            changes[name] = theirs
        elif theirs not in (nothing, mine):
            return None
    if (one.additional or other.additional) and (one.properties or other.properties):
        return None
    return replace(one, **changes)


def _types(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...] | None:
    if not one or not other:
        return one or other
    both = tuple(each for each in one if each in other or (each == INTEGER and NUMBER in other))
    if not both and NUMBER in one and INTEGER in other:
        both = (INTEGER,)
    return both or None
