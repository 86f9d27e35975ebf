"""Types of API objects, as one shape that decoding, patching and ownership tracking all walk.

A `Type` says which forms a value may take: a scalar, a list, a map, or any of them where the API leaves it open. Types
of built-in kinds come from `registry`, those of custom resources from `structural`. They are shared and may refer to
themselves (JSONSchemaProps holds JSONSchemaProps), so they are filled in after they are made and not changed after
that.
"""

from __future__ import annotations

from typing import Any, Literal

from kcl.records import dataclass, field

Scalar = Literal["string", "numeric", "boolean", "untyped"]


@dataclass(slots=True, eq=False)
class ListShape:
    """`keys` identify the elements of an associative list; none: a set of scalars. Atomic lists are owned as a
    whole.
    """

    element: Type
    associative: bool = False
    keys: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Field:
    """A member of a struct.

    go: the Go type as messages print it. omit_empty: a zero value is left out when encoding, except a struct;
    omit_zero: a struct too. pointer: held by pointer, so a zero is told from an absent value.
    default: what an element without this list key counts as.
    """

    name: str
    type: Type
    default: Any = None
    go: str = ""
    omit_empty: bool = True
    omit_zero: bool = False
    pointer: bool = True
    patch_strategy: str = ""
    merge_key: str = ""


@dataclass(slots=True, eq=False)
class MapShape:
    """Named `fields`, and the type of all other members; None: there may be no others."""

    fields: dict[str, Field] = field(default_factory=dict)
    element: Type | None = None
    atomic: bool = False

    def member(self, name: str) -> Type | None:
        found = self.fields.get(name)
        return found.type if found is not None else self.element


@dataclass(slots=True, eq=False)
class Type:
    """name: the definition's name, or "". format: OpenAPI's, or ours for the definitions with an encoding of their own
    (`quantity`, `int-or-string`, `time`, `micro-time`, `duration`, those of OWN_JSON). go: as messages print it, "" if
    not built in.
    """

    scalar: Scalar | None = None
    list: ListShape | None = None
    map: MapShape | None = None
    format: str = ""
    name: str = ""
    go: str = ""
    enum: tuple[Any, ...] = ()
    schema: dict[str, Any] | None = None

    def form_of(self, value: object) -> Form:
        """Which of the allowed forms applies to `value`. If none does, the first there is, for a useful error."""
        if isinstance(value, str | int | float) and self.scalar is not None:
            return self.scalar
        if isinstance(value, list) and self.list is not None:
            return self.list
        if isinstance(value, dict) and self.map is not None:
            return self.map
        if self.map is not None:
            return self.map
        if self.scalar is not None:
            return self.scalar
        assert self.list is not None, f"type {self.name!r} allows nothing"
        return self.list


OWN_JSON = frozenset(("raw", "schema-or-array", "schema-or-bool", "schema-or-strings"))
"""Formats of values of any form, of which only the reader knows which there may be."""

Form = Scalar | ListShape | MapShape

# Values of which nothing is known: owned as a whole, or member by member with lists as a whole.
UNTYPED = Type(scalar="untyped", name="untyped")
UNTYPED.list = ListShape(UNTYPED)
UNTYPED.map = MapShape(element=UNTYPED, atomic=True)
DEDUCED = Type(scalar="untyped", name="deduced")
DEDUCED.list = ListShape(UNTYPED)
DEDUCED.map = MapShape(element=DEDUCED)
