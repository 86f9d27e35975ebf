"""What the server says it serves: groups, versions, resources, and their OpenAPI documents."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from runtimes.sandbox.api import openapi
from runtimes.sandbox.api.replies import negotiate
from runtimes.sandbox.data import read
from runtimes.sandbox.errors import ApiError, JsonObject
from runtimes.sandbox.resources import Resource, Resources, version_order
from runtimes.sandbox.state import State, version_of

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def wanted_form(accept: str) -> str:
    """The media type to answer `/api` and `/apis` in: plain JSON or YAML, or an aggregated one. Raises 406."""
    for clause in accept.split(",") if accept else ("*/*",):
        type_, *parameters = [part.strip() for part in clause.split(";")]
        pairs = {part for part in parameters if "=" in part and not part.startswith("q=")} - {"charset=utf-8"}
        if type_ in ("application/json", "*/*", "application/*") and not pairs:
            return "application/json"
        if type_ == "application/yaml" and not pairs:
            return type_
        wanted = {"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"}
        if type_ == "application/json" and wanted <= pairs:
            return AGGREGATED
    negotiate(accept)
    known = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    raise ApiError(406, "NotAcceptable", f"only the following media types are accepted: {known}")


def version() -> JsonObject:
    document: JsonObject = read("discovery")["version"]
    return document


def paths(resources: Resources) -> JsonObject:
    known: list[str] = list(read("discovery")["paths"])
    for group, versions in resources.groups().items():
        if group:
            known += [f"/apis/{group}", *(f"/apis/{group}/{each}" for each in versions)]
    return {"paths": sorted(set(known))}


def core_versions() -> JsonObject:
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def group_list(resources: Resources) -> JsonObject:
    groups = [_group(name, versions) for name, versions in resources.groups().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(resources: Resources, name: str) -> JsonObject | None:
    versions = resources.groups().get(name)
    if not name or versions is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def _group(name: str, versions: Iterable[str]) -> JsonObject:
    listed = [{"groupVersion": f"{name}/{each}", "version": each} for each in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def resource_list(resources: Resources, group: str, version: str) -> JsonObject | None:
    found = list(resources.of_group(group, version))
    if not found:
        return None
    listed = [entry for each in found for entry in _entries(each)]
    text = f"{group}/{version}" if group else version
    head = {"kind": "APIResourceList", **({"apiVersion": "v1"} if group else {}), "groupVersion": text}
    return {**head, "resources": listed}


def _entries(resource: Resource) -> Iterable[JsonObject]:
    own: JsonObject = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        own["shortNames"] = list(resource.short_names)
    if resource.categories:
        own["categories"] = list(resource.categories)
    if resource.storage_version_hash:
        own["storageVersionHash"] = resource.storage_version_hash
    yield own
    for each in resource.subresources.values():
        entry: JsonObject = {
            "name": f"{resource.plural}/{each.name}",
            "singularName": "",
            "namespaced": resource.namespaced,
        }
        if (each.group, each.version) != (resource.group, resource.version):
            entry["group"], entry["version"] = each.group, each.version
        yield {**entry, "kind": each.kind, "verbs": list(each.verbs)}


def aggregated_core() -> JsonObject:
    return _aggregated(read("discovery")["core"])


def aggregated_groups(resources: Resources) -> JsonObject:
    items = list(read("discovery")["groups"])
    custom: dict[str, dict[str, list[Resource]]] = {}
    for resource in resources:
        if resource.is_custom:
            custom.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
    for name in sorted(custom):
        versions = [
            {"version": each, "resources": [_aggregated_entry(r) for r in custom[name][each]], "freshness": "Current"}
            for each in sorted(custom[name], key=version_order)
        ]
        items.append({"metadata": {"name": name, "creationTimestamp": None}, "versions": versions})
    return _aggregated(items)


def _aggregated(items: list[JsonObject]) -> JsonObject:
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated_entry(resource: Resource) -> JsonObject:
    def kind(group: str, version: str, name: str) -> JsonObject:
        return {"group": group, "version": version, "kind": name}

    entry: JsonObject = {
        "resource": resource.plural,
        "responseKind": kind(resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {"subresource": s.name, "responseKind": kind(s.group, s.version, s.kind), "verbs": list(s.verbs)}
            for s in resource.subresources.values()
        ]
    return entry


# --- OpenAPI ---


@cache
def _digest(path: str) -> str:
    text = json.dumps(read("openapi")[path], sort_keys=True)
    return hashlib.sha512(text.encode()).hexdigest().upper()


def openapi_index(state: State) -> JsonObject:
    found = {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={_digest(path)}"} for path in read("openapi")}
    for (group_, version_), document in _custom_documents(state).items():
        path = f"apis/{group_}/{version_}"
        digest = hashlib.sha512(json.dumps(document, sort_keys=True).encode()).hexdigest().upper()
        found[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": found}


def openapi_document(state: State, path: str) -> JsonObject | None:
    """`api/v1`, `apis/apps/v1`; None if there is none."""
    built_in: Mapping[str, JsonObject] = read("openapi")
    if path in built_in:
        return built_in[path]
    match = re.fullmatch(r"apis/([^/]+)/([^/]+)", path)
    return _custom_documents(state).get((match[1], match[2])) if match else None


def _custom_documents(state: State) -> dict[tuple[str, str], JsonObject]:
    by_version: dict[tuple[str, str], list[tuple[Resource, Any]]] = {}
    for resource in state.resources:
        if resource.is_custom:
            schema = version_of(resource).get("schema", {}).get("openAPIV3Schema") or {"type": "object"}
            by_version.setdefault((resource.group, resource.version), []).append((resource, schema))
    return {key: openapi.custom_document(found) for key, found in by_version.items()}
