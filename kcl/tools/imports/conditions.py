"""What the writers of conditions share: how kinds, all of a list and values of no known type are asked about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from kcl.tools.imports import literals
from kcl.tools.imports.places import Part, Place, joined
from kcl.tools.imports.shapes import Shape
from kcl.tools.imports.types import ANY, Made, Typing


class Conditions(ABC):
    """Writes conditions on the values of one file.

    `used` are the helpers that they call, `unchecked` says what was left out of them.
    """

    def __init__(self, typing: Typing) -> None:
        self.typing = typing
        self.depth = 0
        self.used: set[str] = set()
        self.unchecked: list[str] = []

    @abstractmethod
    def of(self, shape: Shape, place: Place, holds: bool) -> list[str]:
        """What must be true of a value that is neither None nor Undefined."""

    @abstractmethod
    def valid(self, shape: Shape, place: Place) -> str:
        """One condition for a value that may be None, and that nothing is known of."""

    @abstractmethod
    def whole(self, made: Made) -> list[Part]:
        """What instances of a schema must be as a whole."""

    def of_kind(
        self,
        wanted: set[str],
        known: frozenset[str],
        place: Place,
        parts: Sequence[Part],
    ) -> list[str]:
        """Conditions that hold for values of one kind alone, and are true of others."""
        if not parts or not known & wanted:
            return []
        if known <= wanted:
            return [text for each in parts for text in each(place)]
        whole = place.whole()
        dynamic = place if place.type.is_any else Place(self.untyped(place), place.type)
        conditions = [text for each in parts for text in each(dynamic)]
        if not conditions:
            return []
        other = self.has_kind(Place(whole, ANY), frozenset(wanted), negated=True)
        return [f"({other} or {text})" for text in conditions]

    def has_kind(self, place: Place, kinds: frozenset[str], negated: bool = False) -> str:
        whole = place.whole()
        if "object" in kinds:
            others = sorted({"bool", "float", "int", "list", "str"} - kinds)
            if len(others) == 5:
                self.used.add("_is_object")
                return f"{'not ' if negated else ''}_is_object({whole})"
            word = "in" if negated else "not in"
            return f"typeof({whole}) {word} {literals.value([*others, 'None'])}"
        listed = sorted(kinds)
        if len(listed) == 1:
            return f'typeof({whole}) {"!=" if negated else "=="} "{listed[0]}"'
        return f"typeof({whole}) {'not in' if negated else 'in'} {literals.value(listed)}"

    def untyped(self, place: Place) -> str:
        """The expression without what is known of its type: operators refuse unions."""
        whole = place.whole()
        if place.type.is_any or whole.startswith("_any("):
            return whole
        self.used.add("_any")
        return f"_any({whole})"

    def variable(self, name: str) -> str:
        return name if self.depth <= 1 else f"{name}{self.depth}"

    def for_all(self, place: Place, shape: Shape, holds: bool, each_of: str = "_item") -> list[str]:
        """That all items of a list, or all values of a mapping, are as they should be."""
        element = place.type.element if place.type.element is not None else ANY
        item = self.variable(each_of)
        inner = Place(item, element, is_name=True)
        if holds and not element.is_any:
            text = joined(self.of(shape, inner, True))
            opened = self.typing.opened(shape)
            if text != "True" and opened.is_nullable:
                text = f"({item} == None or {text})"
        else:
            text = self.valid(shape, inner)
        if text == "True":
            return []
        variables = item if each_of == "_item" else f"{self.variable('_key')}, {item}"
        return [self.all_true(place, variables, text)]

    def all_true(self, place: Place, variables: str, text: str) -> str:
        whole = place.whole()
        if place.is_name:
            return f"all {variables} in {whole} {{ {text} }}"
        return f"len([True for {variables} in {whole} if not {joined([text])}]) == 0"
