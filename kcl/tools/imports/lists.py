"""Conditions on lists."""

from __future__ import annotations

from kcl.tools.imports import texts
from kcl.tools.imports.conditions import Conditions
from kcl.tools.imports.places import Part, Place
from kcl.tools.imports.scalars import LARGEST
from kcl.tools.imports.shapes import Shape
from kcl.tools.imports.types import ANY, Type


def parts(conditions: Conditions, shape: Shape, holds: bool) -> list[Part]:
    """Sizes, items, the first ones, and what must be among them."""

    def sizes(place: Place) -> list[str]:
        found = []
        if shape.least_items:
            found.append(f"len({place.whole()}) >= {shape.least_items}")
        if shape.most_items is not None and shape.most_items < LARGEST:
            found.append(f"len({place.whole()}) <= {shape.most_items}")
        if shape.is_unique:
            found.append(f"isunique({place.whole()})")
        if shape.unique_keys:
            item = conditions.variable("_item")
            keys = ", ".join(f"{item}[{texts.text_literal(each)}]" for each in shape.unique_keys)
            found.append(f"isunique([[{keys}] for {item} in {place.whole()}])")
        return found

    def items(place: Place) -> list[str]:
        if shape.items is None or shape.first_items:
            return []
        return conditions.for_all(place, shape.items, holds and place.type.element is not None)

    def first(place: Place) -> list[str]:
        found = []
        for at, each in enumerate(shape.first_items):
            text = conditions.valid(each, Place(f"{place.whole()}[{at}]", ANY))
            if text != "True":
                found.append(f"(len({place.whole()}) <= {at} or {text})")
        if shape.first_items and shape.items is not None:
            rest = f"{place.whole()}[{len(shape.first_items)}:]"
            if shape.items.never:
                found.append(f"len({place.whole()}) <= {len(shape.first_items)}")
            else:
                found += conditions.for_all(Place(rest, Type("[any]", element=ANY)), shape.items, False)
        return found

    def contained(place: Place) -> list[str]:
        if shape.contains is None:
            return []
        item = conditions.variable("_item")
        element = place.type.element if place.type.element is not None else ANY
        text = conditions.valid(shape.contains, Place(item, element, is_name=True))
        count = f"len([True for {item} in {place.whole()} if {text}])"
        found = [f"{count} >= {shape.least_contained}"] if shape.least_contained else []
        return found + ([] if shape.most_contained is None else [f"{count} <= {shape.most_contained}"])

    said = (shape.least_items, shape.most_items, shape.items, shape.contains)
    wanted = shape.is_unique or shape.unique_keys or shape.first_items or any(each is not None for each in said)
    return [sizes, items, first, contained] if wanted else []
