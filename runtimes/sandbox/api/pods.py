"""Subresources of Pods that are no part of the object: bindings, evictions, logs, and what would need a real node."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from runtimes.sandbox.api.replies import Reply
from runtimes.sandbox.api.requests import Query, delete_options
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.deletion import Options
from runtimes.sandbox.errors import ApiError, JsonObject, bad_request, invalid, not_found
from runtimes.sandbox.store import Object
from runtimes.sandbox.users import User

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
SUBRESOURCES = ("binding", "eviction", "exec", "attach", "portforward")
PROXIED = ("pods", "services", "nodes")


class Request(Protocol):
    """The part of a request that is used here."""

    user: User
    method: str
    query: Query
    content: bytes
    warnings: list[str]

    @property
    def namespace(self) -> str: ...
    @property
    def address(self) -> Any: ...
    def body(self, kind: str | None = None) -> Any: ...


def answer(cluster: Cluster, request: Request, what: str) -> Reply:
    handlers: Mapping[str, Callable[[Cluster, Request], Reply]] = {
        "binding": _bind,
        "bindings": _bind,
        "eviction": _evict,
    }
    return handlers.get(what, _needs_node)(cluster, request)


def _success(code: int = 201) -> JsonObject:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code}


# --- Binding ---


def _bind(cluster: Cluster, request: Request) -> Reply:
    body = request.body("Binding")
    metadata, target = body.get("metadata") or {}, body.get("target") or {}
    name = request.address.name or metadata.get("name") or ""
    if request.address.name and metadata.get("name", "") != name:
        raise bad_request("name in URL does not match name in Binding object")
    if metadata.get("namespace") not in (None, "", request.namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    wrong = []
    if target.get("kind") not in (None, "", "Node"):
        wrong.append(f'target.kind: Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"')
    if not target.get("name"):
        wrong.append("target.name: Required value")
    if wrong:
        raise ApiError(500, "", wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")
    uid = metadata.get("uid") if request.address.name else None  # the collection looks at no precondition
    dry_run = "All" in request.query.all("dryRun")
    annotations = metadata.get("annotations")
    cluster.bind(request.namespace, name, target["name"], uid=uid, dry_run=dry_run, annotations=annotations)
    return Reply(201, _success())


# --- Eviction ---


def _evict(cluster: Cluster, request: Request) -> Reply:
    body = request.body("Eviction")
    if body.get("kind", "Eviction") != "Eviction":
        kind, version = body["kind"], str(body.get("apiVersion") or "")
        why = f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:110"'
        short = version.rpartition("/")[2]
        raise bad_request(f'{kind} in version "{short}" cannot be handled as a Eviction: {why}')
    name = request.address.name
    if ((body.get("metadata") or {}).get("name") or "") != name:
        raise bad_request("name in URL does not match name in Eviction object")
    if (body.get("metadata") or {}).get("namespace") not in (None, "", request.namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    cluster.get("pods", request.namespace, name)  # what is not there is the first thing to be told
    read = delete_options(request.query, body.get("deleteOptions"))
    dry_run = read.dry_run or "All" in request.query.all("dryRun")
    cluster.evict(request.namespace, name, Options(read.uid, read.resource_version, read.grace_seconds, None, dry_run))
    return Reply(201, _success())


# --- Logs ---


def log_container(cluster: Cluster, namespace: str, name: str, query: Query) -> tuple[Object, str]:
    """The Pod and the container whose log is asked for. Raises 404, 400 and 422."""
    pod = cluster.find("pods", namespace, name)
    _check_log_options(name, query)
    if pod is None:
        raise not_found("", "pods", name)
    return pod, _chosen_container(pod, name, query.text("container"))


def _chosen_container(pod: Object, name: str, wanted: str) -> str:
    """The container asked for, or the one that goes without saying. Raises 400."""
    listed = _containers(pod)
    if wanted:
        if wanted not in listed:
            raise bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    regular = [each["name"] for each in pod["spec"].get("containers") or ()]
    default = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container")
    if len(regular) == 1:
        return str(regular[0])
    if default in regular:
        return str(default)
    shown = " ".join(listed)
    raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{shown}]")


def _containers(pod: Object) -> list[str]:
    keys = ("initContainers", "containers", "ephemeralContainers")
    return [each["name"] for key in keys for each in pod["spec"].get(key) or ()]


def _check_log_options(name: str, query: Query) -> None:
    since = query.text("sinceTime")
    if since and _TIME.fullmatch(since) is None:
        layout = "2006-01-02T15:04:05Z07:00"
        raise bad_request(f'parsing time "{since}" as "{layout}": cannot parse "{since}" as "2006"')
    rules = (("tailLines", 0, "must be greater than or equal to 0"), ("sinceSeconds", 1, "must be greater than 0"))
    causes = []
    for field, least, why in (*rules, ("limitBytes", 1, "must be greater than 0")):
        value = query.number(field)
        if value is not None and value < least:
            causes.append({"reason": "FieldValueInvalid", "message": f"Invalid value: {value}: {why}", "field": field})
    if "stream" in query.values:  # of a feature gate that is off
        causes.append(
            {"reason": "FieldValueForbidden", "message": "Forbidden: may not be specified", "field": "stream"}
        )
    if query.text("sinceSeconds") and query.text("sinceTime"):
        why = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append({"reason": "FieldValueForbidden", "message": f"Forbidden: {why}", "field": "[]"})
    if causes:
        raise invalid("", "PodLogOptions", name, causes)


# --- What would need a node ---


def _needs_node(cluster: Cluster, request: Request) -> Reply:
    name = request.address.name
    pod = cluster.get("pods", request.namespace, name)
    what = request.address.subresource
    if what in ("exec", "attach"):
        _chosen_container(pod, name, request.query.text("container"))
    if not pod["spec"].get("nodeName"):
        raise bad_request(f"pod {name} does not have a host assigned")
    raise _nothing_runs(f"nothing runs in {name}, so {what} is not possible")


def _nothing_runs(why: str) -> ApiError:
    return ApiError(501, "NotImplemented", f"the sandbox simulates Pods: {why}", {})


# --- Proxies ---

_SCHEMES = ("", "http", "https")


def proxy(cluster: Cluster, request: Request, plural: str) -> Reply:
    """What is asked of a Pod, a Service or a node by way of the server: there is nobody to answer."""
    name = _proxied(plural.removesuffix("s"), request.address.name)
    if plural == "nodes":
        cluster.get("nodes", "", name)
    elif plural == "pods":
        pod = cluster.get("pods", request.namespace, name)
        if not (pod.get("status") or {}).get("podIP"):
            raise bad_request("address not allowed")
    else:
        _check_behind(cluster, request.namespace, name)
    raise _nothing_runs(f"nothing listens behind {plural.removesuffix('s')} {name}")


def _proxied(kind: str, text: str) -> str:
    """The name in `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`. Raises 400."""
    parts = text.split(":")
    scheme, name = (parts[0], parts[1]) if len(parts) == 3 else ("", parts[0])
    if len(parts) > 3 or scheme not in _SCHEMES or not name:
        raise bad_request(f'invalid {kind} request "{text}"')
    return name


def _check_behind(cluster: Cluster, namespace: str, name: str) -> None:
    """Raises 404 without slices of the Service, 503 where none of them has an address that is ready."""
    found = cluster.list("endpointslices.discovery.k8s.io", namespace).items
    label = "kubernetes.io/service-name"
    slices = [each for each in found if (each["metadata"].get("labels") or {}).get(label) == name]
    if not slices:
        raise not_found("", "services", name)
    endpoints = [endpoint for each in slices for endpoint in each.get("endpoints") or ()]
    if not any((endpoint.get("conditions") or {}).get("ready") for endpoint in endpoints):
        text = f'no endpoints available for service "{name}"'
        raise ApiError(503, "ServiceUnavailable", text)
