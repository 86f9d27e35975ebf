"""`import regex`.

Patterns are those of the official library (`kcl.stdlib.patterns`). `match` looks anywhere in the string.
"""

from __future__ import annotations

import re
from typing import Any, Final

from kcl.evaluator.sizes import text_of
from kcl.evaluator.value import KList, ValueFailure
from kcl.patterns import pattern
from kcl.stdlib.declaration import Module
from kcl.stdlib.matching import tried
from kcl.stdlib.patterns import PatternError, compiled

MODULE: Final = Module("regex")
_GROUP_REFERENCE: Final = pattern(r"\$(?:\$|\{(\w+)\}|(\w+))")


def _compiled(pattern: str) -> re.Pattern[str]:
    """Raises ValueFailure for a pattern that is none."""
    try:
        return compiled(pattern)
    except PatternError as problem:
        raise ValueFailure(f"invalid regular expression '{pattern}': {problem}") from None


@MODULE.function("match(string: str, pattern: str) -> bool")
def match(string: str, pattern: str) -> bool:
    return tried(_compiled(pattern), string).search(string) is not None


@MODULE.function("search(string: str, pattern: str) -> bool")
def search(string: str, pattern: str) -> bool:
    return tried(_compiled(pattern), string).search(string) is not None


@MODULE.function("compile(pattern: str) -> bool")
def compile(pattern: str) -> bool:
    try:
        _compiled(pattern)
    except ValueFailure:
        return False
    return True


@MODULE.function("findall(string: str, pattern: str) -> [any]")
def findall(string: str, pattern: str) -> KList:
    """Whole matches, or the lists of groups where the pattern has more than one."""
    compiled = tried(_compiled(pattern), string)
    if compiled.groups < 2:
        return KList(found.group() for found in compiled.finditer(string))
    return KList(KList(group or "" for group in found.groups()) for found in compiled.finditer(string))


@MODULE.function("replace(string: str, pattern: str, replace: str, count?: int) -> str")
def replace(string: str, pattern: str, replace: str, count: int = 0) -> str:
    """`$1`, `${1}` and `$name` in the replacement stand for groups, `$$` for a dollar sign."""

    def expand(found: Any) -> str:
        def group(reference: re.Match[str]) -> str:
            name = reference[1] or reference[2]
            if name is None:
                return "$"
            try:
                return found[int(name) if name.isdigit() else name] or ""
            except IndexError:
                return ""

        return _GROUP_REFERENCE.sub(group, replace)

    found = tried(_compiled(pattern), string).sub(expand, string, count=max(count, 0))
    text_of(len(found))
    return found


@MODULE.function("split(string: str, pattern: str, maxsplit?: int) -> [str]")
def split(string: str, pattern: str, maxsplit: int = 0) -> KList:
    """With `maxsplit` so many parts and no rest, as officially."""
    parts: list[str] = []
    start = 0
    for found in tried(_compiled(pattern), string).finditer(string):
        if maxsplit > 0 and len(parts) >= maxsplit:
            return KList(parts)
        parts.append(string[start : found.start()])
        start = found.end()
    return KList([*parts, string[start:]])
