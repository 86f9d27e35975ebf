"""What a Pod requests, and what it is limited to, as one sum: for quotas, limit ranges and the scheduler alike.

Containers run together, with the sidecars (init containers that restart always). Before they start, each init
container runs beside the sidecars that come before it. What the Pod has of its own counts instead of what its
containers have, and its runtime class comes on top (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

from kcl.records import replace
from runtimes.base.quantity import Quantity, parse

Part = Literal["requests", "limits"]
Amounts = dict[str, Quantity]


def pod_amounts(spec: Mapping[str, Any], part: Part, *, with_overhead: bool = True) -> Amounts:
    """By the names of resources. Overhead adds to the limits that there are: it sets none."""
    found = containers_amounts(spec, part)
    found |= {name: each for name, each in _given(spec, part).items() if is_of_pods(name)}
    overhead = spec.get("overhead") if with_overhead else None
    if overhead:
        extra = {name: _parsed(str(value)) for name, value in overhead.items()}
        if part == "limits":
            extra = {name: each for name, each in extra.items() if name in found and found[name].value}
        found = _summed(found, extra)
    return found


def containers_amounts(spec: Mapping[str, Any], part: Part) -> Amounts:
    """Of all containers that run at once."""
    together = _summed({}, *(_given(each, part) for each in spec.get("containers") or ()))
    sidecars: Amounts = {}
    most: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _given(container, part)
        needed = _summed(sidecars, own)
        if container.get("restartPolicy") == "Always":
            together, sidecars = _summed(together, own), needed
        most = _larger(most, needed)
    return _larger(together, most)


def is_of_pods(name: str) -> bool:
    """Whether a Pod may have the resource for itself, beside those of its containers."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def has_amounts_of_its_own(spec: Mapping[str, Any]) -> bool:
    resources = spec.get("resources") or {}
    return any(is_of_pods(name) for part in ("requests", "limits") for name in resources.get(part) or ())


def _given(owner: Mapping[str, Any], part: Part) -> Amounts:
    """What a container, or the Pod, has in its own `resources`."""
    given = (owner.get("resources") or {}).get(part) or {}
    return {name: _parsed(str(value)) for name, value in given.items()}


_parsed = lru_cache(maxsize=1024)(parse)


def _summed(*parts: Mapping[str, Quantity]) -> Amounts:
    """Each in the family of suffixes of its first."""
    sums: Amounts = {}
    for part in parts:
        for name, each in part.items():
            sums[name] = replace(sums[name], value=sums[name].value + each.value) if name in sums else each
    return sums


def _larger(first: Mapping[str, Quantity], second: Mapping[str, Quantity]) -> Amounts:
    found = dict(first)
    for name, each in second.items():
        if name not in found or each.value > found[name].value:
            found[name] = each
    return found
