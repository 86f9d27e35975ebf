"""What may stand in the schema of a custom resource definition: the parts of JSON Schema that are served, the
extensions, and defaults that are values of their places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kcl.records import dataclass, replace
from runtimes.sandbox import structural
from runtimes.sandbox.pruning import EMBEDDED, PRESERVE, pruned
from runtimes.sandbox.schema.structural import Schema
from runtimes.sandbox.structural import LIST_KEYS, LIST_TYPE, LISTED, MAP_TYPE
from runtimes.sandbox.validate import custom as values
from runtimes.sandbox.validate.causes import Causes
from runtimes.sandbox.validate.rules import compile_rules, stated

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_POINTERS = ("additionalItems", "dependencies", "$ref")  # empty ones of the others count as absent
_OWN = ("metadata", "kind", "apiVersion")
_AT_ROOT = (
    "description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
    "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items", "properties",
    "externalDocs", "example", PRESERVE, "x-kubernetes-validations",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Place:
    """no_default: why a default may not be set, None if it may. in_metadata: the place is a part of an object's own."""

    is_root: bool = False
    in_metadata: bool = False
    no_default: str | None = None


def check(causes: Causes, schema: Schema, path: str, *, has_status: bool) -> None:
    """All that is wrong with a version's schema. `has_status`: the status is written on its own."""
    found = Causes()
    if has_status:
        _status_apart(found, schema, path)
    if schema.get("nullable"):
        found.forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    why = structural.unsupported(schema)
    if not why:
        before = len(found)
        structural.check(found, schema, path)
        if len(found) == before:
            _defaults(found, schema, path, embedded=True)
    _rules(found, schema, path, _Place(is_root=True))
    if not found and why:
        found.invalid(path, "", why)
    if not found:
        compile_rules(found, schema, path)
    causes += found


def _status_apart(causes: Causes, schema: Schema, path: str) -> None:
    """What a status that is validated alone would lose may not be said at the root."""
    for name, value in schema.items():
        if not value:
            continue
        if name == "type" and value != "object":
            text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            causes.invalid(f"{path}.type", value, text)
            return
        if name not in _AT_ROOT:
            shown = " ".join(each if each != PRESERVE else "XPreserveUnknownFields" for each in _GO_AT_ROOT)
            text = f"only [{shown}] fields are allowed at the root of the schema if the status subresource is enabled"
            causes.invalid(path, schema, text)
            return


_GO_AT_ROOT = (
    *(f"{name[0].upper()}{name[1:]}" for name in _AT_ROOT if not name.startswith("x-")),
    "XPreserveUnknownFields",
    "XValidations",
)


# --- What is served of JSON Schema, and extensions -------------------------------------------------------------------


def _rules(causes: Causes, schema: Schema, path: str, place: _Place) -> None:
    _served(causes, schema, path, place)
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        causes.forbidden(f"{path}.uniqueItems", text)
    additional, properties = schema.get("additionalProperties"), schema.get("properties") or {}
    if additional is not None and additional is not True and properties:
        text = "additionalProperties and properties are mutual exclusive"
        causes.forbidden(f"{path}.additionalProperties", text)
    for child, where, inner in _below(schema, place):
        _rules(causes, child, path + where, inner)
    if schema.get(PRESERVE) is False:
        causes.invalid(f"{path}.{PRESERVE}", False, "must be true or undefined")
    _map(causes, schema, path)
    _list(causes, schema, path)
    _identified(causes, schema, path)
    stated(causes, schema, path)


def _below(schema: Schema, place: _Place) -> Iterator[tuple[Schema, str, _Place]]:
    inside = replace(place, is_root=False)
    if isinstance(schema.get("additionalProperties"), dict):
        why = "inside additionalProperties applying to object metadata" if place.in_metadata else place.no_default
        yield schema["additionalProperties"], ".additionalProperties", replace(inside, no_default=why)
    for name, member in sorted((schema.get("properties") or {}).items()):
        own = name in _OWN and (place.is_root or bool(schema.get(EMBEDDED)))
        why = f"in top-level {name}" if own and place.is_root else place.no_default
        member_place = replace(inside, in_metadata=place.in_metadata or own, no_default=why)
        yield member, f".properties[{name}]", member_place
    if isinstance(schema.get("not"), dict):
        yield schema["not"], ".not", inside
    for name in LISTED[:1] + LISTED[:0:-1]:
        for index, part in enumerate(schema.get(name) or ()):
            yield part, f".{name}[{index}]", inside
    for name, member in sorted((schema.get("definitions") or {}).items()):
        yield member, f".definitions[{name}]", inside
    items = schema.get("items")
    if isinstance(items, dict):
        yield items, ".items", inside
    for index, item in enumerate(items if isinstance(items, list) else ()):
        yield item, f".items[{index}]", inside
    for name, member in sorted((schema.get("dependencies") or {}).items()):
        if isinstance(member, dict):
            yield member, f".dependencies[{name}]", inside


def _served(causes: Causes, schema: Schema, path: str, place: _Place) -> None:
    kind = schema.get("type")
    if kind and kind not in _TYPES:
        causes.not_supported(f"{path}.type", kind, _TYPES)
    if schema.get("default") is not None and place.no_default is not None:
        causes.forbidden(f"{path}.default", f"must not be set {place.no_default}".rstrip())
    for name in ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"):
        value = schema.get(name)
        if value or (value is not None and name in _POINTERS):
            causes.forbidden(f"{path}.{name}", f"{name} is not supported")
    if kind == "null":
        causes.forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        causes.forbidden(f"{path}.items", "items must be a schema object and not an array")
    if place.in_metadata and schema.get(EMBEDDED):
        causes.forbidden(f"{path}.{EMBEDDED}", "must not be used inside of resource meta")


def _wants_type(causes: Causes, schema: Schema, path: str, wanted: str, extension: str) -> bool:
    kind, text = schema.get("type") or "", f"must be {wanted} if {extension} is specified"
    if not kind:
        causes.required(f"{path}.type", text)
    elif kind != wanted:
        causes.invalid(f"{path}.type", kind, text)
    return kind == wanted


def _map(causes: Causes, schema: Schema, path: str) -> None:
    kind = schema.get(MAP_TYPE)
    if kind is None:
        return
    _wants_type(causes, schema, path, "object", MAP_TYPE)
    if kind not in ("atomic", "granular"):
        causes.not_supported(f"{path}.{MAP_TYPE}", kind, ("atomic", "granular"))


def _list(causes: Causes, schema: Schema, path: str) -> None:
    kind, keys = schema.get(LIST_TYPE), schema.get(LIST_KEYS) or []
    items: Any = schema.get("items")
    if kind is not None:
        if _wants_type(causes, schema, path, "array", LIST_TYPE) and kind == "set" and isinstance(items, dict):
            _set(causes, items, f"{path}.items")
        if kind not in ("atomic", "set", "map"):
            causes.not_supported(f"{path}.{LIST_TYPE}", kind, ("atomic", "set", "map"))
    if keys and kind != "map":
        text = f"must be map if {LIST_KEYS} is non-empty"
        place = f"{path}.{LIST_TYPE}"
        causes.required(place, text) if kind is None else causes.invalid(place, kind, text)
    if kind == "map":
        _list_map(causes, items, keys, path)


def _set(causes: Causes, items: Schema, path: str) -> None:
    text = f"must be atomic as item of a list with {LIST_TYPE}=set"
    if items.get("type") == "array" and items.get(LIST_TYPE) not in (None, "atomic"):
        causes.invalid(f"{path}.{LIST_TYPE}", items[LIST_TYPE], text)
    if items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        causes.invalid(f"{path}.{MAP_TYPE}", items.get(LIST_TYPE), text)


def _list_map(causes: Causes, items: Any, keys: list[str], path: str) -> None:
    if not keys:
        causes.required(f"{path}.{LIST_KEYS}", f"must not be empty if {LIST_TYPE} is map")
    if items is None:
        causes.required(f"{path}.items", f"must have a schema if {LIST_TYPE} is map")
    if not isinstance(items, dict):
        return
    if items.get("type", "") != "object":
        text = f"must be object if parent array's {LIST_TYPE} is map"
        causes.invalid(f"{path}.items.type", items.get("type", ""), text)
        return
    seen: set[str] = set()
    for key in keys:
        member = (items.get("properties") or {}).get(key)
        if member is None:
            causes.invalid(f"{path}.{LIST_KEYS}", keys, "entries must all be names of item properties")
        elif member.get("type") in ("object", "array"):
            text = f"must be a scalar type if parent array's {LIST_TYPE} is map"
            causes.invalid(f"{path}.items.properties[{key}].type", items["type"], text)
        if key in seen:
            causes.invalid(f"{path}.{LIST_KEYS}", keys, "must not contain duplicate entries")
        seen.add(key)


def _identified(causes: Causes, schema: Schema, path: str) -> None:
    """Items of sets and maps are there, and so are the keys that tell them apart."""
    kind, items = schema.get(LIST_TYPE), schema.get("items")
    if kind not in ("set", "map") or not isinstance(items, dict):
        return
    if items.get("nullable"):
        causes.forbidden(f"{path}.items.nullable", f"cannot be nullable when {LIST_TYPE} is {kind}")
    if kind == "set":
        return
    for key in schema.get(LIST_KEYS) or ():
        member, place = (items.get("properties") or {}).get(key), f"{path}.items.properties[{key}]"
        if member is None:
            continue
        if key not in (items.get("required") or ()) and member.get("default") is None:
            text = f"this property is in {LIST_KEYS}, so it must have a default or be a required property"
            causes.required(f"{place}.default", text)
        if member.get("nullable"):
            text = f"this property is in {LIST_KEYS}, so it cannot be nullable"
            causes.forbidden(f"{place}.nullable", text)


# --- Defaults --------------------------------------------------------------------------------------------------------


def _defaults(causes: Causes, schema: Schema, path: str, *, embedded: bool = False) -> None:
    """Each default is a value of its own place, with nothing that would be pruned from it."""
    if schema.get("default") is not None:
        _default(causes, schema, path, embedded=embedded or bool(schema.get(EMBEDDED)))
    if isinstance(schema.get("items"), dict):
        _defaults(causes, schema["items"], f"{path}.items")
    for name, member in sorted((schema.get("properties") or {}).items()):
        _defaults(causes, member, f"{path}.properties[{name}]")


def _default(causes: Causes, schema: Schema, path: str, *, embedded: bool) -> None:
    default = schema["default"]
    if pruned(schema, default) != default:
        causes.invalid(f"{path}.default", default, "must not have unknown fields")
    if embedded and isinstance(default, dict):
        missing = [name for name in ("apiVersion", "kind") if not default.get(name)]
        for name in missing:
            causes.required(f"{path}.default.{name}")
        if missing:
            return
    found = Causes()
    values.schema_rules(found, schema, default, "")
    for each in found:
        field = f".{each['field']}" if each["field"] else ""
        causes.append({**each, "field": f"{path}.default{field}"})
