"""Whether a default is a value of its own shape: one that is not would have every instance refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from kcl.stdlib.patterns import PatternError, compiled
from kcl.tools.imports.shapes import INTEGER, NUMBER, Shape


def fits(shape: Shape, given: Any, followed: Callable[[Shape], Shape | None]) -> bool:
    """Whether types, limits and names are those of the shape, all the way down; alternatives are not looked at.

    `followed` answers what a shape refers to with its `allOf` taken in, None for what is defined elsewhere.
    """
    found = followed(shape)
    if found is None:
        return True
    shape = found
    if given is None:
        return shape.is_nullable
    if shape.never or (shape.enum is not None and given not in shape.enum):
        return False
    if shape.types and not any(has_type(given, each) for each in shape.types):
        return False
    if isinstance(given, dict):
        return _object_fits(shape, given, followed)
    if isinstance(given, list):
        listed = _within(len(given), shape.least_items, shape.most_items)
        return listed and (shape.items is None or all(fits(shape.items, each, followed) for each in given))
    if isinstance(given, str):
        return _within(len(given), shape.least_length, shape.most_length) and _matches(shape.pattern, given)
    return isinstance(given, bool) or _number_fits(shape, given)


def with_whole_numbers(shape: Shape, given: Any, followed: Callable[[Shape], Shape | None]) -> Any:
    """The value with 1 for 1.0 where the shape asks for an integer; `followed` is that of `fits`."""
    found = followed(shape)
    if found is None:
        return given
    if isinstance(given, float):
        is_integer = INTEGER in found.types and NUMBER not in found.types
        return int(given) if is_integer and given.is_integer() else given
    if isinstance(given, list) and found.items is not None:
        return [with_whole_numbers(found.items, each, followed) for each in given]
    if isinstance(given, dict):
        made = dict(given)
        for name, each in given.items():
            inner = found.properties.get(name, found.additional)
            if inner is not None:
                made[name] = with_whole_numbers(inner, each, followed)
        return made
    return given


def _object_fits(shape: Shape, given: dict[str, Any], followed: Callable[[Shape], Shape | None]) -> bool:
    if not _within(len(given), shape.least_properties, shape.most_properties):
        return False
    if not shape.properties:
        return all(shape.additional is None or fits(shape.additional, each, followed) for each in given.values())
    for name in shape.required:
        if name in shape.properties and name not in given and not shape.properties[name].has_default:
            return False
    return all(
        fits(shape.properties[name], each, followed) if name in shape.properties else shape.is_open
        for name, each in given.items()
    )


def _number_fits(shape: Shape, given: int | float) -> bool:
    return (
        _within(given, shape.minimum, shape.maximum)
        and (shape.above is None or given > shape.above)
        and (shape.below is None or given < shape.below)
        and (not shape.multiple_of or Decimal(str(given)) % Decimal(str(shape.multiple_of)) == 0)
    )


def _within(given: int | float, least: int | float | None, most: int | float | None) -> bool:
    return (least is None or given >= least) and (most is None or given <= most)


def _matches(pattern: str | None, given: str) -> bool:
    if pattern is None:
        return True
    try:
        return compiled(pattern).search(given) is not None
    except PatternError:
        return True  # no check will ask for it


def has_type(given: Any, kind: str) -> bool:
    """Whether a plain value has a type of JSON Schema."""
    match kind:
        case "string":
            return isinstance(given, str)
        case "integer":
            return isinstance(given, int) and not isinstance(given, bool)
        case "number":
            return isinstance(given, int | float) and not isinstance(given, bool)
        case "boolean":
            return isinstance(given, bool)
        case "array":
            return isinstance(given, list)
        case "object":
            return isinstance(given, dict)
        case _:
            return given is None
