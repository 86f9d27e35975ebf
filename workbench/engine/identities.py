"""Which clusters are behind the names of clusters.yaml: asked before anything is concluded from a release or a plan.

What a release knows of a cluster is true of that cluster, wherever its name leads by now. So the resources of a release
follow the identity of their cluster: to its new name where it has one, else to a name of its own (`hz@1b4e28ba`), under
which every later release carries them on, and every plan says so, until somebody deletes them there or forgets them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager

import anyio

from kcl.records import dataclass, field, replace
from runtimes.base import (
    Address,
    ClusterIdentity,
    Identifiable,
    Runtime,
    RuntimeFailure,
    Sameness,
    compare,
)
from workbench.engine.errors import MovedObject, OtherCluster
from workbench.engine.place_kinds import kind_of
from workbench.engine.release import Release, ReleasedResource

_TAG = 8
_AGAIN = "+"


@dataclass(frozen=True, slots=True)
class Reached:
    """Clusters by name: what answers, or why it does not; and which cluster each one is that does."""

    runtimes: Mapping[str, Runtime | RuntimeFailure]
    identities: Mapping[str, ClusterIdentity] = field(default_factory=dict)


class Waiting:
    """Which places are asked right now, and since when: what a person who waits can be told."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._compared: dict[str, tuple[int, int]] = {}

    @contextmanager
    def on(self, place: str) -> Iterator[None]:
        before = self._since.setdefault(place, anyio.current_time())
        try:
            yield
        finally:
            if self._since.get(place) == before:
                del self._since[place]
                self._compared.pop(place, None)

    def progress(self, place: str) -> Callable[[int, int], None]:
        """Returns what is told how many resources were compared in a place, and of how many."""

        def note(done: int, of: int) -> None:
            self._compared[place] = done, of

        return note

    def compared(self) -> Mapping[str, tuple[int, int]]:
        """Returns how many resources were compared in each place that is waited for, and of how many."""
        return dict(self._compared)

    def seconds(self) -> Mapping[str, float]:
        """Returns for how long each place is waited for. To be called on the event loop that waits."""
        return {place: anyio.current_time() - since for place, since in self._since.items()}


async def identify(
    runtimes: Mapping[str, Runtime | RuntimeFailure], waiting: Waiting | None = None, *, again: bool = False
) -> Reached:
    """Asks all of them side by side; one that does not say who it is has its failure in the place of its runtime."""
    waiting = waiting or Waiting()
    found: dict[str, Runtime | RuntimeFailure] = dict(runtimes)
    identities: dict[str, ClusterIdentity] = {}

    async def ask(name: str, runtime: Identifiable) -> None:
        try:
            with waiting.on(name):
                identities[name] = await runtime.identify(again=again)
        except RuntimeFailure as failure:
            found[name] = failure

    async with anyio.create_task_group() as tasks:
        for name, runtime in runtimes.items():
            if isinstance(runtime, Identifiable):
                tasks.start_soon(ask, name, runtime)
    return Reached(found, {name: identities[name] for name in runtimes if name in identities})


async def check_clusters(
    stack: str, planned: Mapping[str, ClusterIdentity], runtimes: Mapping[str, Runtime]
) -> Mapping[str, ClusterIdentity]:
    """Asks the clusters of a plan again who they are, and returns that. Raises `OtherCluster` or `RuntimeFailure`."""
    planned = {name: each for name, each in planned.items() if name in runtimes}
    reached = await identify({name: runtimes[name] for name in planned}, again=True)
    for each in reached.runtimes.values():
        if isinstance(each, RuntimeFailure):
            raise each
    # what was not known when it was planned need not be known now: it is the same connection that is asked
    refuse_others(stack, planned, reached.identities, is_bound=False)
    return reached.identities


def refuse_others(
    stack: str,
    planned: Mapping[str, ClusterIdentity],
    found: Mapping[str, ClusterIdentity],
    *,
    is_bound: bool,
) -> None:
    """Raises `OtherCluster` for each cluster that is not, or is not known to be, the one that was planned for.

    `is_bound`: the plan comes from elsewhere, so that a cluster has to prove which one it is.
    """
    moved = []
    for name, wanted in planned.items():
        if name not in found:
            moved.append(MovedObject(None, f"which cluster {name} is could not be found out"))
            continue
        match compare(wanted, found[name]):
            case Sameness.SAME | Sameness.PRESUMED:
                continue
            case Sameness.OTHER:
                moved.append(MovedObject(None, f"{name} is another cluster: {found[name]}; planned was {wanted}"))
            case Sameness.UNKNOWN if is_bound or _is_elsewhere(wanted, found[name]):
                why = found[name].unknown or wanted.unknown
                said = f"whether {name} ({found[name]}) is the cluster it was planned for ({wanted}) can't be told"
                moved.append(MovedObject(None, f"{said}: {why}" if why else said))
            case _:
                continue
    if moved:
        raise OtherCluster(moved, where=stack)


def _is_elsewhere(one: ClusterIdentity, other: ClusterIdentity) -> bool:
    return (one.uid, one.server, one.authority) != (other.uid, other.server, other.authority)


@dataclass(frozen=True, slots=True)
class Followed:
    """A release whose resources are under the names that their clusters have now.

    `others` names clusters that another one has taken the place of, with the name that its resources are kept under.
    `unsure` are sentences about clusters of which it is not known whether they are those of the release.
    """

    release: Release | None
    others: Mapping[str, str] = field(default_factory=dict)
    unsure: tuple[str, ...] = ()


def follow(release: Release | None, now: Mapping[str, ClusterIdentity]) -> Followed:
    """Moves the resources of a release to where their clusters are now, by identity. Pure.

    Where a record does not say which cluster it was, or a cluster says nothing that could prove another one, the name
    has to do: that is said. Clusters that were not asked stay as they are.
    """
    if release is None:
        return Followed(None)
    places = {each.cluster for each in release.resources if kind_of(each.id).is_identified}
    moves: dict[str, str] = {}
    unsure: list[str] = []
    for place in sorted(places):
        recorded = release.clusters.get(place)
        if recorded is None:
            if place in now:
                unsure.append(f"release {release.revision} does not say which cluster {place} was then: taken as this")
            continue
        moves[place] = _place_now(place, recorded, now)
        if moves[place] == place and place in now and compare(recorded, now[place]) is Sameness.UNKNOWN:
            unsure.append(f"whether {place} is the cluster of release {release.revision} can't be told: taken as it")
    others = {old: new for old, new in moves.items() if new != old and new not in now}
    return Followed(_moved(release, moves), others, tuple(unsure))


def _place_now(place: str, recorded: ClusterIdentity, now: Mapping[str, ClusterIdentity]) -> str:
    if place in now:
        here = compare(recorded, now[place])
        if here in (Sameness.SAME, Sameness.PRESUMED):
            return place
        if (
            here is Sameness.UNKNOWN
            and recorded.server == now[place].server
            and not (recorded.uid or recorded.authority)
        ):
            return place
    elsewhere = next((name for name, each in now.items() if compare(recorded, each) is Sameness.SAME), None)
    if elsewhere is not None:
        return elsewhere
    return former_name(place, recorded, now) if place in now else place


def former_name(place: str, recorded: ClusterIdentity, taken: Container[str] = ()) -> str:
    """Returns the name under which resources of a cluster are kept that another one has taken the name of."""
    base = former_of(place, recorded) or place
    name = f"{base}@{_tag(recorded)}"
    while name in taken:
        name += _AGAIN
    return name


def former_of(name: str, recorded: ClusterIdentity) -> str:
    """Returns what a cluster was called whose resources are kept under this name, empty where it is no such name."""
    base, at, tag = name.rstrip(_AGAIN).rpartition("@")
    return base if at and tag == _tag(recorded) else ""


def _tag(recorded: ClusterIdentity) -> str:
    if recorded.uid:
        return recorded.short_uid
    return hashlib.sha256(f"{recorded.server} {recorded.authority}".encode()).hexdigest()[:_TAG]


def _moved(release: Release, moves: Mapping[str, str]) -> Release:
    if all(old == new for old, new in moves.items()):
        return release
    resources: dict[Address, ReleasedResource] = {}
    # what stays under its name comes last, so that it wins over what comes to it
    for address, each in sorted(
        release.resources.items(), key=lambda item: moves.get(item[0].cluster) == item[0].cluster
    ):
        there = Address(moves.get(address.cluster, address.cluster), address.id)
        resources[there] = replace(each, address=there)
    clusters = {moves.get(name, name): each for name, each in release.clusters.items()}
    return replace(release, resources=dict(sorted(resources.items())), clusters=clusters)


__all__ = ["Followed", "Reached", "Waiting", "check_clusters", "follow", "former_of", "identify", "refuse_others"]
