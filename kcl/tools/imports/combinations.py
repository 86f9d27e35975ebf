"""Conditions out of `allOf`, `anyOf`, `oneOf`, `not` and `if`."""

from __future__ import annotations

from collections.abc import Sequence

from kcl.tools.imports.conditions import Conditions
from kcl.tools.imports.places import Part, Place, joined
from kcl.tools.imports.shapes import Shape
from kcl.tools.imports.types import Type


def parts(conditions: Conditions, shape: Shape) -> list[Part]:
    """What a value must be beside what its shape says by itself."""
    found: list[Part] = []

    def all_of(place: Place) -> list[str]:
        return [text for each in shape.all_of for text in _branch_list(conditions, each, place)]

    def any_of(place: Place) -> list[str]:
        apart = _apart(conditions, shape.any_of, place)
        if apart is not None:
            return apart
        texts = [_branch(conditions, each, place) for each in shape.any_of]
        return [] if "True" in texts else ["(" + " or ".join(dict.fromkeys(texts)) + ")"]

    def one_of(place: Place) -> list[str]:
        apart = _apart(conditions, shape.one_of, place)
        if apart is not None:
            return apart
        texts = [_branch(conditions, each, place) for each in shape.one_of]
        if len(texts) == 1:
            return [] if texts[0] == "True" else texts
        return [f"len([_each for _each in [{', '.join(texts)}] if _each]) == 1"]

    def negated(place: Place) -> list[str]:
        assert shape.not_ is not None
        return [f"not {joined([_branch(conditions, shape.not_, place)])}"]

    def conditional(place: Place) -> list[str]:
        assert shape.condition is not None
        test, then, otherwise = shape.condition
        tested = _branch(conditions, test, place)
        found = []
        if then is not None:
            text = _branch(conditions, then, place)
            found += [] if text == "True" else [f"(not {joined([tested])} or {text})"]
        if otherwise is not None:
            text = _branch(conditions, otherwise, place)
            found += [] if text == "True" else [f"({tested} or {text})"]
        return found

    if shape.all_of:
        found.append(all_of)
    if shape.any_of:
        found.append(any_of)
    if shape.one_of:
        found.append(one_of)
    if shape.not_ is not None:
        found.append(negated)
    if shape.condition is not None:
        found.append(conditional)
    return found


def _apart(conditions: Conditions, branches: Sequence[Shape], place: Place) -> list[str] | None:
    """Conditions for alternatives of different kinds, one for each; None where kinds do not tell them apart."""
    all_kinds: list[frozenset[str]] = []
    for each in branches:
        kinds = conditions.typing.static_kinds(each)
        if kinds is None or each.is_nullable or not kinds or any(kinds & other for other in all_kinds):
            return None
        all_kinds.append(kinds)
    if place.type.is_any or not place.text or place.type.schema is not None:
        return None
    known = place.type.kinds
    union = frozenset().union(*all_kinds)
    found = [] if known <= union else [conditions.has_kind(place, union)]
    for each, kinds in zip(branches, all_kinds, strict=True):

        def inner(place: Place, each: Shape = each, kinds: frozenset[str] = kinds) -> list[str]:
            return conditions.of(each, Place(conditions.untyped(place), Type("any", kinds)), False)

        found += conditions.of_kind(set(kinds), known & union, place, [inner])
    return found


def _branch(conditions: Conditions, shape: Shape, place: Place) -> str:
    if place.type.is_any:
        return conditions.valid(shape, place)
    return joined(conditions.of(shape, place, False))


def _branch_list(conditions: Conditions, shape: Shape, place: Place) -> list[str]:
    text = _branch(conditions, shape, place)
    return [] if text == "True" else [text]
