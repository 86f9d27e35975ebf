"""What of a program's result is output: the plan between values and text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, Final

from kcl.diagnostics import Code, KclError, error
from kcl.evaluator.operations import type_name
from kcl.evaluator.sizes import MOST_VALUES, expanded
from kcl.evaluator.value import KDict, KList, NumberMultiplier, SchemaInstance, Value, ValueFailure
from kcl.records import dataclass

_DROPPED: Final = object()
_TYPE: Final = "_type"
_ROLES: Final = "__kcl_info_meta__"
_AS_THEY_ARE: Final = frozenset({str, int, bool, type(None)})


class _IsOther(dict[type, bool]):
    """Whether a value of a type may be planned as something else."""

    def __missing__(self, kind: type) -> bool:
        return True


_IS_OTHER: Final = _IsOther(
    {str: False, int: False, bool: False, type(None): False, KDict: True, KList: True}
).__getitem__
_CONFIGS: Final = frozenset({KDict, SchemaInstance})
_FEW: Final = 1_000_000
"""Values that are planned before anybody asks how many there are."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Which values make it into the output."""

    show_hidden: bool = False
    """Keep names that start with `_`."""
    disable_none: bool = False
    """Drop what is None."""
    omit_empty_lists: bool = False
    """Drop entries whose value is `[]`, as releases up to 0.4 did."""
    schema_types: bool = False
    """Add to each instance, as `_type`, the schema that it is one of, with its package unless that is the main one."""
    attribute_roles: bool = False
    """Add to each instance, as `__kcl_info_meta__`, which of its entries are attributes for who writes XML."""


def plan(value: Value, options: PlanOptions) -> Any:
    """`value` as plain data: Undefined, functions, schemas and, unless asked for, private names are left out.

    Infinities and what is not a number become None, as in official output; None also when nothing is left.
    Raises KclError when it is too much.
    """
    try:
        planner = _TellingPlanner if options.schema_types or options.attribute_roles else _Planner
        planned = planner(value, options).planned(value)
    except ValueFailure as failure:
        raise KclError((error(Code.EVALUATION, failure.message, None),)) from None
    return None if planned is _DROPPED else planned


def plan_documents(value: Value, options: PlanOptions) -> list[Any]:
    """The documents a result prints as: a list of configs is a stream, everything else one document."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return [plan(item, options) for item in value]
    return [plan(value, options)]


class _Planner:
    """Plans one value. How large it is written out is only asked once it turns out not to be small."""

    __slots__ = ("_left", "_omit_empty_lists", "_omit_none", "_show_hidden", "_whole")

    def __init__(self, whole: Value, options: PlanOptions) -> None:
        self._whole = whole
        self._left = _FEW
        self._show_hidden = options.show_hidden
        self._omit_none = options.disable_none
        self._omit_empty_lists = options.omit_empty_lists

    def planned(self, value: Value) -> Any:
        if type(value) in _AS_THEY_ARE:
            return value
        if isinstance(value, dict):
            return self._dict(value)
        if isinstance(value, list):
            return self._list(value)
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if isinstance(value, NumberMultiplier):
            return value.value
        return value if isinstance(value, str | int) else _DROPPED

    def _count(self) -> None:
        """To be called when more than a few values were planned."""
        expanded(self._whole)
        self._left = MOST_VALUES

    # Most of what is planned are containers of two or three values, and most values are as they should be. So what both
    # do with each of the others is written out.

    def _dict(self, value: Mapping[str, Value]) -> Any:
        self._left -= len(value)
        if self._left < 0:
            self._count()
        result = dict(value)
        if not self._show_hidden and "_" in "".join(value):
            for key in [each for each in value if each[:1] == "_"]:
                del result[key]
        if self._omit_none and None in result.values():
            result = {key: item for key, item in result.items() if item is not None}
        if _AS_THEY_ARE.issuperset(map(type, result.values())):
            return result
        keeps_empty = not self._omit_empty_lists
        for key, item in [*compress(result.items(), map(_IS_OTHER, map(type, result.values())))]:
            kind = type(item)
            if kind in _CONFIGS:
                result[key] = self._dict(item)
            elif kind is KList and keeps_empty:
                result[key] = self._list(item)
            else:
                planned = self.planned(item)
                if planned is _DROPPED or (isinstance(planned, list) and not (planned or keeps_empty)):
                    del result[key]
                else:
                    result[key] = planned
        return result

    def _list(self, value: Sequence[Value]) -> Any:
        self._left -= len(value)
        if self._left < 0:
            self._count()
        items = [item for item in value if item is not None] if self._omit_none else list(value)
        if _AS_THEY_ARE.issuperset(map(type, items)):
            return items
        planned = [self._dict(item) if type(item) in _CONFIGS else self.planned(item) for item in items]
        return [item for item in planned if item is not _DROPPED]


class _TellingPlanner(_Planner):
    """Adds to instances what their schemas say of them."""

    __slots__ = ("_roles", "_types")

    def __init__(self, whole: Value, options: PlanOptions) -> None:
        super().__init__(whole, options)
        self._types, self._roles = options.schema_types, options.attribute_roles

    def _dict(self, value: Mapping[str, Value]) -> Any:
        planned = super()._dict(value)
        if isinstance(value, SchemaInstance):
            marked = [name for name in value.schema.marked if name in planned] if self._roles else []
            if self._types:
                planned[_TYPE] = type_name(value, True)
            if marked:
                planned[_ROLES] = marked
        return planned
