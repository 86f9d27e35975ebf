"""Answers in YAML, letter by letter as the real server writes them.

What would be read as a number, a boolean, null or a time stands between double quotes; text of several lines is a
literal block; all else is plain, or between single quotes where it cannot be, and folded at 80 columns.
"""

from __future__ import annotations

import re
from functools import cmp_to_key
from typing import Any

import yaml

_WORDS = frozenset(
    each
    for word in ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
    for each in (word, word.capitalize(), word.upper())
)
_OTHER_WORDS = frozenset(
    {"", "~", ".nan", ".NaN", ".NAN"} | {f"{sign}.{w}" for sign in ("", "+", "-") for w in ("inf", "Inf", "INF")}
)
_NUMBER = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)"
)
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
_TIME = re.compile(r"\d{4}-\d\d?-\d\d?([Tt]\d\d?:\d\d?:\d\d?(\.\d+)?(Z|[-+]\d\d:\d\d)| \d\d?:\d\d?:\d\d?(\.\d+)?)?")
_LAST_OF_PLANE = "\uffff"


def written(body: Any) -> bytes:
    return yaml.dump(_sorted(body), Dumper=_Dumper, allow_unicode=True, sort_keys=False).encode()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=cmp_to_key(_compared))}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


def _compared(one: str, other: str) -> int:
    """By letters, with others before them and numbers by their value: `k2` before `k10`."""
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a == b:
            continue
        if a.isalpha() or b.isalpha():
            return (-1 if a < b else 1) if a.isalpha() and b.isalpha() else (-1 if b.isalpha() else 1)
        before = re.search(r"[1-9]\d*$", one[:at]) if "0" in (a, b) else None
        numbers = [re.match(r"\d*", text[at:]) for text in (one, other)]
        digits = [number[0] if number else "" for number in numbers]
        values = [int(("1" if before else "0") + each) for each in digits]
        if values[0] != values[1]:
            return values[0] - values[1]
        return len(digits[0]) - len(digits[1]) or (-1 if a < b else 1)
    return len(one) - len(other)


def _style(text: str) -> str | None:
    if any(letter > _LAST_OF_PLANE for letter in text):
        return '"'  # the server escapes what takes four bytes
    if "\n" in text:
        return "|"
    if text in _WORDS or text in _OTHER_WORDS or _BASE_60.fullmatch(text) or _TIME.fullmatch(text):
        return '"'
    return '"' if text[0] in "+-.0123456789" and _NUMBER.fullmatch(text.replace("_", "")) else None


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))

    def choose_scalar_style(self) -> str:
        """Plain wherever its letters allow it: whether it would be read as something else was looked at before."""
        event = self.event
        assert isinstance(event, yaml.ScalarEvent)
        if event.style is None and event.implicit[1]:
            event.implicit = (True, True)
        style: str = super().choose_scalar_style()
        return style

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """A line ends at the first space past its width, which the break stands for."""
        self.write_indicator('"', True)
        for at, letter in enumerate(text):
            inside = split and 0 < at < len(text) - 1
            if letter == " " and inside and self.column > self.best_width and text[at - 1] != " ":
                self.write_indent()
                if text[at + 1] == " ":
                    self._put("\\")
            else:
                self._put(_escaped(letter))
        self.write_indicator('"', False)

    def _put(self, data: str) -> None:
        self.column += len(data)
        self.stream.write(data)


def _escaped(letter: str) -> str:
    if letter not in '"\\\ufeff' and (" " <= letter <= "~" or "\xa0" <= letter <= "\ufffd"):
        return letter
    if letter in yaml.emitter.Emitter.ESCAPE_REPLACEMENTS:
        return f"\\{yaml.emitter.Emitter.ESCAPE_REPLACEMENTS[letter]}"
    code = ord(letter)
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


_Dumper.add_representer(str, _Dumper.represent_text)
