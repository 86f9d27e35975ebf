"""Whether a tree fits the types of a schema: fields that are not there, names nobody declared, operators that misfit.

What has no known type (`dyn`) fits everything, as for the server. Functions are checked for their names only.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from kcl.records import dataclass
from runtimes.sandbox.cel.evaluation import MACROS, two_named
from runtimes.sandbox.cel.functions import FUNCTIONS, METHODS, compiled
from runtimes.sandbox.cel.syntax import Call, CelError, ListOf, Literal, MapOf, Name, Node, Select, parse

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Type:
    name: str
    inner: Type | None = None
    schema: Schema | None = None

    def __str__(self) -> str:
        if self.name == "list":
            return f"list({self.inner})"
        return f"map(string, {self.inner})" if self.name == "map" else self.name


DYN, BOOL, STRING = Type("dyn"), Type("bool"), Type("string")
_PLAIN = {"integer": Type("int"), "number": Type("double"), "boolean": BOOL, "string": STRING}
_TIME, _DURATION = Type("google.protobuf.Timestamp"), Type("google.protobuf.Duration")
_FORMATS = {"date-time": _TIME, "date": _TIME, "duration": _DURATION, "byte": Type("bytes")}
_COMPARED = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_")
_NUMBERS = ("int", "uint", "double")
_RESULTS = {
    **dict.fromkeys(("size", "indexOf", "lastIndexOf", "int", "asInteger", "compareTo", "sign"), Type("int")),
    **dict.fromkeys(("string", "lowerAscii", "upperAscii", "trim", "replace", "substring", "join", "charAt"), STRING),
    **dict.fromkeys(("contains", "startsWith", "endsWith", "matches", "isSorted", "has", "bool", "hasValue"), BOOL),
    **dict.fromkeys(("isURL", "isIP", "isCIDR", "isQuantity", "isLessThan", "isGreaterThan", "isInteger"), BOOL),
    "double": Type("double"),
    "split": Type("list", STRING),
    "findAll": Type("list", STRING),
    "find": STRING,
    "format": STRING,
    "timestamp": _TIME,
    "duration": _DURATION,
    **dict.fromkeys(("containsIP", "containsCIDR", "isSemver", "isCanonical", "isLoopback", "isUnspecified"), BOOL),
    **dict.fromkeys(("family", "prefixLength", "major", "minor", "patch"), Type("int")),
}
KNOWN_ELSEWHERE = frozenset(("authorizer", "format", "optMap", "optFlatMap"))
"""Of the server's functions, those that are not here: rules that use one are not evaluated."""


def type_of(schema: Schema) -> Type:
    if schema.get("x-kubernetes-int-or-string"):
        return DYN
    match schema.get("type"):
        case "array":
            return Type("list", type_of(schema.get("items") or {}))
        case "object":
            additional = schema.get("additionalProperties")
            if isinstance(additional, dict):
                return Type("map", type_of(additional))
            if schema.get("x-kubernetes-preserve-unknown-fields") and not schema.get("properties"):
                return DYN
            return Type("object", None, schema)
        case "string" if schema.get("format") in _FORMATS:
            return _FORMATS[str(schema["format"])]
        case str() as name if name in _PLAIN:
            return _PLAIN[name]
    return DYN


def check(tree: Node, names: Mapping[str, Type]) -> Type:
    """Returns the type of the whole. Raises CelError for the first thing that does not fit."""
    match tree:
        case Literal(_, _, type_):
            return Type(type_)
        case Name(at, name):
            if name in names:
                return names[name]
            if name in ("int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type"):
                return DYN
            raise _undeclared(name, at)
        case Select():
            return member(check(tree.target, names), tree)
        case ListOf(_, items):
            types = [check(each, names) for each in items]
            return Type("list", types[0] if types and all(each == types[0] for each in types) else DYN)
        case MapOf(_, entries):
            for pair in entries:
                for each in pair:
                    check(each, names)
            return DYN
        case Call():
            return _call(tree, names)
    return DYN


@functools.lru_cache(maxsize=500)
def parsed(text: str) -> tuple[Node, frozenset[str]]:
    """The tree of an expression and the names in it. Raises CelError."""
    tree = parse(text)
    return tree, frozenset(names_in(tree))


def names_in(tree: Node) -> set[str]:
    """The names that a tree refers to, functions of the server that are missing here included."""
    match tree:
        case Name(_, name):
            return {name}
        case Select():
            return names_in(tree.target)
        case ListOf(_, items):
            return set().union(*(names_in(each) for each in items))
        case MapOf(_, entries):
            return set().union(*(names_in(each) for pair in entries for each in pair))
        case Call(_, name, target, arguments):
            own = {name} if name in KNOWN_ELSEWHERE and name not in METHODS else set()
            return own.union(*(names_in(each) for each in (*arguments, *((target,) if target else ()))))
    return set()


def _undeclared(name: str, at: int) -> CelError:
    return CelError(f"undeclared reference to '{name}' (in container '')", at)


def member(held: Type, node: Select) -> Type:
    if held.schema is not None:
        member = (held.schema.get("properties") or {}).get(node.field)
        if member is None:
            raise CelError(f"undefined field '{node.field}'", node.at)
        return DYN if node.optional else type_of(member)
    if held.name == "map" and held.inner is not None:
        return DYN if node.optional else held.inner
    if held.name != "dyn":
        raise CelError(f"type '{held}' does not support field selection", node.at)
    return DYN


def _call(node: Call, names: Mapping[str, Type]) -> Type:
    name = node.name
    if node.target is None and name == "has":
        if len(node.arguments) != 1 or not isinstance(node.arguments[0], Select):
            raise CelError("invalid argument to has() macro", node.arguments[0].at if node.arguments else node.at)
        check(node.arguments[0], names)
        return BOOL
    if node.target is not None and name in MACROS and node.arguments and isinstance(node.arguments[0], Name):
        return _macro(node, check(node.target, names), node.arguments[0].name, names)
    if isinstance(node.target, Name) and node.target.name == "optional" and "optional" not in names:
        return DYN
    if name in KNOWN_ELSEWHERE and name not in METHODS:
        return DYN
    if _is_of_elsewhere(node.target, names):
        return DYN
    if isinstance(node.target, Name) and node.target.name not in names:
        if f"{node.target.name}.{name}" in FUNCTIONS:
            for each in node.arguments:
                check(each, names)
            return BOOL
        if name not in METHODS:
            raise CelError(_undeclared(node.target.name, 0).message, node.target.at, (_undeclared(name, node.at),))
    target = None if node.target is None else check(node.target, names)
    types = [check(each, names) for each in node.arguments]
    if name.startswith(("_", "-", "!", "@")):
        return _operator(node, types)
    if name not in (FUNCTIONS if target is None else METHODS):
        raise _undeclared(name, node.at)
    if name == "matches" and target is not None and target.name not in ("string", "dyn"):
        raise _unfit(name, node.at, f"{target}.({', '.join(map(str, types))})")
    pattern = node.arguments[-1] if node.arguments and name in ("matches", "find", "findAll") else None
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        try:
            compiled(pattern.value)
        except CelError:
            raise CelError(f"invalid {name} argument", pattern.at) from None
    return _RESULTS.get(name, DYN)


def _is_of_elsewhere(node: Node | None, names: Mapping[str, Type]) -> bool:
    """What is made by something of the server's that is not here."""
    while isinstance(node, Call):
        node = node.target
    return isinstance(node, Name) and node.name in KNOWN_ELSEWHERE and node.name not in names


def _macro(node: Call, held: Type, variable: str, names: Mapping[str, Type]) -> Type:
    if held.name not in ("list", "map", "dyn"):
        text = f"expression of type '{held}' cannot be range of a comprehension (must be list, map, or dynamic)"
        raise CelError(text, node.target.at if node.target else node.at)
    item = (held.inner or DYN) if held.name == "list" else STRING if held.name == "map" else DYN
    inner, parts = {**names, variable: item}, node.arguments[1:]
    if two_named(node):
        key = Type("int") if held.name == "list" else item
        second, parts = parts[0], parts[1:]
        assert isinstance(second, Name), "as two_named says"
        inner = {**names, variable: key, second.name: held.inner or DYN}
    found = [check(each, inner) for each in parts]
    return result_of(node.name, held, found[-1] if found else DYN)


def result_of(macro: str, held: Type, last: Type) -> Type:
    """The type of what a macro makes of `held`; `last` is that of its last part."""
    match macro:
        case "map" | "transformList":
            return Type("list", last)
        case "filter":
            return Type("list", (held.inner or DYN) if held.name == "list" else STRING if held.name == "map" else DYN)
        case "transformMap" | "transformMapEntry":
            return DYN
    return BOOL


def _operator(node: Call, types: list[Type]) -> Type:
    name = node.name
    if any(each.name == "dyn" for each in types):
        return BOOL if name in (*_COMPARED, "_&&_", "_||_", "!_", "@in") else DYN
    first = types[0]
    match name:
        case "_&&_" | "_||_" | "!_":
            if all(each.name == "bool" for each in types):
                return BOOL
        case "_?_:_":
            if first.name == "bool" and types[1] == types[2]:
                return types[1]
        case "@in":
            return BOOL
        case "_[_]" | "_[?_]":
            if first.inner is not None:
                return first.inner if name == "_[_]" else DYN
        case "-_":
            if first.name in _NUMBERS:
                return first
        case _:
            numbers = all(each.name in _NUMBERS for each in types)
            same = types[0] == types[1] or "null_type" in (types[0].name, types[1].name)
            if name in _COMPARED and (same or (numbers and name not in ("_==_", "_!=_"))):
                return BOOL
            if same and (numbers or (name == "_+_" and first.name in ("string", "list", "bytes"))):
                return first
            if any("Timestamp" in each.name or "Duration" in each.name for each in types):
                return DYN
    raise _unfit(name, node.at, f"({', '.join(map(str, types))})")


def _unfit(name: str, at: int, applied: str) -> CelError:
    return CelError(f"found no matching overload for '{name}' applied to '{applied}'", at)
