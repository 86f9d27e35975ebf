"""Expressions that conditions are about, and what conditions are joined of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from kcl.records import dataclass
from kcl.tools.imports import names, texts
from kcl.tools.imports.types import KINDS, Type

LONGEST_CONDITION: Final = 4_000


class NeedsWhole(Exception):
    """The condition is about a whole that has no name here."""


class CannotSay(Exception):
    """There is no condition; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """An expression; `text` is "" for the instance of the schema itself."""

    text: str
    type: Type
    is_name: bool = False
    possible: frozenset[str] = KINDS
    """The kinds that other conditions, beside which this one stands, leave."""

    def whole(self) -> str:
        if not self.text:
            raise NeedsWhole
        return self.text

    def member(self, name: str, of: Type) -> Place:
        if self.text:
            return Place(f"{self.text}[{texts.text_literal(name)}]", of)
        if not names.is_identifier(name):
            raise NeedsWhole
        return Place(names.attribute(name), of, is_name=True)


Part: TypeAlias = Callable[[Place], list[str]]
"""One thing that a shape says, as conditions on a place."""


def joined(conditions: Sequence[str]) -> str:
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
