"""What a declarative recovery says, read strictly: an unknown key or a limit of the wrong type is an error.

A document is what an AppRecovery program compiles to:

    kind: Recovery
    name: app-recovery
    hosts: [{hostname, cluster, namespace, pod, uid?, node?, state: ok | unknown | stale | duplicate}]
    unresolved: [hostname]
    nodes: [{cluster, name, uid?}]   # cordon and uncordon only: nodes by themselves, whatever runs on them
    operation: restart | evict | rolloutRestart | cordon | uncordon | scale
    replicas: 3                      # scale only
    limits: {maxPods, maxFraction, batch, stopAfter, timeoutSeconds, perOwner}
    reason: INC-1234
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from kcl.records import dataclass, field, fields
from workbench.engine.errors import EngineError
from workbench.engine.recovery.withheld import Withheld

KIND = "Recovery"


class InvalidRecovery(EngineError):
    """A document is no usable recovery; `where` is the place in it, such as `hosts[3].cluster`."""


class Operation(StrEnum):
    RESTART = "restart"
    EVICT = "evict"
    ROLLOUT_RESTART = "rolloutRestart"
    CORDON = "cordon"
    UNCORDON = "uncordon"
    SCALE = "scale"


ON_NODES = frozenset({Operation.CORDON, Operation.UNCORDON})


class InventoryState(StrEnum):
    """What the inventory itself says of its record: `STALE` was not confirmed for long, `DUPLICATE` is there twice."""

    OK = "ok"
    UNKNOWN = "unknown"
    STALE = "stale"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True)
class Host:
    """One record of the inventory. `uid` and `node` are empty where it does not know them."""

    hostname: str
    cluster: str
    namespace: str
    pod: str
    uid: str = ""
    node: str = ""
    state: InventoryState = InventoryState.OK


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node that is named itself, as no pod may lead to it. `uid` is empty where any of that name is meant."""

    cluster: str
    name: str
    uid: str = ""

    @property
    def hostname(self) -> str:
        """What a report calls it: clusters may have nodes of one name."""
        return f"{self.name}@{self.cluster}"


_LIMITS = {
    "maxPods": "max_pods",
    "maxFraction": "max_fraction",
    "batch": "batch",
    "stopAfter": "stop_after",
    "timeoutSeconds": "timeout_seconds",
    "perOwner": "per_owner",
    "answerSeconds": "answer_seconds",
    "deadlineSeconds": "deadline_seconds",
}
_WHOLE = frozenset({"max_pods", "batch", "stop_after", "per_owner"})


def _check_limit(key: str, name: str, value: object) -> None:
    """Holds for every way to a limit: a document, an argument in a notebook, a ledger that was read back."""
    if name in _WHOLE:
        wanted, is_fine = "a whole number above 0", _is_int(value) and value > 0  # type: ignore[operator]  # a number
    else:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        most = 1 if name == "max_fraction" else sys.float_info.max
        wanted = "a share above 0 and up to 1" if name == "max_fraction" else "a number above 0"
        is_fine = is_number and 0 < value <= most  # type: ignore[operator]  # a number
    if not is_fine:
        raise InvalidRecovery(f"{key} needs to be {wanted}; got {value!r}")


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the recovery of an incident may do; held by the engine, whatever the face. Raises `InvalidRecovery`.

    max_pods         pods that all runs of it may touch together
    max_fraction     share of a workload's replicas that they may touch, rounded down but at least one pod
    batch            pods in flight at a time in one cluster: from the write until the replacement is ready
    per_owner        pods in flight at a time of one workload in one cluster
    stop_after       failures after which a run starts nothing more: somebody has to look and confirm again
    timeout_seconds  for one replacement to become ready; what is still waiting its turn does not wait for ever either:
                     no step starts later than `deadline_seconds` after the run began
    answer_seconds   for a cluster to answer one request; of a look that takes several, until it answers the next
    """

    max_pods: int = 20
    max_fraction: float = 0.25
    batch: int = 3
    stop_after: int = 2
    timeout_seconds: float = 300.0
    per_owner: int = 1
    answer_seconds: float = 30.0
    deadline_seconds: float = 3600.0

    def __post_init__(self) -> None:
        for key, name in _LIMITS.items():
            _check_limit(key, name, getattr(self, name))


@dataclass(frozen=True, slots=True)
class RecoveryDocument:
    """`withheld` is what its program knows to be secret. `told_apart` is the reason (else the name) that had a secret
    in it, as it is shown, and the identity of its incident, which that text alone would not tell from others.
    """

    name: str
    operation: Operation
    hosts: tuple[Host, ...]
    unresolved: tuple[str, ...] = ()
    limits: Limits = Limits()
    reason: str = ""
    replicas: int | None = None
    withheld: Withheld = field(default=Withheld(), repr=False, compare=False)
    told_apart: tuple[str, str] = field(default=("", ""), repr=False, compare=False)
    nodes: tuple[NodeRecord, ...] = ()

    def hostnames(self) -> tuple[str, ...]:
        """Returns every hostname once, in the order it is first named."""
        named = (*(each.hostname for each in self.hosts), *(each.hostname for each in self.nodes))
        return tuple(dict.fromkeys((*named, *self.unresolved)))


_KEYS = frozenset(
    {"apiVersion", "kind", "name", "hosts", "unresolved", "nodes", "operation", "limits", "reason", "replicas"}
)
_NODE_KEYS = frozenset(each.name for each in fields(NodeRecord))
_HOST_KEYS = frozenset(each.name for each in fields(Host))


def find(documents: Sequence[Any], *, where: str = "") -> RecoveryDocument:
    """Returns the one recovery among compiled documents, at the top or as an element of a list; raises as `parse`."""
    flat = [each for one in documents for each in (one if isinstance(one, list) else [one])]
    found = [each for each in flat if isinstance(each, Mapping) and each.get("kind") == KIND]
    # A program that binds the recovery to a name has it one level down.
    found = found or [
        below
        for each in flat
        if isinstance(each, Mapping)
        for below in (value for any_ in each.values() for value in (any_ if isinstance(any_, list) else [any_]))
        if isinstance(below, Mapping) and below.get("kind") == KIND
    ]
    if len(found) != 1:
        raise InvalidRecovery(
            f"needs exactly one document of kind {KIND}, has {len(found)}",
            where=where,
            hint="print it with manifests.yaml_stream, or bind it to one name",
        )
    return parse(found[0], where=where)


def parse(content: Mapping[str, Any], *, where: str = "") -> RecoveryDocument:
    """Raises `InvalidRecovery` naming the place."""
    _only(content, _KEYS, where)
    hosts = content.get("hosts") or []
    unresolved = content.get("unresolved") or []
    if not isinstance(hosts, list):
        raise InvalidRecovery("hosts needs to be a list", where=where)
    if not isinstance(unresolved, list) or not all(isinstance(each, str) and each for each in unresolved):
        raise InvalidRecovery("unresolved needs to be a list of hostnames", where=where)
    nodes = content.get("nodes") or []
    if not isinstance(nodes, list):
        raise InvalidRecovery("nodes needs to be a list", where=where)
    operation = content.get("operation")
    if operation not in set(Operation):
        known = ", ".join(Operation)
        raise InvalidRecovery(f"operation needs to be one of {known}; got {operation!r}", where=where)
    replicas = content.get("replicas")
    if replicas is not None and (not _is_int(replicas) or replicas < 0):
        raise InvalidRecovery(f"replicas needs to be a whole number of 0 or more; got {replicas!r}", where=where)
    if (operation == Operation.SCALE) != (replicas is not None):
        raise InvalidRecovery("replicas goes with operation scale, and scale needs it", where=where)
    if nodes and operation not in ON_NODES:
        known = ", ".join(sorted(ON_NODES))
        raise InvalidRecovery(f"nodes goes with the operations {known}; name the hosts to {operation}", where=where)
    return RecoveryDocument(
        name=_text(content, "name", where),
        operation=Operation(operation),
        hosts=tuple(_host(each, f"{where} hosts[{index}]".strip()) for index, each in enumerate(hosts)),
        unresolved=tuple(dict.fromkeys(unresolved)),
        nodes=tuple(dict.fromkeys(_node(each, f"{where} nodes[{index}]".strip()) for index, each in enumerate(nodes))),
        limits=_limits(content.get("limits") or {}, f"{where} limits".strip()),
        reason=_text(content, "reason", where, required=False),
        replicas=replicas,
    )


def _host(entry: Any, where: str) -> Host:
    if not isinstance(entry, Mapping):
        raise InvalidRecovery("a host needs to be a mapping", where=where)
    _only(entry, _HOST_KEYS, where)
    state = entry.get("state", "ok")
    if state not in set(InventoryState):
        raise InvalidRecovery(f"state needs to be one of {', '.join(InventoryState)}; got {state!r}", where=where)
    is_known = state != InventoryState.UNKNOWN
    return Host(
        hostname=_text(entry, "hostname", where),
        cluster=_text(entry, "cluster", where, required=is_known),
        namespace=_text(entry, "namespace", where, required=is_known),
        pod=_text(entry, "pod", where, required=is_known),
        uid=_text(entry, "uid", where, required=False),
        node=_text(entry, "node", where, required=False),
        state=InventoryState(state),
    )


def _node(entry: Any, where: str) -> NodeRecord:
    if not isinstance(entry, Mapping):
        raise InvalidRecovery("a node needs to be a mapping", where=where)
    _only(entry, _NODE_KEYS, where)
    return NodeRecord(
        cluster=_text(entry, "cluster", where),
        name=_text(entry, "name", where),
        uid=_text(entry, "uid", where, required=False),
    )


def _limits(entry: Any, where: str) -> Limits:
    if not isinstance(entry, Mapping):
        raise InvalidRecovery("needs to be a mapping", where=where)
    _only(entry, frozenset(_LIMITS), where)
    given = {_LIMITS[name]: value for name, value in entry.items() if value is not None}
    try:
        return Limits(**given)
    except InvalidRecovery as error:
        raise InvalidRecovery(str(error), where=where) from None


def _only(content: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    if unknown := sorted(str(each) for each in content if each not in known):
        raise InvalidRecovery(f"unknown key {unknown[0]!r}; known: {', '.join(sorted(known))}", where=where)


def _text(content: Mapping[str, Any], key: str, where: str, *, required: bool = True) -> str:
    value = content.get(key)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value):
        raise InvalidRecovery(f"{key} needs to be a text, got {value!r}", where=where)
    return value
