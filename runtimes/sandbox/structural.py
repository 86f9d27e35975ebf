"""Whether the schemas of custom resources are structural.

A schema is structural when every place has a type of its own, and what is inside `allOf`, `anyOf`, `oneOf` and `not`
only restricts values: it can then be pruned, defaulted and merged without looking at a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import re2

from runtimes.sandbox.pruning import EMBEDDED, PRESERVE
from runtimes.sandbox.schema.structural import Schema
from runtimes.sandbox.validate.causes import Causes

LISTED = ("allOf", "anyOf", "oneOf")
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE, LIST_KEYS, MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
RULES = "x-kubernetes-validations"
_UNSUPPORTED = (
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
)
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_WHERE = {"root": "at the root", "item": "for specified array items", "field": "for specified object fields"}
_NOT_IN_PARTS = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (PRESERVE, "must be false to be structural"),
    (EMBEDDED, "must be false to be structural"),
    (INT_OR_STRING, "must be false to be structural"),
    (LIST_KEYS, "must be empty to be structural"),
    (LIST_TYPE, "must be undefined to be structural"),
    (MAP_TYPE, "must be undefined to be structural"),
    (RULES, "must be empty to be structural"),
)
_UNDEFINED = ("additionalProperties", "default", LIST_TYPE, MAP_TYPE)  # these are there even where they are empty
_GO_WORDS = {  # the same language, told of in other words
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}

Level = Literal["root", "item", "field"]


def unsupported(schema: Schema) -> str:
    """Why a schema cannot be looked at as a structural one; "" if it can."""
    for name, shown in _UNSUPPORTED:
        if schema.get(name):
            return f"OpenAPIV3Schema '{shown}' is not supported"
    parts: list[Any] = [*(part for name in LISTED for part in schema.get(name) or ()), schema.get("not")]
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    below = [schema.get("items"), *(schema.get("properties") or {}).values(), schema.get("additionalProperties")]
    return next((why for each in [*parts, *below] if isinstance(each, dict) and (why := unsupported(each))), "")


def check(causes: Causes, schema: Schema, path: str) -> None:
    """All that keeps a schema from being structural, sorted."""
    found = Causes()
    _places(found, schema, path, "root")
    _complete(found, schema, schema, path, path)
    causes += sorted(found, key=lambda each: f"{each['field']}: {each['message']}")


def _parts(schema: Schema) -> Iterator[tuple[Schema, str]]:
    for name in LISTED:
        for index, part in enumerate(schema.get(name) or ()):
            yield part, f".{name}[{index}]"
    if isinstance(schema.get("not"), dict):
        yield schema["not"], ".not"


# --- Places ----------------------------------------------------------------------------------------------------------


def _places(causes: Causes, schema: Schema, path: str, level: Level) -> None:
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if schema.get("type") == "array" and not isinstance(items, dict):
        causes.required(f"{path}.items", "must be specified")
    if isinstance(items, dict):
        _places(causes, items, f"{path}.items", "item")
    for name, member in (schema.get("properties") or {}).items():
        _places(causes, member, f"{path}.properties[{name}]", "field")
    if additional is not None and level == "root":
        causes.forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(additional, dict):
        _places(causes, additional, f"{path}.additionalProperties", "field")
    if schema.get(INT_OR_STRING):
        for name in (PRESERVE, EMBEDDED):
            if schema.get(name):
                causes.invalid(f"{path}.{name}", True, f"must be false if {INT_OR_STRING} is true")
    _restrictions(causes, schema, path, level)
    _type(causes, schema, path, level)
    _embedded(causes, schema, path)
    _own_members(causes, schema, path, level)


def _type(causes: Causes, schema: Schema, path: str, level: Level) -> None:
    kind, place = schema.get("type") or "", f"{path}.type"
    if schema.get(EMBEDDED) and kind != "object":
        text = f"must be object if {EMBEDDED} is true"
        causes.invalid(place, kind, text) if kind else causes.required(place, text)
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        causes.required(place, f"must not be empty {_WHERE[level]}")
    if level == "root" and kind not in ("", "object"):
        causes.invalid(place, kind, "must be object at the root")


def _embedded(causes: Causes, schema: Schema, path: str) -> None:
    if not schema.get(EMBEDDED):
        return
    if schema.get("additionalProperties") is not None:
        causes.forbidden(f"{path}.additionalProperties", f"must not be used if {EMBEDDED} is set")
    if not schema.get(PRESERVE) and not schema.get("properties"):
        text = f"must not be empty if {EMBEDDED} is true without {PRESERVE}"
        causes.required(f"{path}.properties", text)


def _own_members(causes: Causes, schema: Schema, path: str, level: Level) -> None:
    """What every object has: its schema may say little of it."""
    properties = schema.get("properties") or {}
    is_object = level == "root" or schema.get(EMBEDDED)
    for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if is_object and name in properties and properties[name].get("type", "") != wanted:
            place = f"{path}.properties[{name}].type"
            causes.invalid(place, properties[name].get("type", ""), f"must be {wanted}")
    if level == "root" and not _says_names_only(properties.get("metadata") or {}):
        text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        causes.forbidden(f"{path}.properties[metadata]", text)


def _says_names_only(metadata: Schema) -> bool:
    beside = {name for name, value in metadata.items() if value not in (None, "", False)}
    beside -= {"type", "default", "externalDocs", "example", "properties"}
    return not beside and not (metadata.get("properties") or {}).keys() - {"name", "generateName"}


# --- Restrictions of values ------------------------------------------------------------------------------------------


def _restrictions(causes: Causes, schema: Schema, path: str, level: Level) -> None:
    """What value rules may say beside values: the two alternatives of an int-or-string, and nothing else."""
    all_of = schema.get("allOf") or []
    for part, where in _parts(schema):
        if where.startswith(".anyOf") and schema["anyOf"] == _INT_OR_STRING:
            continue
        says_either = where == ".allOf[0]" and all_of[0].get("anyOf") == _INT_OR_STRING
        _restricts_only(causes, {**part, "anyOf": None} if says_either else part, path + where)
    _pattern(causes, schema.get("pattern") or "", path)


def _restricts_only(causes: Causes, part: Schema, path: str) -> None:
    for inner, where in _parts(part):
        _restricts_only(causes, inner, path + where)
    _pattern(causes, part.get("pattern") or "", path)
    if isinstance(part.get("items"), dict):
        _restricts_only(causes, part["items"], f"{path}.items")
    for name, member in (part.get("properties") or {}).items():
        _restricts_only(causes, member, f"{path}.properties[{name}]")
    for name, text in _NOT_IN_PARTS:
        value = part.get(name)
        if value or (name in _UNDEFINED and value is not None):
            causes.forbidden(f"{path}.{name}", text)
    if "metadata" in (part.get("properties") or {}):
        causes.forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _pattern(causes: Causes, pattern: str, path: str) -> None:
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        text = error.args[0]
        said = text.decode() if isinstance(text, bytes) else str(text)
        if said.startswith("pattern too large"):
            return  # for this machine's RE2, not for the server's
        if said == "trailing \\":
            said = "trailing backslash at end of expression: "
        what, _, where = said.rpartition(": ")
        why = f"error parsing regexp: {_GO_WORDS.get(what, what)}: `{where}`"
        causes.invalid(f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {why}")


def _complete(causes: Causes, part: Schema, schema: Any, path: str, part_path: str) -> None:
    """Whatever a part restricts is a place of the schema."""
    if not isinstance(schema, dict):
        causes.required(path, f"because it is defined in {part_path}")
        return
    for inner, where in _parts(part):
        _complete_inner(causes, inner, schema, path, part_path + where)


def _complete_inner(causes: Causes, part: Schema, schema: Any, path: str, part_path: str) -> None:
    _complete(causes, part, schema, path, part_path)
    if not isinstance(schema, dict):
        return
    if isinstance(part.get("items"), dict):
        _complete_inner(causes, part["items"], schema.get("items"), f"{path}.items", f"{part_path}.items")
    for name, member in (part.get("properties") or {}).items():
        where = f".properties[{name}]"
        _complete_inner(causes, member, (schema.get("properties") or {}).get(name), path + where, part_path + where)
