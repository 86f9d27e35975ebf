"""The oracle of JSON Schema."""

from __future__ import annotations

from typing import Any


def validator(schema: Any) -> Any:
    """Imported when it is used: its formats are grammars, which take seconds to load wherever tests are collected."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema)
