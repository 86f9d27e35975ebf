"""Plain values → YAML in block style, spelled as the official tools spell it.

Hand-written because output is the hot path of a what-if edit and PyYAML's emitter is some thirty times slower.
A string is left plain only where YAML 1.1 and 1.2 readers agree that it is a string; several lines become a block
scalar; what no block scalar can hold is double-quoted. In two places we are stricter than the official tools: `=` and
`<<` are quoted, because readers of YAML 1.1 give them a meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from kcl.evaluator.numbers import float_text

_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "=", "<<"})
_PLAIN: Final = re.compile(
    r"""
    (?![-+.0-9\s]) (?![,\[\]{}#&*!|>'"%@`]) (?!\?(?:\s|$)) (?!:(?:\s|$)) (?!~$)   # no indicator, number or sign first
    [^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+
    (?<![\s:])                                                                  # no blank or colon last
    """,
    re.VERBOSE,
)
_INNER_INDICATOR: Final = re.compile(r":\s|\s\#")
_SPECIAL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_NO_BLOCK: Final = re.compile(r" (?:\n|\Z)")
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
_NEEDS_ESCAPE: Final = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]')
_LONGEST_SIMPLE_KEY: Final = 128


def yaml_text(value: object, *, sort_keys: bool = False) -> str:
    """One YAML document with its final line break."""
    out: list[str] = []
    _write(value, out, "", True, sort_keys)
    return "".join(out)


def yaml_stream(values: Iterable[object], *, sort_keys: bool = False, separator: str = "---") -> str:
    """Documents one after the other with a line holding `separator` between them."""
    return f"{separator}\n".join(yaml_text(value, sort_keys=sort_keys) for value in values)


@lru_cache(maxsize=16384)
def _one_line(text: str) -> str:
    """`text` on one line: plain, single- or double-quoted. For text without usable line breaks."""
    if _PLAIN.fullmatch(text) and not (len(text) <= 5 and text.lower() in _WORDS) and not _INNER_INDICATOR.search(text):
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
    """`text` as a literal block scalar whose lines stand at `indent`, with its final line break."""
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
    return f"|{hint}{chomping}\n" + "".join(f"{indent}{line}\n" if line else "\n" for line in lines)


def _string(text: str, indent: str) -> str:
    """`text` in the best style, with its final line break; `indent` is where a block scalar's lines would stand."""
    if "\n" in text and not _SPECIAL.search(text) and not _NO_BLOCK.search(text):
        return _block(text, indent)
    return _one_line(text) + "\n"


def _scalar(value: object, indent: str) -> str:
    if value is None:
        return "null\n"
    if value is True:
        return "true\n"
    if value is False:
        return "false\n"
    if isinstance(value, int):
        return int.__repr__(value) + "\n"
    if isinstance(value, float):
        return float_text(value) + "\n"
    raise TypeError(f"not a plain value: {type(value).__name__}")


def _write(value: object, out: list[str], indent: str, inline: bool, sort_keys: bool) -> None:
    """Append `value`. `inline` means the cursor already stands at `indent`: the first line gets no indentation."""
    if isinstance(value, str):
        out.append(_string(value, indent or "  "))
    elif isinstance(value, dict):
        if not value:
            out.append("{}\n")
            return
        for key in sorted(value) if sort_keys else value:
            item = value[key]
            if not inline:
                out.append(indent)
            inline = False
            key_text = _one_line(key)
            if len(key) > _LONGEST_SIMPLE_KEY or "\n" in key:
                out.append("? " + _string(key, indent + "  ") + indent + ": ")
                _write(item, out, indent + "  ", True, sort_keys)
            elif type(item) is str:
                out.append(f"{key_text}: {_string(item, indent + '  ')}")
            elif isinstance(item, dict) and item:
                out.append(f"{key_text}:\n")
                _write(item, out, indent + "  ", False, sort_keys)
            elif isinstance(item, list | tuple) and item:
                out.append(f"{key_text}:\n")
                _write(item, out, indent, False, sort_keys)
            else:
                out.append(f"{key_text}: ")
                _write(item, out, indent + "  ", True, sort_keys)
    elif isinstance(value, list | tuple):
        if not value:
            out.append("[]\n")
            return
        deeper = indent + "  "
        for item in value:
            out.append("- " if inline else indent + "- ")
            inline = False
            if type(item) is str:
                out.append(_string(item, deeper))
            else:
                _write(item, out, deeper, True, sort_keys)
    else:
        out.append(_scalar(value, indent))
