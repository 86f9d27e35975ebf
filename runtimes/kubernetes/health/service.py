"""Services: complete when made, but one of type LoadBalancer waits for its address."""

from __future__ import annotations

from datetime import datetime

from runtimes.kubernetes.health.verdict import Verdict, current, event_told, in_progress
from runtimes.kubernetes.objects import Object, Objects, mapping, mappings, spec, status


def assess(live: Object, objects: Objects, now: datetime) -> Verdict:
    if spec(live).get("type") == "LoadBalancer" and not addresses(live):
        return _waits_for_address(live, objects)
    return current()


def addresses(live: Object) -> tuple[str, ...]:
    """Returns the addresses that a load balancer gave to a Service or an Ingress."""
    given = mappings(mapping(status(live).get("loadBalancer")).get("ingress"))
    return tuple(
        str(each.get("ip") or each.get("hostname")) for each in given if each.get("ip") or each.get("hostname")
    )


def assess_ingress(live: Object, objects: Objects, now: datetime) -> Verdict:
    return current() if addresses(live) else _waits_for_address(live, objects)


def _waits_for_address(live: Object, objects: Objects) -> Verdict:
    warning = objects.last_warning(live)
    return in_progress(
        str(warning.get("message")) if warning else "no load balancer has given it an address yet",
        reason=str(warning.get("reason")) if warning else "NoAddress",
        evidence=event_told(warning) or "status.loadBalancer is empty",
    )
