"""`import units`: unit factors, and numbers written with a unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kcl.evaluator.operations import UNIT_FACTORS
from kcl.stdlib.declaration import Module

MODULE: Final = Module("units")


def _declare(unit: str, factor: float) -> None:
    MODULE.constants[unit] = int(factor) if factor >= 1 else factor
    if unit == "k":
        return

    def convert(num: float) -> str:
        return f"{_whole(num, factor)}{unit}"

    declare: Callable[[Callable[..., str]], Callable[..., str]] = MODULE.function(f"to_{unit}(num: int | float) -> str")
    declare(convert)


def _whole(number: float, factor: float) -> int:
    """How many whole units `number` is. A quotient that just misses one does not count as it, as officially."""
    if factor >= 1 and isinstance(number, int):
        quotient = abs(number) // int(factor)
        return -quotient if number < 0 else quotient
    return int(number / factor)


for _unit, _factor in UNIT_FACTORS.items():
    _declare(_unit, _factor)
