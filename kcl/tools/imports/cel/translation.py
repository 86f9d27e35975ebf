"""Trees of CEL to conditions of KCL on a place.

What is not written here exactly as an API server decides it raises CannotSay: rules are checked whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kcl.records import replace
from kcl.tools.imports import literals, names, objects, scalars, texts
from kcl.tools.imports.cel import syntax, truths
from kcl.tools.imports.cel.operands import SCALARS, Operand, of_place
from kcl.tools.imports.cel.truths import Truth
from kcl.tools.imports.conditions import Conditions
from kcl.tools.imports.places import CannotSay, Place, joined
from kcl.tools.imports.shapes import Shape
from kcl.tools.imports.types import ANY, Type

_NOTHING: Final = "[None, Undefined]"
_NUMBERS: Final = frozenset(("int", "double"))
_PLAIN_TYPES: Final = frozenset(("str", "int", "float", "bool", "any"))
_OPPOSITES: Final = {"==": "!=", "!=": "==", "<": ">=", ">": "<=", "<=": ">", ">=": "<"}
_TEXT_TESTS: Final = {"startsWith": "{0}.startswith({1})", "endsWith": "{0}.endswith({1})", "contains": "{1} in {0}"}
_ESCAPES: Final = (("__underscores__", "__"), ("__dot__", "."), ("__dash__", "-"), ("__slash__", "/"))
_DEEPEST: Final = 40


class Translation:
    """Translates one rule. Where `guards` do not hold it is not asked: what is missing is told as missing."""

    def __init__(self, conditions: Conditions, self_: Operand) -> None:
        self._conditions = conditions
        self._names: dict[str, Operand] = {"self": self_}
        self._variables = 0
        self._depth = 0
        self.guards: dict[str, None] = {}

    def truth(self, of: syntax.Expression) -> Truth:
        """When a boolean is true and when it is false. Raises CannotSay, NeedsWhole."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CannotSay("it is nested too deeply")
        try:
            return self._truth(of)
        finally:
            self._depth -= 1

    def operand(self, of: syntax.Expression) -> Operand:
        """A value. Raises CannotSay, NeedsWhole."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CannotSay("it is nested too deeply")
        try:
            return self._operand(of)
        finally:
            self._depth -= 1

    # --- Booleans ---

    def _truth(self, of: syntax.Expression) -> Truth:
        match of:
            case syntax.Literal(value, "bool"):
                return truths.ALWAYS if value else truths.NEVER
            case syntax.Unary("!", inner):
                return truths.negated(self.truth(inner))
            case syntax.Binary("&&", left, right):
                return truths.both(self.truth(left), self.truth(right))
            case syntax.Binary("||", left, right):
                return truths.any_of(self.truth(left), self.truth(right))
            case syntax.Binary("in", left, right):
                return self._contained(self.operand(left), self.operand(right))
            case syntax.Binary(operator, left, right) if operator in _OPPOSITES:
                return self._compared(operator, left, right)
            case syntax.Choice(condition, then, otherwise):
                return truths.chosen(self.truth(condition), self.truth(then), self.truth(otherwise))
            case syntax.Call("has", None, (syntax.Select(inner, name, False),)):
                return self._present(self.operand(inner), name)
            case syntax.Call(name, target, arguments) if target is not None and name in ("all", "exists", "exists_one"):
                return self._quantified(name, self.operand(target), arguments)
            case syntax.Call("hasValue", target, ()) if target is not None:
                optional = self.operand(target)
                if optional.absent_unless is None:
                    raise CannotSay("hasValue is for optional values")
                return truths.of(joined(optional.absent_unless), optional.defined)
            case syntax.Call("isURL", None, (argument,)):
                return self._is_url(self.operand(argument))
            case syntax.Call(name, target, (argument,)) if target is not None and name in (*_TEXT_TESTS, "matches"):
                return self._text_test(name, self.operand(target), argument)
        value = self.operand(of)
        if value.kind != "bool":
            raise CannotSay("it has a part that is no boolean")
        return truths.of(value.text, value.defined)

    def _present(self, of: Operand, name: str) -> Truth:
        found = self._member(of, name)
        if found.shape is not None and found.shape.is_nullable:
            raise CannotSay(f"{name} may be null, which KCL does not tell from absent")
        own = found.defined[len(of.defined) :]
        return truths.of(joined(own), of.defined)

    def _compared(self, operator: str, left: syntax.Expression, right: syntax.Expression) -> Truth:
        if operator in ("==", "!=") and (_is_boolean(left) or _is_boolean(right)):
            return self._same_truth(operator, self.truth(left), self.truth(right))
        one, other = self.operand(left), self.operand(right)
        kinds = {one.kind, other.kind}
        is_known = (len(kinds) == 1 and kinds <= SCALARS) or kinds <= _NUMBERS
        if not is_known or (operator not in ("==", "!=") and not kinds <= _NUMBERS):
            raise CannotSay(f"{operator} of such values is not known here")
        if kinds == {"bool"}:
            return self._same_truth(operator, truths.of(one.text, one.defined), truths.of(other.text, other.defined))
        defined = tuple(dict.fromkeys((*one.defined, *other.defined)))
        true, false = (f"{one.text} {sign} {other.text}" for sign in (operator, _OPPOSITES[operator]))
        if not defined:
            return Truth(true, false, True)
        return Truth(joined([*defined, true]), joined([*defined, false]), False)

    def _same_truth(self, operator: str, one: Truth, other: Truth) -> Truth:
        for constant, rest in ((one, other), (other, one)):
            if constant in (truths.ALWAYS, truths.NEVER):
                return rest if (constant is truths.ALWAYS) is (operator == "==") else truths.negated(rest)
        same = truths.chosen(one, other, truths.negated(other))
        return same if operator == "==" else truths.negated(same)

    def _contained(self, item: Operand, of: Operand) -> Truth:
        defined = tuple(dict.fromkeys((*item.defined, *of.defined)))
        if item.kind not in SCALARS or item.kind == "bool":
            raise CannotSay("in is known for texts and numbers alone")
        if of.kind == "map" and item.kind == "string":
            return truths.of(f"{of.text}[{item.text}] not in {_NOTHING}", defined)
        if of.kind != "list" or of.element != item.kind:
            raise CannotSay("in is known for lists of the same type, and for maps")
        return truths.of(f"{item.text} in {of.text}", defined)

    def _quantified(self, name: str, of: Operand, arguments: tuple[syntax.Expression, ...]) -> Truth:
        with self._ranging(of, arguments) as variable:
            truth = self.truth(arguments[1])
        total = truth.is_total

        def count(condition: str) -> str:
            return f"len([True for {variable} in {of.text} if {condition}])"

        if name == "exists_one":
            one = f"{count(truth.true)} == 1"
            decided = [] if total else [f"{count(truths.opposite(truth.decided[0]))} == 0"]
            return truths.of(one, (*of.defined, *decided))
        if name == "all":
            true, false = f"{count(truths.opposite(truth.true))} == 0", f"{count(truth.false)} > 0"
        else:
            true, false = f"{count(truth.true)} > 0", f"{count(truths.opposite(truth.false))} == 0"
        if total:
            return truths.of(true, of.defined)
        return Truth(joined([*of.defined, true]), joined([*of.defined, false]), False)

    def _text_test(self, name: str, target: Operand, argument: syntax.Expression) -> Truth:
        if target.kind != "string":
            raise CannotSay(f"{name} is for texts")
        if name == "matches":
            if not isinstance(argument, syntax.Literal) or argument.kind != "string":
                raise CannotSay("a pattern that is worked out is not known here")
            place = Place(target.text, Type("str", frozenset({"str"})))
            return truths.of(scalars.matching(self._conditions, place, argument.value), target.defined)
        given = self.operand(argument)
        if given.kind != "string":
            raise CannotSay(f"{name} takes a text")
        condition = _TEXT_TESTS[name].format(target.text, given.text)
        return truths.of(condition, tuple(dict.fromkeys((*target.defined, *given.defined))))

    def _is_url(self, of: Operand) -> Truth:
        if of.kind != "string":
            raise CannotSay("isURL is for texts")
        place = Place(of.text, Type("str", frozenset({"str"})))
        return truths.of(scalars.of_format(self._conditions, place, "uri"), of.defined)

    # --- Values ---

    def _operand(self, of: syntax.Expression) -> Operand:
        match of:
            case syntax.Literal(value, kind):
                return _literal(value, kind)
            case syntax.Name(text):
                if text not in self._names:
                    why = "it compares with what was there before" if text == "oldSelf" else f"{text} is not known here"
                    raise CannotSay(why)
                return self._names[text]
            case syntax.Select(inner, name, is_optional):
                found = self.operand(inner)
                if is_optional or found.absent_unless is not None:
                    return self._optional_member(found, name)
                return self._member(found, name)
            case syntax.Index(inner, at, False):
                return self._item(self.operand(inner), at)
            case syntax.ListOf(items):
                return self._list(items)
            case syntax.Unary("-", inner):
                number = self._number(inner)
                return replace(number, text=f"(-{number.text})", shape=None, place=None)
            case syntax.Binary(operator, left, right) if operator in ("+", "-", "*", "/", "%"):
                return self._computed(operator, self.operand(left), self.operand(right))
            case syntax.Choice(condition, then, otherwise) if not _is_boolean(then):
                return self._choice(self.truth(condition), self.operand(then), self.operand(otherwise))
            case syntax.Call(name, target, arguments):
                return self._called(name, target, arguments)
        if _is_boolean(of):
            truth = self.truth(of)
            return Operand(joined([truth.true]), "bool", tuple(truth.decided))
        raise CannotSay("it has a part that is not known here")

    def _member(self, of: Operand, name: str) -> Operand:
        """A field, or the value of a key of a map."""
        name = _unescaped(name)
        if of.shape is None or of.place is None or of.kind not in ("object", "map"):
            raise CannotSay(f"what {name} is a field of is not known here")
        if of.kind == "map":
            assert of.shape.additional is not None
            return self._value(of, texts.text_literal(name), of.shape.additional)
        shape = of.shape.properties.get(name)
        if shape is None:
            raise CannotSay(f"{name} is not listed in the schema")
        place = of.place.member(name, objects.member_type(self._conditions, of.place, name))
        text = self._untyped(place)
        there = f"{place.text} not in {_NOTHING}"
        is_there = name in of.shape.required or (shape.has_default and shape.default is not None)
        if is_there and (not of.place.text or of.place.type.text == "v1.ObjectMeta"):
            self.guards[there] = None
        defined = of.defined if is_there else (*of.defined, there)
        return of_place(shape, place, text, defined)

    def _optional_member(self, of: Operand, name: str) -> Operand:
        absent_unless = () if of.absent_unless is None else of.absent_unless
        found = self._member(replace(of, defined=(), absent_unless=None), name)
        return replace(found, defined=of.defined, absent_unless=(*absent_unless, *found.defined))

    def _value(self, of: Operand, key: str, shape: Shape) -> Operand:
        assert of.place is not None
        element = of.place.type.element if of.place.type.element is not None else ANY
        place = Place(f"{of.place.whole()}[{key}]", element)
        return of_place(shape, place, self._untyped(place), (*of.defined, f"{place.text} not in {_NOTHING}"))

    def _item(self, of: Operand, at: syntax.Expression) -> Operand:
        index = self.operand(at)
        if of.kind == "map" and index.kind == "string" and of.shape is not None and of.shape.additional is not None:
            found = self._value(of, index.text, of.shape.additional)
            return replace(found, defined=(*index.defined, *found.defined))
        is_literal = isinstance(at, syntax.Literal)
        if of.kind != "list" or index.kind != "int" or of.shape is None or of.shape.items is None or of.place is None:
            raise CannotSay("what stands in brackets is not known here")
        element = of.place.type.element if of.place.type.element is not None else ANY
        place = Place(f"{of.place.whole()}[{index.text}]", element)
        within = f"len({of.text}) > {index.text}"
        first = () if is_literal and not index.text.startswith("-") else (f"{index.text} >= 0",)
        defined = (*of.defined, *index.defined, *first, within)
        return of_place(of.shape.items, place, self._untyped(place), defined)

    def _list(self, items: tuple[syntax.Expression, ...]) -> Operand:
        found = [self.operand(each) for each in items]
        kinds = {each.kind for each in found}
        if len(kinds) > 1 or not kinds <= SCALARS:
            raise CannotSay("lists are known of texts, numbers or booleans")
        defined = tuple(dict.fromkeys(text for each in found for text in each.defined))
        element = found[0].kind if found else ""
        return Operand(f"[{', '.join(each.text for each in found)}]", "list", defined, element=element)

    def _number(self, of: syntax.Expression) -> Operand:
        found = self.operand(of)
        if found.kind not in _NUMBERS:
            raise CannotSay("- is for numbers")
        return found

    def _computed(self, operator: str, left: Operand, right: Operand) -> Operand:
        defined = tuple(dict.fromkeys((*left.defined, *right.defined)))
        kinds = {left.kind, right.kind}
        if len(kinds) != 1 or not (kinds <= _NUMBERS or (operator == "+" and kinds == {"string"})):
            raise CannotSay(f"{operator} of such values is not known here")
        if operator in ("/", "%"):
            if left.kind != "int":
                raise CannotSay(f"{operator} of fractions is not known here")
            defined = (*defined, f"{right.text} != 0")
            helper = "_quotient" if operator == "/" else "_remainder"  # towards zero, as KCL's are not
            self._conditions.used.add(helper)
            return Operand(f"{helper}({left.text}, {right.text})", "int", defined)
        return Operand(f"({left.text} {operator} {right.text})", left.kind, defined)

    def _choice(self, condition: Truth, then: Operand, otherwise: Operand) -> Operand:
        if then.kind != otherwise.kind or then.kind not in SCALARS:
            raise CannotSay("a choice of such values is not known here")
        defined = [*condition.decided]
        if then.defined or otherwise.defined:
            defined.append(
                truths.either([joined([condition.true, *then.defined]), joined([condition.false, *otherwise.defined])])
            )
        return Operand(f"({then.text} if {condition.true} else {otherwise.text})", then.kind, tuple(defined))

    def _called(self, name: str, target: syntax.Expression | None, arguments: tuple[syntax.Expression, ...]) -> Operand:
        match name, target, arguments:
            case "size", None, (argument,):
                return self._size(self.operand(argument))
            case "size", _, () if target is not None:
                return self._size(self.operand(target))
            case "string", None, (argument,):
                given = self.operand(argument)
                if given.kind not in ("string", "int"):
                    raise CannotSay("string() of such a value is not known here")
                text = given.text if given.kind == "string" else f"str({given.text})"
                return Operand(text, "string", given.defined)
            case "orValue", _, (argument,) if target is not None:
                return self._or_value(self.operand(target), self.operand(argument))
            case "filter", _, (_, condition) if target is not None:
                return self._filtered(self.operand(target), arguments, condition)
            case "map", _, (_, value) if target is not None:
                return self._mapped(self.operand(target), arguments, value)
            case "join", _, () | (_,) if target is not None:
                return self._joined(self.operand(target), arguments)
        if _is_boolean(syntax.Call(name, target, arguments)):
            truth = self.truth(syntax.Call(name, target, arguments))
            return Operand(joined([truth.true]), "bool", tuple(truth.decided))
        raise CannotSay(f"{name} is not known here")

    def _size(self, of: Operand) -> Operand:
        if of.kind == "string":
            self._conditions.used.add("_length")
            return Operand(f"_length({of.text})", "int", of.defined)
        if of.kind == "list":
            return Operand(f"len({of.text})", "int", of.defined)
        if of.kind == "map":
            key, value = self._variable("key"), self._variable("value")
            counted = f"len([True for {key}, {value} in {of.text} if {value} not in {_NOTHING}])"
            return Operand(counted, "int", of.defined)
        raise CannotSay("size of such a value is not known here")

    def _or_value(self, optional: Operand, otherwise: Operand) -> Operand:
        if optional.absent_unless is None or optional.kind != otherwise.kind or optional.kind not in SCALARS:
            raise CannotSay("orValue of such values is not known here")
        if not optional.absent_unless:
            return replace(optional, absent_unless=None)
        there = joined(optional.absent_unless)
        defined = optional.defined + ((truths.either([there, joined(otherwise.defined)]),) if otherwise.defined else ())
        return Operand(f"({optional.text} if {there} else {otherwise.text})", optional.kind, defined)

    def _filtered(self, of: Operand, arguments: tuple[syntax.Expression, ...], condition: syntax.Expression) -> Operand:
        with self._ranging(of, arguments) as variable:
            truth = self.truth(condition)
        decided = tuple(
            f"len([True for {variable} in {of.text} if {truths.opposite(each)}]) == 0" for each in truth.decided
        )
        text = f"[{variable} for {variable} in {of.text} if {truth.true}]"
        if of.kind == "map":
            return Operand(text, "list", (*of.defined, *decided), element="string")
        element = of.place.type.element if of.place is not None and of.place.type.element is not None else ANY
        place = Place(text, Type(f"[{element.text}]", frozenset({"list"}), element=element))
        return Operand(text, "list", (*of.defined, *decided), of.shape, place, of.element)

    def _mapped(self, of: Operand, arguments: tuple[syntax.Expression, ...], value: syntax.Expression) -> Operand:
        with self._ranging(of, arguments) as variable:
            found = self.operand(value)
        if found.kind not in SCALARS:
            raise CannotSay("map to such values is not known here")
        decided = tuple(
            f"len([True for {variable} in {of.text} if {truths.opposite(each)}]) == 0"
            for each in ([joined(found.defined)] if found.defined else [])
        )
        return Operand(
            f"[{found.text} for {variable} in {of.text}]", "list", (*of.defined, *decided), element=found.kind
        )

    def _joined(self, of: Operand, arguments: tuple[syntax.Expression, ...]) -> Operand:
        separator = self.operand(arguments[0]) if arguments else Operand('""', "string")
        if of.kind != "list" or of.element != "string" or separator.kind != "string":
            raise CannotSay("join is for lists of texts")
        return Operand(f"{separator.text}.join({of.text})", "string", (*separator.defined, *of.defined))

    # --- Variables ---

    @contextmanager
    def _ranging(self, of: Operand, arguments: tuple[syntax.Expression, ...]) -> Iterator[str]:
        """The variable of a macro, known while the rest of it is translated."""
        if len(arguments) != 2 or not isinstance(arguments[0], syntax.Name):
            raise CannotSay("a macro with two variables is not known here")
        name = arguments[0].text
        variable = self._variable(name)
        before = self._names
        self._names = {**before, name: self._element(of, variable)}
        try:
            yield variable
        finally:
            self._names = before

    def _element(self, of: Operand, variable: str) -> Operand:
        if of.kind == "map":
            return Operand(variable, "string")
        if of.kind != "list":
            raise CannotSay("what a macro goes over is not known here")
        if of.shape is None or of.shape.items is None or of.place is None:
            if of.element not in SCALARS:
                raise CannotSay("what a macro goes over is not known here")
            return Operand(variable, of.element)
        element = of.place.type.element if of.place.type.element is not None else ANY
        place = Place(variable, element, is_name=True)
        return of_place(of.shape.items, place, self._untyped(place), ())

    def _variable(self, name: str) -> str:
        self._variables += 1
        return f"_{''.join(names.camel(name)) or 'v'}{self._variables}".lower()

    def _untyped(self, place: Place) -> str:
        """The place as an operand: operators refuse unions."""
        plain = (
            place.type.text in _PLAIN_TYPES or place.type.text.startswith(("[", "{")) or place.type.schema is not None
        )
        return place.text if plain else self._conditions.untyped(place)


def _literal(value: object, kind: str) -> Operand:
    if kind not in SCALARS or not literals.can_be_written(value):
        raise CannotSay("it has a value that is not known here")
    text = literals.value(value)
    return Operand(f"({text})" if text.startswith("-") else text, kind)


def _is_boolean(of: syntax.Expression) -> bool:
    """Whether an expression is one by its form."""
    match of:
        case syntax.Literal(_, kind):
            return kind == "bool"
        case syntax.Unary("!", _) | syntax.Binary("&&" | "||" | "in" | "==" | "!=" | "<" | "<=" | ">" | ">=", _, _):
            return True
        case syntax.Choice(_, then, _):
            return _is_boolean(then)
        case syntax.Call(name, _, _):
            return name in ("has", "all", "exists", "exists_one", "hasValue", "matches", "isURL", *_TEXT_TESTS)
    return False


def _unescaped(name: str) -> str:
    """The name of a property; those that CEL reserves, and their characters, are written otherwise in rules."""
    if (
        len(name) > 4
        and name.startswith("__")
        and name.endswith("__")
        and name[2:-2].islower()
        and name not in dict(_ESCAPES)
    ):
        return name[2:-2]
    for written, meant in _ESCAPES:
        name = name.replace(written, meant)
    return name
