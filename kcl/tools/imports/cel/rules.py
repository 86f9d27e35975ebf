"""The rules of one shape as checks."""

from __future__ import annotations

from kcl.records import dataclass
from kcl.tools.imports import texts
from kcl.tools.imports.cel import syntax
from kcl.tools.imports.cel.operands import of_place
from kcl.tools.imports.cel.translation import Translation
from kcl.tools.imports.conditions import Conditions
from kcl.tools.imports.places import LONGEST_CONDITION, CannotSay, Place, joined
from kcl.tools.imports.shapes import Rule, Shape


@dataclass(frozen=True, slots=True)
class Checked:
    """`condition` holds where `guards` do; `message` is an expression of KCL."""

    condition: str
    guards: tuple[str, ...]
    message: str

    def check(self, *more_guards: str) -> str:
        """A line of a check block."""
        guards = (*more_guards, *self.guards)
        return f"{self.condition}{f' if {_all(guards)}' if guards else ''}, {self.message}"

    def alone(self) -> str:
        """One condition, that needs no guards and has no message."""
        return self.condition if not self.guards else f"(not {joined(self.guards)} or {joined([self.condition])})"


def checked(conditions: Conditions, shape: Shape, rule: Rule, place: Place) -> Checked:
    """A rule about the value at a place. Raises CannotSay, with the rule in its text, and NeedsWhole."""
    try:
        if not rule.text:
            raise CannotSay("it is empty")
        translation = Translation(conditions, of_place(shape, place, place.text, ()))
        condition = translation.truth(syntax.parsed(rule.text)).true
        if len(condition) > LONGEST_CONDITION:
            raise CannotSay("its condition is too long to be written")
        return Checked(condition, tuple(translation.guards), _message(conditions, shape, rule, place))
    except (CannotSay, syntax.CelError) as problem:
        raise CannotSay(f"a rule is not checked, since {problem}: {rule.told}") from None


def _message(conditions: Conditions, shape: Shape, rule: Rule, place: Place) -> str:
    plain = texts.text_literal(rule.message or f"failed rule: {' '.join(rule.text.split())}")
    if not rule.message_expression:
        return plain
    try:
        translation = Translation(conditions, of_place(shape, place, place.text, ()))
        found = translation.operand(syntax.parsed(rule.message_expression))
    except (CannotSay, syntax.CelError):
        return plain
    if found.kind != "string":
        return plain
    return f"({found.text} if {joined(found.defined)} else {plain})" if found.defined else found.text


def _all(guards: tuple[str, ...]) -> str:
    return guards[0] if len(guards) == 1 else joined(guards)
