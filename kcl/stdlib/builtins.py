"""The functions every file sees without an import."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cmp_to_key
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from kcl.evaluator.numbers import float_display
from kcl.evaluator.operations import (
    UNIT_FACTORS,
    Arithmetic,
    compare,
    equals,
    iterate,
    kind,
    to_str,
    truthy,
)
from kcl.evaluator.operations import type_name as type_name_of
from kcl.evaluator.sizes import MOST_BITS, items_of
from kcl.evaluator.value import (
    UNDEFINED,
    CallContext,
    KDict,
    KList,
    NumberMultiplier,
    Value,
    ValueFailure,
)
from kcl.patterns import pattern
from kcl.stdlib.declaration import Module

if TYPE_CHECKING:
    from decimal import Decimal

BUILTINS: Final = Module("")
_ADD: Final = Arithmetic().add
_UNIT_NUMBER: Final = pattern(r"([-+]?[0-9]+)(" + "|".join(sorted(UNIT_FACTORS, key=len, reverse=True)) + ")")
_MOST_DIGITS: Final = 4_000
_LAST_POWER: Final = 308
"""Exponent of the last power of ten that is a float."""
_DIGITS: Final = pattern(r"[-+]?[0-9]+")
_FLOAT: Final = pattern(
    r"[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE
)
_ORDERED: Final = ({"int"}, {"float"}, {"int", "float"}, {"str"})
"""Kinds of two neighbours that `sorted` can put in order."""
_INT_PREFIXES: Final = {16: "0x", 8: "0o", 2: "0b"}


def number_of(value: Value) -> int | float:
    return value.value if type(value) is NumberMultiplier else value


# ---------------------------------------------------------------- options and output


@BUILTINS.function(
    "option(key: str, type?: str, required?: bool, default?: any, help?: str, file?: str, line?: int) -> any",
    contextual=True,
)
def option(
    context: CallContext,
    key: str,
    type: str | None = None,
    required: bool = False,
    default: Value = None,
    help: str | None = None,
    file: str | None = None,
    line: int | None = None,
) -> Value:
    value = context.options.get(key)
    if value is None or value is UNDEFINED:
        value = default
    if (value is None or value is UNDEFINED) and required:
        raise ValueFailure(f"option('{key}') must be initialized, try '-D {key}=?' argument")
    return value if type is None or value is None else _converted(value, type)


def _converted(value: Value, wanted: str) -> Value:
    """An option's value as the type it was declared with."""
    match wanted:
        case "str":
            return str(value).lower() if isinstance(value, bool) else to_str(value)
        case "bool":
            return value in ("true", "True") if isinstance(value, str) else truthy(value)
        case "int" | "float":
            if isinstance(value, bool | int | float):
                return int(value) if wanted == "int" else float(value)
            if isinstance(value, str):
                try:
                    number = float(value)
                    return (int(value) if _DIGITS.fullmatch(value) else int(number)) if wanted == "int" else number
                except (ValueError, OverflowError):
                    pass
        case "list":
            if isinstance(value, list):
                return value
        case "dict":
            if isinstance(value, dict):
                return value
        case _:
            raise ValueFailure(f"'{wanted}' is not a type of options, use one of int, float, bool, str, list, dict")
    raise ValueFailure(f"cannot use '{to_str(value)}' as type '{wanted}'")


@BUILTINS.function("print(*values: any, **settings: any) -> None", contextual=True)
def print_values(context: CallContext, *values: Value, **settings: Value) -> None:
    """`end` is what follows the values. Official releases accept `sep` as well and do not look at it; so do we."""
    context.log(" ".join(map(to_str, values)) + to_str(settings.get("end", "\n")))


# ---------------------------------------------------------------- conversions


@BUILTINS.function("int(number?: any, base?: int) -> int")
def to_int(number: Value = UNDEFINED, base: int = 10) -> int:
    return int(in_int64(_integer(number, base)))


def _integer(number: Value, base: int) -> int:
    if number is UNDEFINED:
        return 0
    if type(number) is NumberMultiplier:
        return int(number.value)
    if isinstance(number, bool | int):
        return int(number)
    if isinstance(number, float):
        if math.isnan(number) or math.isinf(number):
            raise ValueFailure(f"cannot convert float {float_display(number)} to integer")
        return int(number)
    if not isinstance(number, str):
        raise ValueFailure(f"int() argument must be a string or a number, not '{kind(number)}'")
    if len(number) > _MOST_DIGITS:
        raise ValueFailure(f"int() cannot read a number of {len(number)} digits")
    if base == 10:
        if _DIGITS.fullmatch(number):
            return int(number)
        unit = _UNIT_NUMBER.fullmatch(number)
        if unit is not None:
            return int(int(unit[1]) * UNIT_FACTORS[unit[2]])
    elif 2 <= base <= 36:
        digits = number.lower()
        sign = -1 if digits.startswith("-") else 1
        digits = digits.lstrip("+-").removeprefix(_INT_PREFIXES.get(base, "0"))
        try:
            return sign * int(digits or "0", base)
        except ValueError:
            pass
    raise ValueFailure(f"invalid literal for int() with base {base}: '{number}'")


@BUILTINS.function("float(number?: any) -> float")
def to_float(number: Value = UNDEFINED) -> float:
    if number is UNDEFINED:
        return 0.0
    if type(number) is NumberMultiplier:
        return float(number.value)
    if isinstance(number, bool | int | float):
        return float(number)
    if not isinstance(number, str) or not _FLOAT.fullmatch(number):
        raise ValueFailure(f"invalid literal for float() with base 10: '{to_str(number)}'")
    result = float(number)
    if math.isinf(result):
        raise ValueFailure("inf: A 64-bit floating point number overflow")
    return result


@BUILTINS.function("bool(x?: any) -> bool")
def to_bool(*values: Value, **named: Value) -> bool:
    given = values or tuple(named.values())
    if not given:
        raise ValueFailure("bool() takes exactly one argument (0 given)")
    return truthy(given[0])


@BUILTINS.function("str(x?: any) -> str")
def to_text(*values: Value, **named: Value) -> str:
    given = values or tuple(named.values())
    return to_str(given[0]) if given else ""


@BUILTINS.function("list(x?: any) -> [any]")
def to_list(*values: Value, x: Value = UNDEFINED) -> KList:
    value = values[0] if values else x
    return KList() if value is UNDEFINED else KList(item for item, _, _ in iterate(value))


@BUILTINS.function("dict(x?: any, **entries: any) -> {str:any}")
def to_dict(*values: Value, x: Value = UNDEFINED, **entries: Value) -> KDict:
    value = values[0] if values else x
    if value is UNDEFINED or value is None:
        result = KDict()
    elif isinstance(value, KDict):
        result = KDict(value)
        result.sites = dict(value.sites) if value.sites else None
    else:
        result = KDict(_pairs(value))
    result.update(entries)
    return result


def _pairs(value: Value) -> Iterator[tuple[str, Value]]:
    """The entries that a list of pairs stands for."""
    for place, (pair, _, _) in enumerate(iterate(value)):
        length = len(pair) if isinstance(pair, list | str) else 1
        if length != 2:
            raise ValueFailure(f"dictionary update sequence element #{place} has length {length}; 2 is required")
        yield to_str(pair[0]), pair[1]


@BUILTINS.function("typeof(x: any, full_name?: bool) -> str", contextual=True)
def typeof(context: CallContext, x: Value, full_name: bool = False) -> str:
    return context.type_name(x, full_name)


# ---------------------------------------------------------------- numbers


def in_int64(number: Any) -> Any:
    """`number` again. Raises ValueFailure for an integer that 64 bits cannot hold."""
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        raise ValueFailure(f"{number}: A 64 bit integer overflow")
    return number


@BUILTINS.function("abs(inval: any) -> any")
def absolute(inval: Value) -> Value:
    number = number_of(inval)
    if type(number) in (int, float):
        return in_int64(abs(number))
    return UNDEFINED


@BUILTINS.function("multiplyof(a: int, b: int) -> bool")
def multiplyof(a: int, b: int) -> bool:
    if b == 0:
        raise ValueFailure("attempt to calculate the remainder with a divisor of zero")
    return a % b == 0


def _based(number: int, prefix: str, spec: str) -> str:
    return f"{'-' if number < 0 else ''}{prefix}{abs(number):{spec}}"


@BUILTINS.function("hex(number: int) -> str")
def hexadecimal(number: int) -> str:
    return _based(number, "0x", "x")


@BUILTINS.function("oct(number: int) -> str")
def octal(number: int) -> str:
    return _based(number, "0o", "o")


@BUILTINS.function("bin(number: int) -> str")
def binary(number: int) -> str:
    return _based(number, "0b", "b")


@BUILTINS.function("ord(c: str) -> int")
def ordinal(c: str) -> int:
    if len(c) != 1:
        raise ValueFailure(f"ord() expected string of length 1, but string of length {len(c)} found")
    return ord(c)


@BUILTINS.function("pow(x: int | float, y: int | float, z?: int) -> int | float")
def power(x: float, y: float, z: int | None = None) -> int | float:
    if z == 0:
        raise ValueFailure("pow() 3rd argument cannot be 0")
    if z is not None and y < 0:
        raise ValueFailure("pow() 2nd argument cannot be negative when 3rd argument specified")
    try:
        if z is not None:
            return pow(int(x), int(y), z)
        if isinstance(x, int) and isinstance(y, int) and abs(x) > 1 and y > MOST_BITS:
            raise ValueFailure(f"pow() {x} to the {y} is too large")
        result: Any = x**y
    except ZeroDivisionError:
        return math.inf
    except (ValueError, OverflowError) as problem:
        raise ValueFailure(f"pow() {problem}") from None
    if isinstance(result, complex):
        return math.nan
    return int(in_int64(result)) if isinstance(result, int) else float(result)


@BUILTINS.function("round(number: int | float, ndigits?: int) -> int | float")
def rounded(number: float, ndigits: int | None = None) -> Value:
    """Halves of whole numbers go away from zero, not to the even neighbour as in Python and as those of digits do.

    Digits below zero are those before the point: -2 rounds to hundreds. Whole numbers have no digits to lose, as
    officially: `round(55, -1)` is 55.0.
    """
    if not math.isfinite(number):
        raise ValueFailure(f"cannot round {float_display(number)}")
    if ndigits is None:
        return int(in_int64(int(_to_whole(number))))
    if isinstance(number, int):
        return float(number)
    return float(_to_whole(number)) if ndigits == 0 else _to_digits(number, ndigits)


def _to_whole(number: float) -> Decimal:
    from decimal import ROUND_HALF_UP, Decimal  # takes long to load, and few programs round

    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    return exact.to_integral_value(rounding=ROUND_HALF_UP)


def _to_digits(number: float, ndigits: int) -> Value:
    if ndigits < -_LAST_POWER:
        return UNDEFINED  # officially this divides zero by zero
    factor = 10.0 ** min(ndigits, _LAST_POWER) if ndigits > 0 else 1 / 10.0**-ndigits
    scaled = number * factor
    return math.copysign(float(round(scaled)), scaled) / factor if math.isfinite(scaled) else number


@BUILTINS.function("sum(iterable: any, start?: any) -> any")
def total(iterable: Value, start: Value = 0) -> Value:
    if isinstance(start, str):
        raise ValueFailure("sum() can't sum strings")
    result = start
    for item, _, _ in iterate(iterable):
        result = _ADD(result, item)
    return result


def _best(name: str, values: tuple[Value, ...], wanted: int) -> Value:
    if not values:
        raise ValueFailure(f"{name}() takes exactly one argument (0 given)")
    if len(values) == 1 and not isinstance(values[0], str | list | dict):
        raise ValueFailure(f"{kind(values[0])} object is not iterable")
    items = [item for item, _, _ in iterate(values[0])] if len(values) == 1 else list(values)
    if not items:
        raise ValueFailure("arg is an empty list")
    best = items[0]
    for item in items[1:]:
        if compare(item, best) * wanted > 0:
            best = item
    return best


@BUILTINS.function("max(*values: any) -> any")
def largest(*values: Value) -> Value:
    return _best("max", values, 1)


@BUILTINS.function("min(*values: any) -> any")
def smallest(*values: Value) -> Value:
    return _best("min", values, -1)


# ---------------------------------------------------------------- collections


@BUILTINS.function("len(inval: any) -> int")
def length(inval: Value) -> int:
    """A string's length is counted in bytes of UTF-8, though indexing counts characters."""
    if isinstance(inval, str):
        return len(inval) if inval.isascii() else len(inval.encode())
    if isinstance(inval, list | dict):
        return len(inval)
    raise ValueFailure(f"object of type '{kind(inval)}' has no len()")


@BUILTINS.function("all_true(inval: any) -> bool")
def all_true(inval: Value) -> bool:
    return all(truthy(item) for item, _, _ in iterate(inval))


@BUILTINS.function("any_true(inval: any) -> bool")
def any_true(inval: Value) -> bool:
    return any(truthy(item) for item, _, _ in iterate(inval))


@BUILTINS.function("isunique(inval: any) -> bool")
def isunique(inval: Value) -> bool:
    items = [item for item, _, _ in iterate(inval)]
    kinds = {type(item) for item in items}
    if kinds in ({str}, {int}, set()):
        return len(set(items)) == len(items)
    return not any(equals(item, other) for index, item in enumerate(items) for other in items[:index])


@BUILTINS.function("isnullish(inval: any) -> bool")
def isnullish(*values: Value, inval: Value = UNDEFINED) -> bool:
    value = values[0] if values else inval
    return value is None or value is UNDEFINED


@BUILTINS.function("sorted(inval: any, reverse?: bool) -> [any]")
def sorted_list(inval: Value, reverse: bool = False) -> KList:
    """Only numbers, or only strings, have an order here."""
    if not isinstance(inval, str | list | dict):
        raise ValueFailure("sorted only for str|list|dict type")
    items = [item for item, _, _ in iterate(inval)]
    for left, right in pairwise(items):
        if {kind(left), kind(right)} not in _ORDERED:
            raise ValueFailure(f"cannot compare {kind(right)} and {kind(left)}")
    return KList(sorted(items, key=cmp_to_key(compare), reverse=reverse))


@BUILTINS.function("range(start: int, stop?: int, step?: int) -> [int]")
def number_range(start: int, stop: int | None = None, step: int = 1) -> KList:
    if step == 0:
        raise ValueFailure("range() step argument must not be zero")
    first, last = (0, start) if stop is None else (start, stop)
    items_of((last - first + step - (1 if step > 0 else -1)) // step)
    return KList(range(first, last, step))


@BUILTINS.function("zip(*values: any) -> [any]")
def zipped(*values: Value) -> KList:
    columns = [[item for item, _, _ in iterate(value)] for value in values]
    return KList(KList(row) for row in zip(*columns, strict=False))


_MISSING: Final[Any] = object()


@BUILTINS.function("reduce(reducer: any, list: [any], initial?: any) -> any", contextual=True)
def reduce_list(context: CallContext, reducer: Value, list: Value, initial: Value = _MISSING) -> Value:
    if type_name_of(reducer) != "function":
        raise ValueFailure("reduce() argument 'reducer' must be a function")
    items = [*list]
    if initial is _MISSING:
        if not items:
            accumulator = _accumulator_type(reducer)
            if accumulator != "any":
                raise ValueFailure(
                    f"reduce() empty list with no initial value and non-nullable accumulator type '{accumulator}'"
                )
            return None
        initial = items.pop(0)
    result = initial
    for item in items:
        result = context.call(reducer, (result, item))
    return result


def _accumulator_type(reducer: Value) -> str:
    """The declared type of a lambda's first parameter, "any" where it says nothing."""
    types = getattr(reducer, "parameter_types", ())
    return str(types[0]) if types and types[0] is not None else "any"
