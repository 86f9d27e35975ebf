"""What of a program's result is output: the plan between values and text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from kcl.diagnostics import Code, KclError, error
from kcl.evaluator.sizes import expanded
from kcl.evaluator.value import NumberMultiplier, Value, ValueFailure

_DROPPED: Final = object()


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Which values make it into the output."""

    show_hidden: bool = False
    """Keep names that start with `_`."""
    disable_none: bool = False
    """Drop what is None."""
    omit_empty_lists: bool = False
    """Drop entries whose value is `[]`, as releases up to 0.4 did."""


def plan(value: Value, options: PlanOptions) -> Any:
    """`value` as plain data: Undefined, functions, schemas and, unless asked for, private names are left out.

    Infinities and what is not a number become None, as in official output; None also when nothing is left.
    Raises KclError when it is too much.
    """
    try:
        expanded(value)
    except ValueFailure as failure:
        raise KclError((error(Code.EVALUATION, failure.message, None),)) from None
    planned = _planned(value, options)
    return None if planned is _DROPPED else planned


def plan_documents(value: Value, options: PlanOptions) -> list[Any]:
    """The documents a result prints as: a list of configs is a stream, everything else one document."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return [plan(item, options) for item in value]
    return [plan(value, options)]


def _planned(value: Value, options: PlanOptions) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        result = {}
        for key, item in value.items():
            if key.startswith("_") and not options.show_hidden:
                continue
            if item is None and options.disable_none:
                continue
            planned = _planned(item, options)
            if planned is _DROPPED or (options.omit_empty_lists and isinstance(planned, list) and not planned):
                continue
            result[key] = planned
        return result
    if isinstance(value, list):
        items = []
        for item in value:
            if item is None and options.disable_none:
                continue
            planned = _planned(item, options)
            if planned is not _DROPPED:
                items.append(planned)
        return items
    if isinstance(value, NumberMultiplier):
        return value.value
    return _DROPPED
