"""Matching with an end: some patterns take exponential time to find that a text does not match.

`re` tries one way after the other, and nothing can interrupt it. So a pattern that may take long is matched by RE2, in
time linear in the text, wherever that has the same meaning. Where it has not (look-around, references to groups, other
classes of characters for this text), or is not installed, the pattern is tried in a process of its own first, which is
ended after `MOST_SECONDS`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from kcl.evaluator.value import ValueFailure
from kcl.patterns import pattern

MOST_SECONDS: Final = 5.0
_FEW_STEPS: Final = 20_000_000
_SHORT: Final = 16
_TRIAL: Final = (
    "import json, re, signal, sys\n"
    f"if hasattr(signal, 'alarm'): signal.alarm({int(MOST_SECONDS) + 2})\n"  # also where nobody is left to end it
    "pattern, text = json.load(sys.stdin)\n"
    "for _ in re.compile(pattern).finditer(text): pass\n"
)
_PIECE: Final = pattern(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P?[<=!:>a-z]*|[()*+?|]|\{\d*(,?)\d*\}|.", re.DOTALL)
_CLASSES: Final = pattern(r"\\[wWdDsSbB]|\(\?[a-z]*i")
"""What RE2 knows for ASCII alone."""
_SPACES: Final = pattern(r"\\[sS]")
_OTHER_SPACES: Final = pattern(r"[\x0b\x1c-\x1f]")
_OTHERWISE: Final = pattern(r"\{,|\(\?[a-z]*[xaL]")
"""What RE2 takes for something else."""
_ESCAPE: Final = pattern(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)


class LinearPattern:
    """A pattern of RE2 with what is used of Python's patterns."""

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern

    @property
    def groups(self) -> int:
        return int(self._pattern.groups)

    def search(self, text: str) -> Any:
        return self._pattern.search(text)

    def finditer(self, text: str) -> Iterator[Any]:
        """As Python does; the library's own iteration finds an empty match twice when it is not where it began."""
        last: tuple[int, int] | None = None
        for found in self._pattern.finditer(text):
            span = found.span()
            if span != last:
                yield found
            last = span

    def sub(self, expand: Callable[[Any], str], text: str, count: int = 0) -> str:
        parts: list[str] = []
        start = 0
        for found in islice(self.finditer(text), count or None):
            parts += (text[start : found.start()], expand(found))
            start = found.end()
        return "".join([*parts, text[start:]])


def tried(pattern: re.Pattern[str], text: str) -> re.Pattern[str] | LinearPattern:
    """A pattern that comes to an end on this text: this one, or RE2's of the same meaning.

    Raises ValueFailure if there is none.
    """
    if not _may_take_long(pattern.pattern, len(text)):
        return pattern
    linear = _linear(pattern.pattern) if _means_the_same(pattern.pattern, text) else None
    if linear is not None:
        return linear
    if len(text) > _SHORT and sys.executable:
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


def _means_the_same(pattern: str, text: str) -> bool:
    if _OTHERWISE.search(pattern):
        return False
    if not (text.isascii() and pattern.isascii()) and _CLASSES.search(pattern):
        return False
    return not (_SPACES.search(pattern) and _OTHER_SPACES.search(text))


@lru_cache(maxsize=256)
def _linear(pattern: str) -> LinearPattern | None:
    """RE2's pattern; None where it has none, or is not there."""
    try:
        import re2
    except ImportError:
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        return LinearPattern(re2.compile(_ESCAPE.sub(_respelled, pattern), options))
    except re2.error:
        return None


def _respelled(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    if code:
        return rf"\x{{{code}}}"
    return r"\z" if escape[3] == "Z" else escape[0]


def _may_take_long(pattern: str, length: int) -> bool:
    degree, choices = _complexity(pattern)
    return degree is None or length ** (degree + 1) << min(choices, 64) > _FEW_STEPS


@lru_cache(maxsize=1024)
def _complexity(pattern: str) -> tuple[int | None, int]:
    """How many repetitions without end follow each other; None when one of them repeats what can repeat itself.

    Then how often there is a choice besides.
    """
    degree = choices = 0
    groups: list[bool] = []  # whether what can be matched in several ways stands in the group
    closed = False  # whether the group that just ended was such a one
    quantified = False  # whether what was read last says how often: a `?` after that is no choice
    for found in _PIECE.finditer(pattern):
        piece = found[0]
        was_quantified, quantified = quantified, piece in ("*", "+", "?") or piece[0] == "{"
        if piece[0] == "(":
            groups.append(False)
            closed = False
        elif piece == ")":
            closed = groups.pop() if groups else False
            if groups and closed:
                groups[-1] = True
        elif piece in ("*", "+") or (piece[0] == "{" and len(piece) > 1):
            if closed:
                return None, choices
            if found[1] == "," or piece in ("*", "+"):
                degree += 1
                if groups:
                    groups[-1] = True
            closed = False
        elif piece in ("?", "|"):
            choices += not (piece == "?" and was_quantified)
            if groups:
                groups[-1] = True
        else:
            closed = False
    return degree, choices
