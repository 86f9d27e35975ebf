"""What KCL's operators do to values.

Everything here is a plain function from values to a value. What cannot be done raises `ValueFailure` with the message
for the user; the evaluator adds the position.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from kcl.diagnostics import Span
from kcl.evaluator.numbers import float_display, float_text
from kcl.evaluator.sizes import expanded, items_of, text_of
from kcl.evaluator.value import (
    OVERRIDE,
    UNDEFINED,
    Builtin,
    KDict,
    KList,
    Method,
    ModuleValue,
    NumberMultiplier,
    SchemaInstance,
    Sites,
    Undefined,
    Value,
    ValueFailure,
)

_INT32: Final = range(-(2**31), 2**31)
INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
_FLOAT32_MAX: Final = 3.4028234663852886e38

UNIT_FACTORS: Final[dict[str, float]] = {
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
    "Pi": 2.0**50,
}


def number_multiplier(raw: int, suffix: str) -> NumberMultiplier:
    """The value of a literal such as `1Ki`."""
    return NumberMultiplier(raw * UNIT_FACTORS[suffix], raw, suffix)


def type_name(value: Value, full: bool = False) -> str:
    """What `typeof` answers; with `full`, a schema's name carries its package unless that is the main one."""
    match value:
        case None:
            return "None"
        case Undefined():
            return "UndefinedType"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case str():
            return "str"
        case NumberMultiplier():
            return f"number_multiplier({value})"
        case list():
            return "list"
        case SchemaInstance():
            if full and value.schema.package != "__main__":
                return f"{value.schema.package}.{value.schema.name}"
            return value.schema.name
        case dict():
            return "dict"
        case Builtin() | Method():
            return "function"
        case ModuleValue():
            return "module"
        case _:
            return "type" if getattr(value, "is_type", False) else "function"


def kind(value: Value) -> str:
    """The name of a value's type in messages about operators."""
    return "NoneType" if value is None else type_name(value)


truthy: Final = bool
"""Whether a value counts as true; the values of the language answer that as Python's do."""


# --- Text ---


def to_str(value: Value) -> str:
    """What `str()` and plain interpolation give."""
    if type(value) is str:
        return value
    expanded(value)
    return _display(value)


def _display(value: Value) -> str:
    match value:
        case None:
            return "None"
        case bool():
            return "True" if value else "False"
        case str():
            return _quoted(value)
        case float():
            return float_display(value)
        case list():
            return "[" + ", ".join([item if type(item) is str else _display(item) for item in value]) + "]"
        case dict():
            return "{" + ", ".join(f"{_quoted(key)}: {_display(item)}" for key, item in value.items()) + "}"
        case Undefined():
            return "Undefined"
        case int():
            return str(value)
        case NumberMultiplier():
            return str(value)
        case _:
            return type_name(value)


def _quoted(text: str) -> str:
    return "'" + text + "'"


# --- Equality and order ---


def equals(left: Value, right: Value) -> bool:
    """KCL's `==`: numbers compare by value, `True` is not `1`, containers compare item by item."""
    if left is right:
        return True
    left_type, right_type = type(left), type(right)
    if left_type is right_type and left_type in _SCALARS:
        return bool(left == right)
    if left_type is bool or right_type is bool:
        return False
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left == right
    if isinstance(left, (list, dict)):
        return _equal_containers(left, right, 0, set())
    if left_type is NumberMultiplier and right_type is NumberMultiplier:
        return bool(left == right)
    return False


_SHALLOW: Final = 8
"""Levels of containers in which none is looked for among those that were compared before."""


def _equal_containers(left: Value, right: Value, depth: int, compared: set[tuple[int, int]]) -> bool:
    """Each pair once: lists that hold the next twice are few in memory and without number written out.

    `compared` are pairs met before, by identity. They are equal, as the first that are not end the comparison.
    """
    if left is right:
        return True
    if depth > _SHALLOW:
        pair = (id(left), id(right))
        if pair in compared:
            return True
        compared.add(pair)
    if isinstance(left, list):
        if not isinstance(right, list) or len(left) != len(right):
            return False
        return all(
            _equal_containers(one, other, depth + 1, compared) if isinstance(one, (list, dict)) else equals(one, other)
            for one, other in zip(left, right, strict=True)
        )
    if not isinstance(right, dict) or len(left) != len(right):
        return False
    for key, one in left.items():
        if key not in right:
            return False
        other = right[key]
        if isinstance(one, (list, dict)):
            if not _equal_containers(one, other, depth + 1, compared):
                return False
        elif not equals(one, other):
            return False
    return True


_SCALARS: Final = frozenset({int, float, str, bool})


def compare(left: Value, right: Value) -> int:
    """Negative, zero or positive as `left` is before, equal to or after `right`; numbers, strings and lists order.

    Among numbers, False counts as 0 and True as 1.
    """
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return int(left > right) - int(left < right)
    if type(left) is str and type(right) is str:
        return int(left > right) - int(left < right)
    if isinstance(left, list) and isinstance(right, list):
        return _compare_lists(left, right, 0, set())
    raise ValueFailure(f"cannot compare '{kind(left)}' and '{kind(right)}'")


def _compare_lists(left: list[Value], right: list[Value], depth: int, compared: set[tuple[int, int]]) -> int:
    """Each pair once, as in `_equal_containers`."""
    if depth > _SHALLOW:
        pair = (id(left), id(right))
        if pair in compared:
            return 0
        compared.add(pair)
    for one, other in zip(left, right, strict=False):
        if isinstance(one, list) and isinstance(other, list):
            order = _compare_lists(one, other, depth + 1, compared)
        else:
            order = compare(one, other)
        if order:
            return order
    return len(left) - len(right)


def _ordered(symbol: str, test: Callable[[int], bool]) -> Callable[[Value, Value], bool]:
    def apply(left: Value, right: Value) -> bool:
        try:
            return test(compare(left, right))
        except ValueFailure:
            raise ValueFailure(
                f"'{symbol}' not supported between instances of '{kind(left)}' and '{kind(right)}'"
            ) from None

    return apply


def contains(item: Value, container: Value) -> bool:
    """KCL's `in`."""
    if type(container) is str:
        return type(item) is str and item in container
    if isinstance(container, dict):
        return type(item) is str and item in container
    if isinstance(container, list):
        return any(equals(item, other) for other in container)
    if container is None or container is UNDEFINED:
        return False
    raise ValueFailure(f"argument of type '{kind(container)}' is not iterable")


def identical(left: Value, right: Value) -> bool:
    """KCL's `is`: equality that also tells an int from a float."""
    return type(left) is type(right) and equals(left, right)


COMPARISONS: Final[dict[str, Callable[[Value, Value], bool]]] = {
    "==": equals,
    "!=": lambda left, right: not equals(left, right),
    "<": _ordered("<", lambda order: order < 0),
    "<=": _ordered("<=", lambda order: order <= 0),
    ">": _ordered(">", lambda order: order > 0),
    ">=": _ordered(">=", lambda order: order >= 0),
    "in": contains,
    "not in": lambda left, right: not contains(left, right),
    "is": identical,
    "is not": lambda left, right: not identical(left, right),
}


# --- Arithmetic ---


class Arithmetic:
    """The arithmetic operators under one setting of the range checks.

    With `strict`, results must fit 32-bit ints and floats; the 64-bit check applies unless `strict` is set without
    `debug`.
    """

    def __init__(self, strict: bool = False, debug: bool = False) -> None:
        self._strict = strict
        self._wide = debug or not strict
        self.is_wide = self._wide and not strict
        """Whether ints are only held to 64 bits."""
        self.binary: dict[str, Callable[[Value, Value], Value]] = {
            "+": self.add,
            "-": self.subtract,
            "*": self.multiply,
            "/": divide,
            "//": floor_divide,
            "%": modulo,
            "**": self.power,
            "<<": self.shift_left,
            ">>": self.shift_right,
            "&": bit_and,
            "^": bit_xor,
        }

    def _checked(self, value: Value) -> Value:
        if type(value) is int:
            if self._strict and value not in _INT32:
                raise ValueFailure(f"{value}: A 32 bit integer overflow")
            if self._wide and not INT64_MIN <= value <= INT64_MAX:
                raise ValueFailure(f"{value}: A 64 bit integer overflow")
        elif self._strict and abs(value) > _FLOAT32_MAX:
            raise ValueFailure(f"{float_text(value, plus=True)}: A 32-bit floating point number overflow")
        return value

    def add(self, left: Value, right: Value) -> Value:
        left_type, right_type = type(left), type(right)
        if left_type is str and right_type is str:
            text_of(len(left) + len(right))
            return left + right
        if left_type in _NUMBERS and right_type in _NUMBERS:
            return self._checked(left + right)
        if isinstance(left, list):
            if isinstance(right, list):
                return concatenate(left, right)
            raise ValueFailure(f'can only concatenate list (not "{kind(right)}") to list')
        raise _unsupported("+", left, right)

    def subtract(self, left: Value, right: Value) -> Value:
        _require_numbers("-", left, right)
        return self._checked(left - right)

    def multiply(self, left: Value, right: Value) -> Value:
        if type(left) in _NUMBERS and type(right) in _NUMBERS:
            return self._checked(left * right)
        if type(left) is int:
            left, right = right, left
        if type(right) is int:
            if type(left) is str:
                text_of(len(left) * right)
                return left * right
            if isinstance(left, list):
                items_of(len(left) * right)
                return KList(list(left) * right)
            left, right = right, left
        raise _unsupported("*", left, right)

    def power(self, left: Value, right: Value) -> Value:
        _require_numbers("**", left, right)
        if type(left) is int and type(right) is int:
            if right < 0:
                raise ValueFailure("0: A 64 bit integer overflow")
            if right > 64 and abs(left) > 1:
                raise ValueFailure(f"{left}**{right}: A 64 bit integer overflow")
        try:
            result = left**right
        except ZeroDivisionError:
            return math.inf
        except OverflowError:
            return self._checked(math.inf)
        return math.nan if isinstance(result, complex) else self._checked(result)

    def shift_left(self, left: Value, right: Value) -> Value:
        _require_ints("<<", left, right)
        if right < 0 or right > 128:
            raise ValueFailure(f"{left} << {right}: A 64 bit integer overflow")
        return self._checked(left << right)

    def shift_right(self, left: Value, right: Value) -> Value:
        _require_ints(">>", left, right)
        if right < 0:
            raise ValueFailure(f"{left} >> {right}: A 64 bit integer overflow")
        return left >> right

    def negate(self, value: Value) -> Value:
        if type(value) not in _NUMBERS:
            raise ValueFailure(f"bad operand type for unary -: '{kind(value)}'")
        if value == INT64_MIN and type(value) is int:
            return value  # as it is written: its digits alone, without the sign, pass the largest number and wrap
        return self._checked(0 - value)  # of zero there is one, as written or computed


_NUMBERS: Final = frozenset({int, float})


def _unsupported(symbol: str, left: Value, right: Value) -> ValueFailure:
    return ValueFailure(f"unsupported operand type(s) for {symbol}: '{kind(left)}' and '{kind(right)}'")


def _require_numbers(symbol: str, left: Value, right: Value) -> None:
    if type(left) not in _NUMBERS or type(right) not in _NUMBERS:
        raise _unsupported(symbol, left, right)


def _require_ints(symbol: str, left: Value, right: Value) -> None:
    if type(left) is not int or type(right) is not int:
        raise _unsupported(symbol, left, right)


def divide(left: Value, right: Value) -> Value:
    _require_numbers("/", left, right)
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left)
    return left / right


def floor_divide(left: Value, right: Value) -> Value:
    _require_numbers("//", left, right)
    if right == 0:
        if type(left) is int and type(right) is int:
            raise ValueFailure("attempt to divide by zero")
        return math.nan if left == 0 else math.copysign(math.inf, left)
    return left // right


def modulo(left: Value, right: Value) -> Value:
    _require_numbers("%", left, right)
    if right == 0:
        if type(left) is int and type(right) is int:
            raise ValueFailure("attempt to calculate the remainder with a divisor of zero")
        return math.nan
    if type(left) is int and type(right) is int:
        return left % right
    return math.fmod(left, right)


def bit_and(left: Value, right: Value) -> Value:
    _require_ints("&", left, right)
    return left & right


def bit_xor(left: Value, right: Value) -> Value:
    _require_ints("^", left, right)
    return left ^ right


def positive(value: Value) -> Value:
    if type(value) not in _NUMBERS:
        raise ValueFailure(f"bad operand type for unary +: '{kind(value)}'")
    return value


def invert(value: Value) -> Value:
    if type(value) is not int:
        raise ValueFailure(f"bad operand type for unary ~: '{kind(value)}'")
    return ~value


# --- Containers ---


def concatenate(left: Sequence[Value], right: Sequence[Value]) -> KList:
    """A list of the items of both, each keeping its sites."""
    items_of(len(left) + len(right))
    result = KList(left)
    result.extend(right)
    left_sites, right_sites = getattr(left, "sites", None), getattr(right, "sites", None)
    if left_sites is not None or right_sites is not None:
        result.sites = [*(left_sites or [()] * len(left)), *(right_sites or [()] * len(right))]
    return result


def subscript(value: Value, index: Value) -> Value:
    """`value[index]`; a key that is missing is `Undefined`, a list or string index out of range an error."""
    if isinstance(value, dict):
        if type(index) is str:
            return value.get(index, UNDEFINED)
        if not isinstance(value, SchemaInstance):
            return UNDEFINED
    elif type(index) is int and (isinstance(value, list) or type(value) is str):
        if -len(value) <= index < len(value):
            return value[index]
        raise ValueFailure(f"{'string' if type(value) is str else 'list'} index out of range: {index}")
    raise ValueFailure(f"'{kind(value)}' object is not subscriptable with '{kind(index)}'")


def slice_of(value: Value, lower: Value, upper: Value, step: Value) -> Value:
    """`value[lower:upper:step]`; None and Undefined bounds are open."""
    bounds: list[int | None] = []
    for bound in (lower, upper, step):
        if bound is None or bound is UNDEFINED:
            bounds.append(None)
        elif type(bound) is int:
            bounds.append(bound)
        else:
            raise ValueFailure(f"slice indices must be integers or None, got '{kind(bound)}'")
    if bounds[2] == 0:
        raise ValueFailure("slice step cannot be zero")
    window = slice(*bounds)
    if type(value) is str:
        return value[window]
    if isinstance(value, list):
        result = KList(list.__getitem__(value, window))
        sites = getattr(value, "sites", None)
        if sites is not None:
            result.sites = sites[window]
        return result
    raise ValueFailure(f"invalid slice object {kind(value)}")


def iterate(value: Value) -> list[tuple[Value, Value, Value]]:
    """The (item, key, value) triples a loop over `value` takes: for a dict the item is the key."""
    if isinstance(value, dict):
        return [(key, key, item) for key, item in value.items()]
    if isinstance(value, list):
        return [(item, index, item) for index, item in enumerate(value)]
    if type(value) is str:
        return [(character, index, character) for index, character in enumerate(value)]
    raise ValueFailure(f"'{kind(value)}' object is not iterable")


def with_path(value: Value, path: Sequence[Value], leaf: Value, sites: Sites, origin: Span | None) -> Value:
    """`value` with what is at `path` (keys and list indexes) replaced by `leaf`; containers on the way are new.

    A schema instance on the way is built again at `origin`, so that its checks hold for what it has become.
    """
    if not path:
        return leaf
    head, rest = path[0], path[1:]
    if isinstance(value, SchemaInstance) and type(head) is str:
        given = {key: value[key] for key in value.config_keys if key in value}
        given[head] = with_path(value.get(head, UNDEFINED), rest, leaf, sites, origin)
        config = KDict(given)
        config.operators = dict.fromkeys(given, OVERRIDE)
        config.sites = {key: value.sites_of(key) for key in given}
        config.sites[head] = sites if not rest else value.sites_of(head)
        return value.schema.rebuild(config, value.args, value.kwargs, origin)
    if isinstance(value, KDict) and type(head) is str:
        changed = value.copy()
        changed[head] = with_path(value.get(head, UNDEFINED), rest, leaf, sites, origin)
        if not rest and sites:
            changed.sites = changed.sites or {}
            changed.sites[head] = sites
        return changed
    if isinstance(value, list) and type(head) is int:
        if not -len(value) <= head < len(value):
            raise ValueFailure(f"index out of bounds: the len is {len(value)} but the index is {head}")
        items = KList(value, list(value.sites) if isinstance(value, KList) and value.sites else None)
        items[head] = with_path(value[head], rest, leaf, sites, origin)
        if not rest and items.sites:
            items.sites[head] = sites
        return items
    if type(head) is str:
        hint = f"Check if the syntax for updating the dictionary with the attribute '{head}' is correct"
        got = kind(value)
        raise ValueFailure(
            f"failed to update the dict. An iterable of key-value pairs was expected, but got {got}. {hint}"
        )
    raise ValueFailure(f"'{kind(value)}' object is not subscriptable with '{kind(head)}'")
