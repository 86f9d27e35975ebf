"""Kinds of the Gateway API, whose conditions are their own: Accepted, ResolvedRefs and Programmed.

Gateways and classes have them in their status, gateways for each listener as well, routes and policies for each parent
that they attach to
(https://gateway-api.sigs.k8s.io/geps/gep-1364/). One that is False for the present generation keeps the object from
working, and may become True when what it refers to appears.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from runtimes.kubernetes.health.verdict import Verdict, condition_text, current, in_progress
from runtimes.kubernetes.objects import Object, Objects, kind_of, mapping, mappings, metadata, spec, status

GROUP = "gateway.networking.k8s.io"
_TAKEN_UP = ("Gateway", "GatewayClass")
_POSITIVE = ("Accepted", "ResolvedRefs", "Programmed")


def assess(live: Object, objects: Objects, now: datetime) -> Verdict:
    generation = metadata(live).get("generation")
    parents = mappings(spec(live).get("parentRefs"))
    seen = 0
    for where, state in _conditions(live):
        if state.get("type") not in _POSITIVE:
            continue
        seen += 1
        at = state.get("observedGeneration")
        if isinstance(at, int) and isinstance(generation, int) and at < generation:
            what = f"{where}{state.get('type')} speaks of generation {at}, not {generation}"
            return in_progress(what, reason="NotObserved", evidence=f"observedGeneration {at} of {generation}")
        if state.get("status") != "True":
            message = str(state.get("message") or f"{state.get('type')} is {state.get('status')}")
            reason = str(state.get("reason") or state.get("type"))
            return in_progress(f"{where}{message}", reason=reason, evidence=condition_text(state))
    if parents and not seen:
        return in_progress("no gateway has taken it up yet", reason="Pending", evidence="status.parents is empty")
    if not seen and kind_of(live) in _TAKEN_UP:
        return in_progress("no controller has taken it up yet", reason="Pending", evidence="it has no conditions")
    return current()


def _conditions(live: Object) -> Iterator[tuple[str, Object]]:
    for state in mappings(status(live).get("conditions")):
        yield "", state
    for listener in mappings(status(live).get("listeners")):
        for state in mappings(listener.get("conditions")):
            yield f"listener {listener.get('name')}: ", state
    for parent in mappings(status(live).get("parents")):
        name = mapping(parent.get("parentRef")).get("name") or "its parent"
        for state in mappings(parent.get("conditions")):
            yield f"{name}: ", state
