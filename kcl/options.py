"""The options of a command, declared once: for argparse, and for who reads a command line without it.

Loading argparse and telling it all options of `kcl run` takes as long as an edited file takes to be parsed, checked and
evaluated. Most command lines need little of what it can do.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from kcl.records import dataclass

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Takes(Enum):
    """What follows an option, by the action of argparse that reads it."""

    NOTHING = "store_true"
    COUNTED = "count"
    """Nothing: how often it is there."""
    ONE = "store"
    ONE_EACH = "append"
    """One word, each time it is there."""
    SOME = "extend"
    """All words up to the next option."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `words` are its spellings, the first long one its name."""

    words: tuple[str, ...]
    takes: Takes
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    """What `ONE` may be, in small letters."""
    default: str | None = None
    in_any_case: bool = False

    @property
    def name(self) -> str:
        return next(each for each in self.words if each.startswith("--"))[2:].replace("-", "_")

    @property
    def unset(self) -> Any:
        """What it is where it is not there."""
        if self.takes in (Takes.ONE_EACH, Takes.SOME):
            return []
        return {Takes.NOTHING: False, Takes.COUNTED: 0, Takes.ONE: self.default}[self.takes]

    def declare(self, parser: ArgumentParser) -> None:
        told: dict[str, Any] = {"action": self.takes.value, "default": self.unset, "help": self.help or None}
        if self.takes is Takes.SOME:
            told["nargs"] = "+"
        if self.metavar is not None:
            told["metavar"] = self.metavar
        if self.choices is not None:
            told["choices"] = self.choices
        if self.in_any_case:
            told["type"] = str.lower
        parser.add_argument(*self.words, **told)


def plainly_read(words: Sequence[str], options: Sequence[Option], positional: str) -> SimpleNamespace | None:
    """What argparse would make of a command line; None for one that only argparse can read, or that is wrong.

    Read are options written out, each with what it takes in words of its own, and positional arguments that stand
    together.
    """
    known = {word: each for each in options for word in each.words}
    found: dict[str, Any] = {each.name: each.unset for each in options}
    given: list[str] = []
    at = 0
    while at < len(words):
        end = at + 1
        while end < len(words) and not words[end].startswith("-"):
            end += 1
        option = known.get(words[at])
        values = [*words[at + 1 : end]]
        if option is None:
            if given or words[at].startswith("-"):
                return None
            given = [words[at], *values]
        else:
            rest = _take(option, values, found)
            if rest is None or (rest and given):
                return None
            given = given or rest
        at = end
    return SimpleNamespace(**found, **{positional: given})


def _take(option: Option, values: list[str], found: dict[str, Any]) -> list[str] | None:
    """Puts in `found` what an option says; returns those of the words after it that are not its own, None if wrong."""
    if option.takes is Takes.NOTHING:
        found[option.name] = True
        return values
    if option.takes is Takes.COUNTED:
        found[option.name] += 1
        return values
    if not values:
        return None
    if option.takes is Takes.SOME:
        found[option.name] += values
        return []
    value = values[0].lower() if option.in_any_case else values[0]
    if option.choices is not None and value not in option.choices:
        return None
    if option.takes is Takes.ONE_EACH:
        found[option.name].append(value)
    else:
        found[option.name] = value
    return values[1:]
