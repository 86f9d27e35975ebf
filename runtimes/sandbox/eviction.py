"""Eviction: a Pod is deleted if the budget it counts for allows one less."""

from __future__ import annotations

from kcl.records import replace
from runtimes.sandbox import deletion, selectors
from runtimes.sandbox.errors import ApiError, JsonObject, not_found
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.state import State
from runtimes.sandbox.store import Object, copied

BUDGETS = ("policy", "poddisruptionbudgets")
PODS = ("", "pods")
RETRY_SECONDS = 10


def evict(state: State, served: Resource, namespace: str, name: str, options: deletion.Options) -> None:
    """Deletes a Pod if its budget allows. Raises 404, and 429 if not. `served` is the resource of Pods."""
    pod = state.store.get(PODS, (namespace, name))
    if pod is None:
        raise not_found("", "pods", name)
    phase = (pod.get("status") or {}).get("phase")
    ignores_budget = phase in ("Succeeded", "Failed", "Pending") or pod["metadata"].get("deletionTimestamp")
    if not ignores_budget:
        _charge_budget(state, pod, options.dry_run)
    if not options.dry_run:  # the note is written only where the deletion that follows is none to be refused
        deletion.delete(state, served, namespace, name, replace(options, dry_run=True))
        pod = _note_disruption(state, pod)
        options = replace(options, resource_version=None)
    deletion.delete(state, served, namespace, name, options)


def _note_disruption(state: State, pod: Object) -> Object:
    noted: Object = copied(pod)
    conditions = [each for each in noted["status"].get("conditions") or () if each["type"] != "DisruptionTarget"]
    conditions.append(
        {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": state.now,
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
    )
    noted["status"]["conditions"] = conditions
    return state.store.put(PODS, (pod["metadata"]["namespace"], pod["metadata"]["name"]), noted)


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _charge_budget(state: State, pod: Object, dry_run: bool) -> None:
    namespace = pod["metadata"]["namespace"]
    fitting = []
    for key, budget in state.store.items(BUDGETS, namespace):
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
    changed["status"].setdefault("disruptedPods", {})[pod["metadata"]["name"]] = state.now
    if changed["status"]["disruptionsAllowed"] == 0:
        _note_exhausted(state, changed)
    state.store.put(BUDGETS, key, changed)


def _may_go_unready(budget: Object) -> bool:
    """Pods that are not ready count for nothing: they may go if the budget is met without them, or says so."""
    status = budget["status"]
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    return bool(status["currentHealthy"] >= status["desiredHealthy"] and status["desiredHealthy"] > 0)


def _note_exhausted(state: State, budget: Object) -> None:
    present: list[JsonObject] = budget["status"].get("conditions") or []
    conditions = [each for each in present if each["type"] != "DisruptionAllowed"]
    before: JsonObject = next((each for each in present if each["type"] == "DisruptionAllowed"), {})
    changed = before.get("status") != "False"
    conditions.append(
        {
            "type": "DisruptionAllowed",
            "status": "False",
            "observedGeneration": budget["status"].get("observedGeneration", 0),
            "lastTransitionTime": state.now if changed else before["lastTransitionTime"],
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
