"""Hints are right or absent: programs without errors get none, and those with one mistake get hints that mend it."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Final

import pytest

from kcl.api import parse, taught
from tests.kcl.teaching.mending import mended, told
from tests.properties.fuzz import own_programs

_TRIES: Final = 25
_MISTAKES: Final = {
    "a brace is not closed": (r"\}$", "", 0.9),
    "a bracket is not closed": (r"\]$", "", 0.7),
    "a parenthesis is not closed": (r"\)$", "", 0.5),
    "a string is not closed": (r"(?<=\w)\"$", "", 0.8),
    "&&": (r" and ", " && ", 0.9),
    "||": (r" or ", " || ", 0.9),
    "!": (r"\bnot (?!in)", "!", 0.9),
    "a line is in too far": (r"^(    \w)", r"  \1", 0.9),
    "a line is not in far enough": (r"^ (   \w)", r"\1", 0.9),
    "a tab": (r"^    (\w)", r"\t\1", 0.9),
    "no colon": (r"^(\s*(?:schema|if|elif|check)\b.*):$", r"\1", 0.9),
    "a semicolon": (r"^(\w+ = \w+)$", r"\1;", 0.9),
    "else if": (r"^(\s*)elif ", r"\1else if ", 0.9),
    "a colon at the top": (r"^(\w+) = ", r"\1: ", 0.6),
    "class": (r"^schema", "class", 0.9),
    "a bracket too many": (r"\]$", "]]", 0.8),
    "another bracket": (r"\]$", ")", 0.9),
}
"""What is done to a right program, and the least part of such mistakes that all have a hint with edits."""


@pytest.fixture(scope="module")
def programs() -> list[str]:
    return [each for each in own_programs() if len(each) < 20_000 and not parse(each).diagnostics]


@pytest.mark.parametrize("mistake", _MISTAKES)
def test_what_hints_say_mends_the_program(mistake: str, programs: list[str]) -> None:
    searched, written, least = _MISTAKES[mistake]
    rng, outcomes = random.Random(mistake), Counter[str]()
    for _ in range(_TRIES):
        program = rng.choice(programs)
        places = list(re.finditer(searched, program, re.MULTILINE))
        if not places:
            continue
        place = rng.choice(places)
        text = program[: place.start()] + place.expand(written) + program[place.end() :]
        official = parse(text).diagnostics
        if not official:
            continue
        shown = told(text)
        assert shown and not taught(official, {"main.k": text})[0].follows, text
        outcomes["broken"] += 1
        if all(hint.edits for each in shown for hint in each.hints) and all(each.hints for each in shown):
            outcomes["hinted"] += 1
            assert not parse(mended(text, shown)).diagnostics, text
    assert outcomes["broken"], "no program was broken"
    assert outcomes["hinted"] >= outcomes["broken"] * least, outcomes


def test_errors_are_told_apart_from_what_follows_from_them(programs: list[str]) -> None:
    """Of a bracket that is not closed nearly always one message is left."""
    rng, alone, broken = random.Random(5), 0, 0
    for _ in range(60):
        program = rng.choice(programs)
        places = [each.start() for each in re.finditer(r"[\]})]$", program, re.MULTILINE)]
        if not places:
            continue
        place = rng.choice(places)
        text = program[:place] + program[place + 1 :]
        if parse(text).diagnostics:
            broken += 1
            alone += len(told(text)) == 1
    assert broken > 20
    assert alone >= broken * 0.8
