"""Lists of conditions, and integers that may be percentages."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

from runtimes.sandbox.store import Object


def condition(conditions: list[Object] | None, type_: str) -> Object | None:
    return next((each for each in conditions or () if each["type"] == type_), None)


def without(conditions: list[Object], type_: str) -> list[Object]:
    return [each for each in conditions if each["type"] != type_]


def resolved(value: Any, total: int, *, up: bool) -> int:
    """An IntOrString: a number as it is, a percentage of the total rounded up or down. None counts as zero."""
    if value is None:
        return 0
    if isinstance(value, str) and value.endswith("%"):
        share = int(value[:-1]) * total / 100
        return ceil(share) if up else floor(share)
    return int(value)


def nonzero(counts: dict[str, int]) -> dict[str, int]:
    """Counts as most kinds write them: a zero is left out."""
    return {name: count for name, count in counts.items() if count}
