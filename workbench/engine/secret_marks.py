"""Pods that are to follow their Secrets: another secret is another pod template, and so a change in the plan.

Nothing replaces the pods of a workload because a Secret changed: what they took as they started they go on with. A pod
template that has the annotation `workbench.konfig.io/secrets: restart` gets a digest of the Secrets that its pods read
in its place, of those in the same stack, once their values are known. The digest is salted by the place of each Secret
and slow to make, as whoever may read a workload and no Secret sees it. Of a template that does not ask for it, the plan
says which pods go on with what a Secret held before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from kcl.records import replace
from runtimes.base import KubernetesId, Resource
from workbench.engine.changes import Change
from workbench.engine.events import Action
from workbench.engine.graph import secrets_of_pods
from workbench.engine.pod_updates import RESTARTING
from workbench.engine.spec import Spec

MARK: Final = "workbench.konfig.io/secrets"
ASKED: Final = "restart"
_DATA: Final = frozenset({"data", "stringData"})
_COST: Final = {"n": 1 << 14, "r": 8, "p": 1}


def asks(spec: Spec) -> bool:
    """Whether a pod template asks for a digest."""
    return any(_asks(each) for each in spec)


def marked(spec: Spec) -> Spec:
    """Returns the Spec with digests where pod templates ask for them, and a note where there is nothing to follow."""
    secrets = {
        (each.id.namespace, each.id.name): each
        for each in spec
        if isinstance(each.id, KubernetesId) and _is_secret(each.id)
    }
    resources: list[Resource] = []
    notes: list[str] = []
    for each in spec:
        if isinstance(each.id, KubernetesId) and _asks(each):
            names = sorted(secrets_of_pods(each.attributes)[1])
            read = [secrets[each.id.namespace, name] for name in names if (each.id.namespace, name) in secrets]
            resources.append(_marked(each, read, spec.stack))
            if not read:
                notes.append(f"{each.id}: {MARK}: {ASKED} follows nothing, as its pods read no Secret of this stack")
        else:
            resources.append(each)
    return replace(spec, resources=tuple(resources), notes=(*spec.notes, *notes))


def _marked(resource: Resource, read: Iterable[Resource], stack: str) -> Resource:
    digests = [_digest(_content(each), f"{stack} {each.id}") for each in read]
    mark = hashlib.sha256("".join(digests).encode()).hexdigest()[:32]
    attributes: Any = resource.attributes
    return replace(resource, attributes=_put(attributes, ("spec", "template", "metadata", "annotations", MARK), mark))


def _asks(resource: Resource) -> bool:
    match resource.attributes:
        case {"spec": {"template": {"metadata": {"annotations": Mapping() as annotations}}}}:
            return annotations.get(MARK) == ASKED and _restarts(resource)
    return False


def _restarts(resource: Resource) -> bool:
    return isinstance(resource.id, KubernetesId) and resource.id.kind in RESTARTING


def _is_secret(id_: KubernetesId) -> bool:
    return (id_.group, id_.kind) == ("", "Secret")


def _content(secret: Resource) -> str:
    held = {key: secret.attributes.get(key) for key in sorted(_DATA)}
    return json.dumps(held, sort_keys=True, default=str)


@lru_cache(maxsize=256)
def _digest(content: str, salt: str) -> str:
    """Screens compare a stack again and again, with the same secrets."""
    return hashlib.scrypt(content.encode("utf-8", "surrogatepass"), salt=salt.encode(), **_COST).hex()


def _put(value: Mapping[str, Any], path: tuple[str, ...], text: str) -> dict[str, Any]:
    step, *rest = path
    return {**value, step: _put(value[step], tuple(rest), text) if rest else text}


def stale_pods(changes: Iterable[Change]) -> Iterator[str]:
    """Says which pods go on with what a Secret held before, though its change is in the plan."""
    every = tuple(changes)
    changed: dict[tuple[str, str], set[str]] = {}
    for each in every:
        id_ = each.address.id
        if isinstance(id_, KubernetesId) and _is_secret(id_) and _changes_data(each):
            changed.setdefault((each.address.cluster, id_.namespace), set()).add(id_.name)
    for each in every if changed else ():
        id_, resource = each.address.id, each.resource
        if not isinstance(id_, KubernetesId) or resource is None or not _restarts(resource) or each.restarts:
            continue
        if each.action not in (Action.NONE, Action.UPDATE):
            continue
        read = secrets_of_pods(resource.attributes)[0] & changed.get((each.address.cluster, id_.namespace), set())
        for name in sorted(read):
            yield (
                f"{each.address.in_words}: its pods go on with what Secret {name} held before: "
                f"restart them, or give their template the annotation {MARK}: {ASKED}"
            )


def _changes_data(change: Change) -> bool:
    """Whether a Secret that is there gets other data. What is not compared may be other data as well."""
    if change.action is Action.REPLACE:
        return True
    return change.action is Action.UPDATE and any(each.path[:1] and each.path[0] in _DATA for each in change.fields)
