"""StatefulSets: pods in the order of their ordinals, and no conditions at all.

A refusal to make a pod shows only as an Event, and a broken pod stops the controller whatever its revision, so the
lowest pod that is missing or not ready explains the rest
(https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#forced-rollback).
"""

from __future__ import annotations

from datetime import datetime

from kcl.records import replace
from runtimes.kubernetes.health import pod, replicas
from runtimes.kubernetes.health.verdict import Verdict, current, event_text, in_progress, unobserved
from runtimes.kubernetes.objects import (
    Object,
    Objects,
    count,
    is_going,
    is_observed,
    mapping,
    metadata,
    name_of,
    spec,
    status,
)

_REVISION_LABEL = "controller-revision-hash"


def assess(live: Object, objects: Objects, now: datetime) -> Verdict:
    wanted, counts = count(spec(live), "replicas", 1), status(live)
    first = count(mapping(spec(live).get("ordinals")), "start")
    by_ordinal = {ordinal(each): each for each in objects.owned_by(live, "Pod")}
    if not is_observed(live):
        going = [each for number, each in by_ordinal.items() if number >= first + wanted and is_going(each)]
        return unobserved(live, (*going, *_lowest_unready(by_ordinal, range(first, first + wanted), now)))
    existing, ready, updated = (count(counts, name) for name in ("replicas", "readyReplicas", "updatedReplicas"))
    available = count(counts, "availableReplicas", ready)
    pods = replicas.active(by_ordinal[number] for number in sorted(by_ordinal))
    done = f"{ready} of {wanted} ready"
    if wanted and (verdict := replicas.broken(pods, objects, done)):
        return _told_how_to_mend(live, verdict)
    if ready < wanted or existing < wanted or available < wanted:
        unready = _lowest_unready(by_ordinal, range(first, first + wanted), now)
        aging = () if unready else replicas.aging(live, pods, ready - available)
        held_up_by = unready or aging
        warning = objects.last_warning(live, "FailedCreate")
        return in_progress(
            done + replicas.aging_in_words(live, aging),
            reason="FailedCreate" if warning and not held_up_by else "Unready",
            evidence=event_text(warning) if warning and not held_up_by else f"readyReplicas {ready} of {wanted}",
            because=held_up_by,
        )
    if existing > wanted:
        surplus = [by_ordinal[number] for number in sorted(by_ordinal, reverse=True) if number >= first + wanted]
        surplus.sort(key=lambda each: not is_going(each))
        return in_progress(
            f"{existing} pods exist, {wanted} wanted",
            reason="ScalingDown",
            evidence=f"replicas {existing} of {wanted}",
            because=tuple(surplus[:1]),
        )
    strategy = mapping(spec(live).get("updateStrategy"))
    if strategy.get("type") == "OnDelete":
        return replicas.unsteady(pods, now) or _left(
            done, updated, wanted, "one is updated when it is deleted", "OnDelete"
        )
    partition = count(mapping(strategy.get("rollingUpdate")), "partition")
    to_update = max(wanted - partition, 0)
    if updated < to_update:
        return in_progress(
            f"{updated} of {to_update} updated",
            reason="RollingOut",
            evidence=f"updatedReplicas {updated} of {to_update}",
            because=_next_to_update(by_ordinal, str(counts.get("updateRevision")), first + partition),
        )
    if not partition and counts.get("currentRevision") != counts.get("updateRevision"):
        return in_progress("the update is being closed", reason="RollingOut", evidence="currentRevision differs")
    return replicas.unsteady(pods, now) or _left(done, updated, wanted, f"the partition is {partition}", "Partition")


def _left(done: str, updated: int, wanted: int, why: str, reason: str) -> Verdict:
    """It is as it should be, and yet not all of it runs what it says: who reads only "ready" would think so."""
    if updated >= wanted:
        return current(done)
    return current(f"{done}, {updated} with the present template: {why}", reason, is_qualified=True)


def _told_how_to_mend(live: Object, verdict: Verdict) -> Verdict:
    """Says so where the broken pod is of an earlier revision: in order, nobody replaces it before it is ready.

    The set waits for that pod for ever, even after its template was mended
    (https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#forced-rollback).
    """
    revision = status(live).get("updateRevision")
    of_pod = mapping(metadata(verdict.because[0]).get("labels")).get(_REVISION_LABEL)
    in_order = spec(live).get("podManagementPolicy", "OrderedReady") == "OrderedReady"
    if not in_order or not revision or not of_pod or of_pod == revision:
        return verdict
    name = name_of(verdict.because[0])
    return replace(verdict, advice=f"{name} is of an earlier revision, and is not replaced before it is deleted")


def ordinal(live: Object) -> int:
    number = name_of(live).rpartition("-")[2]
    return int(number) if number.isdigit() else -1


def _lowest_unready(by_ordinal: dict[int, Object], wanted: range, now: datetime) -> tuple[Object, ...]:
    """Returns the lowest pod that is not ready; nothing if it does not exist, as then the set itself has to act."""
    for number in wanted:
        found = by_ordinal.get(number)
        if found is None:
            return ()
        if is_going(found) or not pod.is_ready(found) or pod.is_restarting(found, now):
            return (found,)
    return ()


def _next_to_update(by_ordinal: dict[int, Object], revision: str, lowest: int) -> tuple[Object, ...]:
    """Pods are updated from the highest ordinal down."""
    for number in sorted(by_ordinal, reverse=True):
        labels = mapping(metadata(by_ordinal[number]).get("labels"))
        if number >= lowest and (is_going(by_ordinal[number]) or labels.get(_REVISION_LABEL) != revision):
            return (by_ordinal[number],)
    return ()
