"""Conditions on objects: the names they have, how many, and what depends on them."""

from __future__ import annotations

from kcl.records import replace
from kcl.tools.imports import combinations, literals, scalars
from kcl.tools.imports.conditions import Conditions
from kcl.tools.imports.places import CannotSay, NeedsWhole, Part, Place, joined
from kcl.tools.imports.shapes import OBJECT, Shape
from kcl.tools.imports.types import ANY, Type


def member_parts(conditions: Conditions, shape: Shape, holds: bool) -> list[Part]:
    """Names that must be there, and what the listed ones hold: types say nothing of it here."""

    def members(place: Place) -> list[str]:
        found = []
        for name in shape.required:
            property_shape = shape.properties.get(name)
            inner = place.member(name, member_type(conditions, place, name))
            if place.type.is_any or (property_shape is not None and property_shape.is_nullable):
                found.append(f"{inner.text} != Undefined")
            else:
                found.append(f"{inner.text} not in [None, Undefined]")
        for name, each in shape.properties.items():
            inner = place.member(name, member_type(conditions, place, name))
            if inner.type.is_any:
                text = conditions.valid(each, inner)
                absent = f"{inner.text} == Undefined"
            else:
                text = joined(conditions.of(each, inner, False))
                absent = f"{inner.text} in [None, Undefined]"
            if text != "True":
                found.append(f"({absent} or {text})")
        return found

    def others(place: Place) -> list[str]:
        whole = place.whole()
        if shape.additional is not None and not shape.properties and not shape.patterns:
            return conditions.for_all(place, shape.additional, holds and place.type.element is not None, "_value")
        if shape.additional is None and shape.is_open and not shape.patterns:
            return []
        key, value = conditions.variable("_key"), conditions.variable("_value")
        if shape.additional is not None or shape.patterns:
            whole = conditions.untyped(place)  # names that are listed have values of other types
        found = []
        unnamed = [f"{key} not in {literals.value(list(shape.properties))}"] if shape.properties else []
        for text, each in shape.patterns.items():
            matching = scalars.matching(conditions, Place(key, Type("str", frozenset({"str"})), is_name=True), text)
            inner = conditions.valid(each, Place(value, ANY, is_name=True))
            if inner != "True":
                condition = f"({value} == Undefined or not {matching} or {inner})"
                found.append(f"len([True for {key}, {value} in {whole} if not {condition}]) == 0")
            unnamed.append(f"not {matching}")
        rest = joined(unnamed) if unnamed else "True"
        if shape.additional is not None:
            inner = conditions.valid(shape.additional, Place(value, ANY, is_name=True))
            if inner != "True":
                wrong = joined([f"{value} != Undefined", rest, f"not {inner}"])
                found.append(f"len([True for {key}, {value} in {whole} if {wrong}]) == 0")
        elif not shape.is_open:
            wrong = joined([f"{value} != Undefined", rest])
            found.append(f"len([True for {key}, {value} in {whole} if {wrong}]) == 0")
        return found

    return [members, others]


def member_type(conditions: Conditions, place: Place, name: str) -> Type:
    """What is known of the type of an attribute. Raises CannotSay or NeedsWhole where there is no way to name it."""
    if place.type.schema is None:
        return ANY if place.type.is_any or place.type.element is None else place.type.element
    found = place.type.schema.attribute(name)
    if found is not None:
        return found.type
    if place.type.schema.index is None:
        raise CannotSay(f"a condition on {name}, which the schema does not list, is not checked")
    if not place.text:
        raise NeedsWhole
    return ANY


def object_parts(conditions: Conditions, shape: Shape, held: bool) -> list[Part]:
    """What is said of an object as a whole; with `held`, of the instances of its own schema."""
    parts: list[Part] = []

    def counts(place: Place) -> list[str]:
        key, value = conditions.variable("_key"), conditions.variable("_value")
        count = f"len([True for {key}, {value} in {place.whole()} if {value} not in [None, Undefined]])"
        found = [f"{count} >= {shape.least_properties}"] if shape.least_properties else []
        return found + ([] if shape.most_properties is None else [f"{count} <= {shape.most_properties}"])

    def needed(place: Place) -> list[str]:
        found = []
        for name, others in shape.needs.items():
            absent = f"{place.member(name, member_type(conditions, place, name)).text} in [None, Undefined]"
            for other in others:
                there = f"{place.member(other, member_type(conditions, place, other)).text} not in [None, Undefined]"
                found.append(f"({absent} or {there})")
        for name, inner in shape.needs_shape.items():
            absent = f"{place.member(name, member_type(conditions, place, name)).text} in [None, Undefined]"
            found += [f"({absent} or {text})" for text in conditions.of(inner, place, False)]
        return found

    if shape.least_properties or shape.most_properties is not None:
        parts.append(counts)
    if shape.needs or shape.needs_shape:
        parts.append(needed)
    if held:
        if shape.patterns or (shape.additional is not None and shape.properties):
            only_others = _only_others(shape)
            parts.append(lambda place: member_parts(conditions, only_others, False)[1](place))
        parts.extend(combinations.parts(conditions, shape))
        unlisted = [name for name in shape.required if name not in shape.properties]
        if unlisted and (shape.is_open or shape.additional is not None):

            def listed(place: Place) -> list[str]:
                return [
                    f"{place.member(name, member_type(conditions, place, name)).text} != Undefined" for name in unlisted
                ]

            parts.append(listed)
        elif unlisted and shape.types == (OBJECT,):

            def refused(place: Place) -> list[str]:
                raise CannotSay(f"{', '.join(unlisted)} is required, and no name that is listed")

            parts.append(refused)
    return parts


def names_condition(conditions: Conditions, shape: Shape, place: Place) -> list[str]:
    """That all names of an object are as they should be."""
    key, value = conditions.variable("_key"), conditions.variable("_value")
    text = joined(conditions.of(shape, Place(key, Type("str", frozenset({"str"})), is_name=True), False))
    if text == "True":
        return []
    wrong = f"{value} != Undefined and not {joined([text])}"
    return [f"len([True for {key}, {value} in {place.whole()} if {wrong}]) == 0"]


def _only_others(shape: Shape) -> Shape:
    return replace(shape, required=())
