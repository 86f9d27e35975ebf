"""Who owns whom: owner references, label selectors, and claiming what a selector fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runtimes.sandbox.controllers.base import Hands
from runtimes.sandbox.store import Object, copied


def controller_of(obj: Object) -> Object | None:
    """The one owner reference that says `controller: true`."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return reference  # type: ignore[no-any-return]  # JSON
    return None


def is_controlled_by(obj: Object, owner: Object) -> bool:
    reference = controller_of(obj)
    return reference is not None and reference["uid"] == owner["metadata"]["uid"]


def reference_to(owner: Object) -> Object:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def selector_of(workload: Object) -> Mapping[str, Any] | None:
    """Its LabelSelector. That of a ReplicationController is written as bare labels."""
    selector: Mapping[str, Any] | None = workload["spec"].get("selector")
    if workload["kind"] != "ReplicationController":
        return selector
    return {"matchLabels": selector} if selector else None


def labels_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """A LabelSelector (matchLabels and matchExpressions). An absent one selects nothing, an empty one everything."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_holds(expression, labels) for expression in selector.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values") or []
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:  # node affinity only
            try:
                here, there = int(value or ""), int(values[0])
            except (ValueError, IndexError):
                return False
            return here > there if operator == "Gt" else here < there
        case _:
            return False


def claim(hands: Hands, resource: str, owner: Object, candidates: Iterable[Object]) -> list[Object]:
    """The candidates that are the owner's by reference and selector.

    An orphan that the selector fits is adopted; one of its own that no longer fits is let go.
    """
    selector, mine = selector_of(owner), []
    going = owner["metadata"].get("deletionTimestamp")
    for obj in candidates:
        fits = selects(selector, labels_of(obj))
        reference = controller_of(obj)
        if reference is not None:
            if reference["uid"] != owner["metadata"]["uid"]:
                continue
            if fits:
                mine.append(obj)
            elif not going:
                _release(hands, resource, owner, obj)
        elif fits and not going and not obj["metadata"].get("deletionTimestamp"):
            mine.append(_adopt(hands, resource, owner, obj))
    return mine


def _adopt(hands: Hands, resource: str, owner: Object, obj: Object) -> Object:
    adopted = copied(obj)
    adopted["metadata"].setdefault("ownerReferences", []).append(reference_to(owner))
    return hands.update(resource, adopted)


def _release(hands: Hands, resource: str, owner: Object, obj: Object) -> None:
    released = copied(obj)
    kept = [ref for ref in released["metadata"]["ownerReferences"] if ref["uid"] != owner["metadata"]["uid"]]
    if kept:
        released["metadata"]["ownerReferences"] = kept
    else:
        del released["metadata"]["ownerReferences"]
    hands.update(resource, released)


def owners_to_wake(hands: Hands, resource: str, kind: str, changed: Iterable[Object | None]) -> set[tuple[str, str]]:
    """The keys of the workloads a change of a dependent concerns: its owner, or for an orphan every one that fits."""
    keys: set[tuple[str, str]] = set()
    for obj in changed:
        if obj is None:
            continue
        namespace = obj["metadata"].get("namespace", "")
        reference = controller_of(obj)
        if reference is not None:
            if reference["kind"] == kind:
                keys.add((namespace, reference["name"]))
            continue
        for workload in hands.all(resource, namespace):
            if selects(selector_of(workload), labels_of(obj)):
                keys.add((namespace, workload["metadata"]["name"]))
    return keys
