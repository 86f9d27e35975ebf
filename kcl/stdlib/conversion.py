"""KCL values ↔ plain values (None, bool, int, float, str, list, dict)."""

from __future__ import annotations

import math
from typing import Any, Final

from kcl.emit.planning import PlanOptions, plan
from kcl.evaluator.value import UNDEFINED, KDict, KList, Value

_INT64_MAX: Final = 2**63 - 1
_INT64_MIN: Final = -(2**63)


def to_plain(value: Value, *, ignore_private: bool = False, ignore_none: bool = False) -> Any:
    """`value` without what has no place in data: Undefined and functions vanish from containers, null at the top."""
    return plan(value, PlanOptions(show_hidden=not ignore_private, disable_none=ignore_none))


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
