"""What requests and limits come to for a whole Pod: its class of service, and its requests where it has limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtimes.base.quantity import amount
from runtimes.sandbox.pod_amounts import containers_amounts, is_of_pods

_OF_CLASSES = ("cpu", "memory")


def quality_of_service(spec: Mapping[str, Any]) -> str:
    """BestEffort without any request, Guaranteed if all containers limit cpu and memory to their requests. Where the
    Pod has resources of its own only they count.
    """
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    any_set, all_equal = False, True
    for owner in [spec] if spec.get("resources") is not None else containers:
        resources = owner.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in _OF_CLASSES:
            limit = amount(limits[name]) if name in limits else None
            request = amount(requests[name]) if name in requests else limit
            any_set = any_set or bool(limit) or bool(request)
            if not limit or limit != request:
                all_equal = False
    if not any_set:
        return "BestEffort"
    return "Guaranteed" if all_equal else "Burstable"


def default_pod_requests(spec: dict[str, Any]) -> None:
    """A Pod with limits of its own requests what its containers do, and its limits of what they do not name."""
    resources = spec.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return
    requests = dict(resources.get("requests") or {})
    for name, quantity in containers_amounts(spec, "requests").items():
        if name in _OF_CLASSES:
            requests.setdefault(name, str(quantity))
    for name, limit in limits.items():
        if is_of_pods(name):
            requests.setdefault(name, limit)
    if requests:
        resources["requests"] = requests
