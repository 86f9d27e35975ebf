"""The class of service that a pod's requests and limits put it in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtimes.base.quantity import amount


def quality_of_service(spec: Mapping[str, Any]) -> str:
    """BestEffort without any request, Guaranteed if all containers limit cpu and memory to their requests."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    any_set, all_equal = False, True
    for container in containers:
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in ("cpu", "memory"):
            limit = amount(limits[name]) if name in limits else None
            request = amount(requests[name]) if name in requests else limit
            any_set = any_set or bool(limit) or bool(request)
            if not limit or limit != request:
                all_equal = False
    if not any_set:
        return "BestEffort"
    return "Guaranteed" if all_equal else "Burstable"
