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
from collections.abc import Callable, Sequence
from typing import Final

from kcl.patterns import pattern as regular_expression
from kcl.records import dataclass, replace
from kcl.stdlib.patterns import PatternError, compiled
from kcl.tools.imports import literals, names
from kcl.tools.imports.shapes import NULL, STRING, Shape
from kcl.tools.imports.types import ANY, KINDS, Made, Type, Typing, is_schema, kinds_of

_LARGEST: Final = 2**63 - 1
_LONGEST_CONDITION: Final = 4_000
_DEEPEST: Final = 40
_SHORTHAND: Final = regular_expression(r"\\(?:(?P<class>[dw])|.)|(?P<open>\[\^?\]?)|(?P<close>\])", 0)
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
}
"""Lines that a file begins with when its conditions need them. All files of a package may have them."""


class _NeedsWhole(Exception):
    """The condition is about a whole that has no name here."""


class _CannotSay(Exception):
    """There is no condition; the text says why."""


@dataclass(frozen=True, slots=True)
class _Place:
    """An expression; `text` is "" for the instance of the schema itself."""

    text: str
    type: Type
    is_name: bool = False

    def whole(self) -> str:
        if not self.text:
            raise _NeedsWhole
        return self.text

    def member(self, name: str, of: Type) -> _Place:
        if self.text:
            return _Place(f"{self.text}[{literals.text_literal(name)}]", of)
        if not names.is_identifier(name):
            raise _NeedsWhole
        return _Place(names.attribute(name), of, is_name=True)


class Checking:
    """Writes the checks of the schemas of one file into them."""

    def __init__(self, typing: Typing) -> None:
        self._typing = typing
        self._whole: dict[int, list[Callable[[_Place], list[str]]]] = {}
        self._busy: set[int] = set()
        self._within_itself: list[Made] = []
        self._depth = 0
        self._functions: dict[str, str] = {}
        self._notes: list[str] = []
        self.used: set[str] = set()

    @property
    def functions(self) -> list[str]:
        return [text for _, text in sorted(self._functions.items()) if text]

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
                if name in taken:
                    made.checks = [_renamed(each, name) for each in made.checks]
                    self.used.add(f"_{name}")
        for helper, needed in (("_length", "_len"), ("_is_object", "_typeof")):
            if helper in self.used:
                self.used.add(needed)  # officially a function sees the attributes of the schema that calls it

    def _unowned(self) -> list[Made]:
        """Schemas that no attribute has as its type."""
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
        return [each for each in self._typing.made if id(each) not in owned]

    # --- Schemas ---

    def _whole_conditions(self, made: Made) -> list[Callable[[_Place], list[str]]]:
        """Fills the checks of a schema; answers what needs an instance as a whole."""
        known = self._whole.get(id(made))
        if known is not None:
            return known
        if id(made) in self._busy:
            self._within_itself.append(made)
            return []
        self._busy.add(id(made))
        found: list[Callable[[_Place], list[str]]] = []
        here = _Place("", Type(made.name, frozenset({"object"}), schema=made))
        for each in made.attributes:
            if each.name in made.fixed:
                continue
            notes, self._notes = self._notes, each.notes
            if each.shape.format and each.shape.format not in ("int32", "int64", "float", "double", "int-or-string"):
                each.notes.append(f"the format {each.shape.format} is not checked")
            each.notes.extend(self._rules(each.shape))

            def unit(place: _Place, each=each) -> list[str]:  # type: ignore[no-untyped-def]
                inner = place.member(each.name, each.type)
                conditions = self.conditions(each.shape, inner, True)
                if not place.text:  # what is required is guarded as well, so that it is told as missing
                    return [f"{text} if {inner.text} not in [None, Undefined]" for text in conditions]
                return [f"({inner.text} in [None, Undefined] or {_joined([text])})" for text in conditions]

            self._add(made, found, unit, here)
            if each.name in made.shape.required and each.is_optional:

                def present(place: _Place, each=each) -> list[str]:  # type: ignore[no-untyped-def]
                    return [f"{place.member(each.name, each.type).text} != Undefined"]

                self._add(made, found, present, here)
            self._notes = notes
        notes, self._notes = self._notes, made.notes
        made.notes.extend(rule for rule in self._rules(made.shape) if rule not in made.notes)
        for part in self._object_parts(made.shape, held=True):
            self._add(made, found, part, here)
        if made.shape.names is not None and made.index is not None:
            notes_of_names = made.shape.names

            def named(place: _Place) -> list[str]:
                if place.text:
                    return self._names(notes_of_names, place)
                inner = _Place("_name", Type("str", frozenset({"str"})), is_name=True)
                return self.conditions(notes_of_names, inner, False)

            self._add(made, found, named, here)
        self._notes = notes
        self._busy.discard(id(made))
        self._whole[id(made)] = found
        return found

    def _rules(self, shape: Shape) -> list[str]:
        return list(shape.rules) if not shape.ref else []

    def _add(
        self,
        made: Made,
        found: list[Callable[[_Place], list[str]]],
        unit: Callable[[_Place], list[str]],
        here: _Place,
    ) -> None:
        try:
            for text in unit(here):
                if len(text) > _LONGEST_CONDITION:
                    self._notes.append("a condition is too long to be written")
                elif text not in made.checks:
                    made.checks.append(text)
        except _NeedsWhole:
            found.append(unit)
        except _CannotSay as problem:
            self._notes.append(str(problem))

    # --- Conditions of a value that is there ---

    def conditions(self, shape: Shape, place: _Place, holds: bool) -> list[str]:
        """What must be true of a value that is neither None nor Undefined."""
        if self._depth > _DEEPEST:
            raise _CannotSay("conditions are nested too deeply")
        self._depth += 1
        try:
            return self._conditions(self._typing.opened(shape), place, holds)
        finally:
            self._depth -= 1

    def _conditions(self, shape: Shape, place: _Place, holds: bool) -> list[str]:
        if shape.ref:
            return self._referred(shape, place, holds)
        if shape.never or shape.types == (NULL,):
            return ["False"]
        found: list[str] = []
        kinds = kinds_of(shape)
        known = place.type.kinds
        if not known <= kinds:
            found.append(self._has_kind(place, kinds & KINDS))
            known = known & kinds
        if shape.enum is not None and not (holds and place.type.holds_enum):
            if not all(literals.can_be_written(each) for each in shape.enum):
                raise _CannotSay("the values of an enumeration cannot be written")
            whole = self._any(place) if place.type.text not in ("any", "str") else place.whole()
            found.append(f"{whole} in {literals.value(list(shape.enum))}")
        found += self._of_kind({"str"}, known, place, self._text_parts(shape))
        found += self._of_kind({"int", "float"}, known, place, self._number_parts(shape, known))
        found += self._of_kind({"list"}, known, place, self._list_parts(shape, holds))
        parts: list[Callable[[_Place], list[str]]] = []
        made = place.type.schema
        if holds and made is not None and is_schema(shape):
            parts = self._whole_conditions(made)
        elif "object" in known:
            parts = [*self._member_parts(shape, holds), *self._object_parts(shape, held=False)]
            if shape.names is not None:
                shape_of_names = shape.names
                parts.append(lambda inner: self._names(shape_of_names, inner))
        found += self._of_kind({"object"}, known, place, parts)
        if not (holds and made is not None and is_schema(shape)):
            for part in self._combined_parts(shape):
                found += part(place)
        return found

    def valid(self, shape: Shape, place: _Place) -> str:
        """One condition for a value that may be None, and that nothing is known of."""
        conditions = self.conditions(shape, place, False)
        opened = self._typing.opened(shape)
        if opened.ref and conditions:
            return _joined(conditions)  # its function knows about None
        may_be_none = place.type.is_any or opened.is_nullable
        if not conditions:
            return "True" if opened.is_nullable or not may_be_none else f"{place.whole()} != None"
        if not may_be_none:
            return _joined(conditions)
        if opened.is_nullable:
            alternatives = (opened.any_of, opened.one_of, opened.all_of, opened.not_, opened.condition)
            if any(alternatives) and not opened.types:
                return _joined(conditions)
            return f"({place.whole()} == None or {_joined(conditions)})"
        if not opened.types:
            return _joined([f"{place.whole()} != None", *conditions])
        return _joined(conditions)

    def _referred(self, shape: Shape, place: _Place, holds: bool) -> list[str]:
        ref = shape.ref
        if holds and place.type.schema is not None:
            made = place.type.schema
            return [text for each in self._whole_conditions(made) for text in each(place)]
        external = self._typing.external(ref)
        if external is not None:
            return []
        if holds and not place.type.is_any and not self._is_recursive(ref):
            return self.conditions(self._typing.definitions[ref], place, True)
        return [f"{self._function(ref)}({place.whole()})"]

    def _is_recursive(self, ref: str) -> bool:
        """Whether a definition leads back to itself without a schema between."""
        seen: set[str] = set()
        pending = [self._typing.definitions[ref]]
        while pending:
            shape = pending.pop()
            if shape.ref:
                if shape.ref == ref:
                    return True
                if shape.ref not in seen:
                    seen.add(shape.ref)
                    pending.append(self._typing.definitions[shape.ref])
            pending += [each for each in (shape.items, shape.additional) if each is not None]
            pending += [*shape.all_of, *shape.any_of, *shape.one_of, *shape.first_items]
        return False

    def _function(self, ref: str) -> str:
        name = f"_is_{self._typing.definitions.schema_name(ref)}"
        if name not in self._functions:
            self._functions[name] = ""
            depth, self._depth = self._depth, 0
            try:
                text = self.valid(self._typing.definitions[ref], _Place("value", ANY, is_name=True))
            except _CannotSay as problem:
                del self._functions[name]
                raise _CannotSay(str(problem)) from None
            finally:
                self._depth = depth
            self._functions[name] = f"{name} = lambda value: any -> bool {{ {text} }}"
        return name

    # --- Parts by kind ---

    def _of_kind(
        self,
        wanted: set[str],
        known: frozenset[str],
        place: _Place,
        parts: Sequence[Callable[[_Place], list[str]]],
    ) -> list[str]:
        """Conditions that hold for values of one kind alone, and are true of others."""
        if not parts or not known & wanted:
            return []
        if known <= wanted:
            return [text for each in parts for text in each(place)]
        whole = place.whole()
        dynamic = place if place.type.is_any else _Place(self._any(place), place.type)
        conditions = [text for each in parts for text in each(dynamic)]
        if not conditions:
            return []
        other = self._has_kind(_Place(whole, ANY), frozenset(wanted), negated=True)
        return [f"({other} or {text})" for text in conditions]

    def _has_kind(self, place: _Place, kinds: frozenset[str], negated: bool = False) -> str:
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

    def _any(self, place: _Place) -> str:
        """The expression without what is known of its type: operators refuse unions."""
        whole = place.whole()
        if place.type.is_any:
            return whole
        self.used.add("_any")
        return f"_any({whole})"

    def _text_parts(self, shape: Shape) -> list[Callable[[_Place], list[str]]]:
        def lengths(place: _Place) -> list[str]:
            found = []
            if shape.least_length == 1:
                found.append(f"len({place.whole()}) >= 1")
            elif shape.least_length:
                self.used.add("_length")
                found.append(f"_length({place.whole()}) >= {shape.least_length}")
            if shape.most_length is not None and shape.most_length < _LARGEST:
                self.used.add("_length")
                found.append(f"_length({place.whole()}) <= {shape.most_length}")
            return found

        def matches(place: _Place) -> list[str]:
            if shape.pattern is None:
                return []
            return [self._matching(place, shape.pattern)]

        wanted = shape.pattern is not None or shape.least_length or shape.most_length is not None
        return [lengths, matches] if wanted else []

    def _matching(self, place: _Place, pattern: str) -> str:
        written = _spelled_out(pattern)
        try:
            compiled(written)
        except PatternError as problem:
            raise _CannotSay(f"the pattern {pattern} is not checked, since KCL cannot read it: {problem}") from None
        self.used.add("_regex_match")
        whole = place.whole()
        text = whole if place.type.text == "str" else f"str({whole})"
        return f"_regex_match({text}, {literals.pattern_literal(written)})"

    def _number_parts(self, shape: Shape, known: frozenset[str]) -> list[Callable[[_Place], list[str]]]:
        def parts(place: _Place) -> list[str]:
            found = []
            bounds = ((shape.minimum, ">="), (shape.above, ">"), (shape.maximum, "<="), (shape.below, "<"))
            for bound, sign in bounds:
                if bound is None or (abs(bound) >= _LARGEST and (bound > 0) == (sign in ("<", "<="))):
                    continue  # no number of KCL is beyond 64 bits
                found.append(f"{place.whole()} {sign} {literals.number(bound)}")
            if shape.multiple_of:
                whole, unit = place.whole(), literals.number(shape.multiple_of)
                if isinstance(shape.multiple_of, int):
                    found.append(f"{whole} % {unit} == 0")
                else:
                    found.append(f"{whole} / {unit} == int({whole} / {unit})")
            return found

        said = (shape.minimum, shape.above, shape.maximum, shape.below, shape.multiple_of)
        return [parts] if any(each is not None for each in said) else []

    def _list_parts(self, shape: Shape, holds: bool) -> list[Callable[[_Place], list[str]]]:
        def sizes(place: _Place) -> list[str]:
            found = []
            if shape.least_items:
                found.append(f"len({place.whole()}) >= {shape.least_items}")
            if shape.most_items is not None and shape.most_items < _LARGEST:
                found.append(f"len({place.whole()}) <= {shape.most_items}")
            if shape.is_unique:
                found.append(f"isunique({place.whole()})")
            if shape.unique_keys:
                item = self._variable("_item")
                keys = ", ".join(f"{item}[{literals.text_literal(each)}]" for each in shape.unique_keys)
                found.append(f"isunique([[{keys}] for {item} in {place.whole()}])")
            return found

        def items(place: _Place) -> list[str]:
            if shape.items is None or shape.first_items:
                return []
            return self._for_all(place, shape.items, holds and place.type.element is not None)

        def first(place: _Place) -> list[str]:
            found = []
            for at, each in enumerate(shape.first_items):
                text = self.valid(each, _Place(f"{place.whole()}[{at}]", ANY))
                if text != "True":
                    found.append(f"(len({place.whole()}) <= {at} or {text})")
            if shape.first_items and shape.items is not None:
                rest = f"{place.whole()}[{len(shape.first_items)}:]"
                if shape.items.never:
                    found.append(f"len({place.whole()}) <= {len(shape.first_items)}")
                else:
                    found += self._for_all(_Place(rest, Type("[any]", element=ANY)), shape.items, False)
            return found

        def contained(place: _Place) -> list[str]:
            if shape.contains is None:
                return []
            item = self._variable("_item")
            text = self.valid(shape.contains, _Place(item, ANY, is_name=True))
            count = f"len([True for {item} in {place.whole()} if {text}])"
            found = [f"{count} >= {shape.least_contained}"] if shape.least_contained else []
            return found + ([] if shape.most_contained is None else [f"{count} <= {shape.most_contained}"])

        said = (shape.least_items, shape.most_items, shape.items, shape.contains)
        wanted = shape.is_unique or shape.unique_keys or shape.first_items or any(each is not None for each in said)
        return [sizes, items, first, contained] if wanted else []

    def _variable(self, name: str) -> str:
        return name if self._depth <= 1 else f"{name}{self._depth}"

    def _for_all(self, place: _Place, shape: Shape, holds: bool, each_of: str = "_item") -> list[str]:
        """That all items of a list, or all values of a mapping, are as they should be."""
        element = place.type.element if place.type.element is not None else ANY
        item = self._variable(each_of)
        inner = _Place(item, element, is_name=True)
        if holds and not element.is_any:
            text = _joined(self.conditions(shape, inner, True))
            opened = self._typing.opened(shape)
            if text != "True" and opened.is_nullable:
                text = f"({item} == None or {text})"
        else:
            text = self.valid(shape, inner)
        if text == "True":
            return []
        variables = item if each_of == "_item" else f"{self._variable('_key')}, {item}"
        return [self._all(place, variables, text)]

    def _all(self, place: _Place, variables: str, text: str) -> str:
        whole = place.whole()
        if place.is_name:
            return f"all {variables} in {whole} {{ {text} }}"
        return f"len([True for {variables} in {whole} if not {_joined([text])}]) == 0"

    def _member_parts(self, shape: Shape, holds: bool) -> list[Callable[[_Place], list[str]]]:
        """Names that must be there, and what the listed ones hold: types say nothing of it here."""

        def members(place: _Place) -> list[str]:
            found = []
            for name in shape.required:
                property_shape = shape.properties.get(name)
                inner = place.member(name, self._member_type(place, name))
                if place.type.is_any or (property_shape is not None and property_shape.is_nullable):
                    found.append(f"{inner.text} != Undefined")
                else:
                    found.append(f"{inner.text} not in [None, Undefined]")
            for name, each in shape.properties.items():
                inner = place.member(name, self._member_type(place, name))
                if inner.type.is_any:
                    text = self.valid(each, inner)
                    absent = f"{inner.text} == Undefined"
                else:
                    text = _joined(self.conditions(each, inner, False))
                    absent = f"{inner.text} in [None, Undefined]"
                if text != "True":
                    found.append(f"({absent} or {text})")
            return found

        def others(place: _Place) -> list[str]:
            whole = place.whole()
            if shape.additional is not None and not shape.properties and not shape.patterns:
                return self._for_all(place, shape.additional, holds and place.type.element is not None, "_value")
            if shape.additional is None and shape.is_open and not shape.patterns:
                return []
            key, value = self._variable("_key"), self._variable("_value")
            found = []
            unnamed = [f"{key} not in {literals.value(list(shape.properties))}"] if shape.properties else []
            for text, each in shape.patterns.items():
                matching = self._matching(_Place(key, Type("str", frozenset({"str"})), is_name=True), text)
                inner = self.valid(each, _Place(value, ANY, is_name=True))
                if inner != "True":
                    condition = f"({value} == Undefined or not {matching} or {inner})"
                    found.append(f"len([True for {key}, {value} in {whole} if not {condition}]) == 0")
                unnamed.append(f"not {matching}")
            rest = _joined(unnamed) if unnamed else "True"
            if shape.additional is not None:
                inner = self.valid(shape.additional, _Place(value, ANY, is_name=True))
                if inner != "True":
                    wrong = _joined([f"{value} != Undefined", rest, f"not {inner}"])
                    found.append(f"len([True for {key}, {value} in {whole} if {wrong}]) == 0")
            elif not shape.is_open:
                wrong = _joined([f"{value} != Undefined", rest])
                found.append(f"len([True for {key}, {value} in {whole} if {wrong}]) == 0")
            return found

        return [members, others]

    def _member_type(self, place: _Place, name: str) -> Type:
        if place.type.schema is None:
            return ANY if place.type.is_any or place.type.element is None else place.type.element
        found = place.type.schema.attribute(name)
        if found is not None:
            return found.type
        if place.type.schema.index is None:
            raise _CannotSay(f"a condition on {name}, which the schema does not list, is not checked")
        if not place.text:
            raise _NeedsWhole
        return ANY

    def _object_parts(self, shape: Shape, held: bool) -> list[Callable[[_Place], list[str]]]:
        """What is said of an object as a whole; with `held`, of the instances of its own schema."""
        parts: list[Callable[[_Place], list[str]]] = []

        def counts(place: _Place) -> list[str]:
            key, value = self._variable("_key"), self._variable("_value")
            count = f"len([True for {key}, {value} in {place.whole()} if {value} not in [None, Undefined]])"
            found = [f"{count} >= {shape.least_properties}"] if shape.least_properties else []
            return found + ([] if shape.most_properties is None else [f"{count} <= {shape.most_properties}"])

        def needed(place: _Place) -> list[str]:
            found = []
            for name, others in shape.needs.items():
                absent = f"{place.member(name, self._member_type(place, name)).text} in [None, Undefined]"
                for other in others:
                    there = f"{place.member(other, self._member_type(place, other)).text} not in [None, Undefined]"
                    found.append(f"({absent} or {there})")
            for name, inner in shape.needs_shape.items():
                absent = f"{place.member(name, self._member_type(place, name)).text} in [None, Undefined]"
                found += [f"({absent} or {text})" for text in self.conditions(inner, place, False)]
            return found

        if shape.least_properties or shape.most_properties is not None:
            parts.append(counts)
        if shape.needs or shape.needs_shape:
            parts.append(needed)
        if held:
            if shape.patterns or (shape.additional is not None and shape.properties):
                only_others = _only_others(shape)
                parts.append(lambda place: self._member_parts(only_others, False)[1](place))
            parts.extend(self._combined_parts(shape))
            unlisted = [name for name in shape.required if name not in shape.properties]
            if unlisted and (shape.is_open or shape.additional is not None):

                def listed(place: _Place) -> list[str]:
                    return [
                        f"{place.member(name, self._member_type(place, name)).text} != Undefined" for name in unlisted
                    ]

                parts.append(listed)
        return parts

    def _names(self, shape: Shape, place: _Place) -> list[str]:
        key, value = self._variable("_key"), self._variable("_value")
        text = _joined(self.conditions(shape, _Place(key, Type("str", frozenset({"str"})), is_name=True), False))
        if text == "True":
            return []
        wrong = f"{value} != Undefined and not {_joined([text])}"
        return [f"len([True for {key}, {value} in {place.whole()} if {wrong}]) == 0"]

    # --- Combinations ---

    def _combined_parts(self, shape: Shape) -> list[Callable[[_Place], list[str]]]:
        parts: list[Callable[[_Place], list[str]]] = []

        def all_of(place: _Place) -> list[str]:
            return [text for each in shape.all_of for text in self._branch_list(each, place)]

        def any_of(place: _Place) -> list[str]:
            apart = self._apart(shape.any_of, place)
            if apart is not None:
                return apart
            texts = [self._branch(each, place) for each in shape.any_of]
            return [] if "True" in texts else ["(" + " or ".join(dict.fromkeys(texts)) + ")"]

        def one_of(place: _Place) -> list[str]:
            apart = self._apart(shape.one_of, place)
            if apart is not None:
                return apart
            texts = [self._branch(each, place) for each in shape.one_of]
            if len(texts) == 1:
                return [] if texts[0] == "True" else texts
            return [f"len([_each for _each in [{', '.join(texts)}] if _each]) == 1"]

        def negated(place: _Place) -> list[str]:
            assert shape.not_ is not None
            return [f"not {_joined([self._branch(shape.not_, place)])}"]

        def conditional(place: _Place) -> list[str]:
            assert shape.condition is not None
            test, then, otherwise = shape.condition
            tested = self._branch(test, place)
            found = []
            if then is not None:
                text = self._branch(then, place)
                found += [] if text == "True" else [f"(not {_joined([tested])} or {text})"]
            if otherwise is not None:
                text = self._branch(otherwise, place)
                found += [] if text == "True" else [f"({tested} or {text})"]
            return found

        if shape.all_of:
            parts.append(all_of)
        if shape.any_of:
            parts.append(any_of)
        if shape.one_of:
            parts.append(one_of)
        if shape.not_ is not None:
            parts.append(negated)
        if shape.condition is not None:
            parts.append(conditional)
        return parts

    def _apart(self, branches: Sequence[Shape], place: _Place) -> list[str] | None:
        """Conditions for alternatives of different kinds, one for each; None where kinds do not tell them apart."""
        all_kinds: list[frozenset[str]] = []
        for each in branches:
            kinds = self._typing.static_kinds(each)
            if kinds is None or each.is_nullable or not kinds or any(kinds & other for other in all_kinds):
                return None
            all_kinds.append(kinds)
        if place.type.is_any or not place.text or place.type.schema is not None:
            return None
        known = place.type.kinds
        union = frozenset().union(*all_kinds)
        found = [] if known <= union else [self._has_kind(place, union)]
        for each, kinds in zip(branches, all_kinds, strict=True):

            def inner(place: _Place, each: Shape = each, kinds: frozenset[str] = kinds) -> list[str]:
                return self.conditions(each, _Place(self._any(place), Type("any", kinds)), False)

            found += self._of_kind(set(kinds), known & union, place, [inner])
        return found

    def _branch(self, shape: Shape, place: _Place) -> str:
        if place.type.is_any:
            return self.valid(shape, place)
        return _joined(self.conditions(shape, place, False))

    def _branch_list(self, shape: Shape, place: _Place) -> list[str]:
        text = self._branch(shape, place)
        return [] if text == "True" else [text]


def _only_others(shape: Shape) -> Shape:
    return replace(shape, required=())


def _joined(conditions: Sequence[str]) -> str:
    """All of them, as one operand."""
    kept = list(dict.fromkeys(each for each in conditions if each != "True"))
    if not kept:
        return "True"
    if "False" in kept:
        return "False"
    if len(kept) == 1:
        return kept[0] if _is_operand(kept[0]) else f"({kept[0]})"
    return "(" + " and ".join(each if _is_operand(each) else f"({each})" for each in kept) + ")"


def _is_operand(text: str) -> bool:
    return (text.startswith("(") and text.endswith(")") and _closes_at_end(text)) or text in ("True", "False")


def _closes_at_end(text: str) -> bool:
    depth, quote = 0, ""
    at = 0
    while at < len(text):
        each = text[at]
        if quote:
            if each == "\\" and quote != "raw":
                at += 1
            elif each == quote:
                quote = ""
        elif each in "\"'":
            quote = each
        elif each in "([{":
            depth += 1
        elif each in ")]}":
            depth -= 1
            if depth == 0 and at < len(text) - 1:
                return False
        at += 1
    return depth == 0


def _renamed(check: str, name: str) -> str:
    return re.sub(rf"(?<![\w.\"'$]){name}\(", f"_{name}(", check)


def _spelled_out(pattern: str) -> str:
    """The pattern with `\\d` and `\\w` as the ASCII that they mean to API servers and in JSON Schema."""
    inside = False
    written: list[str] = []
    end = 0
    for found in _SHORTHAND.finditer(pattern):
        written.append(pattern[end : found.start()])
        end = found.end()
        text = found[0]
        if found["class"]:
            characters = "0-9" if found["class"] == "d" else "A-Za-z0-9_"
            text = characters if inside else f"[{characters}]"
        elif found["open"]:
            inside = True
        elif found["close"]:
            inside = False
        written.append(text)
    return "".join(written) + pattern[end:]


__all__ = ["HELPERS", "STRING", "Checking"]
