"""Runs of plain data: lines of a configuration or a list that hold a constant each, read at one go.

    name = "web"
    port: 80
    hosts = ["a.example.org", "b.example.org"]

Files that programs write are made of such lines, and to take each apart into tokens costs several times what is left to
do about it. So the lexer gives lines of one indentation, without comments between them, as one token; here are the
patterns it finds them by and the nodes they stand for. What a line may hold is kept so narrow that it means the same
whatever surrounds it: names or quoted keys, numbers as they are usually written, strings without escapes and
interpolations, names, lists of these on one line, and configurations of such lines one level further in.
"""

from __future__ import annotations

import re

from kcl.patterns import pattern
from kcl.syntax import ast

_WORDS = "True|False|None|Undefined|all|any|elif|else|filter|for|if|lambda|map|not"
"""Words that are never names, and those that may begin a quantifier."""
_NAME = rf"(?!(?:{_WORDS})\b)[^\W\d]\w*+"
_DOUBLE_QUOTED = r'"(?!"")[^"\\$\r\n\0]*+"'
_SINGLE_QUOTED = r"'(?!'')[^'\\$\r\n\0]*+'"
_QUOTED = f"{_DOUBLE_QUOTED}|{_SINGLE_QUOTED}"
_INTEGER = r"0(?![0-9])|[1-9][0-9]{0,17}+"
_DECIMAL = r"[0-9]++\.[0-9]++"
_CONSTANT = r"(?:True|False|None|Undefined)\b"
_SCALAR = f"{_QUOTED}|{_DECIMAL}|{_INTEGER}|{_CONSTANT}|{_NAME}"
_LIST = rf"\[[ \t]*+(?>(?:(?:{_SCALAR})[ \t]*+(?:,[ \t]*+|(?=\])))*)\]"
_KEY = rf"(?:{_NAME}|{_QUOTED})[ \t]*+[:=][ \t]*+"
_ENTRY = rf"{_KEY}(?:{_SCALAR}|{_LIST})"


Run = tuple[str, re.Pattern[str]]
"""The type of the token that lines of plain data make, and what they look like."""


# What ends a line cannot begin one, so that `_BETWEEN` may be left out before the first line and nowhere else.
_ENDED = r"(?=[ \t]*+,?+[ \t]*+(?:\#|\r?\n))"
_BETWEEN = r"[ \t]*+,?+[ \t]*+\r?\n"
# The first group is the indentation of the run, the second that of the lines in the block.
_BLOCK = rf"\{{[ \t]*+\r?\n(?=(\1[ \t]++))(?>(?:(?>(?:{_BETWEEN})?)\2{_ENTRY}{_ENDED})+){_BETWEEN}\1\}}"


def _run(line: str) -> re.Pattern[str]:
    """Lines of one indentation."""
    return pattern(rf"(?=([ \t]*+))(?>(?:(?>(?:{_BETWEEN})?)\1(?:{line}){_ENDED})+)")


ENTRIES: Run = ("entries", _run(rf"{_KEY}(?:{_SCALAR}|{_LIST}|{_BLOCK})"))
ITEMS: Run = ("items", _run(f"{_SCALAR}|{_LIST}|{_BLOCK}"))
TYPES = frozenset((ENTRIES[0], ITEMS[0]))

_VALUE = rf"""(?:
    (?P<string>{_QUOTED})
  | (?P<decimal>{_DECIMAL})
  | (?P<integer>{_INTEGER})
  | (?P<constant>{_CONSTANT})
  | (?P<name>{_NAME})
  | (?P<list>\[(?>(?:[^\]"']++|"[^"]*+"|'[^']*+')*)\])
  | (?P<config>\{{(?>(?:[^}}"']++|"[^"]*+"|'[^']*+')*)\}})
)"""
_ONE_ITEM = pattern(rf"[\s,]*+{_VALUE}", re.VERBOSE)
_ONE_ENTRY = pattern(rf"[\s,]*+(?P<key>{_NAME}|{_QUOTED})[ \t]*+(?P<op>[:=])[ \t]*+{_VALUE}", re.VERBOSE)
_CONSTANTS = {kind.value: kind for kind in ast.ConstantKind}
_OPERATORS = {":": ast.ConfigOp.UNION, "=": ast.ConfigOp.OVERRIDE}


def entries(text: str, start: int, end: int) -> list[ast.Entry]:
    """The entries of the run `text[start:end]`, which `ENTRIES` found."""
    made = []
    Entry, Name, Str = ast.Entry, ast.Name, ast.Str
    for found in _ONE_ENTRY.finditer(text, start, end):
        kind = found.lastgroup
        written = found[kind]  # type: ignore[index]  # a value always matches
        value_end = found.end()
        value_start = value_end - len(written)
        value: ast.Expr
        if kind == "string":
            value = Str(value_start, value_end, written[1:-1], False, False)
        else:
            value = _value(text, kind, written, value_start, value_end)
        key: ast.Expr
        name, op = found.group("key", "op")
        key_start = found.start("key")
        key_end = key_start + len(name)
        if name[0] in "\"'":
            key = Str(key_start, key_end, name[1:-1], False, False)
        else:
            key = Name(key_start, key_end, name)
        made.append(Entry(key_start, value_end, key, None, _OPERATORS[op], value))
    return made


def items(text: str, start: int, end: int) -> list[ast.ListItem]:
    """The items of the run `text[start:end]`, which `ITEMS` found, or of what is between a list's brackets."""
    made: list[ast.ListItem] = []
    for found in _ONE_ITEM.finditer(text, start, end):
        kind = found.lastgroup
        written = found[kind]  # type: ignore[index]  # a value always matches
        at = found.end()
        made.append(_value(text, kind, written, at - len(written), at))
    return made


def _value(text: str, kind: str | None, written: str, start: int, end: int) -> ast.Expr:
    match kind:
        case "string":
            return ast.Str(start, end, written[1:-1], False, False)
        case "integer":
            return ast.Int(start, end, int(written), None)
        case "constant":
            return ast.Constant(start, end, _CONSTANTS[written])
        case "name":
            return ast.Name(start, end, written)
        case "decimal":
            return ast.Float(start, end, float(written))
        case "config":
            return ast.Config(start, end, [*entries(text, start + 1, end - 1)])
        case _:
            return ast.List(start, end, items(text, start + 1, end - 1))
