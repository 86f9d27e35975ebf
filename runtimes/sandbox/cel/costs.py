"""What a rule may cost at worst, by what its schema allows: the estimate that a server holds definitions to.

Costs are in the server's units. A text or list that the schema does not bound is as long as a request may be; one whose
length cannot be told has no bound at all. (The rules are those of
https://github.com/google/cel-go/blob/master/checker/cost.go and of apiserver's `pkg/cel/library/cost.go`.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from kcl.records import dataclass
from runtimes.sandbox.cel import checking
from runtimes.sandbox.cel.evaluation import MACROS, two_named
from runtimes.sandbox.cel.syntax import Call, CelError, ListOf, Literal, MapOf, Name, Node, Select

UNBOUNDED: Final = 2**64 - 1
LARGEST_REQUEST = 3 * 1024 * 1024
_TRAVERSAL, _PATTERN = 0.1, 0.25
_LIST, _MAP = 10, 30
_SCALARS = ("int", "uint", "double", "bool", "google.protobuf.Timestamp", "google.protobuf.Duration")
_TEXTS = ("string", "bytes", "dyn")

Schema = Mapping[str, Any]
Path = tuple[str, ...]


def plus(*costs: int) -> int:
    return min(sum(costs), UNBOUNDED)


def times(cost: int, number: int) -> int:
    return min(cost * number, UNBOUNDED)


def _part(cost: int, factor: float) -> int:
    found = math.ceil(cost * factor) if cost < UNBOUNDED else UNBOUNDED
    return UNBOUNDED if found >= UNBOUNDED * factor and cost >= UNBOUNDED else min(found, UNBOUNDED)


# --- Sizes -----------------------------------------------------------------------------------------------------------


def least_serialized(schema: Schema) -> int:
    """Bytes of the shortest value, in JSON."""
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    match schema.get("type"):
        case "boolean":
            return 4
        case "integer" | "number":
            return 1
        case "string":
            return {"duration": 3, "date": 12, "date-time": 21}.get(schema.get("format", ""), 2)
        case "object" if not isinstance(schema.get("additionalProperties"), dict):
            required = set(schema.get("required") or ())
            members = (schema.get("properties") or {}).items()
            needed = ((name, each) for name, each in members if name in required and each.get("default") is None)
            return 2 + sum(len(name) + least_serialized(each) + 4 for name, each in needed)
    return 2


def _most_text(schema: Schema) -> int:
    if schema.get("x-kubernetes-int-or-string"):
        return 4 * schema["maxLength"] if schema.get("maxLength") is not None else LARGEST_REQUEST - 2
    form = schema.get("format", "")
    if form in ("duration", "date", "date-time"):
        return 12 if form == "date" else 32
    if schema.get("maxLength") is not None:
        return max(int(schema["maxLength"]), 0) * (1 if form == "byte" else 4)
    if form != "byte" and schema.get("enum"):
        return max((len(each.encode()) for each in schema["enum"] if isinstance(each, str)), default=0)
    return LARGEST_REQUEST - 2


def most_elements(schema: Schema) -> int:
    """Characters of a text, items of a list, members of a map."""
    if schema.get("x-kubernetes-int-or-string"):
        return _most_text(schema)
    match schema.get("type"):
        case "string":
            return _most_text(schema)
        case "array":
            if schema.get("maxItems") is not None:
                return max(int(schema["maxItems"]), 0)
            return (LARGEST_REQUEST - 2) // (least_serialized(schema.get("items") or {}) + 1)
        case "object":
            inner = schema.get("additionalProperties")
            if not isinstance(inner, dict):
                return 0
            if schema.get("maxProperties") is not None:
                return max(int(schema["maxProperties"]), 0)
            return (LARGEST_REQUEST - 2) // (least_serialized(inner) + 6)
    return 0


_KEY: Schema = {"type": "boolean"}  # for the estimate they have no length


def _at(root: Schema, path: Path) -> Schema | None:
    here: Schema = root
    for name in path[1:]:
        match name:
            case "@items" | "@values":
                found = here.get("items") if here.get("type") == "array" else here.get("additionalProperties")
            case "@keys":
                found = _KEY if isinstance(here.get("additionalProperties"), dict) else None
            case _:
                found = (here.get("properties") or {}).get(name)
        if not isinstance(found, dict):
            return None
        here = found
    return here


@dataclass(frozen=True, slots=True)
class _Estimate:
    """Of a node: `cost`; `least` and `most` elements of its value; where in the object it is, if that is known."""

    cost: int
    least: int
    most: int
    type: checking.Type
    path: Path = ()

    @property
    def is_text(self) -> bool:
        return self.type.name in _TEXTS


@dataclass(frozen=True, slots=True)
class _Known:
    type: checking.Type
    path: Path


class Estimator:
    """For the rules at one place of a schema."""

    def __init__(self, schema: Schema, names: Mapping[str, checking.Type]) -> None:
        self.schema = schema
        self.names = {name: _Known(type_, (name,)) for name, type_ in names.items()}

    def cost(self, tree: Node) -> int:
        return self._estimate(tree, self.names).cost

    def _estimate(self, node: Node, names: Mapping[str, _Known]) -> _Estimate:
        match node:
            case Literal(_, value, kind):
                size = len(value) if isinstance(value, str) else 1
                return _Estimate(0, size, size, checking.Type(kind))
            case Name(_, name) if name in names:
                return self._sized(1, names[name].type, names[name].path)
            case Name():  # of a type
                return self._sized(1, checking.DYN, (node.name,))
            case Select():
                return self._select(node, names)
            case ListOf(_, items):
                found = [self._estimate(each, names) for each in items]
                type_ = checking.Type("list", found[0].type if found else checking.DYN)
                return _Estimate(plus(_LIST, *(each.cost for each in found)), len(items), len(items), type_)
            case MapOf(_, entries):
                cost = plus(_MAP, *(self._estimate(each, names).cost for pair in entries for each in pair))
                return _Estimate(cost, len(entries), len(entries), checking.DYN)
            case Call():
                return self._call(node, names)
        return _Estimate(1, 0, UNBOUNDED, checking.DYN)

    def _sized(self, cost: int, type_: checking.Type, path: Path) -> _Estimate:
        if path:
            place = _at(self.schema, path)
            if place is not None:
                return _Estimate(cost, 0, most_elements(place), type_, path)
        most = 1 if type_.name in _SCALARS else UNBOUNDED
        return _Estimate(cost, most if most == 1 else 0, most, type_, path)

    def _select(self, node: Select, names: Mapping[str, _Known]) -> _Estimate:
        held = self._estimate(node.target, names)
        if node.optional:
            return _Estimate(plus(held.cost, 1), 0, UNBOUNDED, checking.DYN)
        cost = plus(held.cost, 1) if held.type.name in ("map", "object") else held.cost
        type_ = _checked(lambda: checking.member(held.type, node))
        return self._sized(cost, type_, (*held.path, node.field))

    def _call(self, node: Call, names: Mapping[str, _Known]) -> _Estimate:
        name, arguments = node.name, node.arguments
        if node.target is None and name == "has" and len(arguments) == 1 and isinstance(arguments[0], Select):
            return _Estimate(self._estimate(arguments[0].target, names).cost, 1, 1, checking.BOOL)
        if node.target is not None and name in MACROS and arguments and isinstance(arguments[0], Name):
            return self._macro(node, names)
        if isinstance(node.target, Name) and node.target.name == "sets" and "sets" not in names:
            held = [self._estimate(each, names) for each in arguments]
            own = times(times(held[0].most, held[-1].most), 2 if name == "equivalent" else 1)
            return _Estimate(plus(*(each.cost for each in held), own, 1), 1, 1, checking.BOOL)
        target = None if node.target is None else self._estimate(node.target, names)
        given = [self._estimate(each, names) for each in arguments]
        base = plus(*(each.cost for each in given), 0 if target is None else target.cost)
        type_ = _checked(lambda: checking.check(node, {each: known.type for each, known in names.items()}))
        if name.startswith(("_", "-", "!", "@")):
            return self._operator(name, given, base, type_)
        own, least, most = self._function(name, target, given, type_)
        return _Estimate(plus(base, own), least, most, type_)

    def _operator(self, name: str, given: list[_Estimate], base: int, type_: checking.Type) -> _Estimate:
        first = given[0]
        match name:
            case "_&&_" | "_||_":
                return _Estimate(base, 1, 1, type_)
            case "_?_:_":
                cost = plus(first.cost, max(given[1].cost, given[2].cost))
                least, most = min(given[1].least, given[2].least), max(given[1].most, given[2].most)
                return _Estimate(cost, least, most, given[1].type)
            case "_==_" | "_!=_":
                return _Estimate(plus(base, _part(min(first.most, given[1].most), _TRAVERSAL)), 1, 1, type_)
            case "_<_" | "_<=_" | "_>_" | "_>=_" if all(each.is_text for each in given):
                own = max(_part(min(first.most, given[1].most), _TRAVERSAL), 1 if first.type.name == "dyn" else 0)
                return _Estimate(plus(base, own), 1, 1, type_)
            case "_+_" if all(each.is_text or each.type.name == "list" for each in given):
                least, most = first.least + given[1].least, plus(first.most, given[1].most)
                own = 1 if "list" in (first.type.name, given[1].type.name) else _part(most, _TRAVERSAL)
                return _Estimate(plus(base, own), least, most, first.type)
            case "@in" if given[1].type.name != "map":
                return _Estimate(plus(base, given[1].most), 1, 1, type_)
            case "_[_]":
                below = "@items" if first.type.name == "list" else "@values"
                return self._sized(plus(base, 1), type_, (*first.path, below))
        return self._sized(plus(base, 1), type_, ())

    def _macro(self, node: Call, names: Mapping[str, _Known]) -> _Estimate:
        """Macros are loops; what one round of each costs beside its parts follows from how they are written out."""
        assert node.target is not None and isinstance(node.arguments[0], Name), "the caller looked"
        held = self._estimate(node.target, names)
        is_map = held.type.name == "map"
        inner = {
            **names,
            node.arguments[0].name: _Known(_item(held.type), (*held.path, "@keys" if is_map else "@items")),
        }
        parts = node.arguments[1:]
        if two_named(node) and isinstance(parts[0], Name):
            inner[node.arguments[0].name] = _Known(checking.DYN, (*held.path, "@keys" if is_map else "@indices"))
            inner[parts[0].name] = _Known(
                held.type.inner or checking.DYN, (*held.path, "@values" if is_map else "@items")
            )
            parts = parts[1:]
        found = [self._estimate(each, inner) for each in parts]
        each = plus(*(part.cost for part in found))
        beside, once = _ROUNDS.get(node.name, (13, 1))
        if node.name == "map" and len(found) == 2:
            each = plus(found[0].cost, found[1].cost)
        elif node.name in ("transformMap", "transformMapEntry"):
            once = _MAP
        cost = plus(held.cost, once, times(plus(each, beside), held.most))
        made = checking.result_of(node.name, held.type, found[-1].type if found else checking.DYN)
        most = held.most if made.name in ("list", "dyn") else 1
        return _Estimate(cost, 0, most, made)

    def _function(
        self, name: str, target: _Estimate | None, given: list[_Estimate], type_: checking.Type
    ) -> tuple[int, int, int]:
        """The cost of a function beside that of its arguments, and how many elements its result has."""
        result = (1, 1) if type_.name in _SCALARS else (0, UNBOUNDED)
        first = given[0] if given else None
        match name:
            case "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" if target is not None:
                if target.type.name != "list":
                    return _part(target.most, _TRAVERSAL), *result
                own = 1 + (
                    _part(self._most_of_items(target), _TRAVERSAL)
                    if _item(target.type).name in ("string", "bytes")
                    else 0
                )
                return times(target.most, own), *result
            case "url" | "ip" | "cidr" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" if first:
                return _part(first.most, _TRAVERSAL), first.least, first.most
            case "lowerAscii" | "upperAscii" | "substring" | "trim" if target is not None:
                return _part(target.most, _TRAVERSAL), target.least, target.most
            case "replace" if target is not None and len(given) > 1:
                return _part(target.most, 2 * _TRAVERSAL), 0, _replaced(target, given[0], given[1])
            case "split" if target is not None:
                return _part(target.most, 2 * _TRAVERSAL), 0, target.most
            case "join" if target is not None:
                separators = times(first.most, max(target.most - 1, 0)) if first else 0
                size = plus(times(target.most, self._most_of_items(target)), separators)
                return _part(size, _TRAVERSAL), 0, size
            case "find" | "findAll" | "matches" if target is not None and first is not None:
                own = times(_part(plus(target.most, 1), _TRAVERSAL), _part(first.most, _PATTERN))
                return own, *(result if name == "matches" else (0, target.most))
            case "contains" if target is not None and first is not None:
                return times(_part(target.most, _TRAVERSAL), _part(first.most, _TRAVERSAL)), *result
            case "startsWith" | "endsWith" if first is not None:
                return _part(first.most, _TRAVERSAL), *result
            case "containsIP" | "containsCIDR" if first is not None:
                own = 4 if name == "containsIP" else 7
                return plus(own, _part(first.most, _TRAVERSAL) if first.is_text else 0), *result
            case "validate" if first is not None:
                return _part(_part(first.most, _TRAVERSAL), 128 * _PATTERN), *result
        return 1, *result

    def _most_of_items(self, held: _Estimate) -> int:
        place = _at(self.schema, (*held.path, "@items")) if held.path else None
        return most_elements(place) if place is not None else UNBOUNDED


_ROUNDS = {
    "all": (3, 1),
    "exists": (4, 1),
    "exists_one": (2, 2),
    "existsOne": (2, 2),
    "map": (12, _LIST + 1),
    "filter": (13, _LIST + 1),
    "transformList": (12, _LIST + 1),
}
"""What a round costs beside its parts, and what the whole costs once."""


def _item(held: checking.Type) -> checking.Type:
    if held.name == "map":
        return checking.STRING
    return held.inner or checking.DYN


def _checked(find: Any) -> checking.Type:
    try:
        found: checking.Type = find()
    except CelError:
        return checking.DYN
    return found


def _replaced(held: _Estimate, old: _Estimate, new: _Estimate) -> int:
    """The most characters of a text in which some are replaced."""
    if old.least == 0:
        return plus(times(plus(held.most, 1), new.most), held.most)
    if new.most <= old.least:
        return held.most
    return times(math.ceil(held.most / old.least), new.most)
