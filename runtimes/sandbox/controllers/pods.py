"""What the workload controllers ask of pods, and how they make and choose them."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from math import floor, log2
from typing import Any

from runtimes.sandbox.controllers.conditions import condition
from runtimes.sandbox.controllers.owners import reference_to
from runtimes.sandbox.controllers.times import parsed, seconds_since
from runtimes.sandbox.store import Object, copied

PHASE_ORDER = {"Pending": 0, "Unknown": 1, "Running": 2}


def is_going(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_finished(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def is_active(pod: Object) -> bool:
    """Neither finished nor on its way out."""
    return not is_finished(pod) and not is_going(pod)


def ready_condition(pod: Object) -> Object | None:
    return condition(pod.get("status", {}).get("conditions"), "Ready")


def is_ready(pod: Object) -> bool:
    ready = ready_condition(pod)
    return ready is not None and ready["status"] == "True"


def is_available(pod: Object, min_ready_seconds: int, now: datetime) -> bool:
    """Ready for so long. Times are whole seconds, so up to one may be missing, as in a real cluster."""
    ready = ready_condition(pod)
    if ready is None or ready["status"] != "True":
        return False
    return min_ready_seconds == 0 or seconds_since(ready.get("lastTransitionTime"), now) >= min_ready_seconds


def restarts(pod: Object) -> int:
    return max(
        (each.get("restartCount", 0) for each in pod.get("status", {}).get("containerStatuses") or ()), default=0
    )


def from_template(owner: Object, template: Object, name: str = "") -> Object:
    """A pod to create: named, or given a generated name after its owner."""
    metadata: Object = {
        field: copied(value)
        for field, value in (template.get("metadata") or {}).items()
        if field in ("labels", "annotations", "finalizers") and value
    }
    metadata["namespace"] = owner["metadata"]["namespace"]
    if name:
        metadata["name"] = name
    else:
        metadata["generateName"] = f"{owner['metadata']['name']}-"
    metadata["ownerReferences"] = [reference_to(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": copied(template.get("spec") or {})}


def first_to_delete(pods: list[Object], related: list[Object], now: datetime) -> list[Object]:
    """In the order in which a ReplicaSet gives pods up.

    Unbound before bound, pending before running, unready before ready, cheap before dear, on a crowded node before on a
    lonely one (`related`: the pods of all the sets of the same owner), freshly ready before long ready, often restarted
    before never, young before old.
    """
    crowd = Counter(pod["spec"].get("nodeName", "") for pod in related)

    def rank(pod: Object) -> tuple[Any, ...]:
        node, ready = pod["spec"].get("nodeName", ""), ready_condition(pod)
        ready_for = seconds_since(ready.get("lastTransitionTime"), now) if ready and ready["status"] == "True" else -1.0
        age = (now - parsed(pod["metadata"]["creationTimestamp"])).total_seconds()
        return (
            bool(node),
            PHASE_ORDER.get(pod.get("status", {}).get("phase", "Pending"), 1),
            is_ready(pod),
            _deletion_cost(pod),
            -crowd[node],
            _magnitude(ready_for),
            -restarts(pod),
            _magnitude(age),
            pod["metadata"]["uid"],
        )

    return sorted(pods, key=rank)


def _magnitude(seconds: float) -> int:
    """Ages are compared by their order of magnitude, so that pods of about the same age are chosen among at random."""
    return floor(log2(min(seconds, 1e9))) if seconds >= 1 else -1 if seconds < 0 else 0


def _deletion_cost(pod: Object) -> int:
    try:
        return int((pod["metadata"].get("annotations") or {}).get("controller.kubernetes.io/pod-deletion-cost", 0))
    except ValueError:
        return 0
