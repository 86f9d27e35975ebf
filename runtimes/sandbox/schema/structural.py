"""Types out of OpenAPI schemas: those of built-in kinds and the structural schemas of custom resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtimes.sandbox.schema.types import DEDUCED, UNTYPED, Field, ListShape, MapShape, Scalar, Type

Schema = dict[str, Any]
Resolve = Callable[[str], Type]


def no_references(name: str) -> Type:
    raise AssertionError(f"a structural schema refers to {name!r}")


def list_shape(schema: Schema, resolve: Resolve, preserve: bool) -> ListShape:
    """A list's element, and how its elements are told apart: `list-type`, or the older patch strategy, or as a
    whole.
    """
    items = schema.get("items")
    element = type_of(items, resolve, preserve) if isinstance(items, dict) else UNTYPED
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return ListShape(element, associative=True)
        case "map":
            return ListShape(element, associative=True, keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()))
        case "atomic":
            return ListShape(element)
    if str(schema.get("x-kubernetes-patch-strategy", "")).startswith("merge"):
        key = schema.get("x-kubernetes-patch-merge-key")
        return ListShape(element, associative=True, keys=(key,) if key else ())
    return ListShape(element)


def map_shape(schema: Schema, resolve: Resolve, preserve: bool, into: MapShape, go: Mapping[str, Any]) -> None:
    """Fill `into`. `go` says how Go holds each field; a field that it does not name is optional and free of zeros."""
    properties = schema.get("properties") or {}
    declared = [name for name in go if name in properties]  # the order members are written in
    for name in [*declared, *(name for name in properties if name not in go)]:
        member = properties[name]
        go_type, flags = go.get(name, ("", "op"))
        into.fields[name] = Field(
            name,
            type_of(member, resolve, preserve),
            default=member.get("default"),
            go=go_type,
            omit_empty="o" in flags,
            omit_zero="z" in flags,
            pointer="p" in flags,
            patch_strategy=member.get("x-kubernetes-patch-strategy", ""),
            merge_key=member.get("x-kubernetes-patch-merge-key", ""),
        )
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        into.element = type_of(additional, resolve, preserve)
    elif additional is True or (additional is None and (preserve or not properties)):
        into.element = DEDUCED
    into.atomic = schema.get("x-kubernetes-map-type") == "atomic"


def scalar_of(kind: str, fmt: str) -> Scalar:
    match kind:
        case "integer" | "number":
            return "numeric"
        case "boolean":
            return "boolean"
        case "string" if fmt in ("", "byte"):
            return "string"
    return "untyped"


def reference(schema: Schema) -> str:
    """The definition that `schema` stands for, given as `$ref` or as the only one of `allOf`; "" if none."""
    ref = schema.get("$ref") or ""
    all_of = schema.get("allOf") or []
    if not ref and len(all_of) == 1:
        ref = all_of[0].get("$ref", "")
    return str(ref).rpartition("/")[2]


def fill(into: Type, schema: Schema, resolve: Resolve, preserve: bool, go: Mapping[str, Any]) -> None:
    """Make `into` the type that `schema` describes."""
    preserve = preserve or schema.get("x-kubernetes-preserve-unknown-fields") is True
    into.format = schema.get("format", "")
    into.enum = tuple(schema.get("enum") or ())
    kind = schema.get("type", "")
    if schema.get("x-kubernetes-int-or-string") is True:
        into.format, kind = "int-or-string", ""
    if kind in ("object", ""):
        into.map = MapShape()
        map_shape(schema, resolve, preserve, into.map, go)
    if kind in ("array", ""):
        into.list = list_shape(schema, resolve, preserve)
    if kind not in ("array", "object"):
        into.scalar = scalar_of(kind, into.format)


def type_of(schema: Schema, resolve: Resolve, preserve: bool) -> Type:
    name = reference(schema)
    if not name:
        made = Type(schema=schema)
        fill(made, schema, resolve, preserve, {})
        return made
    target = resolve(name)
    if schema.get("x-kubernetes-map-type") is None:
        return target
    assert target.map is not None, f"{name} is no map"
    atomic = schema["x-kubernetes-map-type"] == "atomic"
    overridden = MapShape(target.map.fields, target.map.element, atomic)
    return Type(target.scalar, target.list, overridden, target.format, target.name, target.go, target.enum)


def custom_type(schema: Schema | None, object_meta: Type) -> Type:
    """The type of a custom resource: its schema, with the metadata that every object has."""
    if not schema:
        made = Type(map=MapShape(element=DEDUCED))
    else:
        made = Type(schema=schema)
        fill(made, schema, no_references, False, {})
        if made.map is None:
            made.map = MapShape(element=DEDUCED)
    assert made.map is not None
    text = Type(scalar="string")
    made.map.fields |= {
        "apiVersion": Field("apiVersion", text, go="string"),
        "kind": Field("kind", text, go="string"),
        "metadata": Field("metadata", object_meta, go="v1.ObjectMeta", pointer=False),
    }
    return made
