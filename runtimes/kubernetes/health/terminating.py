"""Objects with a deletionTimestamp: whatever else they say, they are going. What keeps them is worth knowing."""

from __future__ import annotations

from collections.abc import Sequence

from runtimes.kubernetes.health.verdict import Verdict, terminating
from runtimes.kubernetes.objects import (
    Object,
    Objects,
    is_going,
    kind_of,
    mapping,
    mappings,
    metadata,
    name_of,
    namespace_of,
    spec,
    status,
)


def assess(live: Object, objects: Objects) -> Verdict:
    finalizers = [str(each) for each in metadata(live).get("finalizers") or ()]
    kept_by = _kept_by(live, objects, finalizers)
    if finalizers:
        message = f"held by finalizer {finalizers[0]}"
    elif kept_by:
        message = f"waits for {kind_of(kept_by[0])}/{name_of(kept_by[0])}"
    else:
        message = "its deletion was requested"
    remaining = _remaining(live) if kind_of(live) == "Namespace" else ()
    if remaining and not kept_by and not finalizers:
        message = str(remaining[0].get("message"))  # what it waits for is not among the objects that are known
    conditions = [f"{each.get('type')}: {each.get('message')}" for each in remaining]
    evidence = [f"deletionTimestamp {metadata(live).get('deletionTimestamp')}"]
    evidence += [f"finalizer {finalizers[0]}"] if finalizers else []
    return terminating(message, evidence="; ".join(evidence + conditions[:1]), because=tuple(kept_by))


_CONTENT = ("NamespaceFinalizersRemaining", "NamespaceContentRemaining")


def _remaining(namespace: Object) -> Sequence[Object]:
    """What its controller says keeps a namespace: what it failed at, else what holds on to a finalizer, else all."""
    found = [each for each in mappings(status(namespace).get("conditions")) if each.get("status") == "True"]
    rank = {type_: place for place, type_ in enumerate(_CONTENT, 1)}
    return sorted(found, key=lambda each: rank.get(str(each.get("type")), 0))


def _kept_by(live: Object, objects: Objects, finalizers: Sequence[str]) -> Sequence[Object]:
    match kind_of(live):
        case "Namespace":
            return sorted(objects.in_namespace(name_of(live)), key=_obstinacy)
        case "CustomResourceDefinition":
            kind = str(mapping(spec(live).get("names")).get("kind"))
            return sorted(objects.in_any_namespace(kind), key=_obstinacy)
        case "PersistentVolume":
            claim = mapping(spec(live).get("claimRef"))
            found = objects.get("PersistentVolumeClaim", str(claim.get("namespace") or ""), str(claim.get("name")))
            return [found] if found else []
        case "PersistentVolumeClaim":
            return [each for each in objects.of_kind("Pod", namespace_of(live)) if _uses(each, name_of(live))]
    if "foregroundDeletion" in finalizers:
        return sorted(objects.owned_by(live), key=_obstinacy)
    return []


def _obstinacy(each: Object) -> tuple[bool, bool, str]:
    """Those that hold on to a finalizer first, then those that are ending."""
    return not (is_going(each) and metadata(each).get("finalizers")), not is_going(each), name_of(each)


def _uses(pod: Object, claim: str) -> bool:
    return any(
        mapping(volume.get("persistentVolumeClaim")).get("claimName") == claim
        for volume in mappings(spec(pod).get("volumes"))
    )
