"""The picture of a stack while it becomes ready: each resource in each cluster, and the one line that says why not.

Pure folding of what runtimes observe; the watching itself is in reconcile.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from runtimes.base import Address, Blocking, Health, Observation, Status, StatusNode


class Verdict(StrEnum):
    """`TIMED_OUT` is never success: it says that waiting ended while something was still on its way."""

    READY = "ready"
    PROGRESSING = "progressing"
    FAILED = "failed"
    TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True)
class ResourceStatus:
    """One resource in one cluster. `tree` is None until it was observed, or where nothing is there."""

    address: Address
    health: Health
    tree: StatusNode | None = None
    blocking: Blocking | None = None
    stale_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ClusterProblem:
    """A cluster that cannot be heard; its resources are shown as Unknown."""

    cluster: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class StatusTree:
    """`resources` in the order they are applied. `seconds` since the watch began."""

    resources: tuple[ResourceStatus, ...]
    problems: tuple[ClusterProblem, ...] = ()
    seconds: float = 0.0
    timed_out: bool = False

    @property
    def ready(self) -> int:
        return sum(each.health.status is Status.CURRENT for each in self.resources)

    @property
    def total(self) -> int:
        return len(self.resources)

    @property
    def stale_seconds(self) -> float:
        return max((each.stale_seconds for each in self.resources), default=0.0)

    @property
    def verdict(self) -> Verdict:
        if any(each.health.status is Status.FAILED for each in self.resources):
            return Verdict.FAILED
        heard = not self.problems and not self.stale_seconds
        if heard and all(each.health.status is Status.CURRENT for each in self.resources):
            return Verdict.READY
        return Verdict.TIMED_OUT if self.timed_out else Verdict.PROGRESSING

    @property
    def why(self) -> ResourceStatus | None:
        """The resource to look at first: the first failed one with a known cause, else the first that is blocked."""
        waiting = [each for each in self.resources if each.health.status is not Status.CURRENT]
        return min(waiting, key=_urgency, default=None)


def _urgency(status: ResourceStatus) -> tuple[bool, bool, bool]:
    """Orders by what explains most: a known cause first, of those a failure, of those a pod's: what waits for it
    (a Service, an Ingress) is only its consequence. Equal ones keep their order."""
    blocking = status.blocking
    failed = status.health.status is Status.FAILED
    return blocking is None, not failed, blocking is None or blocking.ref.kind != "Pod"


_NOT_SEEN = Health(Status.UNKNOWN, "", "not observed yet")


@dataclass(frozen=True, slots=True)
class Watched:
    """What is known so far; `fold` gives the next one."""

    addresses: tuple[Address, ...]
    seen: Mapping[Address, Observation] = field(default_factory=dict)
    problems: Mapping[str, ClusterProblem] = field(default_factory=dict)

    def fold(self, cluster: str, observation: Observation) -> Watched:
        problems = {name: each for name, each in self.problems.items() if name != cluster}
        return Watched(self.addresses, {**self.seen, Address(cluster, observation.id): observation}, problems)

    def lose(self, problem: ClusterProblem) -> Watched:
        return Watched(self.addresses, self.seen, {**self.problems, problem.cluster: problem})

    def tree(self, seconds: float, *, timed_out: bool = False) -> StatusTree:
        resources = tuple(self._status(each) for each in self.addresses)
        return StatusTree(resources, tuple(self.problems.values()), seconds, timed_out)

    def _status(self, address: Address) -> ResourceStatus:
        seen = self.seen.get(address)
        lost = self.problems.get(address.cluster)
        if lost is not None:
            return ResourceStatus(address, Health(Status.UNKNOWN, "", lost.message), seen.tree if seen else None)
        if seen is None:
            return ResourceStatus(address, _NOT_SEEN)
        return ResourceStatus(address, seen.health, seen.tree, seen.blocking, seen.stale_seconds)
