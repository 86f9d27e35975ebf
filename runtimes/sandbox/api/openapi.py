"""OpenAPI v3 documents of custom resources, in the form of the built-in ones, for clients to validate against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtimes.sandbox.data import read
from runtimes.sandbox.errors import JsonObject
from runtimes.sandbox.resources import Resource

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_REFERENCE = "#/components/schemas/"


def custom_document(resources: Sequence[tuple[Resource, Mapping[str, Any]]]) -> JsonObject:
    """One document for a group version; resources with the schemas of their definition."""
    schemas: JsonObject = dict(_meta_schemas())
    paths: JsonObject = {}
    for resource, schema in resources:
        name = _schema_name(resource)
        schemas[name] = _object_schema(resource, schema)
        schemas[f"{name}List"] = _list_schema(resource, name)
        paths.update(_paths(resource, name))
    info = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _schema_name(resource: Resource) -> str:
    return ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])


def _meta_schemas() -> JsonObject:
    """Metadata and what goes with requests, as the built-in documents describe them."""
    schemas: JsonObject = read("openapi")["apis/apps/v1"]["components"]["schemas"]
    return {name: schema for name, schema in schemas.items() if name.startswith(_META)}


def _gvk(resource: Resource, kind: str) -> list[JsonObject]:
    return [{"group": resource.group, "version": resource.version, "kind": kind}]


def _object_schema(resource: Resource, schema: Mapping[str, Any]) -> JsonObject:
    properties = {
        **(schema.get("properties") or {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"allOf": [{"$ref": f"{_REFERENCE}{_META}ObjectMeta"}]},
    }
    gvk = _gvk(resource, resource.kind)
    return {**schema, "type": "object", "properties": properties, "x-kubernetes-group-version-kind": gvk}


def _list_schema(resource: Resource, name: str) -> JsonObject:
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "items": {"type": "array", "items": {"allOf": [{"$ref": _REFERENCE + name}]}},
            "metadata": {"allOf": [{"$ref": f"{_REFERENCE}{_META}ListMeta"}]},
        },
        "x-kubernetes-group-version-kind": _gvk(resource, resource.list_kind),
    }


_ACTIONS = {"get": "get", "post": "post", "put": "put", "patch": "patch", "delete": "delete"}
_PARAMETERS = {
    "post": ("dryRun", "fieldManager", "fieldValidation"),
    "put": ("dryRun", "fieldManager", "fieldValidation"),
    "patch": ("dryRun", "fieldManager", "fieldValidation", "force"),
    "delete": ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"),
    "get": ("resourceVersion",),
}


def _paths(resource: Resource, name: str) -> JsonObject:
    base = f"/apis/{resource.group}/{resource.version}"
    place = f"{base}/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else f"{base}/{resource.plural}"
    one = f"{place}/{{name}}"
    found = {
        place: {verb: _operation(resource, name, verb) for verb in ("get", "post", "delete")},
        one: {verb: _operation(resource, name, verb) for verb in ("get", "put", "patch", "delete")},
    }
    if "status" in resource.subresources:
        found[f"{one}/status"] = {verb: _operation(resource, name, verb) for verb in ("get", "put", "patch")}
    return found


def _operation(resource: Resource, name: str, verb: str) -> JsonObject:
    schema = {"$ref": _REFERENCE + name}
    operation: JsonObject = {
        "parameters": [
            {"name": each, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for each in _PARAMETERS[verb]
        ],
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}},
        "x-kubernetes-action": _ACTIONS[verb],
        "x-kubernetes-group-version-kind": _gvk(resource, resource.kind)[0],
    }
    if verb in ("post", "put", "patch"):
        operation["requestBody"] = {"content": {"*/*": {"schema": schema}}}
    return operation
