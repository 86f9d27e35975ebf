"""What became of each object of a stack while it was watched: every change of its state, on one axis of time. Pure.

Pictures come many a second and differ in few resources: only those are looked at. What is held is bounded, and what is
left out is counted. Time in which nobody heard of an object is part of it: then it is Unknown, and not what it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kcl.records import dataclass, field
from runtimes.base import Address, Health, ObjectRef, Status, StatusNode
from workbench.engine.status import ResourceStatus, StatusTree

MOST_CHANGES, MOST_OBJECTS = 200, 5_000
"""Of one object, and of a stack; pods come and go."""
NOT_WATCHED = Health(Status.UNKNOWN, "NotWatched", "nobody watched it")


@dataclass(frozen=True, slots=True)
class Moment:
    """From `at` on it was so; `health` is None from when it was not there (any more)."""

    at: datetime
    health: Health | None


@dataclass(slots=True)
class Track:
    """One object. `ref` is None for the resource itself, `name` its uid, or what it is called; empty for the resource.

    `left_out` counts changes that came before those that are held.
    """

    address: Address
    name: str = ""
    ref: ObjectRef | None = None
    depth: int = 0
    moments: list[Moment] = field(default_factory=list)
    left_out: int = 0

    @property
    def key(self) -> tuple[Address, str]:
        """As of the rows of `present.reconcile`."""
        return self.address, self.name

    @property
    def last(self) -> Health | None:
        return self.moments[-1].health if self.moments else None

    def note(self, at: datetime, health: Health | None) -> None:
        """Notes what it is from then on; the same again is no change."""
        if self.moments and _said(self.last) == _said(health):
            return
        self.moments.append(Moment(at, health))
        if len(self.moments) > MOST_CHANGES:
            del self.moments[0]
            self.left_out += 1


def _said(health: Health | None) -> tuple[Status, str] | None:
    return (health.status, health.reason) if health is not None else None


class Timeline:
    """Of one stack. `began` is when it was first watched, `heard` when a picture last came; None before the first."""

    def __init__(self) -> None:
        self.began: datetime | None = None
        self.heard: datetime | None = None
        self.left_out = 0
        """How often an object came when so many were held."""
        self._count = 0
        self._tracks: dict[Address, dict[str, Track]] = {}
        self._seen: dict[Address, ResourceStatus] = {}

    def tracks(self) -> Iterator[Track]:
        """Yields the objects, each resource before what it owns; those that are gone among them."""
        for each in self._tracks.values():
            yield from each.values()

    @property
    def changes(self) -> int:
        """How many there were so far, those that are not held any more among them."""
        return self.left_out + sum(len(each.moments) + each.left_out for each in self.tracks())

    def add(self, tree: StatusTree) -> None:
        """Takes a picture, as it was when it was made."""
        tree = tree.as_of(tree.at)
        self.began = self.began or tree.at
        self.heard = tree.at
        for each in tree.resources:
            if self._seen.get(each.address) is not each:
                self._seen[each.address] = each
                self._take(each, tree.at)
        for address in self._seen.keys() - {each.address for each in tree.resources}:
            del self._seen[address]
            for track in self._tracks.get(address, {}).values():
                track.note(tree.at, None)

    def lose(self, at: datetime) -> None:
        """Notes that nobody watches from then on."""
        self._seen.clear()
        for each in self.tracks():
            if each.last is not None:
                each.note(at, NOT_WATCHED)

    def _take(self, of: ResourceStatus, at: datetime) -> None:
        tracks = self._tracks.setdefault(of.address, {"": Track(of.address)})
        if of.is_seen:
            tracks[""].note(at, of.health)
        found: set[str] = set()
        for node, depth in _below(of.tree, 1):
            name = node.ref.uid or str(node.ref)
            found.add(name)
            if name not in tracks:
                if self._count >= MOST_OBJECTS:
                    self.left_out += 1
                    continue
                self._count += 1
                tracks[name] = Track(of.address, name, node.ref, depth)
            tracks[name].note(at, node.health if of.lost is None else of.health)
        for name, track in tracks.items():
            if name and name not in found:
                track.note(at, None)


def _below(node: StatusNode | None, depth: int) -> Iterator[tuple[StatusNode, int]]:
    for each in node.children if node is not None else ():
        yield each, depth
        yield from _below(each, depth + 1)
