"""JSON with an indent, as `json.dumps(document, indent=2, ensure_ascii=False, default=str)` writes it.

With an indent the standard library does without its C encoder, and runs through a generator for each level: for the
diff of a thousand new objects that was a sixth of the whole command.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any

_STEP = "  "
_WORDS = {None: "null", True: "true", False: "false"}


def indented_json(document: Any) -> str:
    """Raises what `json.dumps` raises."""
    parts: list[str] = []
    _write(document, "\n", parts.append)
    return "".join(parts)


def _write(value: Any, margin: str, put: Callable[[str], None]) -> None:
    """`margin` is the line break before what is on this level."""
    if type(value) is str:
        put(encode_basestring(value))
    elif value is None or value is True or value is False:
        put(_WORDS[value])
    elif type(value) is int:
        put(int.__repr__(value))
    elif isinstance(value, dict) and value:
        inner = margin + _STEP
        before = "{" + inner
        for key, each in value.items():
            put(f"{before}{encode_basestring(key) if type(key) is str else _key(key)}: ")
            _write(each, inner, put)
            before = "," + inner
        put(margin + "}")
    elif isinstance(value, list | tuple) and value:
        inner = margin + _STEP
        before = "[" + inner
        for each in value:
            put(before)
            _write(each, inner, put)
            before = "," + inner
        put(margin + "]")
    else:
        put(json.dumps(value, ensure_ascii=False, default=str))


def _key(key: Any) -> str:
    text = json.dumps({key: 0}, ensure_ascii=False)
    return text[1 : -len(": 0}")]
