"""Objects drawn from a JSON Schema, and the same with one thing changed. An oracle says what they are worth."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator
from typing import Any

from kcl.tools.imports.formats import FORMATS, OF_DEFINITIONS

_TEXTS = (
    *("a", "abc", "web-1", "Always", "1", "10", "10m", "1Gi", "5s", "1h", "50%", "100", "true", "a.b", "a/b", "a=b"),
    *("https://example.com", "example.com", "10.0.0.1", "10.0.0.0/8", "arn:aws:iam::1:role/x", "2024-01-01T00:00:00Z"),
    *(
        "v1",
        "*",
        "/a",
        "sg-0123456789abcdef0",
        "/ip4",
        "aa:bb:cc:dd:ee:ff",
        "",
        "abcdef0123456789",
        "A",
        "a@b.c",
        "äöü",
    ),
)
_MOST_DEPTH = 7


class CannotDraw(Exception):
    """No value of the schema is known here."""


def drawn(schema: dict[str, Any], rng: random.Random, depth: int = 0) -> Any:
    """A value that has what the schema asks for most often. Raises CannotDraw."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice([each for each in schema["enum"] if each is not None])
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kinds = rng.choice([each for each in kinds if each != "null"])
    if kinds is None:
        kinds = _kind(schema, rng)
    match kinds:
        case "object":
            return _object(schema, rng, depth)
        case "array":
            least = schema.get("minItems", 0)
            count = least if depth > _MOST_DEPTH else min(least + rng.randrange(3), schema.get("maxItems", 9))
            items = schema.get("items")
            return [drawn(items if isinstance(items, dict) else {}, rng, depth + 1) for _ in range(count)]
        case "integer" | "number":
            return _number(schema, rng, kinds)
        case "boolean":
            return rng.random() < 0.5
        case _:
            return _text(schema, rng)


def _kind(schema: dict[str, Any], rng: random.Random) -> str:
    if "properties" in schema or "additionalProperties" in schema or "required" in schema:
        return "object"
    if "items" in schema:
        return "array"
    for word in ("anyOf", "oneOf"):
        kinds = [each["type"] for each in schema.get(word, []) if isinstance(each.get("type"), str)]
        if kinds:
            return str(rng.choice(kinds))
    return "string"


def _object(schema: dict[str, Any], rng: random.Random, depth: int) -> dict[str, Any]:
    made = {}
    required = set(schema.get("required", ()))
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if branches:
        required |= set(rng.choice(branches).get("required", ()))
    for name, each in schema.get("properties", {}).items():
        wanted = rng.random() < (0.5 if depth < 3 else 0.2) and depth < _MOST_DEPTH
        if name not in required and not wanted:
            continue
        try:
            made[name] = drawn(each, rng, depth + 1)
        except CannotDraw:
            if name in required:
                raise
    if isinstance(schema.get("additionalProperties"), dict):
        for _ in range(max(schema.get("minProperties", 0), rng.randrange(3))):
            made[rng.choice(("k1", "app", "x-y", "a.b/c"))] = drawn(schema["additionalProperties"], rng, depth + 1)
    return made


def _number(schema: dict[str, Any], rng: random.Random, kind: str) -> int | float:
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", max(low, 0) + 50))
    unit = schema.get("multipleOf")
    found = rng.choice((low, high, rng.randint(int(low), max(int(low), int(high)))))
    if unit:
        return int(found // unit) * int(unit) if isinstance(unit, int) else float(found // unit * unit)
    return float(found) + 0.5 if kind == "number" and rng.random() < 0.3 else found


def _text(schema: dict[str, Any], rng: random.Random) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength", 1 << 30)
    found = [each for each in _TEXTS if least <= len(each) <= most]
    pattern = schema.get("pattern")
    if pattern is not None:
        try:
            found = [each for each in found if re.search(pattern, each)]
        except re.error:
            raise CannotDraw from None
    elif not found:
        found = ["x" * least]
    if schema.get("format") in OF_DEFINITIONS:
        found = [each for each in found if re.search(FORMATS[schema["format"]], each)] or found
    if not found:
        raise CannotDraw
    return rng.choice(found)


def changed(value: Any, schema: dict[str, Any], rng: random.Random) -> Any:
    """A copy with one change at a random place: another type, a bound passed, a name too many or missing."""
    made = copy.deepcopy(value)
    places = list(_places(made, schema))
    if not places:
        return made
    holder, key, inner = rng.choice(places)
    old = holder[key]
    options: list[Any] = ["text", 7, True, [], ["x"], {"unknown": 1}, -1, 10**6, "", "é" * 300, 2.5]
    if isinstance(old, dict):
        options += [{**old, "neverHeardOf": "x"}]
        options += [{name: each for name, each in old.items() if name != gone} for gone in old]
        missing = [name for name in inner.get("properties", {}) if name not in old]
        for name in missing[:6]:
            try:
                options.append({**old, name: drawn(inner["properties"][name], rng, 4)})
            except CannotDraw:
                continue
    if isinstance(old, list):
        options += [old + old, old * 40, old[:-1]]
    if isinstance(old, int) and not isinstance(old, bool):
        bounds = (inner.get("minimum"), inner.get("maximum"))
        options += [bound + step for bound in bounds if bound is not None for step in (-1, 1)]
    if isinstance(old, str):
        options += [old + "!", old[:-1], old * 3]
    if rng.random() < 0.15 and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = rng.choice(options)
    return made


def _places(value: Any, schema: dict[str, Any]) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    if isinstance(value, dict):
        for name, each in value.items():
            extra = schema.get("additionalProperties")
            inner = schema.get("properties", {}).get(name, extra if isinstance(extra, dict) else {})
            yield value, name, inner
            yield from _places(each, inner)
    if isinstance(value, list):
        inner = schema.get("items", {})
        for at, each in enumerate(value):
            yield value, at, inner if isinstance(inner, dict) else {}
            yield from _places(each, inner if isinstance(inner, dict) else {})


def keys_differ(schema: Any, value: Any) -> bool:
    """Whether the items of every list that is a map have keys of their own."""
    if isinstance(value, list):
        if schema.get("x-kubernetes-list-type") == "map" and all(isinstance(each, dict) for each in value):
            keys = [tuple(repr(each.get(key)) for key in schema["x-kubernetes-list-map-keys"]) for each in value]
            if len(set(keys)) != len(keys):
                return False
        return all(keys_differ(schema.get("items", {}), each) for each in value)
    if isinstance(value, dict):
        extra = schema.get("additionalProperties")
        for name, each in value.items():
            inner = schema.get("properties", {}).get(name, extra if isinstance(extra, dict) else {})
            if not keys_differ(inner, each):
                return False
    return True
