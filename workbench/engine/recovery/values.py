"""What a recovery is about, as values: for screens, notebooks, logs and the report alike.

    hostname → Host (as the inventory has it) → Target (the live pod, with what is decided about it) → Step (one write)

Nothing is left out on the way: every hostname of a document has a `HostResult`, every pod it leads to a `Target`, and
every target either belongs to a step or says why it is held.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from kcl.records import dataclass, field
from runtimes.base import ClusterIdentity, LivePod, LiveWorkload, WorkloadRef
from workbench.engine.changes import Problem
from workbench.engine.recovery.document import Limits, Operation, RecoveryDocument


@dataclass(frozen=True, slots=True, order=True)
class PodKey:
    """A pod; or a node, which is of no namespace, where that is what a recovery names."""

    cluster: str
    namespace: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.namespace or 'Node'}/{self.name}"

    def __str__(self) -> str:
        return f"{self.path}@{self.cluster}"


class Verb(StrEnum):
    """The write of one step. A restart evicts where a budget covers the pod, and deletes where none does."""

    DELETE = "delete"
    EVICT = "evict"
    ROLLOUT_RESTART = "rollout restart"
    CORDON = "cordon"
    UNCORDON = "uncordon"
    SCALE = "scale"


class Hold(StrEnum):
    """Why nothing is done about a target."""

    NOT_FOUND = "not found"
    REPLACED = "replaced already"
    TERMINATING = "terminating"
    AMBIGUOUS = "ambiguous"
    UNMANAGED = "unmanaged"
    BUDGET = "blocked by PDB"
    MAX_PODS = "over the limit of pods"
    MAX_FRACTION = "over the share of its workload"
    UNREACHABLE = "cluster not reached"
    DONE_BEFORE = "done before"
    MADE_SINCE = "made since"
    IN_FLIGHT = "replacement awaited"
    CORDONED = "cordoned already"
    UNCORDONED = "not cordoned"


@dataclass(frozen=True, slots=True)
class Target:
    """A pod, or a node, that one or more hostnames lead to.

    `pod` is None where nothing was found live, and for a node. `step` is the id of the step that deals with it, empty
    where it is held: `hold` and `why` then say the reason.
    """

    key: PodKey
    hostnames: tuple[str, ...]
    pod: LivePod | None
    workload: LiveWorkload | None = None
    step: str = ""
    hold: Hold | None = None
    why: str = ""

    @property
    def pod_name(self) -> str:
        """Empty for a node."""
        return self.key.name if self.key.namespace else ""

    @property
    def node_name(self) -> str:
        """The node itself, or that of the pod; empty where none is known."""
        if not self.key.namespace:
            return self.key.name
        return self.pod.node if self.pod else ""

    @property
    def budgets_allow(self) -> int | None:
        """The fewest disruptions that the pod's budgets allow now; None without a budget."""
        allowed = [each.allowed for each in self.pod.budgets] if self.pod else []
        return min(allowed) if allowed else None


@dataclass(frozen=True, slots=True)
class Step:
    """One write to one cluster. `subject` reads as `Pod/web-1`, `Deployment/web` or `Node/n17`; `uid` is its uid.

    `pods` are the targets it deals with, one for a pod and any number for a workload or a node; `hostnames` are those
    that lead to them. `controller` is the uid of what makes the pod again. `charge` is how many pods it touches, as
    `max_pods` counts them. `identity` is which cluster it is; None in records of before it was asked.
    """

    id: str
    cluster: str
    verb: Verb
    namespace: str
    kind: str
    name: str
    uid: str
    pods: tuple[PodKey, ...]
    hostnames: tuple[str, ...] = ()
    workload: WorkloadRef | None = None
    controller: str = ""
    replicas: int | None = None
    charge: int = 1
    identity: ClusterIdentity | None = field(default=None, repr=False)

    @property
    def subject(self) -> str:
        return f"{self.kind}/{self.name}"

    def __str__(self) -> str:
        return f"{self.verb} {self.subject}@{self.cluster}"


class HostState(StrEnum):
    """How a hostname came out. Before a run: to do, held, unknown, stale. After it: one of the others as well."""

    TO_DO = "to do"
    HELD = "held"
    UNKNOWN = "unknown"
    STALE = "stale"
    RECOVERED = "recovered"
    UNVERIFIED = "unverified"
    BLOCKED = "blocked"
    FAILED = "failed"
    NOT_TRIED = "not tried"
    DONE_BEFORE = "done before"


@dataclass(frozen=True, slots=True)
class HostResult:
    """`why` is empty where there is nothing to add. `pods` are those the hostname leads to.

    `holds` are the reasons its pods are held for, without repetition; empty where nothing holds them.
    """

    hostname: str
    state: HostState
    why: str = ""
    pods: tuple[PodKey, ...] = ()
    holds: tuple[Hold, ...] = ()


@dataclass(frozen=True, slots=True)
class Recovery:
    """What would be done, everything decided and nothing written. `steps` are in the order they are started in.

    `id` is that of the incident: whatever its hosts and operation, what any run of it did is not done again. `phrase`
    is what has to be typed to run these steps: it ends in a digest of them, and is empty where there are none.
    `previous` are the steps that runs of the incident began before, `phrases` those that were confirmed for it.
    `originals` are the uids of the pods a workload had before the incident touched it, by `owner_key`; `in_flight` how
    many of its pods earlier runs took away without a replacement that is ready. `warnings` say what could not be known.
    `identities` are the clusters that answered.
    """

    id: str
    document: RecoveryDocument
    targets: tuple[Target, ...]
    steps: tuple[Step, ...]
    hosts: tuple[HostResult, ...]
    problems: tuple[Problem, ...]
    phrase: str
    made_at: datetime
    previous: tuple[StepResult, ...] = field(default=(), repr=False)
    phrases: frozenset[str] = field(default=frozenset(), repr=False)
    originals: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    in_flight: Mapping[str, int] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()
    identities: Mapping[str, ClusterIdentity] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return self.document.name

    @property
    def operation(self) -> Operation:
        return self.document.operation

    @property
    def limits(self) -> Limits:
        return self.document.limits

    @property
    def is_named(self) -> bool:
        """Whether it says which incident it belongs to."""
        return bool(self.document.reason.strip())

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it can be run: all is done, or what is left is held."""
        return not self.steps

    @property
    def clusters(self) -> tuple[str, ...]:
        return tuple(sorted({each.cluster for each in self.steps}))

    @property
    def unresolved(self) -> tuple[HostResult, ...]:
        return tuple(each for each in self.hosts if each.state in (HostState.UNKNOWN, HostState.STALE))

    @property
    def held(self) -> tuple[Target, ...]:
        return tuple(each for each in self.targets if each.hold is not None)


class StepState(StrEnum):
    """`STARTED` is what is left of a run that was killed: whether the write happened is not known.

    `DONE`: written, nothing verified yet. `RECOVERED`: what replaces it is ready. `UNVERIFIED`: written, but nothing
    became ready in time. `BLOCKED`, `FAILED`: nothing was written, or it is not known (`uncertain`).
    """

    WAITING = "waiting"
    STARTED = "started"
    DONE = "done"
    RECOVERED = "recovered"
    UNVERIFIED = "unverified"
    BLOCKED = "blocked"
    FAILED = "failed"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class StepResult:
    """`new_pod` (its uid: `new_uid`) took the place, `ready_seconds` after the write (None: it is not ready).

    `is_uncertain`: the write was sent and its answer was lost. `error` says why it is not recovered.
    """

    step: Step
    state: StepState
    started: datetime | None = None
    ended: datetime | None = None
    new_pod: str = ""
    ready_seconds: float | None = None
    error: str = ""
    hint: str = ""
    is_uncertain: bool = False
    new_uid: str = ""

    @property
    def is_begun(self) -> bool:
        """Whether its write was done, or may have been: blocked and refused writes were not, and may be tried again."""
        return self.state in _BEGUN or self.is_uncertain


_BEGUN = frozenset({StepState.STARTED, StepState.DONE, StepState.RECOVERED, StepState.UNVERIFIED})


class RecoveryOutcome(StrEnum):
    """How a run came out, judged by the hostnames and not by its steps alone.

    `RECOVERED`: every hostname is recovered, by this run or an earlier one of the incident. `NOTHING_TO_DO`: by earlier
    ones alone. `PARTIAL`: some hostnames are, others are not. `FAILED`: this run recovered none, and some are left.
    `STOPPED`: too many failures, or asked to stop.
    """

    DRY_RUN = "dry run"
    NOTHING_TO_DO = "nothing to do"
    RECOVERED = "recovered"
    PARTIAL = "partial"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """How it ended. `hosts` has every hostname of the document exactly once, in the document's order."""

    recovery: str
    name: str
    operation: Operation
    reason: str
    outcome: RecoveryOutcome
    is_dry_run: bool
    started: datetime
    ended: datetime
    hosts: tuple[HostResult, ...]
    steps: tuple[StepResult, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def seconds(self) -> float:
        return (self.ended - self.started).total_seconds()

    def count(self, state: HostState) -> int:
        return sum(each.state is state for each in self.hosts)

    def counts(self) -> dict[HostState, int]:
        """How many hostnames came out how, only states that occur."""
        found = {state: self.count(state) for state in HostState}
        return {state: number for state, number in found.items() if number}
