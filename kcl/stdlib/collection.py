"""`import collection`."""

from __future__ import annotations

from typing import Final

from kcl.evaluator.union import bit_or
from kcl.evaluator.value import KDict, Value
from kcl.stdlib.declaration import Module

MODULE: Final = Module("collection")


@MODULE.function("union_all(value: [any]) -> any")
def union_all(value: Value) -> Value:
    """All items united from the first to the last, as `|` does; {} for none."""
    if not value:
        return KDict()
    result = value[0]
    for item in value[1:]:
        result = bit_or(result, item, None)
    return result
