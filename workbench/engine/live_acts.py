"""Acts on single live objects: what each is called, what has to be typed for it, what it turns into. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from runtimes.base import KubernetesId
from workbench.engine.errors import EngineError
from workbench.project import StackPath


class LiveAct(StrEnum):
    RESTART = "restart"
    SCALE = "scale"
    DELETE = "delete"


class BadAct(EngineError):
    """Something that can't be asked of this object."""


_KINDS: Final = {
    LiveAct.RESTART: frozenset({"Deployment", "StatefulSet", "DaemonSet"}),
    LiveAct.SCALE: frozenset({"Deployment", "StatefulSet", "ReplicaSet"}),
}
MOST_REPLICAS: Final = 10_000


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """One act on the object of this uid; `replicas` are for `SCALE` alone. Raises `BadAct` for what can't be."""

    act: LiveAct
    cluster: str
    id: KubernetesId
    uid: str
    replicas: int = 0

    def __post_init__(self) -> None:
        kinds = _KINDS.get(self.act)
        if kinds is not None and (self.id.group != "apps" or self.id.kind not in kinds):
            hint = f"works on {', '.join(sorted(kinds))}"
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
        return f"{self.act.value} {where}{self.id.name}@{self.cluster}{count}"


def consequence(request: LiveRequest, owner: StackPath | None) -> str:
    """Returns what it turns into. Only labels tell whose an object is: without them nobody knows."""
    if owner is None:
        return "no stack here is known to own it, but what owns it may make it again or set it back"
    becomes = {
        LiveAct.RESTART: "its pods are replaced; the mark of it on the pod template is set by others than the stack",
        LiveAct.SCALE: "this is drift, which the next apply takes back where the configuration says replicas",
        LiveAct.DELETE: "this is drift: the next apply makes it again, and until then it is not there",
    }[request.act]
    return f"{owner} has it in its configuration: {becomes}"
