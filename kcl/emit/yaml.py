"""Plain values → YAML in block style, spelled as the official tools spell it.

Hand-written because output is the hot path of a what-if edit and PyYAML's emitter is some thirty times slower.
A string is left plain only where YAML 1.1 and 1.2 readers agree that it is a string; several lines become a block
scalar; what no block scalar can hold is double-quoted. In two places we are stricter than the official tools: `=` and
`<<` are quoted, because readers of YAML 1.1 give them a meaning.

A configuration says the same thing many times, so whole lines are remembered by depth, key and value, and most lines
cost two look-ups. What is remembered is bounded, and determined by what it is found by: threads may share it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Final

from kcl.evaluator.numbers import float_text
from kcl.patterns import pattern

_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "=", "<<"})
_WORDS_IN_ANY_CASE: Final = frozenset(
    "".join(letters) for word in _WORDS for letters in itertools.product(*zip(word.lower(), word.upper(), strict=True))
)
_PLAINLY_PLAIN: Final = re.compile(r"[A-Za-z_/][\w/.=+@-]*+(?>(?::[\w/.=+@-]++)*)", re.ASCII).fullmatch
"""Texts that most are, told faster than by `_PLAIN`, which holds for each of them."""
_PLAIN: Final = pattern(
    r"""
    (?![-+.0-9\s]) (?![,\[\]{}#&*!|>'"%@`]) (?!\?(?:\s|$)) (?!:(?:\s|$)) (?!~$)   # no indicator, number or sign first
    [^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+
    (?<![\s:])                                                                  # no blank or colon last
    """,
    re.VERBOSE,
)
_INNER_INDICATOR: Final = pattern(r":\s|\s\#")
_SPECIAL: Final = pattern(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_NO_BLOCK: Final = pattern(r" (?:\n|\Z)")
_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\0": "\\0",
    "\a": "\\a",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\v": "\\v",
    "\f": "\\f",
    "\r": "\\r",
    "\x1b": "\\e",
    "\x85": "\\N",
    "\u2028": "\\L",
    "\u2029": "\\P",
}
_NEEDS_ESCAPE: Final = pattern(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]')
_LONGEST_SIMPLE_KEY: Final = 128


def yaml_text(value: object, *, sort_keys: bool = False) -> str:
    """One YAML document with its final line break."""
    out: list[str] = []
    if isinstance(value, dict) and value:
        _mapping(value, _TOP, out, sort_keys)
    elif isinstance(value, list | tuple) and value:
        _sequence(value, _TOP, out, sort_keys)
    else:
        return _scalar(_exact(value), "  ") + "\n"
    out.append("")
    return "\n".join(out)


def yaml_stream(values: Iterable[object], *, sort_keys: bool = False, separator: str = "---") -> str:
    """Documents one after the other with a line holding `separator` between them."""
    return f"{separator}\n".join(yaml_text(value, sort_keys=sort_keys) for value in values)


def _one_line(text: str) -> str:
    """`text` on one line: plain, single- or double-quoted. For text without usable line breaks."""
    if _PLAIN.fullmatch(text) and text not in _WORDS_IN_ANY_CASE and not _INNER_INDICATOR.search(text):
        return text
    if "\n" in text or _SPECIAL.search(text):
        return _double_quoted(text)
    return "'" + text.replace("'", "''") + "'"


def _double_quoted(text: str) -> str:
    return '"' + _NEEDS_ESCAPE.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    known = _ESCAPES.get(char)
    if known is not None:
        return known
    code = ord(char)
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}"


def _block(text: str, indent: str) -> str:
    """`text` as a literal block scalar whose lines stand at `indent`, without its final line break."""
    body = text.rstrip("\n")
    kept = len(text) - len(body)
    hint = "2" if text[0] in " \n" else ""
    if kept == 0:
        chomping = "-"
    elif kept == 1 and body:
        chomping = ""
    else:
        chomping = "+"
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return "\n".join([f"|{hint}{chomping}", *(indent + line if line else "" for line in lines)])


def _scalar(value: Any, indent: str) -> str:
    """A scalar or an empty container; `indent` is where the lines of a block scalar would stand."""
    if type(value) is str:
        if "\n" in value and not _SPECIAL.search(value) and not _NO_BLOCK.search(value):
            return _block(value, indent)
        return _one_line(value)
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if type(value) is float:
        return float_text(value)
    if type(value) is dict:
        return "{}"
    if type(value) is list:
        return "[]"
    return int.__repr__(value)


def _exact(value: object) -> object:
    """`value` as one of the types told apart by identity below. Raises TypeError for what is no plain value."""
    if value is None or type(value) in (str, int, bool, float, dict, list):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, list | tuple):
        return list(value)
    raise TypeError(f"not a plain value: {type(value).__name__}")


_LONGEST_KEPT: Final = 100
_MOST_LINES: Final = 256
_MOST_KEYS: Final = 256


class _Lines(dict[str | int, str]):
    """Lines that begin with the same key, or with the dash of an item, by the text or number at their end.

    `start` is that beginning with its indentation and without the blank before a value; `indent` is where the lines of
    a block scalar stand. `is_compact`: the first line of a container stands beside `start` and not below.
    """

    __slots__ = ("indent", "is_compact", "start")

    def __init__(self, start: str, indent: str, is_compact: bool) -> None:
        super().__init__()
        self.start = start
        self.indent = indent
        self.is_compact = is_compact

    def __missing__(self, value: str | int) -> str:
        if type(value) is str:
            if _PLAINLY_PLAIN(value) and value not in _WORDS_IN_ANY_CASE:
                line = f"{self.start} {value}"
            else:
                line = f"{self.start} {_scalar(value, self.indent)}"
            if len(value) > _LONGEST_KEPT:
                return line
        else:
            line = f"{self.start} {value}"
        if len(self) >= _MOST_LINES:
            self.clear()
        self[value] = line
        return line


class _Keys(dict[str, _Lines]):
    """The keys at one depth."""

    __slots__ = ("indent",)

    def __init__(self, indent: str) -> None:
        super().__init__()
        self.indent = indent

    def __missing__(self, key: str) -> _Lines:
        inner = self.indent + "  "
        if len(key) > _LONGEST_SIMPLE_KEY or "\n" in key:
            return _Lines(f"{self.indent}? {_scalar(_exact(key), inner)}\n{self.indent}:", inner, True)
        lines = _Lines(f"{self.indent}{_one_line(key)}:", inner, False)
        if len(self) >= _MOST_KEYS:
            self.clear()
        self[key] = lines
        return lines


class _Level:
    """One depth: what is remembered there, and the depth below."""

    __slots__ = ("below", "indent", "items", "keys")

    def __init__(self, indent: str) -> None:
        self.indent = indent
        self.keys = _Keys(indent)
        self.items = _Lines(indent + "-", indent + "  ", True)
        self.below: _Level | None = None

    def descend(self) -> _Level:
        below = self.below
        if below is None:
            below = self.below = _Level(self.indent + "  ")
        return below


_TOP: Final = _Level("")
_OTHERS: Final = frozenset({bool, float, dict, list})  # which are empty when they are asked for here

# From here on every item of `out` begins with the indentation of its depth and lacks the break that ends it. Types are
# compared and not asked for, and the two loops spell out what is frequent: this is where the time goes.


def _mapping(value: dict[str, Any], level: _Level, out: list[str], sort_keys: bool) -> None:
    add, keys = out.append, level.keys
    for key, item in sorted(value.items(), key=itemgetter(0)) if sort_keys else value.items():
        kind = type(item)
        if kind is str or kind is int:
            add(keys[key][item])
        elif kind is dict and item:
            lines = keys[key]
            if lines.is_compact:
                _beside(lines.start, item, level, out, sort_keys)
            else:
                add(lines.start)
                _mapping(item, level.below or level.descend(), out, sort_keys)
        elif kind is list and item:
            lines = keys[key]
            if lines.is_compact:
                _beside(lines.start, item, level, out, sort_keys)
            else:
                add(lines.start)
                _sequence(item, level, out, sort_keys)
        elif item is None or kind in _OTHERS:
            add(f"{keys[key].start} {_scalar(item, '')}")
        else:
            _mapping({key: _exact(item)}, level, out, sort_keys)


def _sequence(value: Iterable[Any], level: _Level, out: list[str], sort_keys: bool) -> None:
    add, lines = out.append, level.items
    for item in value:
        kind = type(item)
        if kind is str or kind is int:
            add(lines[item])
        elif item and (kind is dict or kind is list):
            _beside(lines.start, item, level, out, sort_keys)
        elif item is None or kind in _OTHERS:
            add(f"{lines.start} {_scalar(item, '')}")
        else:
            _sequence((_exact(item),), level, out, sort_keys)


def _beside(start: str, value: Any, level: _Level, out: list[str], sort_keys: bool) -> None:
    """A container that is not empty, its first line beside `start`, one depth below `level`."""
    below = level.below or level.descend()
    first = len(out)
    if type(value) is dict:
        _mapping(value, below, out, sort_keys)
    else:
        _sequence(value, below, out, sort_keys)
    out[first] = f"{start} {out[first][len(below.indent) :]}"
