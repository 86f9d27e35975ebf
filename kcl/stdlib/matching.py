"""Matching with an end: some patterns take exponential time to find that a text does not match.

`re` cannot be interrupted. So a pattern that may take long on a text of this length is tried in a process of its own
first, which is ended after `MOST_SECONDS`.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import Final

from kcl.evaluator.value import ValueFailure

MOST_SECONDS: Final = 5.0
_FEW_STEPS: Final = 20_000_000
_SHORT: Final = 24
_TRIAL: Final = (
    "import json, re, sys\npattern, text = json.load(sys.stdin)\nfor _ in re.compile(pattern).finditer(text): pass\n"
)
_PIECE: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P?[<=!:>a-z]*|[()*+?|]|\{\d*(,?)\d*\}|.", re.DOTALL)


def tried(pattern: re.Pattern[str], text: str) -> re.Pattern[str]:
    """The pattern, once it is known to come to an end on this text. Raises ValueFailure if it is not."""
    if _may_take_long(pattern.pattern, len(text)) and sys.executable:
        _try(pattern, text)
    return pattern


def _try(pattern: re.Pattern[str], text: str) -> None:
    import json
    import subprocess  # hardly any program comes here

    try:
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", _TRIAL],
            input=json.dumps([pattern.pattern, text]).encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        message = f"the regular expression takes longer than {MOST_SECONDS:g} s on this text of {len(text)} characters"
        raise ValueFailure(message) from None


def _may_take_long(pattern: str, length: int) -> bool:
    if length <= _SHORT:
        return False
    degree = _degree(pattern)
    return degree is None or length ** (degree + 1) > _FEW_STEPS


@lru_cache(maxsize=1024)
def _degree(pattern: str) -> int | None:
    """How many repetitions without end follow each other; None when one of them repeats what can repeat itself."""
    degree = 0
    groups: list[bool] = []  # whether what can be matched in several ways stands in the group
    closed = False  # whether the group that just ended was such a one
    for found in _PIECE.finditer(pattern):
        piece = found[0]
        if piece[0] == "(":
            groups.append(False)
            closed = False
        elif piece == ")":
            closed = groups.pop() if groups else False
            if groups and closed:
                groups[-1] = True
        elif piece in ("*", "+") or (piece[0] == "{" and found[1] == ","):
            if closed:
                return None
            degree += 1
            if groups:
                groups[-1] = True
            closed = False
        elif piece in ("?", "|"):
            if groups:
                groups[-1] = True
        else:
            closed = False
    return degree
