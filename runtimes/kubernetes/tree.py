"""The tree of an object and what it owns, each node with its own health: a pure function of a moment's objects.

Owners are followed by uid, so a pod that was let go, or one of the same name from an earlier life, is no child. Two
relations have no owner reference and are followed by name: the claims of a StatefulSet, and the volume of a claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from kcl.records import replace
from runtimes.base import Occurrence, ReadyRule, StatusNode
from runtimes.kubernetes import health
from runtimes.kubernetes.fields import parsed_time
from runtimes.kubernetes.health.deployment import newest_replica_set
from runtimes.kubernetes.health.service import addresses
from runtimes.kubernetes.objects import (
    Object,
    Objects,
    count,
    created,
    event_stamp,
    kind_of,
    mapping,
    mappings,
    name_of,
    namespace_of,
    reference,
    spec,
    status,
    uid_of,
)

_DEEPEST = 8
_EVENTS_A_NODE = 10
_OLDER_EVENTS = "OlderEvents"
"""In place of the reason of an event: it stands for others."""
# history that says nothing about health
_LEFT_OUT = frozenset({"ControllerRevision"})


def build(live: Object, objects: Objects, now: datetime, rule: ReadyRule | None = None) -> StatusNode:
    """`rule` says when the object itself is ready; what it owns is judged by its kind."""
    return _node(live, objects, now, frozenset(), rule)


def by_clock(node: StatusNode, ahead: timedelta) -> StatusNode:
    """Returns a tree whose times are those of a clock that this much is behind the cluster's, which dated them."""
    return replace(
        node,
        created=node.created - ahead if node.created is not None else None,
        children=tuple(by_clock(each, ahead) for each in node.children),
        events=tuple(replace(each, when=each.when - ahead) if each.when is not None else each for each in node.events),
    )


def _node(
    live: Object, objects: Objects, now: datetime, above: frozenset[str], rule: ReadyRule | None = None
) -> StatusNode:
    below = above | {uid_of(live)}
    children = [] if len(below) > _DEEPEST else [each for each in _children(live, objects) if uid_of(each) not in below]
    return StatusNode(
        ref=reference(live),
        health=health.assess(live, objects, now, rule).health,
        details=details(live, objects),
        created=created(live),
        children=tuple(_node(each, objects, now, below) for each in children),
        events=newest(live, objects.events_about(live), objects.events_left_out(live), _EVENTS_A_NODE),
        labels={key: str(value) for key, value in mapping(mapping(live.get("metadata")).get("labels")).items()},
    )


def _children(live: Object, objects: Objects) -> list[Object]:
    found = [each for each in objects.owned_by(live) if kind_of(each) not in _LEFT_OUT]
    match kind_of(live):
        case "Deployment":
            newest = newest_replica_set(live, objects)
            return [each for each in found if each is newest or not _is_spent(each, objects)]
        case "StatefulSet":
            return found + _claims(live, objects)
        case "PersistentVolumeClaim":
            volume = objects.get("PersistentVolume", "", str(spec(live).get("volumeName") or ""))
            return found + ([volume] if volume else [])
    return found


def _is_spent(replica_set: Object, objects: Objects) -> bool:
    """Whether a ReplicaSet is only kept as history."""
    return not (
        count(spec(replica_set), "replicas", 1)
        or count(status(replica_set), "replicas")
        or objects.owned_by(replica_set, "Pod")
    )


def _claims(live: Object, objects: Objects) -> list[Object]:
    templates = [name_of(each) for each in mappings(spec(live).get("volumeClaimTemplates"))]
    start = count(mapping(spec(live).get("ordinals")), "start")
    numbers = range(start, start + count(spec(live), "replicas", 1))
    names = [f"{template}-{name_of(live)}-{number}" for number in numbers for template in templates]
    claims = [objects.get("PersistentVolumeClaim", namespace_of(live), name) for name in names]
    # a retention policy may have made the set their owner
    return [each for each in claims if each and each not in objects.owned_by(live)]


def details(live: Object, objects: Objects) -> tuple[str, ...]:
    """Returns a few short facts for a row."""
    counts = status(live)
    wanted = count(spec(live), "replicas", 1)
    match kind_of(live):
        case "Deployment":
            return (f"{count(counts, 'readyReplicas')}/{wanted} ready", f"{count(counts, 'updatedReplicas')} updated")
        case "StatefulSet":
            return (f"{count(counts, 'readyReplicas')}/{wanted} ready", f"{count(counts, 'updatedReplicas')} updated")
        case "ReplicaSet" | "ReplicationController":
            return (f"{count(counts, 'readyReplicas')}/{wanted} ready",)
        case "DaemonSet":
            ready, desired = count(counts, "numberReady"), count(counts, "desiredNumberScheduled")
            return (f"{ready}/{desired} ready", f"{count(counts, 'updatedNumberScheduled')} updated")
        case "Pod":
            return _pod_details(live)
        case "Job":
            wanted = count(spec(live), "completions", 1)
            return (f"{count(counts, 'succeeded')}/{wanted} succeeded", f"{count(counts, 'failed')} failed")
        case "CronJob":
            return (str(spec(live).get("schedule") or ""), f"{len(mappings(counts.get('active')))} active")
        case "Service":
            return tuple(filter(None, (str(spec(live).get("type") or "ClusterIP"), *addresses(live))))
        case "Ingress":
            return addresses(live) or ("no address",)
        case "EndpointSlice":
            ends = mappings(live.get("endpoints"))
            ready = sum(1 for each in ends if mapping(each.get("conditions")).get("ready") is not False)
            return (f"{ready}/{len(ends)} ready",)
        case "PersistentVolumeClaim" | "PersistentVolume" | "Namespace":
            return (str(counts.get("phase") or "Pending"),)
    return ()


def _pod_details(live: Object) -> tuple[str, ...]:
    states = mappings(status(live).get("containerStatuses"))
    everything = [*mappings(status(live).get("initContainerStatuses")), *states]
    waiting = [
        str(mapping(mapping(each.get("state")).get("waiting")).get("reason") or "")
        for each in everything
        if "waiting" in mapping(each.get("state"))
    ]
    phase = str(status(live).get("phase") or "Pending")
    ready = sum(1 for each in states if each.get("ready") is True)
    wanted = len(mappings(spec(live).get("containers"))) or len(states)
    restarts = sum(count(each, "restartCount") for each in everything)
    facts = [next(filter(None, waiting), phase), f"{ready}/{wanted} ready"]
    if restarts:
        facts.append(f"{restarts} restart{'s' if restarts != 1 else ''}")
    if node := spec(live).get("nodeName"):
        facts.append(f"on {node}")
    return tuple(facts)


def newest(about: Object, events: Sequence[Object], left_out: int | None, most: int) -> tuple[Occurrence, ...]:
    """The newest events about an object, oldest first; before them, what stands for those that are not among them."""
    shown = tuple(occurrence(about, each) for each in events[-most:])
    text = left_out_text(None if left_out is None else left_out + len(events) - len(shown))
    if not text:
        return shown
    return (Occurrence(reference(about), False, _OLDER_EVENTS, text, 1, None), *shown)


def left_out_text(left_out: int | None) -> str:
    if left_out is None:
        return "older events are not kept: whether of this object, too, is not known"
    return f"{left_out} older event{' is' if left_out == 1 else 's are'} not kept" if left_out else ""


def occurrence(about: Object, event: Object) -> Occurrence:
    series = mapping(event.get("series"))
    return Occurrence(
        about=reference(about),
        warning=event.get("type") == "Warning",
        reason=str(event.get("reason") or ""),
        message=str(event.get("message") or ""),
        count=count(series, "count", count(event, "count", 1)),
        when=parsed_time(event_stamp(event)),
    )
