"""KCL values ↔ plain values (None, bool, int, float, str, list, dict)."""

from __future__ import annotations

import math
from typing import Any, Final

from kcl.evaluator.value import UNDEFINED, KDict, KList, NumberMultiplier, Value

_INT64_MAX: Final = 2**63 - 1
_INT64_MIN: Final = -(2**63)
_DROPPED: Final = object()


def to_plain(value: Value, *, ignore_private: bool = False, ignore_none: bool = False) -> Any:
    """`value` without what has no place in data: Undefined and functions vanish from containers, null at the top."""
    result = _plain(value, ignore_private, ignore_none)
    return None if result is _DROPPED else result


def _plain(value: Value, ignore_private: bool, ignore_none: bool) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        result = {}
        for key, item in value.items():
            if ignore_private and key.startswith("_"):
                continue
            if item is None and ignore_none:
                continue
            plain = _plain(item, ignore_private, ignore_none)
            if plain is not _DROPPED:
                result[key] = plain
        return result
    if isinstance(value, list):
        items = []
        for item in value:
            if item is None and ignore_none:
                continue
            plain = _plain(item, ignore_private, ignore_none)
            if plain is not _DROPPED:
                items.append(plain)
        return items
    if isinstance(value, NumberMultiplier):
        return value.value
    return _DROPPED


def to_value(plain: Any) -> Value:
    """Plain data as KCL values. Integers that do not fit 64 bits become floats, infinities None, as officially."""
    if isinstance(plain, dict):
        return KDict((str(key), to_value(item)) for key, item in plain.items())
    if isinstance(plain, list | tuple):
        return KList(to_value(item) for item in plain)
    if isinstance(plain, bool) or plain is None or isinstance(plain, str):
        return plain
    if isinstance(plain, int):
        return plain if _INT64_MIN <= plain <= _INT64_MAX else float(plain)
    if isinstance(plain, float):
        return plain if math.isfinite(plain) else None
    return UNDEFINED
