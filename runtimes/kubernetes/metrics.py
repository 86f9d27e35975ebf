"""What pods and nodes use, from the metrics API where something serves it (mostly metrics-server).

https://github.com/kubernetes/metrics/blob/master/pkg/apis/metrics/v1beta1/types.go
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from runtimes.base import NotThere, quantity
from runtimes.base.metrics import Usage
from runtimes.base.tables import LiveKind
from runtimes.kubernetes.client import Client, Object
from runtimes.kubernetes.objects import mapping, mappings, name_of, namespace_of

API_VERSION = "metrics.k8s.io/v1beta1"
_KINDS = {"Pod": "PodMetrics", "Node": "NodeMetrics"}


async def usage(client: Client, kind: LiveKind, namespaces: Collection[str]) -> Mapping[tuple[str, str], Usage] | None:
    """See `runtimes.base.metrics.Measurable`."""
    measured = _KINDS.get(kind.kind) if not kind.group else None
    if measured is None:
        return None
    try:
        resource = await client.discovery.resource(API_VERSION, measured)
    except NotThere:
        return None
    found: dict[tuple[str, str], Usage] = {}
    for namespace in (namespaces if kind.is_namespaced else ()) or ("",):
        for each in (await client.list(resource, namespace)).items:
            used = measured_usage(each)
            if used is not None:
                found[(namespace_of(each), name_of(each))] = used
    return found


def measured_usage(live: Object) -> Usage | None:
    """Returns what a pod's containers use together, or a node; None where any part of it can't be read."""
    parts = [mapping(each.get("usage")) for each in mappings(live.get("containers"))] or [mapping(live.get("usage"))]
    try:
        cpu, memory = (sum((_amount(each.get(name)) for each in parts), Decimal()) for name in ("cpu", "memory"))
    except ValueError:
        return None
    return Usage(round(cpu * 1000), int(memory))


def _amount(value: Any) -> Decimal:
    if not isinstance(value, str):
        raise ValueError("it is no quantity")
    return quantity.parse(value).value
