"""Regular expressions of the official library (Perl-like, Unicode) as Python's.

Most is spelled alike. What differs is rewritten in one pass over the pattern: anchors, named groups and references to
them, escapes, and classes with POSIX names, Unicode properties or intersections (`[a-z&&[^aeiou]]`).
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache
from typing import Final

from kcl.patterns import pattern

_MULTILINE: Final = pattern(r"\(\?[a-z]*m")
_NAMED_GROUP: Final = pattern(r"\(\?<([A-Za-z_]\w*)>")
_NAMED_REFERENCE: Final = pattern(r"\\k(?:<(\w+)>|\{(\w+)\}|'(\w+)')")
_PROPERTY: Final = pattern(r"\\([pP])(?:\{(\^?)(\w+)\}|(\w))")
_CODE: Final = pattern(r"\\x\{([0-9a-fA-F]+)\}|\\u\{([0-9a-fA-F]+)\}")
_POSIX_CLASS: Final = pattern(r"\[:(\^?)(\w+):\]")
_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\x0b\f\r ",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
_SCRIPTS: Final = {
    "Han": "\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af",
    "Hiragana": "\u3041-\u3096\u309d-\u309f",
    "Katakana": "\u30a1-\u30fa\u30fd-\u30ff\u31f0-\u31ff\uff66-\uff9d",
    "Hangul": "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3",
    "Latin": "A-Za-zªºÀ-ÖØ-öø-ʸ\u1e00-\u1eff\u2c60-\u2c7f\ua722-\ua787\uff21-\uff3a\uff41-\uff5a",
    "Greek": "\u0370-\u03e1\u03f0-\u03ff\u1f00-\u1fff",
    "Cyrillic": "\u0400-\u052f\u1c80-\u1c88\u2de0-\u2dff\ua640-\ua69f",
    "Arabic": "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc",
    "Hebrew": "\u0591-\u05f4\ufb1d-\ufb4f",
    "Thai": "\u0e01-\u0e3a\u0e40-\u0e5b",
}
_SET_OPERATORS: Final = ("&&", "--")
_LONG_NAMES: Final = {
    "Letter": "L",
    "Alphabetic": "L",
    "Lowercase": "Ll",
    "Uppercase": "Lu",
    "Number": "N",
    "Digit": "Nd",
    "Punctuation": "P",
    "Symbol": "S",
    "Separator": "Z",
    "Mark": "M",
    "White_Space": "Z",
}


class PatternError(ValueError):
    """A pattern that is none; the text says why."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """Raises PatternError."""
    try:
        return re.compile(_Translation(pattern).text())
    except (re.error, RecursionError, OverflowError) as problem:
        raise PatternError(str(problem)) from None


class _Translation:
    """One pass over a pattern."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self._multiline = _MULTILINE.search(pattern) is not None

    def text(self) -> str:
        parts: list[str] = []
        while self._position < len(self._pattern):
            parts.append(self._item())
        return "".join(parts)

    def _taken(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        """What stands at this place, if it is of that form; it is passed then."""
        match = expression.match(self._pattern, self._position)
        if match is not None:
            self._position = match.end()
        return match

    def _item(self) -> str:
        char = self._pattern[self._position]
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        named = self._taken(_NAMED_GROUP)
        if named is not None:
            return f"(?P<{named[1]}>"
        self._position += 1
        return r"\Z" if char == "$" and not self._multiline else char

    def _escape(self) -> str:
        """An escape outside of a class."""
        reference = self._taken(_NAMED_REFERENCE)
        if reference is not None:
            return f"(?P={reference[1] or reference[2] or reference[3]})"
        found = self._property()
        if found is not None:
            negated, members = found
            return f"[{'^' if negated else ''}{members}]"
        text = self._plain_escape()
        match text:
            case r"\z":
                return r"\Z"
            case r"\h":
                return "[0-9A-Fa-f]"
            case r"\H":
                return "[^0-9A-Fa-f]"
            case r"\R":
                return r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])"
            case _:
                return text

    def _plain_escape(self) -> str:
        code = self._taken(_CODE)
        if code is not None:
            number = int(code[1] or code[2], 16)
            if number > sys.maxunicode:
                raise re.error(f"there is no character {code[0]}")
            return re.escape(chr(number))
        text = self._pattern[self._position : self._position + 2]
        self._position += 2
        return text

    def _property(self) -> tuple[bool, str] | None:
        """`\\p{..}`: whether it is negated, and its members as they stand inside a class."""
        match = self._taken(_PROPERTY)
        if match is None:
            return None
        return (match[1] == "P") != (match[2] == "^"), _members(match[3] or match[4])

    def _class(self) -> str:
        """A class, with the brackets. What it is intersected with, or loses, becomes conditions in front of it."""
        self._position += 1
        negated = self._pattern.startswith("^", self._position)
        self._position += negated
        own = self._class_part(first=True)
        conditions: list[str] = []
        while self._pattern.startswith(_SET_OPERATORS, self._position):
            sign = "=" if self._pattern.startswith("&&", self._position) else "!"
            self._position += 2
            conditions.append(f"(?{sign}{self._class_part(first=False)})")
        self._position += 1  # the closing bracket
        if not conditions and not negated:
            return own
        if not conditions and own.startswith("[") and not own.startswith("[^"):
            return f"[^{own[1:]}"
        joined = "".join(conditions)
        return rf"(?:(?!{joined}{own})[\s\S])" if negated else f"(?:{joined}{own})"

    def _class_part(self, *, first: bool) -> str:
        """Members up to an operator or the closing bracket, as a class or an alternative of classes."""
        members: list[str] = []
        alternatives: list[str] = []
        start = self._position
        while True:
            if self._position >= len(self._pattern):
                raise re.error("unterminated character set")
            char = self._pattern[self._position]
            if char == "]" and not (first and self._position == start):
                break
            if self._pattern.startswith(_SET_OPERATORS, self._position):
                break
            posix = self._taken(_POSIX_CLASS)
            if posix is not None:
                if posix[2] not in _POSIX:
                    raise re.error(f"unknown class '[:{posix[2]}:]'")
                (alternatives if posix[1] else members).append(
                    f"[^{_POSIX[posix[2]]}]" if posix[1] else _POSIX[posix[2]]
                )
            elif char == "[":
                alternatives.append(self._class())
            elif char == "\\":
                found = self._property()
                if found is None:
                    text = self._plain_escape()
                    members.append("0-9A-Fa-f" if text == r"\h" else text)
                elif found[0]:
                    alternatives.append(f"[^{found[1]}]")
                else:
                    members.append(found[1])
            else:
                # What is doubled in a class will mean something to Python one day, and it warns of that now.
                members.append(f"\\{char}" if char in "]&~|" else char)
                self._position += 1
        own = "".join(members)
        if own.startswith("^"):
            own = "\\" + own
        classes = [*([f"[{own}]"] if own else []), *alternatives]
        if not classes:
            raise re.error("unterminated character set")
        return classes[0] if len(classes) == 1 else f"(?:{'|'.join(classes)})"


def _members(name: str) -> str:
    """The characters of a Unicode property, as they stand inside a class. Raises re.error for one not known."""
    if name in _SCRIPTS:
        return _SCRIPTS[name]
    category = _LONG_NAMES.get(name, name)
    members = _category(category)
    if not members:
        raise re.error(f"unknown property '{name}'")
    return members


@lru_cache(maxsize=64)
def _category(category: str) -> str:
    """Ranges of the characters in a general category (`Lu`) or a group of them (`L`)."""
    ranges: list[str] = []
    start: int | None = None
    for code in range(sys.maxunicode + 2):
        inside = code <= sys.maxunicode and unicodedata.category(chr(code)).startswith(category)
        if inside and start is None:
            start = code
        elif not inside and start is not None:
            ranges.append(f"\\U{start:08x}-\\U{code - 1:08x}")
            start = None
    return "".join(ranges)
