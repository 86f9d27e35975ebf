"""Broken programs are refused as the official parser refuses them: the same messages, places and order."""

from __future__ import annotations

import os
import random
import re
from collections import Counter

from kcl.api import parse
from kcl.diagnostics import Code
from kcl.source import SourceFile
from tests.properties.fuzz import own_programs
from tests.properties.mutation import mutated
from tests.properties.official import Gone, SyntaxAnswer, official

_INPUTS = int(os.environ.get("KCL_BROKEN_PROGRAMS", "150"))
_PLACES = re.compile(r", start: \d+, stop: \d+")

Finding = tuple[int, int, str]


def ours(text: str) -> list[Finding]:
    source = SourceFile("main.k", text)
    found = []
    for item in parse(text).diagnostics:
        assert item.primary is not None
        if item.code is Code.INVALID_SYNTAX:
            place = source.position(item.primary.start)
            found.append((place.line, place.column, item.message))
    return found


def theirs(text: str, answer: SyntaxAnswer) -> list[Finding]:
    """As its command shows them: what is missing at the end of a line stands at its last character."""
    found = []
    lines = text.split("\n")
    for line, column, message in answer.errors:
        if line == len(lines) - 1 and column > len(lines[line - 1]) and not lines[-1]:
            column = len(lines[line - 1])  # the end of the file
        at_end = column >= len(lines[line - 1]) and column
        found.append((line, column if at_end else column + 1, _PLACES.sub("", message)))
    return found


def test_broken_programs_get_the_official_messages() -> None:
    dice, programs = random.Random(11), own_programs()
    outcomes: Counter[str] = Counter()
    different = []
    with official() as parser:
        for _ in range(_INPUTS):
            text = mutated(dice, dice.choice(programs), programs)
            try:
                wanted = theirs(text, parser.syntax(text))
            except Gone:
                continue
            found = ours(text)
            same = wanted[:50] == found
            outcomes["same" if same else "other"] += 1
            outcomes["refused"] += bool(wanted)
            outcomes["by one only"] += bool(wanted) != bool(found)
            if not same:
                different.append(f"{text}\nours: {found[:5]}\nofficially: {wanted[:5]}")
    assert outcomes["refused"] > _INPUTS * 0.5
    assert outcomes["by one only"] <= _INPUTS * 0.01, different
    assert outcomes["same"] >= (outcomes["same"] + outcomes["other"]) * 0.97, "\n\n".join(different[:5])
