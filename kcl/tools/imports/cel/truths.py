"""What is known of a boolean of CEL: when it is true, and when it is false.

An error of CEL (a field that is not set, an index out of range) is neither, and `&&` and `||` let it pass where the
other side decides. So both conditions are written, and each holds only where nothing fails. Where nothing can fail the
second is the negation of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.tools.imports.places import joined

TRUE, FALSE = "True", "False"
_PRESENCE: Final = pattern(r'([\w$."\[\]]+) (not )?in \[None, Undefined\]')


@dataclass(frozen=True, slots=True)
class Truth:
    """Conditions of KCL; `is_total` where one of them always holds."""

    true: str
    false: str
    is_total: bool

    @property
    def decided(self) -> list[str]:
        """The condition that one of them holds; none where that is so."""
        return [] if self.is_total else [either([self.true, self.false])]


ALWAYS: Final = Truth(TRUE, FALSE, True)
NEVER: Final = Truth(FALSE, TRUE, True)


def of(condition: str, defined: Sequence[str] = ()) -> Truth:
    """A condition that can be asked where all of `defined` hold."""
    if not defined:
        return Truth(condition, opposite(condition), True)
    return Truth(joined([*defined, condition]), joined([*defined, opposite(condition)]), False)


def opposite(condition: str) -> str:
    """A condition that holds where this one does not."""
    if condition in (TRUE, FALSE):
        return FALSE if condition == TRUE else TRUE
    found = _PRESENCE.fullmatch(condition)
    if found is not None:
        return f"{found[1]} {'in' if found[2] else 'not in'} [None, Undefined]"
    return f"not {joined([condition])}"


def either(conditions: Sequence[str]) -> str:
    """One of them."""
    kept = list(dict.fromkeys(each for each in conditions if each != FALSE))
    if TRUE in kept:
        return TRUE
    if not kept:
        return FALSE
    return kept[0] if len(kept) == 1 else "(" + " or ".join(joined([each]) for each in kept) + ")"


def negated(of_: Truth) -> Truth:
    return Truth(of_.false, of_.true, of_.is_total)


def both(left: Truth, right: Truth) -> Truth:
    true = joined([left.true, right.true])
    if left.is_total and right.is_total:
        return Truth(true, opposite(true), True)
    return Truth(true, either([left.false, right.false]), False)


def any_of(left: Truth, right: Truth) -> Truth:
    true = either([left.true, right.true])
    if left.is_total and right.is_total:
        return Truth(true, opposite(true), True)
    return Truth(true, joined([left.false, right.false]), False)


def chosen(condition: Truth, then: Truth, otherwise: Truth) -> Truth:
    true = either([joined([condition.true, then.true]), joined([condition.false, otherwise.true])])
    if condition.is_total and then.is_total and otherwise.is_total:
        return Truth(true, opposite(true), True)
    false = either([joined([condition.true, then.false]), joined([condition.false, otherwise.false])])
    return Truth(true, false, False)
