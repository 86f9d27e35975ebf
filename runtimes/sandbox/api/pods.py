"""Subresources of Pods that are no part of the object: bindings, evictions, logs, and what would need a real node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from runtimes.sandbox import binding, deletion, selectors
from runtimes.sandbox.api.replies import Reply
from runtimes.sandbox.api.requests import Query, delete_options
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.errors import ApiError, JsonObject, bad_request, invalid, not_found
from runtimes.sandbox.store import Object, copied
from runtimes.sandbox.writing import User

SUBRESOURCES = ("binding", "eviction", "exec", "attach", "portforward", "proxy")
BUDGETS = ("policy", "poddisruptionbudgets")
PODS = ("", "pods")
RETRY_SECONDS = 10


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
    name = request.address.name or (body.get("metadata") or {}).get("name") or ""
    target = body.get("target") or {}
    if not target.get("name"):
        raise ApiError(500, "", "target.name: Required value")
    uid = (body.get("metadata") or {}).get("uid")
    dry_run = "All" in request.query.all("dryRun")
    binding.bind(cluster, request.namespace, name, target["name"], uid=uid, dry_run=dry_run)
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
    pod = cluster.store.get(PODS, (request.namespace, name))
    if pod is None:
        raise not_found("", "pods", name)
    read = delete_options(request.query, body.get("deleteOptions"))
    dry_run = read.dry_run or "All" in request.query.all("dryRun")
    options = deletion.Options(read.uid, read.resource_version, read.grace_seconds, None, dry_run)
    evict(cluster, pod, options)
    return Reply(201, _success())


def evict(cluster: Cluster, pod: Object, options: deletion.Options) -> None:
    """Delete a Pod if its budget allows. Raises 429 if not."""
    served = cluster.resource("pods")
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    phase = (pod.get("status") or {}).get("phase")
    ignores_budget = phase in ("Succeeded", "Failed", "Pending") or pod["metadata"].get("deletionTimestamp")
    if not ignores_budget:
        _charge_budget(cluster, pod, options.dry_run)
    if not options.dry_run and not ignores_budget:
        pod = _note_disruption(cluster, pod)
    deletion.delete(cluster, served, namespace, name, options)


def _note_disruption(cluster: Cluster, pod: Object) -> Object:
    noted: Object = copied(pod)
    conditions = [each for each in noted["status"].get("conditions") or () if each["type"] != "DisruptionTarget"]
    conditions.append(
        {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": cluster.now,
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
    )
    noted["status"]["conditions"] = conditions
    return cluster.store.put(PODS, (pod["metadata"]["namespace"], pod["metadata"]["name"]), noted)


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _charge_budget(cluster: Cluster, pod: Object, dry_run: bool) -> None:
    namespace = pod["metadata"]["namespace"]
    fitting = []
    for key, budget in cluster.store.items(BUDGETS, namespace):
        selector = selectors.of_object(budget["spec"].get("selector"))
        if selector is not None and selector.matches(pod):
            fitting.append((key, budget))
    if not fitting:
        return
    if len(fitting) > 1:
        text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise ApiError(500, "", text)
    key, budget = fitting[0]
    status, name = budget["status"], budget["metadata"]["name"]
    if not _is_ready(pod) and _may_go_unready(budget):
        return
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _refused(f"The disruption budget {name} is still being processed by the server.", RETRY_SECONDS)
    if status["disruptionsAllowed"] <= 0:
        wanted, have = status["desiredHealthy"], status["currentHealthy"]
        raise _refused(f"The disruption budget {name} needs {wanted} healthy pods and has {have} currently")
    if dry_run:
        return
    changed: Object = copied(budget)
    changed["status"]["disruptionsAllowed"] -= 1
    changed["status"].setdefault("disruptedPods", {})[pod["metadata"]["name"]] = cluster.now
    if changed["status"]["disruptionsAllowed"] == 0:
        _note_exhausted(cluster, changed)
    cluster.store.put(BUDGETS, key, changed)


def _may_go_unready(budget: Object) -> bool:
    """Pods that are not ready count for nothing: they may go if the budget is met without them, or says so."""
    status = budget["status"]
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    return bool(status["currentHealthy"] >= status["desiredHealthy"] and status["desiredHealthy"] > 0)


def _note_exhausted(cluster: Cluster, budget: Object) -> None:
    present: list[JsonObject] = budget["status"].get("conditions") or []
    conditions = [each for each in present if each["type"] != "DisruptionAllowed"]
    before: JsonObject = next((each for each in present if each["type"] == "DisruptionAllowed"), {})
    changed = before.get("status") != "False"
    conditions.append(
        {
            "type": "DisruptionAllowed",
            "status": "False",
            "observedGeneration": budget["status"].get("observedGeneration", 0),
            "lastTransitionTime": cluster.now if changed else before["lastTransitionTime"],
            "reason": "InsufficientPods",
            "message": "",
        }
    )
    budget["status"]["conditions"] = conditions


def _refused(why: str, retry_seconds: int | None = None) -> ApiError:
    details: JsonObject = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    headers = {}
    if retry_seconds is not None:
        details["retryAfterSeconds"] = retry_seconds
        headers["Retry-After"] = str(retry_seconds)
    text = "Cannot evict pod as it would violate the pod's disruption budget."
    return ApiError(429, "TooManyRequests", text, details, headers)


# --- Logs ---


def log_container(cluster: Cluster, namespace: str, name: str, query: Query) -> tuple[Object, str]:
    """The Pod and the container whose log is asked for. Raises 404, 400 and 422."""
    pod = cluster.store.get(PODS, (namespace, name))
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
    rules = (("tailLines", 0, "must be greater than or equal to 0"), ("sinceSeconds", 1, "must be greater than 0"))
    causes = []
    for field, least, why in (*rules, ("limitBytes", 1, "must be greater than 0")):
        value = query.number(field)
        if value is not None and value < least:
            causes.append({"reason": "FieldValueInvalid", "message": f"Invalid value: {value}: {why}", "field": field})
    if query.text("sinceSeconds") and query.text("sinceTime"):
        why = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append({"reason": "FieldValueForbidden", "message": f"Forbidden: {why}", "field": "[]"})
    if causes:
        raise invalid("", "PodLogOptions", name, causes)


# --- What would need a node ---


def _needs_node(cluster: Cluster, request: Request) -> Reply:
    name = request.address.name
    pod = cluster.store.get(PODS, (request.namespace, name))
    if pod is None:
        raise not_found("", "pods", name)
    what = request.address.subresource
    if what in ("exec", "attach"):
        _chosen_container(pod, name, request.query.text("container"))
    if not pod["spec"].get("nodeName"):
        raise bad_request(f"pod {name} does not have a host assigned")
    raise ApiError(
        501, "NotImplemented", f"the sandbox simulates Pods: nothing runs in {name}, so {what} is not possible", {}
    )
