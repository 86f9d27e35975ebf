"""`import math`."""

from __future__ import annotations

import math
from typing import Final

from kcl.evaluator.value import KList, ValueFailure
from kcl.stdlib.builtins import in_int64, power
from kcl.stdlib.declaration import Module

MODULE: Final = Module("math")
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1
_LARGEST_FACTORIAL: Final = 20


@MODULE.function("ceil(x: int | float) -> int")
def ceil(x: float) -> int:
    return int(in_int64(math.ceil(_finite("ceil", x))))


@MODULE.function("floor(x: int | float) -> int")
def floor(x: float) -> int:
    return int(in_int64(math.floor(_finite("floor", x))))


def _finite(name: str, x: float) -> float:
    if not math.isfinite(x):
        raise ValueFailure(f"{name}() cannot convert {x} to an integer")
    return x


@MODULE.function("factorial(x: int | float) -> int | float")
def factorial(x: float) -> int | float:
    if x < 0 or x != int(x):
        raise ValueFailure("factorial() only accepts integral values")
    if x > _LARGEST_FACTORIAL:
        raise ValueFailure("factorial() result overflow")
    result = math.factorial(int(x))
    return float(result) if isinstance(x, float) else result


@MODULE.function("gcd(a: int, b: int) -> int")
def gcd(a: int, b: int) -> int:
    return math.gcd(a, b)


@MODULE.function("isfinite(x: int | float | bool) -> bool")
def isfinite(x: float) -> bool:
    return math.isfinite(x)


@MODULE.function("isinf(x: int | float | bool) -> bool")
def isinf(x: float) -> bool:
    return math.isinf(x)


@MODULE.function("isnan(x: int | float | bool) -> bool")
def isnan(x: float) -> bool:
    return math.isnan(x)


@MODULE.function("modf(x: int | float) -> [float]")
def modf(x: float) -> KList:
    return KList(math.modf(x))


@MODULE.function("exp(x: int | float) -> float")
def exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


@MODULE.function("expm1(x: int | float) -> float")
def expm1(x: float) -> float:
    try:
        return math.expm1(x)
    except OverflowError:
        return math.inf


@MODULE.function("log(x: int | float, e?: int | float) -> int | float")
def log(x: float, e: float | None = None) -> int | float:
    """The logarithm of an int is an int, rounded down, and a base counts only when it is a float: official programs
    rely on both."""
    result = _logarithm(x)
    if isinstance(e, float):
        base = _logarithm(e)
        result = result / base if base else math.nan
    return _floored(result) if isinstance(x, int) else result


def _floored(x: float) -> int:
    """As a conversion to 64 bits saturates: 0 for what is no number."""
    if math.isnan(x):
        return 0
    return math.floor(x) if math.isfinite(x) else _INT64_MIN if x < 0 else _INT64_MAX


def _logarithm(x: float) -> float:
    if x > 0:
        return math.log(x)
    return -math.inf if x == 0 else math.nan


@MODULE.function("log1p(x: int | float) -> float")
def log1p(x: float) -> float:
    """The official function adds the one twice, and goldens hold what comes of it."""
    return math.log1p(x + 1) if x > -2 else _logarithm(x + 2)


@MODULE.function("log2(x: int | float) -> int | float")
def log2(x: float) -> int | float:
    """Of an int an int, as `log`."""
    if isinstance(x, int):
        return x.bit_length() - 1 if x > 0 else _INT64_MIN
    return math.log2(x) if x > 0 else _logarithm(x)


@MODULE.function("log10(x: int | float) -> float")
def log10(x: float) -> float:
    return math.log10(x) if x > 0 else _logarithm(x)


@MODULE.function("pow(x: int | float, y: int | float) -> int | float")
def math_pow(x: float, y: float) -> int | float:
    return power(x, y)


@MODULE.function("sqrt(x: int | float) -> float")
def sqrt(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan
