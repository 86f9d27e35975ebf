"""Whether the schemas of custom resources are structural, and what their extensions ask of them.

A schema is structural when every place has a type of its own, and what is inside `allOf`, `anyOf`, `oneOf` and `not`
only restricts values: it can then be pruned, defaulted and merged without looking at a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import re2

from runtimes.sandbox.pruning import EMBEDDED, PRESERVE, pruned
from runtimes.sandbox.schema.structural import Schema
from runtimes.sandbox.validate import custom as values
from runtimes.sandbox.validate.causes import Causes

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_LISTED = ("allOf", "anyOf", "oneOf")
_UNSUPPORTED = ("$ref", "definitions", "dependencies", "id", "patternProperties")
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_ROOT_TYPES = (("apiVersion", "string"), ("kind", "string"), ("metadata", "object"))
_GO_WORDS = {  # the same language, told of in other words
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
LIST_TYPE, LIST_KEYS, MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
INT_OR_STRING = "x-kubernetes-int-or-string"


def check(causes: Causes, schema: Schema, path: str) -> None:
    """All that is wrong with a version's schema but for rules in CEL."""
    _places(causes, schema, path, "at the root")
    _root(causes, schema, path)
    if _dialect(schema):
        causes.invalid(path, "", "OpenAPIV3Schema 'schema' is not supported")
    _extensions(causes, schema, path)


def _children(schema: Schema, path: str) -> Iterator[tuple[Any, str, str]]:
    if isinstance(schema.get("items"), dict):
        yield schema["items"], f"{path}.items", "for specified array items"
    for name, member in sorted((schema.get("properties") or {}).items()):
        yield member, f"{path}.properties[{name}]", "for specified object fields"
    if isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"], f"{path}.additionalProperties", "for specified object fields"


def _dialect(schema: Schema) -> bool:
    """Whether a schema names the language that it is written in, anywhere."""
    below = (child for child, _, _ in _children(schema, "") if isinstance(child, dict))
    return bool(schema.get("$schema")) or any(_dialect(child) for child in below)


# --- Types and value rules -------------------------------------------------------------------------------------------


def _places(causes: Causes, schema: Schema, path: str, where: str) -> None:
    """Types everywhere: what is below a place comes before the place."""
    for child, child_path, child_where in _children(schema, path):
        if isinstance(child, dict):
            _places(causes, child, child_path, child_where)
    _combined(causes, schema, path)
    if not schema.get("type"):
        free = schema.get(INT_OR_STRING) or schema.get(PRESERVE)
        if (not free or where == "at the root") and not schema.get("$ref"):
            causes.required(f"{path}.type", f"must not be empty {where}")
    if schema.get(EMBEDDED) and not schema.get(PRESERVE) and not schema.get("properties"):
        text = f"must not be empty if {EMBEDDED} is true without {PRESERVE}"
        causes.required(f"{path}.properties", text)
    if schema.get(EMBEDDED) and schema.get("type") not in ("object", None, ""):
        causes.invalid(f"{path}.type", schema["type"], f"must be object if {EMBEDDED} is true")


def _combined(causes: Causes, schema: Schema, path: str) -> None:
    """What value rules may say beside values: the two alternatives of an int-or-string, and nothing else."""
    for name in _LISTED:
        for index, part in enumerate(schema.get(name) or []):
            if not _says_int_or_string(schema, name):
                _restricts_only(causes, part, f"{path}.{name}[{index}]")
    if isinstance(schema.get("not"), dict):
        _restricts_only(causes, schema["not"], f"{path}.not")


def _named(causes: Causes, part: Schema, schema: Schema, part_path: str, path: str) -> None:
    """A member that a part restricts is one that the schema has."""
    for name in sorted(part.get("properties") or {}):
        if not isinstance(schema.get("additionalProperties"), dict) and name not in (schema.get("properties") or {}):
            text = f"because it is defined in {part_path}.properties[{name}]"
            causes.required(f"{path}.properties[{name}]", text)


def _says_int_or_string(schema: Schema, name: str) -> bool:
    return bool(schema.get(INT_OR_STRING)) and name == "anyOf" and schema.get("anyOf") == _INT_OR_STRING


def _restricts_only(causes: Causes, schema: Schema, path: str) -> None:
    for name in _LISTED:
        for index, part in enumerate(schema.get(name) or []):
            _restricts_only(causes, part, f"{path}.{name}[{index}]")
    if isinstance(schema.get("not"), dict):
        _restricts_only(causes, schema["not"], f"{path}.not")
    for child, child_path, _ in _children(schema, path):
        if isinstance(child, dict):
            _restricts_only(causes, child, child_path)
    if isinstance(schema.get("additionalProperties"), dict):
        causes.forbidden(f"{path}.additionalProperties", "must be undefined to be structural")
    if "default" in schema:
        causes.forbidden(f"{path}.default", "must be undefined to be structural")
    for name, empty in (("description", "empty"), ("nullable", "false"), ("title", "empty"), ("type", "empty")):
        if schema.get(name):
            causes.forbidden(f"{path}.{name}", f"must be {empty} to be structural")
    for name in (EMBEDDED, INT_OR_STRING, PRESERVE):
        if schema.get(name):
            causes.forbidden(f"{path}.{name}", "must be false to be structural")


# --- The root --------------------------------------------------------------------------------------------------------


def _root(causes: Causes, schema: Schema, path: str) -> None:
    properties = schema.get("properties") or {}
    for name in _LISTED:
        for index, part in enumerate(schema.get(name) or []):
            _named(causes, part, schema, f"{path}.{name}[{index}]", path)
    if schema.get("type") not in ("object", None, ""):
        causes.invalid(f"{path}.type", schema["type"], "must be object at the root")
    if schema.get("nullable"):
        causes.forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    if isinstance(schema.get("additionalProperties"), dict):
        causes.forbidden(f"{path}.additionalProperties", "must not be used at the root")
    for name, wanted in _ROOT_TYPES:
        given = properties.get(name)
        if isinstance(given, dict) and given.get("type") not in (wanted, None, ""):
            causes.invalid(f"{path}.properties[{name}].type", given["type"], f"must be {wanted}")
    metadata = properties.get("metadata")
    if isinstance(metadata, dict) and (metadata.get("properties") or {}).keys() - {"name", "generateName"}:
        text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        causes.forbidden(f"{path}.properties[metadata]", text)


# --- Extensions, and what is left out of JSON Schema -----------------------------------------------------------------


def _extensions(causes: Causes, schema: Schema, path: str) -> None:
    _unsupported(causes, schema, path)
    _kind(causes, schema, path)
    _list(causes, schema, path)
    _map(causes, schema, path)
    if "default" in schema and schema["default"] is not None:
        _default(causes, schema, path)
    for child, child_path, _ in _children(schema, path):
        if isinstance(child, dict):
            _extensions(causes, child, child_path)


def _unsupported(causes: Causes, schema: Schema, path: str) -> None:
    for name in _UNSUPPORTED:
        if schema.get(name):
            causes.forbidden(f"{path}.{name}", f"{name} is not supported")
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        causes.forbidden(f"{path}.uniqueItems", text)
    if isinstance(schema.get("items"), list):
        causes.forbidden(f"{path}.items", "items must be a schema object and not an array")
    if isinstance(schema.get("additionalProperties"), dict) and schema.get("properties"):
        text = "additionalProperties and properties are mutual exclusive"
        causes.forbidden(f"{path}.additionalProperties", text)
    if schema.get(PRESERVE) is False:
        causes.invalid(f"{path}.{PRESERVE}", False, "must be true or undefined")
    _pattern(causes, schema.get("pattern") or "", path)


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


def _kind(causes: Causes, schema: Schema, path: str) -> None:
    kind = schema.get("type")
    if kind and kind not in _TYPES:
        causes.not_supported(f"{path}.type", kind, _TYPES)
    if kind == "null":
        causes.forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if kind == "array" and schema.get("items") is None:
        causes.required(f"{path}.items", "must be specified")


def _list(causes: Causes, schema: Schema, path: str) -> None:
    kind, keys = schema.get(LIST_TYPE), schema.get(LIST_KEYS) or []
    items: Any = schema.get("items")
    items = items if isinstance(items, dict) else {}
    if kind is None:
        if keys:
            causes.invalid(f"{path}.{LIST_TYPE}", "", f"must be map if {LIST_KEYS} is non-empty")
        return
    if schema.get("type") != "array":
        causes.invalid(f"{path}.type", schema.get("type", ""), f"must be array if {LIST_TYPE} is specified")
    elif kind not in ("atomic", "set", "map"):
        causes.not_supported(f"{path}.{LIST_TYPE}", kind, ("atomic", "set", "map"))
    elif kind == "set":
        _set(causes, items, f"{path}.items")
    elif kind == "map":
        _list_map(causes, items, keys, path)
    if keys and kind != "map":
        causes.invalid(f"{path}.{LIST_TYPE}", kind, f"must be map if {LIST_KEYS} is non-empty")


def _set(causes: Causes, items: Schema, path: str) -> None:
    if items.get("nullable"):
        causes.forbidden(f"{path}.nullable", f"cannot be nullable when {LIST_TYPE} is set")
    for kind, extension in (("object", MAP_TYPE), ("array", LIST_TYPE)):
        value = items.get(extension)
        if items.get("type") == kind and value not in ("atomic", *([None] if kind == "array" else [])):
            text = f"must be atomic as item of a list with {LIST_TYPE}=set"
            causes.invalid(f"{path}.{extension}", value, text)


def _list_map(causes: Causes, items: Schema, keys: list[str], path: str) -> None:
    if items.get("type") not in ("object", None, ""):
        text = f"must be object if parent array's {LIST_TYPE} is map"
        causes.invalid(f"{path}.items.type", items["type"], text)
        return
    if not keys:
        causes.required(f"{path}.{LIST_KEYS}", f"must not be empty if {LIST_TYPE} is map")
        return
    properties = items.get("properties") or {}
    for index, key in enumerate(keys):
        member = properties.get(key)
        if member is None:
            text = "entries must all be names of item properties"
            causes.invalid(f"{path}.{LIST_KEYS}[{index}]", key, text)
            continue
        if member.get("type") in ("object", "array"):
            text = f"must be a scalar type if parent array's {LIST_TYPE} is map"
            causes.invalid(f"{path}.items.properties[{key}].type", member["type"], text)
    if len(set(keys)) != len(keys):
        causes.invalid(f"{path}.{LIST_KEYS}", keys, "must not contain duplicate entries")
    for key in dict.fromkeys(key for key in keys if key in properties):
        member, here = properties[key], f"{path}.items.properties[{key}]"
        if key not in (items.get("required") or ()) and "default" not in member:
            text = f"this property is in {LIST_KEYS}, so it must have a default or be a required property"
            causes.required(f"{here}.default", text)
        if member.get("nullable"):
            text = f"this property is in {LIST_KEYS}, so it cannot be nullable"
            causes.forbidden(f"{here}.nullable", text)


def _map(causes: Causes, schema: Schema, path: str) -> None:
    kind = schema.get(MAP_TYPE)
    if kind is None:
        return
    if schema.get("type") != "object":
        causes.invalid(f"{path}.type", schema.get("type", ""), f"must be object if {MAP_TYPE} is specified")
    if kind not in ("atomic", "granular"):
        causes.not_supported(f"{path}.{MAP_TYPE}", kind, ("atomic", "granular"))


# --- Defaults --------------------------------------------------------------------------------------------------------


def _default(causes: Causes, schema: Schema, path: str) -> None:
    """A default is a value of its own place, with nothing that would be pruned from it."""
    default = schema["default"]
    found = Causes()
    if pruned(schema, default) != default:
        causes.invalid(f"{path}.default", default, "must not have unknown fields")
        return
    values.schema_rules(found, schema, default, "")
    for each in found:
        field = f".{each['field']}" if each["field"] else ""
        causes.append({**each, "field": f"{path}.default{field}"})
    root = path.endswith("openAPIV3Schema")
    if schema.get(EMBEDDED) or root:
        for name in ("apiVersion", "kind"):
            if isinstance(default, dict) and not default.get(name):
                causes.required(f"{path}.default.{name}")
