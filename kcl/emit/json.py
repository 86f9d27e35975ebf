"""Plain values → JSON text: `, ` and `: ` between items on one line, or one item a line when indented."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kcl.evaluator.numbers import float_text

try:  # the same function without what reads JSON
    from _json import encode_basestring as _string
except ImportError:
    from json.encoder import encode_basestring as _string


def json_text(value: object, *, indent: int = 0, sort_keys: bool = False) -> str:
    """JSON of a plain value. `indent` is the number of blanks a level; 0 keeps all on one line.

    Infinities and NaN, which JSON cannot spell, become null as in the official encoder.
    """
    parts: list[str] = []
    _write(value, parts, " " * indent, "\n" if indent else "", sort_keys)
    return "".join(parts)


def _write(value: object, out: list[str], step: str, newline: str, sort_keys: bool) -> None:
    if value is None:
        out.append("null")
    elif value is True:
        out.append("true")
    elif value is False:
        out.append("false")
    elif isinstance(value, str):
        out.append(_string(value))
    elif isinstance(value, int):
        out.append(int.__repr__(value))
    elif isinstance(value, float):
        out.append(float_text(value, plus=True) if math.isfinite(value) else "null")
    elif isinstance(value, dict):
        keys = sorted(value) if sort_keys else list(value)
        items = [(_string(str(key)) + ": ", value[key]) for key in keys]
        _write_items(items, "{", "}", out, step, newline, sort_keys)
    elif isinstance(value, list | tuple):
        _write_items([("", item) for item in value], "[", "]", out, step, newline, sort_keys)
    else:
        raise TypeError(f"not a plain value: {type(value).__name__}")


def _write_items(
    items: Sequence[tuple[str, object]],
    opening: str,
    closing: str,
    out: list[str],
    step: str,
    newline: str,
    sort_keys: bool,
) -> None:
    """`newline` is the line break with the indentation of the enclosing level, "" for one-line output."""
    out.append(opening)
    if items:
        inner = newline + step
        separator = "," + inner if newline else ", "
        out.append(inner if newline else "")
        for number, (prefix, item) in enumerate(items):
            if number:
                out.append(separator)
            out.append(prefix)
            _write(item, out, step, inner, sort_keys)
        out.append(newline)
    out.append(closing)
