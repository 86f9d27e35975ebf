"""Plain values as KCL source text: what an edit puts into a file."""

from __future__ import annotations

import json
import re
from typing import Any

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def literal_text(value: Any) -> str:
    """Returns a value on one line; raises `ValueError` for what KCL has no literal for."""
    match value:
        case None:
            return "None"
        case bool():
            return "True" if value else "False"
        case int():
            return str(value)
        case float() if value == value and abs(value) != float("inf"):
            return repr(value)
        case str():
            # a dollar before a brace would interpolate
            return json.dumps(value, ensure_ascii=False).replace("${", "\\${")
        case list() | tuple():
            return "[" + ", ".join(literal_text(each) for each in value) + "]"
        case dict() if all(isinstance(key, str) for key in value):
            entries = (f"{_key(key)} = {literal_text(each)}" for key, each in value.items())
            return "{" + ", ".join(entries) + "}"
    raise ValueError(f"{type(value).__name__} has no KCL literal")


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else literal_text(name)
