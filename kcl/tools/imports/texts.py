"""Texts as KCL writes them."""

from __future__ import annotations

from typing import Final

from kcl.patterns import pattern

_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_PLAIN: Final = pattern(r"[^\x00-\x1f\x7f-\x9f\\\"'${}]*")


def is_plain(text: str) -> bool:
    """Whether a text may stand in a literal type: with escapes in it the compilers do not know it again."""
    return _PLAIN.fullmatch(text) is not None and text.isprintable()


def text_literal(text: str) -> str:
    """A string in double quotes, on one line, that nothing is interpolated into and that hides no character."""
    written = "".join(_ESCAPES.get(each) or (each if each.isprintable() else _escaped(each)) for each in text)
    return '"' + written.replace("${", "\\${") + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def pattern_literal(text: str) -> str:
    """A string for a regular expression: raw where it can be."""
    return raw_literal(text) or text_literal(text)


def raw_literal(text: str) -> str | None:
    """A raw string on one line; None where there is none."""
    if text.isprintable() and not text.endswith("\\"):
        for quote in ('"', "'"):
            if quote not in text:
                return f"r{quote}{text}{quote}"
    return None
