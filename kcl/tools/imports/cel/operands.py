"""Values of CEL as expressions of KCL."""

from __future__ import annotations

from typing import Final

from kcl.records import dataclass
from kcl.tools.imports.places import Place
from kcl.tools.imports.shapes import ARRAY, BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, Shape

KINDS: Final = {STRING: "string", INTEGER: "int", NUMBER: "double", BOOLEAN: "bool", ARRAY: "list"}
SCALARS: Final = frozenset(("string", "int", "double", "bool"))
_OTHERWISE_TYPED: Final = frozenset(("date", "date-time", "duration", "byte", "binary"))
"""Formats that make a string another type of CEL."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A value.

    `kind` is one of string, int, double, bool, list, map, object, or "" for what is not known. `defined` are the
    conditions without which it is an error. `shape` and `place` are there for what comes out of the object.
    `absent_unless` is for an optional value of CEL: the conditions that it is there; None for all others.
    """

    text: str
    kind: str
    defined: tuple[str, ...] = ()
    shape: Shape | None = None
    place: Place | None = None
    element: str = ""
    absent_unless: tuple[str, ...] | None = None


def kind_of(shape: Shape) -> str:
    """What a value of a shape is in CEL; "" where that differs from value to value, or is nothing in KCL."""
    if len(shape.types) != 1 or shape.is_nullable or (shape.format in _OTHERWISE_TYPED and STRING in shape.types):
        return ""
    kind = shape.types[0]
    if kind == OBJECT:
        return "object" if shape.properties else "map" if shape.additional is not None else ""
    return KINDS[kind]


def of_place(shape: Shape, place: Place, text: str, defined: tuple[str, ...]) -> Operand:
    """What stands at a place of the object."""
    kind = kind_of(shape)
    element = kind_of(shape.items) if kind == "list" and shape.items is not None else ""
    return Operand(text, kind, defined, shape, place, element)
