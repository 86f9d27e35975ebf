"""The value of a tree. Values are Python's own; a limit on steps keeps a hostile expression from holding up others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from kcl.records import dataclass
from runtimes.sandbox.cel.functions import FUNCTIONS, METHODS, Optional, Quantity, UInt, fail
from runtimes.sandbox.cel.syntax import Call, CelError, ListOf, Literal, MapOf, Name, Node, Select

MOST_STEPS: Final = 50_000
_TYPES = {"int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type"}
_HIGHEST, _LOWEST = 2**63 - 1, -(2**63)


@dataclass(slots=True)
class Budget:
    """Shared by all the rules of one object."""

    left: int = MOST_STEPS


class OutOfBudget(Exception):
    """The rules took too many steps."""


@dataclass(frozen=True, slots=True)
class _Scope:
    values: Mapping[str, Any]
    budget: Budget


def evaluate(tree: Node, values: Mapping[str, Any], budget: Budget) -> Any:
    """Raises CelError for what has no value, e.g. a missing key; OutOfBudget."""
    return _value(tree, _Scope(values, budget))


def _value(node: Node, scope: _Scope) -> Any:
    scope.budget.left -= 1
    if scope.budget.left < 0:
        raise OutOfBudget
    match node:
        case Literal(_, value, type_):
            return UInt(value) if type_ == "uint" else value
        case Name(at, name):
            if name in scope.values:
                return scope.values[name]
            if name in _TYPES:
                return _Type(name)
            raise CelError(f"no such attribute(s): {name}", at)
        case Select():
            return _select(node, scope)
        case ListOf(_, items):
            return [_value(each, scope) for each in items]
        case MapOf(_, entries):
            return {_value(key, scope): _value(value, scope) for key, value in entries}
        case Call():
            return _call(node, scope)
    raise CelError("no such overload", node.at)


def _select(node: Select, scope: _Scope) -> Any:
    target = _value(node.target, scope)
    if node.optional or isinstance(target, Optional):
        held = target.value if isinstance(target, Optional) else target
        found = isinstance(held, dict) and node.field in held
        return Optional(held[node.field], True) if found else Optional(None, False)
    if isinstance(target, list):
        raise CelError("no such overload", node.at)
    if not isinstance(target, dict) or node.field not in target:
        raise CelError(f"no such key: {node.field}", node.at)
    return target[node.field]


def _call(node: Call, scope: _Scope) -> Any:
    name, arguments = node.name, node.arguments
    if name in ("_&&_", "_||_"):
        return _either(name == "_||_", arguments, scope)
    if name == "_?_:_":
        condition = _value(arguments[0], scope)
        if not isinstance(condition, bool):
            raise CelError("no such overload", node.at)
        return _value(arguments[1 if condition else 2], scope)
    if node.target is None and name == "has" and len(arguments) == 1:
        return _has(arguments[0], scope)
    if node.target is not None and name in _MACROS and arguments and isinstance(arguments[0], Name):
        return _MACROS[name](node, arguments[0].name, scope)
    if isinstance(node.target, Name) and node.target.name not in scope.values:
        spaced = FUNCTIONS.get(f"{node.target.name}.{name}")
        if spaced is not None:
            return _applied(spaced, [_value(each, scope) for each in arguments], node)
    if isinstance(node.target, Name) and node.target.name == "optional" and "optional" not in scope.values:
        values = [_value(each, scope) for each in arguments]
        return Optional(values[0], True) if values else Optional(None, False)
    target = None if node.target is None else _value(node.target, scope)
    values = [_value(each, scope) for each in arguments]
    scope.budget.left -= _weight(target) + sum(_weight(each) for each in values)
    if scope.budget.left < 0:
        raise OutOfBudget
    if name in _OPERATORS:
        return _applied(_OPERATORS[name], values, node)
    table = FUNCTIONS if node.target is None else METHODS
    if name not in table:
        raise CelError("no such overload", node.at)
    return _applied(table[name], values if node.target is None else [target, *values], node)


def _applied(function: Callable[..., Any], values: list[Any], node: Call) -> Any:
    try:
        return function(*values)
    except CelError as error:
        raise CelError(error.message, node.at) from None
    except (TypeError, ValueError, KeyError, IndexError, OverflowError, AttributeError):
        raise CelError("no such overload", node.at) from None


def _weight(value: Any) -> int:
    return len(value) // 10 if isinstance(value, str | list | dict) else 0


def _either(wanted: bool, sides: tuple[Node, ...], scope: _Scope) -> bool:
    """An error on one side does not matter where the other decides."""
    error: CelError | None = None
    for side in sides:
        try:
            value = _value(side, scope)
        except CelError as failed:
            error = error or failed
            continue
        if isinstance(value, bool) and value == wanted:
            return wanted
        if not isinstance(value, bool):
            error = error or CelError("no such overload", side.at)
    if error is not None:
        raise error
    return not wanted


def _has(node: Node, scope: _Scope) -> bool:
    if not isinstance(node, Select):
        raise CelError("invalid argument to has() macro", node.at)
    target = _value(node.target, scope)
    if isinstance(target, Optional):
        target = target.value
    if not isinstance(target, dict):
        raise CelError("no such overload", node.at)
    return node.field in target


# --- Macros ---


TWO_NAMED = frozenset(("all", "exists", "existsOne", "transformList", "transformMap", "transformMapEntry"))
"""Macros that may name an item twice: by its key or index, and by its value."""


def two_named(node: Call) -> bool:
    return node.name in TWO_NAMED and len(node.arguments) > 2 and isinstance(node.arguments[1], Name)


def _rounds(node: Call, name: str, scope: _Scope) -> tuple[list[tuple[Any, _Scope]], tuple[Node, ...]]:
    """Each item with the names that it has, and what the macro does with it."""
    assert node.target is not None
    held = _value(node.target, scope)
    if not isinstance(held, list | dict):
        raise CelError("no such overload", node.at)
    if not two_named(node):
        return [(item, _inside(scope, {name: item})) for item in held], node.arguments[1:]
    second = node.arguments[1]
    assert isinstance(second, Name), "as two_named says"
    pairs = held.items() if isinstance(held, dict) else enumerate(held)
    return [(key, _inside(scope, {name: key, second.name: value})) for key, value in pairs], node.arguments[2:]


def _inside(scope: _Scope, names: Mapping[str, Any]) -> _Scope:
    return _Scope({**scope.values, **names}, scope.budget)


def _quantified(wanted: bool) -> Callable[[Call, str, _Scope], bool]:
    def quantified(node: Call, name: str, scope: _Scope) -> bool:
        error: CelError | None = None
        rounds, parts = _rounds(node, name, scope)
        for _, inside in rounds:
            try:
                value = _value(parts[0], inside)
                if isinstance(value, bool) and value == wanted:
                    return wanted
            except CelError as failed:
                error = failed
        if error is not None:
            raise error
        return not wanted

    return quantified


def _exists_one(node: Call, name: str, scope: _Scope) -> bool:
    rounds, parts = _rounds(node, name, scope)
    held = [_value(parts[0], inside) for _, inside in rounds]
    return sum(each is True for each in held) == 1


def _map(node: Call, name: str, scope: _Scope) -> list[Any]:
    return [value for _, value in _made(node, name, scope)]


def _made(node: Call, name: str, scope: _Scope) -> list[tuple[Any, Any]]:
    """Items that the conditions hold for, with what the last part makes of them."""
    rounds, (*conditions, result) = _rounds(node, name, scope)
    return [(item, _value(result, each)) for item, each in rounds if all(_value(c, each) is True for c in conditions)]


def _transform_map(node: Call, name: str, scope: _Scope) -> dict[Any, Any]:
    return dict(_made(node, name, scope))


def _transform_entries(node: Call, name: str, scope: _Scope) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for _, entry in _made(node, name, scope):
        if not isinstance(entry, dict):
            raise CelError("no such overload", node.at)
        for key, value in entry.items():
            if key in found:
                raise CelError(f"insert failed: key '{key}' already exists", node.at)
            found[key] = value
    return found


def _filter(node: Call, name: str, scope: _Scope) -> list[Any]:
    rounds, parts = _rounds(node, name, scope)
    return [item for item, inside in rounds if _value(parts[0], inside) is True]


_MACROS: dict[str, Callable[[Call, str, _Scope], Any]] = {
    "all": _quantified(False),
    "exists": _quantified(True),
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "map": _map,
    "filter": _filter,
    "transformList": _map,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entries,
}
MACROS = frozenset(_MACROS)


# --- Operators ---


@dataclass(frozen=True, slots=True)
class _Type:
    name: str


def type_of(value: Any) -> _Type:
    for name, kind in (("bool", bool), ("uint", UInt), ("int", int), ("double", float), ("string", str)):
        if isinstance(value, kind):
            return _Type(name)
    for name, kinds in (("list", list), ("map", dict), ("google.protobuf.Timestamp", datetime)):
        if isinstance(value, kinds):
            return _Type(name)
    return _Type("null_type" if value is None else "type" if isinstance(value, _Type) else type(value).__name__)


FUNCTIONS["type"] = type_of


def equal(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    return bool(left == right)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def ordered(left: Any, right: Any) -> bool:
        alike = type(left) is type(right) and isinstance(left, str | bool | datetime | timedelta | bytes)
        if not alike and not (_is_number(left) and _is_number(right)):
            raise fail("no such overload")
        return compare(left, right)

    return ordered


def _bounded(value: Any, kind: type) -> Any:
    if kind is float:
        return value
    low, high = (0, 2**64 - 1) if kind is UInt else (_LOWEST, _HIGHEST)
    if not low <= value <= high:
        raise fail("integer overflow" if kind is int else "unsigned integer overflow")
    return kind(value)


def _plus(left: Any, right: Any) -> Any:
    if type(left) is type(right) and isinstance(left, str | list | bytes):
        return left + right
    if isinstance(left, datetime | timedelta) and isinstance(right, datetime | timedelta):
        return left + right  # type: ignore[operator]  # two times raise TypeError, which is no such overload
    return _arithmetic(left, right, lambda a, b: a + b)


def _minus(left: Any, right: Any) -> Any:
    if isinstance(left, datetime | timedelta):
        return left - right
    return _arithmetic(left, right, lambda a, b: a - b)


def _arithmetic(left: Any, right: Any, act: Callable[[Any, Any], Any]) -> Any:
    if type(left) is not type(right) or not _is_number(left):
        raise fail("no such overload")
    return _bounded(act(left, right), type(left))


def _divided(left: Any, right: Any) -> Any:
    if isinstance(left, float) and isinstance(right, float):
        return left / right if right else (float("nan") if not left else float("inf") * left)
    if right == 0 and _is_number(left):
        raise fail("division by zero")
    return _arithmetic(left, right, lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))


def _modulo(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        raise fail("no such overload")
    if right == 0:
        raise fail("modulus by zero")
    return _arithmetic(left, right, lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1))


def _negated(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise fail("no such overload")
    return _bounded(-value, type(value))


def _not(value: Any) -> bool:
    if not isinstance(value, bool):
        raise fail("no such overload")
    return not value


def _indexed(held: Any, key: Any) -> Any:
    if isinstance(held, dict):
        if key not in held:
            raise fail(f"no such key: {key}")
        return held[key]
    if isinstance(held, list) and isinstance(key, int) and not isinstance(key, bool):
        if not 0 <= key < len(held):
            raise fail(f"index out of bounds: {key}")
        return held[key]
    raise fail("no such overload")


def _maybe_indexed(held: Any, key: Any) -> Optional:
    held = held.value if isinstance(held, Optional) else held
    try:
        return Optional(_indexed(held, key), True)
    except CelError:
        return Optional(None, False)


def _in(item: Any, held: Any) -> bool:
    if isinstance(held, dict):
        return item in held
    if not isinstance(held, list):
        raise fail("no such overload")
    return any(equal(item, each) for each in held)


_OPERATORS: dict[str, Callable[..., Any]] = {
    "_==_": equal,
    "_!=_": lambda left, right: not equal(left, right),
    "_<_": _ordered(lambda a, b: a < b),
    "_<=_": _ordered(lambda a, b: a <= b),
    "_>_": _ordered(lambda a, b: a > b),
    "_>=_": _ordered(lambda a, b: a >= b),
    "_+_": _plus,
    "_-_": _minus,
    "_*_": lambda left, right: _arithmetic(left, right, lambda a, b: a * b),
    "_/_": _divided,
    "_%_": _modulo,
    "-_": _negated,
    "!_": _not,
    "_[_]": _indexed,
    "_[?_]": _maybe_indexed,
    "@in": _in,
}
FUNCTIONS["sets.contains"] = lambda held, part: all(_in(each, held) for each in part)
FUNCTIONS["sets.intersects"] = lambda left, right: any(_in(each, right) for each in left)
FUNCTIONS["sets.equivalent"] = lambda left, right: (
    all(_in(each, right) for each in left) and all(_in(each, left) for each in right)
)
__all__ = ["MACROS", "TWO_NAMED", "Budget", "OutOfBudget", "Quantity", "evaluate", "two_named"]
