"""What can be done to live objects besides applying configuration: the second, small contract of a runtime.

The names are those of the field (kubectl, the eviction API). Every mutation is sent once: it is never repeated by
itself, not even where the infrastructure asks to come back later, since a restart done twice is an outage. Each is
bound to the uid that was looked at, and raises `Moved` where another object has taken the name since.

A `Runtime` that has such operations says so by being `Operable`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol, runtime_checkable

from kcl.records import dataclass, field
from runtimes.base.clusters import ClusterIdentity
from runtimes.base.errors import RuntimeFailure


class Blocked(RuntimeFailure):
    """An eviction that a disruption budget does not allow now (HTTP 429 of the eviction API). Nothing was done."""


@dataclass(frozen=True, slots=True, order=True)
class WorkloadRef:
    """What keeps pods running. `uid` tells it from an earlier one of the same name."""

    kind: str
    namespace: str
    name: str
    uid: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class Budget:
    """A disruption budget that covers a pod. `allowed` is how many more disruptions it allows now.

    `allows_unhealthy` is whether a pod that is not ready may go although `allowed` is 0.
    """

    namespace: str
    name: str
    allowed: int
    allows_unhealthy: bool = False


@dataclass(frozen=True, slots=True)
class LivePod:
    """`controller` is the uid of its direct controller (a ReplicaSet, say), empty for a pod nobody would make again.

    `workload` is the top of that chain (the Deployment above the ReplicaSet). `restarts` counts over its containers.
    """

    namespace: str
    name: str
    uid: str
    node: str
    is_ready: bool
    is_terminating: bool
    restarts: int
    created: datetime | None
    controller: str = ""
    workload: WorkloadRef | None = None
    budgets: tuple[Budget, ...] = ()
    reason: str = ""
    """Why it is not ready, in one CamelCase word where the infrastructure gives one (CrashLoopBackOff)."""
    is_failing: bool = False
    """It waits because of an error that does not go away by waiting."""


@dataclass(frozen=True, slots=True)
class LiveWorkload:
    """`desired` and `ready` count replicas. `is_settled`: what was last asked of it is done."""

    ref: WorkloadRef
    desired: int
    ready: int
    is_settled: bool


@dataclass(frozen=True, slots=True)
class LiveNode:
    name: str
    uid: str
    is_ready: bool
    is_cordoned: bool


@dataclass(frozen=True, slots=True)
class SurveyRequest:
    """`nodes` asks for the nodes as well."""

    namespaces: tuple[str, ...]
    nodes: bool = False


@dataclass(frozen=True, slots=True)
class Survey:
    pods: tuple[LivePod, ...]
    workloads: Mapping[WorkloadRef, LiveWorkload]
    nodes: tuple[LiveNode, ...] = ()


@dataclass(frozen=True, slots=True)
class PodTarget:
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Record:
    """A record in the cluster itself, where every machine finds it: texts by name, and the version it was read at."""

    entries: Mapping[str, str]
    version: str


class PodFeed(Protocol):
    """The pods of one namespace as they change, kept up to date by the runtime."""

    @property
    def silent_seconds(self) -> float:
        """How long nothing could be heard; 0 while the connection stands."""

    def uids(self) -> frozenset[str]: ...

    def pods_of(self, controller: str) -> tuple[LivePod, ...]:
        """Returns the pods with this direct controller, without workloads and budgets."""

    async def changed(self) -> None:
        """Returns at the next change of any of them, or of the connection."""


@dataclass(frozen=True, slots=True)
class NodePod:
    """A pod on a node, as far as taking it away from there goes.

    `controller` is what makes it again, `Kind/name`, empty where nothing does. `local_data` are its volumes that end
    with it. `is_static`: the node's own files made it, and no API takes it away.
    """

    target: PodTarget
    controller: str = ""
    local_data: tuple[str, ...] = ()
    is_static: bool = False
    is_finished: bool = False
    is_terminating: bool = False
    is_ready: bool = True
    budgets: tuple[Budget, ...] = ()


@dataclass(frozen=True, slots=True)
class NodePods:
    """`budgets_failure` is why it is not known which disruption budgets there are; None where it is."""

    pods: tuple[NodePod, ...]
    budgets_failure: RuntimeFailure | None = None


@runtime_checkable
class NodeOperations(Protocol):
    """What can be done to nodes. All raise `RuntimeFailure` and nothing else."""

    async def cordon(self, node: LiveNode) -> None:
        """Marks the node so that nothing new is scheduled on it; a cordoned one stays as it is."""

    async def uncordon(self, node: LiveNode) -> None:
        """Takes that mark away."""

    async def pods_on(self, node: str) -> NodePods:
        """Returns the pods that are bound to a node, of all namespaces, by namespace and name."""


class LiveOperations(Protocol):
    """See the module's docstring. All raise `RuntimeFailure` and nothing else."""

    @property
    def place(self) -> str: ...

    async def identify(self, *, again: bool = False) -> ClusterIdentity:
        """See `Identifiable`."""

    async def survey(self, request: SurveyRequest) -> Survey:
        """Returns the pods of these namespaces with their workloads and budgets. A namespace may be missing."""

    async def pods(self, namespace: str) -> tuple[LivePod, ...]:
        """Returns the pods of a namespace as they are now, without workloads and budgets."""

    def follow_pods(self, namespace: str) -> AbstractAsyncContextManager[PodFeed]:
        """Entering waits until the pods are known once, or raises why they cannot be."""

    async def budgets(self, namespace: str) -> Mapping[str, Budget]:
        """Returns the namespace's budgets by name, as they are now."""

    async def workload(self, ref: WorkloadRef) -> LiveWorkload | None:
        """Returns None if it is gone; another uid is gone too."""

    async def evict(self, target: PodTarget) -> None:
        """Deletes a pod where its budgets allow it; raises `Blocked` where they do not, `NotThere` if it is gone."""

    async def delete_pod(self, target: PodTarget) -> None:
        """Deletes a pod, asking no budget; raises `NotThere` if it is gone."""

    async def restart_rollout(self, ref: WorkloadRef, at: datetime) -> None:
        """Has the workload replace its pods by its own strategy, as `kubectl rollout restart` does."""

    async def cordon(self, node: LiveNode) -> None:
        """Marks the node so that nothing new is scheduled on it; a cordoned one stays as it is."""

    async def uncordon(self, node: LiveNode) -> None:
        """Takes that mark away."""

    async def scale(self, ref: WorkloadRef, replicas: int) -> None: ...

    async def record(self, namespace: str, name: str) -> Record | None:
        """Returns a record as it is now; None if there is none, or no such namespace."""

    async def write_record(self, namespace: str, name: str, entries: Mapping[str, str], version: str) -> str:
        """Adds entries to a record, or replaces them, and returns its new version. `version` empty makes the record.

        Raises `Moved` where somebody wrote it since `version`, or made it meanwhile.
        """


@runtime_checkable
class Operable(Protocol):
    """A runtime with operations on live objects."""

    @property
    def operations(self) -> LiveOperations: ...
