"""What requests and limits come to for a whole Pod: its class of service, and its requests where it has limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcl.records import replace
from runtimes.base.quantity import Quantity, amount, parse

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
    for name, quantity in _requested(spec).items():
        if name in _OF_CLASSES:
            requests.setdefault(name, str(quantity))
    for name, limit in limits.items():
        if name in _OF_CLASSES or name.startswith("hugepages-"):
            requests.setdefault(name, limit)
    if requests:
        resources["requests"] = requests


def _requested(spec: Mapping[str, Any]) -> dict[str, Quantity]:
    """Of all containers that run at once: before they start, each that prepares counts with the sidecars before it."""
    together = _summed({}, *map(_requests, spec.get("containers") or ()))
    sidecars: dict[str, Quantity] = {}
    most: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        needed = _summed(sidecars, _requests(container))
        if container.get("restartPolicy") == "Always":
            together, sidecars = _summed(together, _requests(container)), needed
        most = _larger(most, needed)
    return _larger(together, most)


def _requests(container: Mapping[str, Any]) -> dict[str, Quantity]:
    given = (container.get("resources") or {}).get("requests") or {}
    return {name: parse(str(value)) for name, value in given.items()}


def _summed(*parts: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """Each in the family of suffixes of its first."""
    sums: dict[str, Quantity] = {}
    for part in parts:
        for name, each in part.items():
            sums[name] = replace(sums[name], value=sums[name].value + each.value) if name in sums else each
    return sums


def _larger(first: Mapping[str, Quantity], second: Mapping[str, Quantity]) -> dict[str, Quantity]:
    found = dict(first)
    for name, each in second.items():
        if name not in found or each.value > found[name].value:
            found[name] = each
    return found
