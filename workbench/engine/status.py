"""The picture of a stack while it becomes ready: each resource in each place, and the one line that says why not.

Pure folding of what runtimes report; the watching itself is in reconcile.py. A picture holds where each part of it is
from and when that last answered. It is made of a moment (`at`), and grows old like anything else: who shows one later
asks for it `as_of` then, and what no source vouches for any more has turned Unknown. "Ready" is worked out from the
sources each time, so there is no way to say it while one of them is silent.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from kcl.records import dataclass, field, replace
from runtimes.base import Address, Blocking, Contact, Health, Lost, Observation, Status, StatusNode

SILENT = "Silent"
"""The reason of a `Lost` that nobody reported: no answer came in the time an answer is good for."""


_NOT_SEEN = Health(Status.UNKNOWN, "", "not observed yet")
WAITED_FOR = "has not answered yet"


class Verdict(StrEnum):
    """`TIMED_OUT` is never success: it says that waiting ended while something was still on its way.

    `UNKNOWN`: nothing has failed that is heard of, but a source is silent. `EMPTY`: there is nothing that could be
    ready, so neither can it be said to be.
    """

    READY = "ready"
    PROGRESSING = "progressing"
    FAILED = "failed"
    UNKNOWN = "unknown"
    TIMED_OUT = "timed out"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a part of the picture comes from: a cluster, or Terraform's state. Alive, or `lost` since when and why.

    `answered_at` is None until the first answer; `lost` may be None even so, as long as one may still come.
    """

    place: str
    answered_at: datetime | None = None
    lost: Lost | None = None
    valid_seconds: float = 0.0

    @property
    def is_alive(self) -> bool:
        return self.answered_at is not None and self.lost is None

    def as_of(self, now: datetime) -> Source:
        """Returns what is to be said of it later: lost, if no answer came in time. A clock set back counts as that."""
        if self.answered_at is None or self.lost is not None:
            return self
        if abs((now - self.answered_at).total_seconds()) <= self.valid_seconds:
            return self
        return replace(self, lost=Lost(self.answered_at, SILENT, "not heard of since", "is it still watched?"))


@dataclass(frozen=True, slots=True)
class ResourceStatus:
    """One resource in one place. `tree` is None until it was observed, or where nothing is there.

    While it is not heard of, `lost` says since when, `health` is Unknown, and `last` is what it was then.
    """

    address: Address
    health: Health
    tree: StatusNode | None = None
    blocking: Blocking | None = None
    lost: Lost | None = None
    last: Health | None = None

    @property
    def is_seen(self) -> bool:
        return self.health != _NOT_SEEN

    def losing(self, lost: Lost) -> ResourceStatus:
        """Returns it as one that is not heard of."""
        if self.lost is not None:
            return self
        health = Health(Status.UNKNOWN, lost.reason, lost.message)
        last = self.health if self.is_seen else None
        return replace(self, health=health, blocking=None, lost=lost, last=last)


class Statuses(tuple[ResourceStatus, ...]):
    """The statuses of all resources, and what follows from them: counted once, as most pictures only differ in time."""

    @cached_property
    def ready(self) -> int:
        return sum(each.health.status is Status.CURRENT for each in self)

    @cached_property
    def failed(self) -> int:
        return sum(each.health.status is Status.FAILED for each in self)

    @cached_property
    def lost(self) -> int:
        return sum(each.lost is not None for each in self)

    @cached_property
    def places(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.address.cluster for each in self))

    @cached_property
    def waiting(self) -> tuple[ResourceStatus, ...]:
        if self.ready == len(self):
            return ()
        return tuple(each for each in self if each.health.status is not Status.CURRENT)

    def replaced(self, index: int, status: ResourceStatus) -> Statuses:
        """Returns them with another status of the same resource, its counts taken from these."""
        made, old = Statuses((*self[:index], status, *self[index + 1 :])), self[index]
        counts = {
            "ready": self.ready + _counts(status, Status.CURRENT) - _counts(old, Status.CURRENT),
            "failed": self.failed + _counts(status, Status.FAILED) - _counts(old, Status.FAILED),
            "lost": self.lost + (status.lost is not None) - (old.lost is not None),
            "places": self.places,
        }
        vars(made).update(counts)
        return made


def _counts(status: ResourceStatus, which: Status) -> int:
    return status.health.status is which


@dataclass(frozen=True, slots=True)
class StatusTree:
    """`resources` in the order they are applied; `sources` every place they are in. `seconds` since the watch began.

    `at` is when it was true. Properties speak of that moment; `as_of` gives the picture to show at another.
    """

    resources: tuple[ResourceStatus, ...]
    sources: tuple[Source, ...]
    at: datetime
    seconds: float = 0.0
    timed_out: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.resources, Statuses):
            object.__setattr__(self, "resources", Statuses(self.resources))

    @property
    def statuses(self) -> Statuses:
        """The resources, as what follows from them is asked for."""
        assert isinstance(self.resources, Statuses), "it is made so"
        return self.resources

    def as_of(self, now: datetime) -> StatusTree:
        """Returns the picture as it may be shown at `now`: what no source vouches for has turned Unknown."""
        sources = tuple(each.as_of(now) for each in self.sources)
        if all(each.is_alive for each in sources):
            return replace(self, sources=sources, at=now)
        silent = {each.place: each.lost for each in sources if not each.is_alive}
        waiting = Lost(self.at, SILENT, WAITED_FOR)
        resources = tuple(
            each.losing(silent[each.address.cluster] or waiting)
            if each.address.cluster in silent and (each.is_seen or silent[each.address.cluster])
            else each
            for each in self.resources
        )
        return replace(self, resources=resources, sources=sources, at=now)

    @property
    def silent(self) -> tuple[Source, ...]:
        """The sources that do not answer, or did not yet; a place that nobody speaks for is one, too."""
        known = {each.place for each in self.sources}
        nobody = [each for each in self.statuses.places if each not in known]
        return (*(each for each in self.sources if not each.is_alive), *map(Source, nobody))

    @property
    def answered_at(self) -> datetime | None:
        """Since when all of this is known at the latest: the oldest of the last answers; None if one never came."""
        times = [each.answered_at for each in self.sources]
        return None if None in times else min((each for each in times if each is not None), default=None)

    @property
    def ready(self) -> int:
        return self.statuses.ready

    @property
    def qualified(self) -> tuple[ResourceStatus, ...]:
        """The resources that are ready and say what somebody who reads only that would take for granted."""
        return tuple(
            each for each in self.resources if each.health.status is Status.CURRENT and each.health.is_qualified
        )

    @property
    def total(self) -> int:
        return len(self.resources)

    @property
    def verdict(self) -> Verdict:
        if not self.resources:
            return Verdict.EMPTY
        if self.statuses.failed:
            return Verdict.FAILED
        if not self.silent and self.ready == self.total:
            return Verdict.READY
        if self.timed_out:
            return Verdict.TIMED_OUT
        is_lost = any(each.lost for each in self.sources) or self.statuses.lost > 0
        return Verdict.UNKNOWN if is_lost else Verdict.PROGRESSING

    @property
    def why(self) -> ResourceStatus | None:
        """The resource to look at first: the first failed one with a known cause, else the first that is blocked."""
        return min(self.statuses.waiting, key=_urgency, default=None)


def _urgency(status: ResourceStatus) -> tuple[bool, bool, bool]:
    """Orders by what explains most: a known cause first, of those a failure, of those a pod's: what waits for it
    (a Service, an Ingress) is only its consequence. Equal ones keep their order."""
    blocking = status.blocking
    failed = status.health.status is Status.FAILED
    return blocking is None, not failed, blocking is None or blocking.ref.kind != "Pod"


@dataclass(frozen=True, slots=True)
class Watched:
    """What was reported so far; `fold` gives the next one. `resources` is what that makes of each address, in order."""

    addresses: tuple[Address, ...]
    positions: Mapping[Address, int]
    resources: Statuses
    sources: Mapping[str, Source]
    seen: Mapping[Address, Observation] = field(default_factory=dict)

    @classmethod
    def of(cls, addresses: tuple[Address, ...]) -> Watched:
        return cls(
            addresses,
            {each: index for index, each in enumerate(addresses)},
            Statuses(ResourceStatus(each, _NOT_SEEN) for each in addresses),
            {each.cluster: Source(each.cluster) for each in addresses},
        )

    def fold(self, place: str, report: Observation | Contact) -> Watched:
        match report:
            case Observation():
                address = Address(place, report.id)
                index, resources = self.positions.get(address), self.resources
                if index is not None:
                    resources = resources.replaced(index, _status(address, report))
                return replace(self, seen={**self.seen, address: report}, resources=resources)
            case Contact():
                source = Source(place, report.answered_at, report.lost, report.valid_seconds)
                return replace(self, sources={**self.sources, place: source})

    def lose(self, place: str, lost: Lost) -> Watched:
        """Takes note that a place cannot be watched; `since` is when it last answered, where it ever did."""
        before = self.sources[place]
        if before.lost is not None:
            lost = replace(lost, since=before.lost.since)
        elif before.answered_at is not None:
            lost = replace(lost, since=before.answered_at)
        # the next watch has to say each of them again
        seen = {
            address: replace(each, lost=each.lost or lost) if address.cluster == place else each
            for address, each in self.seen.items()
        }
        here = {address for address in seen if address.cluster == place}
        resources = Statuses(
            _status(each.address, seen[each.address]) if each.address in here else each for each in self.resources
        )
        sources = {**self.sources, place: replace(before, lost=lost)}
        return replace(self, seen=seen, resources=resources, sources=sources)

    @property
    def is_complete(self) -> bool:
        """Every resource was observed, or its place is known to be away: before that a picture says little."""
        return all(each in self.seen or self.sources[each.cluster].lost is not None for each in self.addresses)

    def tree(self, now: datetime, seconds: float, *, timed_out: bool = False) -> StatusTree:
        return StatusTree(self.resources, tuple(self.sources.values()), now, seconds, timed_out).as_of(now)


def _status(address: Address, seen: Observation) -> ResourceStatus:
    status = ResourceStatus(address, seen.health, seen.tree, seen.blocking)
    if seen.lost is None:
        return status
    if seen.health.status is Status.UNKNOWN:
        return replace(status, lost=seen.lost)
    return status.losing(seen.lost)
