"""DaemonSets: one pod on each node that is wanted; no conditions and no deadline."""

from __future__ import annotations

from datetime import datetime

from runtimes.kubernetes.health import replicas
from runtimes.kubernetes.health.verdict import Verdict, current, event_text, in_progress, unobserved
from runtimes.kubernetes.objects import (
    Object,
    Objects,
    count,
    is_going,
    is_observed,
    mapping,
    metadata,
    spec,
    status,
)

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_POD_GENERATION = "pod-template-generation"


def assess(live: Object, objects: Objects, now: datetime) -> Verdict:
    is_on_delete = mapping(spec(live).get("updateStrategy")).get("type") == "OnDelete"
    every = objects.owned_by(live, "Pod")
    pods = replicas.active(every)
    newest = pods if is_on_delete else tuple(each for each in pods if _is_newest(each, live))
    if not is_observed(live):
        return unobserved(live, replicas.unready(newest, now))
    counts = status(live)
    wanted = count(counts, "desiredNumberScheduled")
    existing, updated, ready, available = (
        count(counts, name)
        for name in ("currentNumberScheduled", "updatedNumberScheduled", "numberReady", "numberAvailable")
    )
    done = f"{available} of {wanted} available"
    if verdict := replicas.broken(newest, objects, done):
        return verdict
    if existing < wanted or ready < wanted or available < wanted or (updated < wanted and not is_on_delete):
        going = tuple(each for each in every if is_going(each))
        old = tuple(each for each in pods if not _is_newest(each, live))
        unready = replicas.unready(newest, now) or replicas.unready(pods, now)
        aging = () if unready else replicas.aging(live, newest, wanted - available)
        because = unready or aging or going or (old if updated < wanted else ())
        warning = objects.last_warning(live, "FailedCreate") if not because else None
        rolling = "Unavailable" if updated >= wanted or is_on_delete else "RollingOut"
        return in_progress(
            (done if updated >= wanted or is_on_delete else f"{updated} of {wanted} updated, {available} available")
            + replicas.aging_in_words(live, aging),
            reason="FailedCreate" if warning else rolling,
            evidence=event_text(warning)
            if warning
            else f"updatedNumberScheduled {updated}, numberAvailable {available} of {wanted}",
            because=because,
        )
    if not wanted:
        return current("no node is wanted: it runs nowhere", "NoNodes", is_qualified=True)
    if unsteady := replicas.unsteady(pods, now):
        return unsteady
    if updated < wanted:
        what = f"{done}, {updated} with the present template: one is updated when it is deleted"
        return current(what, "OnDelete", is_qualified=True)
    return current(done)


def _is_newest(each: Object, live: Object) -> bool:
    """Whether a pod was made from the present template. The set and its pods carry the template's generation."""
    generation = mapping(metadata(live).get("annotations")).get(_TEMPLATE_GENERATION)
    of_pod = mapping(metadata(each).get("labels")).get(_POD_GENERATION)
    return generation is None or of_pod is None or of_pod == generation
