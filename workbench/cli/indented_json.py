"""JSON with an indent, as `json.dumps(document, indent=2, ensure_ascii=False, default=str)` writes it.

With an indent the standard library does without its C encoder, and runs through a generator for each level: for the
diff of a thousand new objects that was a sixth of the whole command. It comes in pieces: of 20,000 it is 90 MB.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any

_STEP = "  "
_WORDS = {None: "null", True: "true", False: "false"}
_MOST_PARTS = 100_000

Write = Callable[[str], None]


def write_indented_json(document: Any, write: Write) -> None:
    """Calls `write` with one piece after another. Raises what `json.dumps` raises."""
    parts: list[str] = []
    _write(document, "\n", parts, write)
    write("".join(parts))


def _write(value: Any, margin: str, parts: list[str], write: Write) -> None:
    """`margin` is the line break before what is on this level."""
    if type(value) is str:
        parts.append(encode_basestring(value))
    elif value is None or value is True or value is False:
        parts.append(_WORDS[value])
    elif type(value) is int:
        parts.append(int.__repr__(value))
    elif isinstance(value, dict) and value:
        inner = margin + _STEP
        before = "{" + inner
        for key, each in value.items():
            parts.append(f"{before}{encode_basestring(key) if type(key) is str else _key(key)}: ")
            _write(each, inner, parts, write)
            before = "," + inner
        parts.append(margin + "}")
    elif isinstance(value, list | tuple) and value:
        inner = margin + _STEP
        before = "[" + inner
        for each in value:
            parts.append(before)
            _write(each, inner, parts, write)
            before = "," + inner
            if len(parts) > _MOST_PARTS:
                write("".join(parts))
                parts.clear()
        parts.append(margin + "]")
    else:
        parts.append(json.dumps(value, ensure_ascii=False, default=str))


def _key(key: Any) -> str:
    text = json.dumps({key: 0}, ensure_ascii=False)
    return text[1 : -len(": 0}")]
