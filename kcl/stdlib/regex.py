"""`import regex`.

Patterns are those of the official library (Perl-like, Unicode); they are translated to Python's where the spelling
differs. `match` looks anywhere in the string.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from kcl.evaluator.value import KList, ValueFailure
from kcl.stdlib.declaration import Module

MODULE: Final = Module("regex")
_GROUP_REFERENCE: Final = re.compile(r"\$(?:\$|\{(\w+)\}|(\w+))")
_TRANSLATED: Final = re.compile(r"\\(?:p\{(\w+)\}|P\{(\w+)\}|x\{([0-9a-fA-F]+)\}|.)|\(\?<([A-Za-z_]\w*)>|\$", re.DOTALL)
_MULTILINE: Final = re.compile(r"\(\?[a-z]*m")
_CLASSES: Final = {
    "L": r"[^\W\d_]",
    "Letter": r"[^\W\d_]",
    "Alphabetic": r"[^\W\d_]",
    "N": r"\d",
    "Nd": r"\d",
    "Lu": "[A-ZÀ-ÖØ-Þ]",
    "Ll": "[a-zß-öø-ÿ]",
}


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Raises ValueFailure for a pattern that is none."""
    try:
        return re.compile(_TRANSLATED.sub(_translate, pattern))
    except (re.error, RecursionError, OverflowError) as problem:
        raise ValueFailure(f"invalid regular expression '{pattern}': {problem}") from None


def _translate(match: re.Match[str]) -> str:
    text = match.group()
    if text == r"\z":
        return r"\Z"
    if text == "$":
        return r"\Z" if not _in_class(match) and not _MULTILINE.search(match.string) else text
    if text == r"\h":
        return r"[0-9A-Fa-f]"
    known, negated, code, name = match.groups()
    if name is not None:
        return f"(?P<{name}>"
    if code is not None:
        return re.escape(chr(int(code, 16)))
    if known is not None and known in _CLASSES:
        return _CLASSES[known]
    if negated is not None and negated in _CLASSES:
        return f"(?:(?!{_CLASSES[negated]}).)"
    return text


def _in_class(match: re.Match[str]) -> bool:
    """Whether the match stands inside `[...]`."""
    inside = escaped = False
    for char in match.string[: match.start()]:
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == "[" and not inside:
            inside = True
        elif char == "]" and inside:
            inside = False
    return inside


@MODULE.function("match(string: str, pattern: str) -> bool")
def match(string: str, pattern: str) -> bool:
    return _compiled(pattern).search(string) is not None


@MODULE.function("search(string: str, pattern: str) -> bool")
def search(string: str, pattern: str) -> bool:
    return _compiled(pattern).search(string) is not None


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
    compiled = _compiled(pattern)
    if compiled.groups < 2:
        return KList(found.group() for found in compiled.finditer(string))
    return KList(KList(group or "" for group in found.groups()) for found in compiled.finditer(string))


@MODULE.function("replace(string: str, pattern: str, replace: str, count?: int) -> str")
def replace(string: str, pattern: str, replace: str, count: int = 0) -> str:
    """`$1`, `${1}` and `$name` in the replacement stand for groups, `$$` for a dollar sign."""

    def expand(found: re.Match[str]) -> str:
        def group(reference: re.Match[str]) -> str:
            name = reference[1] or reference[2]
            if name is None:
                return "$"
            try:
                return found[int(name) if name.isdigit() else name] or ""
            except IndexError:
                return ""

        return _GROUP_REFERENCE.sub(group, replace)

    return _compiled(pattern).sub(expand, string, count=max(count, 0))


@MODULE.function("split(string: str, pattern: str, maxsplit?: int) -> [str]")
def split(string: str, pattern: str, maxsplit: int = 0) -> KList:
    parts: list[str] = []
    start = 0
    for found in _compiled(pattern).finditer(string):
        if maxsplit > 0 and len(parts) >= maxsplit:
            break
        parts.append(string[start : found.start()])
        start = found.end()
    return KList([*parts, string[start:]])
