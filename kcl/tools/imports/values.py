"""Conditions on a value, whatever its shape."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from kcl.records import replace
from kcl.tools.imports import combinations, lists, literals, objects, scalars
from kcl.tools.imports.cel import rules
from kcl.tools.imports.conditions import Conditions
from kcl.tools.imports.places import CannotSay, Part, Place, joined
from kcl.tools.imports.shapes import NULL, Shape
from kcl.tools.imports.types import ANY, KINDS, Made, Type, Typing, is_schema, kinds_of

_KINDS_OF_PLAIN: Final[tuple[tuple[type, frozenset[str]], ...]] = (
    (bool, frozenset({"bool"})),
    (int, frozenset({"int", "float"})),
    (float, frozenset({"int", "float"})),
    (str, frozenset({"str"})),
    (list, frozenset({"list"})),
    (dict, frozenset({"object"})),
)
_DEEPEST: Final = 40
_LONGEST_LIST: Final = 1_000
_PLAIN: Final = ("any", "str", "int", "float", "bool")
"""Types whose values operators compare as they are: they refuse unions."""


class ValueConditions(Conditions):
    """Writes conditions; `whole` answers what instances of a schema must be as a whole."""

    def __init__(self, typing: Typing, whole: Callable[[Made], list[Part]]) -> None:
        super().__init__(typing)
        self._whole = whole
        self._functions: dict[str, str] = {}
        self._endless: dict[str, bool] = {}

    @property
    def functions(self) -> list[str]:
        return [text for _, text in sorted(self._functions.items()) if text]

    def whole(self, made: Made) -> list[Part]:
        return self._whole(made)

    def of(self, shape: Shape, place: Place, holds: bool) -> list[str]:
        """What must be true of a value that is neither None nor Undefined."""
        if self.depth > _DEEPEST:
            raise CannotSay("conditions are nested too deeply")
        self.depth += 1
        try:
            return self._opened(self.typing.opened(shape), place, holds)
        finally:
            self.depth -= 1

    def _opened(self, shape: Shape, place: Place, holds: bool) -> list[str]:
        if shape.ref:
            return self._referred(shape, place, holds)
        if shape.never or shape.types == (NULL,):
            return ["False"]
        found: list[str] = []
        kinds = kinds_of(shape)
        known = place.type.kinds
        possible = place.possible & known & kinds & _kinds_of_values(shape)
        if not possible:
            return ["False"]  # compilers see it too, and refuse what else is asked of such a value
        if not known <= kinds:
            found.append(self.has_kind(place, kinds & KINDS))
            place = place if place.type.is_any else Place(self.untyped(place), place.type)
        known = possible
        place = replace(place, possible=possible)
        if shape.enum is not None and not (holds and place.type.holds_enum):
            if not all(literals.can_be_written(each) for each in shape.enum):
                raise CannotSay("the values of an enumeration cannot be written")
            if _has_schema(place.type) and any(isinstance(each, dict | list) for each in shape.enum):
                raise CannotSay("an enumeration of objects is not checked where they are of a schema")
            whole = self.untyped(place) if place.type.text not in _PLAIN else place.whole()
            found.append(f"{whole} in {self._listed(literals.value(list(shape.enum)))}")
        found += self.of_kind({"str"}, known, place, scalars.text_parts(self, shape))
        found += self.of_kind({"int", "float"}, known, place, scalars.number_parts(self, shape, known))
        found += self.of_kind({"list"}, known, place, lists.parts(self, shape, holds))
        parts: list[Part] = []
        made = place.type.schema
        if holds and made is not None and is_schema(shape):
            parts = self.whole(made)
        elif "object" in known:
            parts = [*objects.member_parts(self, shape, holds), *objects.object_parts(self, shape, held=False)]
            if shape.names is not None:
                shape_of_names = shape.names
                parts.append(lambda inner: objects.names_condition(self, shape_of_names, inner))
        found += self.of_kind({"object"}, known, place, parts)
        if not (holds and made is not None and is_schema(shape)):
            for part in combinations.parts(self, shape):
                found += part(place)
            found += self._rules(shape, place)
        return found

    def _listed(self, values: str) -> str:
        """A list of values, or the name of one that is too long to be part of a condition.

        The name says the content: another file of the package that has it too has the same list.
        """
        if len(values) <= _LONGEST_LIST:
            return values
        name = f"_one_of_{hashlib.sha256(values.encode()).hexdigest()[:12]}"
        self._functions[name] = f"{name} = {values}"
        return name

    def _rules(self, shape: Shape, place: Place) -> list[str]:
        found = []
        for each in shape.rules:
            try:
                found.append(rules.checked(self, shape, each, place).alone())
            except CannotSay as problem:
                self.unchecked.append(str(problem))
        return found

    def valid(self, shape: Shape, place: Place) -> str:
        """One condition for a value that may be None, and that nothing is known of."""
        conditions = self.of(shape, place, False)
        opened = self.typing.opened(shape)
        if opened.ref and conditions:
            return joined(conditions)  # its function knows about None
        may_be_none = place.type.is_any or opened.is_nullable
        if not conditions:
            return "True" if opened.is_nullable or not may_be_none else f"{place.whole()} != None"
        if not may_be_none:
            return joined(conditions)
        if opened.is_nullable:
            alternatives = (opened.any_of, opened.one_of, opened.all_of, opened.not_, opened.condition)
            if any(alternatives) and not opened.types:
                return joined(conditions)
            return f"({place.whole()} == None or {joined(conditions)})"
        if not opened.types:
            return joined([f"{place.whole()} != None", *conditions])
        return joined(conditions)

    def _referred(self, shape: Shape, place: Place, holds: bool) -> list[str]:
        ref = shape.ref
        made = place.type.schema
        if holds and made is not None and place.type.kinds == {"object"}:
            return [text for each in self.whole(made) for text in each(place)]
        external = self.typing.external(ref)
        if external is not None:
            return []
        if self._is_its_own_condition(ref):
            raise CannotSay("what refers to itself for the same value is not checked")
        if holds and not place.type.is_any and not self._is_recursive(ref):
            return self.of(self.typing.definitions[ref], place, True)
        return [f"{self._function(ref)}({place.whole()})"]

    def _is_recursive(self, ref: str) -> bool:
        """Whether a definition leads back to itself without a schema between."""
        seen: set[str] = set()
        pending = [self.typing.definitions[ref]]
        while pending:
            shape = pending.pop()
            if shape.ref:
                if shape.ref == ref:
                    return True
                if shape.ref not in seen:
                    seen.add(shape.ref)
                    pending.append(self.typing.definitions[shape.ref])
            pending += [each for each in (shape.items, shape.additional) if each is not None]
            pending += [*shape.all_of, *shape.any_of, *shape.one_of, *shape.first_items]
        return False

    def _is_its_own_condition(self, ref: str) -> bool:
        """Whether a definition asks itself about the same value: there is no end to it."""
        if ref not in self._endless:
            seen: set[str] = set()
            pending = [self.typing.definitions[ref]]
            while pending:
                shape = pending.pop()
                if shape.ref and shape.ref not in seen and self.typing.external(shape.ref) is None:
                    seen.add(shape.ref)
                    pending.append(self.typing.definitions[shape.ref])
                alternatives = (shape.not_, *(shape.condition or ()), *shape.needs_shape.values())
                pending += [each for each in alternatives if each is not None]
                pending += [*shape.all_of, *shape.any_of, *shape.one_of]
            self._endless[ref] = ref in seen
        return self._endless[ref]

    def _function(self, ref: str) -> str:
        name = f"_is_{self.typing.definitions.schema_name(ref)}"
        if name not in self._functions:
            self._functions[name] = ""
            depth, self.depth = self.depth, 0
            try:
                text = self.valid(self.typing.definitions[ref], Place("value", ANY, is_name=True))
            except CannotSay as problem:
                del self._functions[name]
                raise CannotSay(str(problem)) from None
            finally:
                self.depth = depth
            self._functions[name] = f"{name} = lambda value: any -> bool {{ {text} }}"
        return name


def _kinds_of_values(shape: Shape) -> frozenset[str]:
    """What the values of an enumeration are."""
    if shape.enum is None:
        return KINDS
    found = (kinds for each in shape.enum for kind, kinds in _KINDS_OF_PLAIN if type(each) is kind)
    return frozenset[str]().union(*found)


def _has_schema(of: Type | None) -> bool:
    """Whether there are instances of a schema in a value, which equal no mapping."""
    while of is not None:
        if of.schema is not None:
            return True
        of = of.element
    return False
