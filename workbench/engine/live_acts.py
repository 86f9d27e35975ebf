"""Acts on single live objects: what each is called, what has to be typed for it, what it turns into. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from hashlib import sha256
from typing import Final

from kcl.records import dataclass, field
from runtimes.base import KubernetesId
from workbench.engine.draining import Losses
from workbench.engine.errors import EngineError
from workbench.project import StackPath


class LiveAct(StrEnum):
    RESTART = "restart"
    SCALE = "scale"
    DELETE = "delete"
    EVICT = "evict"
    CORDON = "cordon"
    UNCORDON = "uncordon"
    DRAIN = "drain"


class BadAct(EngineError):
    """Something that can't be asked of this object."""


_KINDS: Final = {
    LiveAct.RESTART: ("apps", frozenset({"Deployment", "StatefulSet", "DaemonSet"})),
    LiveAct.SCALE: ("apps", frozenset({"Deployment", "StatefulSet", "ReplicaSet"})),
    LiveAct.EVICT: ("", frozenset({"Pod"})),
    **{each: ("", frozenset({"Node"})) for each in (LiveAct.CORDON, LiveAct.UNCORDON, LiveAct.DRAIN)},
}
MOST_REPLICAS: Final = 10_000
MOST_AT_ONCE: Final = 500


def acts_of(id_: KubernetesId) -> tuple[LiveAct, ...]:
    """Returns what can be asked of an object of this kind."""
    return tuple(each for each in LiveAct if _fits(each, id_))


def _fits(act: LiveAct, id_: KubernetesId) -> bool:
    group, kinds = _KINDS.get(act, (id_.group, frozenset({id_.kind})))
    return id_.group == group and id_.kind in kinds


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """One act on the object of this uid; `replicas` are for `SCALE` alone. Raises `BadAct` for what can't be.

    `losses` are what `EVICT` and `DRAIN` destroy for good, as far as it was looked at; `said` is what else they do.
    """

    act: LiveAct
    cluster: str
    id: KubernetesId
    uid: str
    replicas: int = 0
    losses: Losses = field(default_factory=Losses)
    said: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if not _fits(self.act, self.id):
            hint = f"works on {', '.join(sorted(_KINDS[self.act][1]))}"
            raise BadAct(f"a {self.id.kind} has nothing to {self.act.value}", hint=hint)
        if not 0 <= self.replicas <= MOST_REPLICAS:
            raise BadAct(f"{self.replicas} replicas are not between 0 and {MOST_REPLICAS}")
        if not self.uid:
            raise BadAct("the cluster does not say which object it is: it has no uid")

    @property
    def phrase(self) -> str:
        """What is typed to confirm it: the whole of it, so that no habit does."""
        where = f"{self.id.namespace}/" if self.id.namespace else ""
        count = f" to {self.replicas}" if self.act is LiveAct.SCALE else ""
        lost = f" losing {self.losses}" if self.losses.uids else ""
        return f"{self.act.value} {where}{self.id.name}@{self.cluster}{count}{lost}"


class ActState(StrEnum):
    """Where one act of several is. `UNKNOWN`: the cluster may have done it, and nobody heard."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "not known"
    LEFT = "not begun"


@dataclass(frozen=True, slots=True)
class Acts:
    """The same act on several objects, one after the other in this order. `owners` are the stacks that have them, as
    their labels said; None for one of no stack here. `refused` is why it may not be done to some of them. Raises
    `BadAct` where it is not one act, or on too many.
    """

    requests: tuple[LiveRequest, ...]
    owners: tuple[StackPath | None, ...]
    refused: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        acts = {(each.act, each.replicas) for each in self.requests}
        subjects = {(each.cluster, each.id) for each in self.requests}
        if len(acts) != 1 or len(subjects) != len(self.requests) or len(self.owners) != len(self.requests):
            raise BadAct("it has to be one act, on different objects")
        if len(self.requests) > MOST_AT_ONCE:
            hint = f"{MOST_AT_ONCE} at the most: mark fewer"
            raise BadAct(f"{len(self.requests)} objects are too many to look at each", hint=hint)

    @property
    def act(self) -> LiveAct:
        return self.requests[0].act

    @property
    def clusters(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.cluster for each in self.requests))

    @property
    def losses(self) -> Losses:
        found = [each.losses for each in self.requests]
        bare = frozenset[str]().union(*(each.bare for each in found))
        return Losses(bare, frozenset[str]().union(*(each.local_data for each in found)))

    @property
    def counted(self) -> str:
        """`2 Deployments, 1 StatefulSet`"""
        kinds = Counter(each.id.kind for each in self.requests)
        return ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in kinds.items())

    @property
    def phrase(self) -> str:
        """What is typed to confirm all of them; it ends in a digest of which they are, so that it counts for no others,
        not even for others as many."""
        to = f" to {self.requests[0].replicas}" if self.act is LiveAct.SCALE else ""
        lost = f" losing {self.losses}" if self.losses.uids else ""
        which = sorted(
            (each.cluster, str(each.id), each.uid, *sorted(each.losses.uids), each.replicas) for each in self.requests
        )
        digest = sha256(repr(which).encode()).hexdigest()[:_DIGITS]
        return f"{self.act.value} {self.counted}@{','.join(self.clusters)}{to}{lost} {digest}"

    def said(self) -> Iterator[str]:
        """Yields in clauses what all of them together turn into."""
        counts = Counter(consequence(*each) for each in zip(self.requests, self.owners, strict=True))
        for said, count in counts.items():
            yield said if count == len(self.requests) else f"{count} of them: {said}"


_DIGITS: Final = 6


def consequence(request: LiveRequest, owner: StackPath | None) -> str:
    """Returns what it turns into. Only labels tell whose an object is: without them nobody knows."""
    if request.act in _OF_NODES:
        return "; ".join(request.said or (_OF_NODES[request.act],))
    if owner is None and request.act is LiveAct.EVICT:
        return _evicted(request)
    if owner is None:
        return "no stack here is known to own it, but what owns it may make it again or set it back"
    becomes = {
        LiveAct.EVICT: _evicted(request),
        LiveAct.RESTART: "its pods are replaced; the mark of it on the pod template is set by others than the stack",
        LiveAct.SCALE: "this is drift, which the next apply takes back where the configuration says replicas",
        LiveAct.DELETE: "this is drift: the next apply makes it again, and until then it is not there",
    }[request.act]
    return f"{owner} has it in its configuration: {becomes}"


_OF_NODES: Final = {
    LiveAct.CORDON: "nothing new is scheduled on it until :uncordon; what runs there goes on",
    LiveAct.UNCORDON: "pods are scheduled on it again",
    LiveAct.DRAIN: "nothing new is scheduled on it, and its pods are evicted",
}


def _evicted(request: LiveRequest) -> str:
    if request.losses.bare:
        return "nothing makes this pod again: it is gone for good"
    if request.losses.local_data:
        return "its controller makes another pod, without the data in its emptyDir volumes; a budget may refuse it"
    return "its controller makes another pod in its place; a disruption budget may refuse it"
