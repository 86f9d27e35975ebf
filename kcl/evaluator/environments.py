"""What compiled code is, and the variables that it runs with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from kcl.evaluator.value import Sites, Value

# The variables of the code being run: [0] is the schema frame it runs in or None, the rest are numbered locals.
Environment: TypeAlias = list[Any]
# Code, compiled: give it the variables, get the value.
Evaluate: TypeAlias = Callable[[Environment], Value]
# Code for a value and its sites.
Tracked: TypeAlias = Callable[[Environment], tuple[Value, Sites]]
# Adds to the list being built, and to its sites.
ItemStep: TypeAlias = Callable[[Environment, list[Value], list[Sites]], None]


class _Sentinel:
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


UNSET: Final = _Sentinel("UNSET")
"""A local variable that has no value yet."""
NOT_ASSIGNED: Final = _Sentinel("NOT_ASSIGNED")
"""What a statement answers that turned out not to assign the variable asked for."""
