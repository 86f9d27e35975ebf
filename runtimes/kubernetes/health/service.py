"""Services and Ingresses: a Service of type LoadBalancer and an Ingress wait for the address a controller gives them.

A Service whose selector fits no pod is as it was configured, and says that nothing answers it.

A cluster may have no such controller. One that takes an object up leaves traces on it within moments: events, or a
finalizer that lets it take down what it made. An object that has none of these after a while is complete as it is, and
says that it has no address; kstatus never waits for one
(https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/status/core.go).
"""

from __future__ import annotations

from datetime import datetime

from runtimes.kubernetes.health.verdict import Verdict, current, event_text, in_progress
from runtimes.kubernetes.objects import Object, Objects, created, mapping, mappings, metadata, spec, status

TAKEN_UP_SECONDS = 30.0
LISTED_SECONDS = 2.0


def assess(live: Object, objects: Objects, now: datetime) -> Verdict:
    if spec(live).get("type") == "LoadBalancer" and not addresses(live):
        return _without_address(live, objects, now)
    return _without_pods(live, objects, now) or current()


def _without_pods(live: Object, objects: Objects, now: datetime) -> Verdict | None:
    """A selector that fits no pod is the mistake that nothing else shows: the pods are ready, and so is the Service.

    Its controller lists pods as soon as they have an address, so an empty list counts after a moment.
    """
    selector = mapping(spec(live).get("selector"))
    slices = objects.owned_by(live, "EndpointSlice")
    if not selector or not slices or any(each.get("endpoints") for each in slices):
        return None
    since = created(live)
    if since is not None and (now - since).total_seconds() < LISTED_SECONDS:
        if addresses(live):
            return None  # what was waited for is there
        return in_progress("no pod is listed for it yet", reason="NoEndpoints", evidence="its slices have no endpoints")
    wanted = ", ".join(f"{name}={value}" for name, value in selector.items())
    what = f"no pod with an address has the labels that it selects ({wanted}): nothing answers it"
    return current(what, "NoEndpoints", is_qualified=True)


def addresses(live: Object) -> tuple[str, ...]:
    """Returns the addresses that a load balancer gave to a Service or an Ingress."""
    given = mappings(mapping(status(live).get("loadBalancer")).get("ingress"))
    return tuple(
        str(each.get("ip") or each.get("hostname")) for each in given if each.get("ip") or each.get("hostname")
    )


def assess_ingress(live: Object, objects: Objects, now: datetime) -> Verdict:
    return current() if addresses(live) else _without_address(live, objects, now)


def _without_address(live: Object, objects: Objects, now: datetime) -> Verdict:
    since = created(live)
    is_old = since is not None and (now - since).total_seconds() > TAKEN_UP_SECONDS
    if is_old and not metadata(live).get("finalizers") and not objects.are_events_known:
        what = "it has no address, and whether a controller took it up is not known, as events may not be listed"
        return in_progress(f"{what} (ask for this right, or write a rule in readiness.yaml)", reason="NoAddress")
    is_quiet = not objects.events_about(live) and objects.events_left_out(live) == 0
    if is_old and is_quiet and not metadata(live).get("finalizers"):
        what = f"no controller took it up within {TAKEN_UP_SECONDS:g} s: it has no address"
        return current(what, "NoController", is_qualified=True)
    warning = objects.last_warning(live)
    return in_progress(
        str(warning.get("message")) if warning else "no load balancer has given it an address yet",
        reason=str(warning.get("reason")) if warning else "NoAddress",
        evidence=event_text(warning) or "status.loadBalancer is empty",
    )
