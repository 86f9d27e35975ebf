"""What types cannot say, as conditions of KCL.

A condition is about an expression. Inside of its own schema a value has no name, only its attributes have: what needs
the whole (how many attributes there are, one whose name is no identifier) is checked by the schemas that have such a
value as an attribute. What nobody can check is noted.

A part of a shape that the type says already is left out; `holds` tells whether the type came from this very shape.
Alternatives (`anyOf`, `not`, ...) are conditions as a whole, with the types in them. Definitions that they refer to
become functions `_is_NAME`, which may call themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kcl.records import replace
from kcl.tools.imports import formats, objects
from kcl.tools.imports.cel import rules
from kcl.tools.imports.places import LONGEST_CONDITION, CannotSay, NeedsWhole, Part, Place, joined
from kcl.tools.imports.shapes import OBJECT, Rule, Shape
from kcl.tools.imports.texts import pattern_literal, text_literal
from kcl.tools.imports.types import Attribute, Made, Type, Typing
from kcl.tools.imports.values import ValueConditions

_IS_CALLED: Final = ("len", "typeof", "isunique", "str", "int")
HELPERS: Final = {
    "_regex_match": "_regex_match = regex.match",
    "_any": "_any = lambda value: any -> any { value }",
    "_len": "_len = len",
    "_typeof": "_typeof = typeof",
    "_length": "_length = lambda text: any -> int { _len([_c for _c in text]) }",
    "_is_object": (
        "_is_object = lambda value: any -> bool { "
        '_typeof(value) not in ["None", "UndefinedType", "bool", "float", "int", "list", "str"] }'
    ),
    "_isunique": "_isunique = isunique",
    "_str": "_str = str",
    "_int": "_int = int",
    "_abs": "_abs = abs",
    "_quotient": (
        "_quotient = lambda a: int, b: int -> int { "
        "_abs(a) // _abs(b) if (a >= 0) == (b > 0) else -(_abs(a) // _abs(b)) }"
    ),
    "_remainder": (
        "_remainder = lambda a: int, b: int -> int { _abs(a) % _abs(b) if a >= 0 else -(_abs(a) % _abs(b)) }"
    ),
    **{
        helper: f"{helper} = lambda text: str -> bool {{ _regex_match(text, {pattern_literal(each)}) }}"
        for each, helper in zip(formats.FORMATS.values(), formats.HELPERS.values(), strict=True)
    },
}
"""Lines that a file begins with when its conditions need them. All files of a package may have them."""
_TYPED: Final = frozenset({"", "int32", "int64", "float", "double", "int-or-string"})
"""Formats that types and limits say."""
_HELPED: Final = {
    "_length": "_len",
    "_is_object": "_typeof",
    "_quotient": "_abs",
    "_remainder": "_abs",
    **dict.fromkeys(formats.HELPERS.values(), "_regex_match"),
}
"""The helpers that helpers call."""


class Checking:
    """Writes the checks of the schemas of one file into them."""

    def __init__(self, typing: Typing) -> None:
        self._typing = typing
        self._whole: dict[int, list[Part]] = {}
        self._busy: set[int] = set()
        self._within_itself: list[Made] = []
        self._notes: list[str] = []
        self._values = ValueConditions(typing, self._whole_conditions)
        self.used = self._values.used
        self.functions: list[str] = []

    def fill(self) -> None:
        for made in self._typing.made:
            if not made.base:
                self._whole_conditions(made)
        within_itself = {id(made): made for made in self._within_itself}
        for made in within_itself.values():
            if self._whole.get(id(made)):
                made.notes.append("what depends on which names are set is not checked where it is part of itself")
        for made in self._unowned():
            if self._whole.get(id(made)):
                made.notes.append(
                    "what depends on which names are set is checked only where another schema has this as attribute"
                )
        for made in self._typing.made:
            taken = {each.name for each in made.attributes}
            for name in _IS_CALLED:
                if name in taken or made.index is not None:  # whose objects may have any name
                    made.checks = self._renamed(made.checks, name)
                    made.index_checks = self._renamed(made.index_checks, name)
        self.functions = self._values.functions
        for name in _IS_CALLED:
            self.functions = self._renamed(self.functions, name)
        for helper, needed in _HELPED.items():
            if helper in self.used:
                self.used.add(needed)  # officially a function sees the attributes of the schema that calls it

    def _renamed(self, texts: list[str], name: str) -> list[str]:
        """With the helper of a function that attributes may hide."""
        found = [re.sub(rf"(?<![\w.\"'$]){name}\(", f"_{name}(", each) for each in texts]
        if found != texts:
            self.used.add(f"_{name}")
        return found

    def _unowned(self) -> list[Made]:
        """Schemas that no attribute has as its type, and that of the document, whatever has it."""
        owned: set[int] = set()

        def follow(of: Type | None) -> None:
            while of is not None:
                if of.schema is not None:
                    owned.add(id(of.schema))
                of = of.element

        for made in self._typing.made:
            for each in made.attributes:
                follow(each.type)
            follow(made.index)
        return [each for each in self._typing.made if id(each) not in owned or each is self._typing.document]

    # --- Schemas ---

    def _whole_conditions(self, made: Made) -> list[Part]:
        """Fills the checks of a schema; answers what needs an instance as a whole."""
        known = self._whole.get(id(made))
        if known is not None:
            return known
        if id(made) in self._busy:
            self._within_itself.append(made)
            return []
        self._busy.add(id(made))
        found: list[Part] = []
        here = Place("", Type(made.name, frozenset({"object"}), schema=made))
        for each in made.attributes:
            if each.name in made.fixed:
                continue
            notes, self._notes = self._notes, each.notes
            unheld = dict.fromkeys(_formats(each.shape))
            each.notes.extend(f"the format {name} is not checked" for name in unheld if name not in _TYPED)
            each.notes.extend(self._unchecked(each.shape))

            def unit(place: Place, each=each) -> list[str]:  # type: ignore[no-untyped-def]
                inner = place.member(each.name, each.type)
                conditions = self._values.of(replace(each.shape, rules=()), inner, True)
                if not place.text:  # what is required is guarded as well, so that it is told as missing
                    refusal = _refusal(each)
                    said = (f"{text} if {inner.text} not in [None, Undefined]" for text in conditions)
                    return [f"{text}, {refusal}" if refusal and "len([" in text else text for text in said]
                return [f"({inner.text} in [None, Undefined] or {joined([text])})" for text in conditions]

            self._add(made, found, unit, here)
            if each.type.schema is None:
                for rule in each.shape.rules:
                    self._add(made, found, self._rule_of_attribute(each, rule), here)
            if each.name in made.shape.required and each.is_optional:

                def present(place: Place, each=each) -> list[str]:  # type: ignore[no-untyped-def]
                    return [f"{place.member(each.name, each.type).text} != Undefined"]

                self._add(made, found, present, here)
            self._notes = notes
        notes, self._notes = self._notes, made.notes
        made.notes.extend(each for each in self._unchecked(made.shape) if each not in made.notes)
        for part in objects.object_parts(self._values, made.shape, held=True):
            self._add(made, found, part, here)
        for rule in made.shape.rules:
            self._add(made, found, self._rule(made, rule), here)
        if made.shape.names is not None and made.index is not None:
            notes_of_names = made.shape.names

            def named(place: Place) -> list[str]:
                if place.text:
                    return objects.names_condition(self._values, notes_of_names, place)
                name = _free_name("_name", made)
                inner = Place(name, Type("str", frozenset({"str"})), is_name=True)
                made.index_checks = self._values.of(notes_of_names, inner, False)
                made.index_name = name if made.index_checks else ""
                return []

            self._add(made, found, named, here)
        self._notes = notes
        self._busy.discard(id(made))
        self._whole[id(made)] = found
        return found

    def _rule(self, made: Made, rule: Rule) -> Part:
        def unit(place: Place) -> list[str]:
            found = rules.checked(self._values, made.shape, rule, place)
            return [found.alone() if place.text else found.check()]

        return unit

    def _rule_of_attribute(self, of: Attribute, rule: Rule) -> Part:
        def unit(place: Place) -> list[str]:
            inner = place.member(of.name, of.type)
            found = rules.checked(self._values, of.shape, rule, inner)
            if not place.text:
                return [found.check(f"{inner.text} not in [None, Undefined]")]
            return [f"({inner.text} in [None, Undefined] or {joined([found.alone()])})"]

        return unit

    def _unchecked(self, shape: Shape) -> list[str]:
        return list(shape.unchecked) if not shape.ref else []

    def _add(
        self,
        made: Made,
        found: list[Part],
        unit: Part,
        here: Place,
    ) -> None:
        try:
            for text in unit(here):
                if len(text) > LONGEST_CONDITION:
                    self._notes.append("a condition is too long to be written")
                elif text not in made.checks:
                    made.checks.append(text)
        except NeedsWhole:
            found.append(unit)
        except CannotSay as problem:
            self._notes.append(str(problem))
        self._notes.extend(self._values.unchecked)
        self._values.unchecked.clear()


def _refusal(of: Attribute) -> str:
    """What is said of names in an object that takes none; "" of others."""
    shape = of.shape
    is_bare = not (shape.is_open or shape.properties or shape.patterns or shape.additional is not None)
    if shape.types != (OBJECT,) or not is_bare:
        return ""
    return text_literal(f"{of.name} takes no names: what it was made of describes none")


def _free_name(wanted: str, made: Made) -> str:
    """A name that no attribute of a schema has."""
    while made.attribute(wanted) is not None:
        wanted += "_"
    return wanted


def _formats(shape: Shape) -> Iterator[str]:
    """The formats of a value and of its elements, as far as no schema of its own has them."""
    yield shape.unheld_format
    for below in (shape.items, shape.additional, *shape.first_items, *shape.patterns.values()):
        if below is not None and not below.ref and not below.properties:
            yield from _formats(below)
