"""ControllerRevisions: the templates a StatefulSet or DaemonSet has had, numbered."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b

from runtimes.sandbox.controllers.base import Hands
from runtimes.sandbox.controllers.owners import claim, labels_of, reference_to
from runtimes.sandbox.controllers.rollout import safe_text
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.store import Object, copied

RESOURCE = "controllerrevisions.apps"


def of(hands: Hands, owner: Object) -> list[Object]:
    """Oldest first. Orphans that the selector fits are adopted."""
    found = claim(hands, RESOURCE, owner, hands.all(RESOURCE, owner["metadata"]["namespace"]))
    return sorted(found, key=lambda each: (each["revision"], each["metadata"]["creationTimestamp"]))


def current(
    hands: Hands, owner: Object, hash_label: str, annotations: Iterable[str] = ()
) -> tuple[Object, list[Object]]:
    """The revision of the present template, made or moved to the end if need be, and all of them with it last."""
    history = of(hands, owner)
    data = {"spec": {"template": {"$patch": "replace", **copied(owner["spec"]["template"])}}}
    number = history[-1]["revision"] + 1 if history else 1
    equal = [each for each in history if each["data"] == data]
    if equal:
        found = equal[-1]
        others = [each for each in history if each["metadata"]["uid"] != found["metadata"]["uid"]]
        if others and found["revision"] < others[-1]["revision"]:
            found = hands.update(RESOURCE, {**copied(found), "revision": number})
        return found, [*others, found]
    made = _make(hands, owner, data, number, hash_label, annotations)
    return made, [*history, made]


def _make(
    hands: Hands, owner: Object, data: Object, number: int, hash_label: str, annotations: Iterable[str]
) -> Object:
    metadata, collisions = owner["metadata"], (owner.get("status") or {}).get("collisionCount") or 0
    while True:
        digest = _digest(data, collisions)
        labels = {**((owner["spec"]["template"].get("metadata") or {}).get("labels") or {}), hash_label: digest}
        body = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": f"{metadata['name']}-{digest}",
                "namespace": metadata["namespace"],
                "labels": labels,
                "annotations": {
                    name: value
                    for name, value in (metadata.get("annotations") or {}).items()
                    if name in set(annotations)
                },
                "ownerReferences": [reference_to(owner)],
            },
            "data": data,
            "revision": number,
        }
        try:
            return hands.create(RESOURCE, metadata["namespace"], body)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            collisions += 1


def _digest(data: Object, collisions: int) -> str:
    text = json.dumps([data, collisions], sort_keys=True).encode()
    number = int.from_bytes(blake2b(text, digest_size=4).digest())
    return safe_text(str(number))


def hash_of(revision: Object, hash_label: str) -> str:
    return labels_of(revision).get(hash_label, "")


def forget_old(hands: Hands, history: list[Object], used: set[str], limit: int) -> None:
    """Delete the oldest that nothing uses (`used`: names), beyond the limit."""
    spare = [each for each in history if each["metadata"]["name"] not in used]
    for revision in spare[: max(len(spare) - limit, 0)]:
        hands.delete(RESOURCE, revision)
