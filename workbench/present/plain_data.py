"""Values of bodies as plain data."""

from __future__ import annotations

from typing import Any

from runtimes.base import Unknown
from workbench.engine.masking import Masked


def plain(value: Any) -> Any:
    """Returns a value with masks and what is not known yet as text, for JSON."""
    match value:
        case Masked() | Unknown():
            return str(value)
        case dict():
            return {key: plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case _:
            return value
