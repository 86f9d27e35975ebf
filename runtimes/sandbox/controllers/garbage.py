"""Deletion that spreads: dependents whose owner is gone are collected, owners wait for dependents or let them go.

Three ways to delete an owner. In the background it goes at once and its dependents follow. In the foreground it stays,
with the finalizer `foregroundDeletion`, until those that block it are gone. With `orphan`, the dependents forget it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from runtimes.sandbox.cluster import Propagation
from runtimes.sandbox.controllers.base import Controller, Key, World
from runtimes.sandbox.store import Change, Object, ResourceKey, copied

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
SKIPPED: frozenset[ResourceKey] = frozenset({("", "events"), ("events.k8s.io", "events")})

# A key of this controller is (group/plural, namespace/name), for it minds every resource.
_Place = tuple[ResourceKey, tuple[str, str]]


def _spell(place: _Place) -> Key:
    (group, plural), (namespace, name) = place
    return f"{group}/{plural}", f"{namespace}/{name}"


def _place(key: Key) -> _Place:
    group, _, plural = key[0].partition("/")
    namespace, _, name = key[1].partition("/")
    return (group, plural), (namespace, name)


class GarbageCollector(Controller):
    name = "generic-garbage-collector"
    watches = ("*",)

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._owned: dict[str, set[_Place]] = defaultdict(set)  # dependents by the uid of an owner
        self._places: dict[str, _Place] = {}  # live objects by uid

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource in SKIPPED:
            return
        place: _Place = (change.resource, change.key)
        metadata = change.object["metadata"]
        owners = {reference["uid"] for reference in metadata.get("ownerReferences") or ()}
        before: set[str] = set()
        if change.previous is not None:
            before = {reference["uid"] for reference in change.previous["metadata"].get("ownerReferences") or ()}
        gone = change.type == "DELETED"
        if gone:
            self._places.pop(metadata["uid"], None)
        else:
            self._places[metadata["uid"]] = place
        for uid in (before | owners) if gone else (before - owners):
            self._owned[uid].discard(place)
            if not self._owned[uid]:
                del self._owned[uid]
        for uid in () if gone else owners:
            self._owned[uid].add(place)
        if gone:
            for dependent in self._owned.get(metadata["uid"], ()):
                yield _spell(dependent)
        elif owners or metadata.get("deletionTimestamp"):
            yield _spell(place)
        for uid in before | owners:  # an owner that waits for its dependents
            if uid in self._places:
                yield _spell(self._places[uid])

    def reconcile(self, key: Key) -> None:
        place = _place(key)
        obj = self.hands.cluster.store.get(*place)
        if obj is None:
            return
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            finalizers = metadata.get("finalizers") or ()
            if ORPHAN in finalizers:
                self._orphan(place, obj)
            elif FOREGROUND in finalizers:
                self._wait_for_dependents(place, obj)
            return
        self._follow_owners(place, obj)

    def _dependents(self, owner: Object) -> Iterator[tuple[_Place, Object]]:
        for place in sorted(self._owned.get(owner["metadata"]["uid"], ())):
            obj = self.hands.cluster.store.get(*place)
            if obj is not None:
                yield place, obj

    def _orphan(self, place: _Place, owner: Object) -> None:
        uid = owner["metadata"]["uid"]
        for dependent_place, dependent in list(self._dependents(owner)):
            freed = copied(dependent)
            references = [each for each in freed["metadata"]["ownerReferences"] if each["uid"] != uid]
            if references:
                freed["metadata"]["ownerReferences"] = references
            else:
                del freed["metadata"]["ownerReferences"]
            self.hands.update(_resource(dependent_place), freed)
        self._drop_finalizer(place, owner, ORPHAN)

    def _wait_for_dependents(self, place: _Place, owner: Object) -> None:
        uid, blocked = owner["metadata"]["uid"], False
        for dependent_place, dependent in list(self._dependents(owner)):
            if not dependent["metadata"].get("deletionTimestamp"):
                self.enqueue(_spell(dependent_place))
            references = dependent["metadata"].get("ownerReferences") or ()
            blocked |= any(each["uid"] == uid and each.get("blockOwnerDeletion") for each in references)
        if not blocked:
            self._drop_finalizer(place, owner, FOREGROUND)

    def _follow_owners(self, place: _Place, obj: Object) -> None:
        references = obj["metadata"].get("ownerReferences") or []
        if not references:
            return
        solid, waiting, dangling = [], [], []
        for reference in references:
            owner = self._owner(reference)
            if owner is None:
                dangling.append(reference)
            elif _waits_for_dependents(owner):
                waiting.append(reference)
            else:
                solid.append(reference)
        if solid:
            if dangling or waiting:
                kept = copied(obj)
                kept["metadata"]["ownerReferences"] = solid
                self.hands.update(_resource(place), kept)
            return
        # An owner waits in the foreground: this one's own dependents are to go before it, too.
        has_dependents = next(self._dependents(obj), None) is not None
        policy: Propagation | None = "Foreground" if waiting and has_dependents else "Background"
        finalizers = obj["metadata"].get("finalizers") or ()
        if not waiting and ORPHAN in finalizers:
            policy = "Orphan"
        elif not waiting and FOREGROUND in finalizers:
            policy = "Foreground"
        self.hands.delete(_resource(place), obj, policy)

    def _owner(self, reference: Object) -> Object | None:
        """By uid: a namesake that came later is another object."""
        place = self._places.get(reference["uid"])
        return self.hands.cluster.store.get(*place) if place is not None else None

    def _drop_finalizer(self, place: _Place, obj: Object, finalizer: str) -> None:
        changed = copied(obj)
        finalizers = [each for each in changed["metadata"]["finalizers"] if each != finalizer]
        if finalizers:
            changed["metadata"]["finalizers"] = finalizers
        else:
            del changed["metadata"]["finalizers"]
        self.hands.update(_resource(place), changed)


def _waits_for_dependents(owner: Object) -> bool:
    metadata = owner["metadata"]
    return bool(metadata.get("deletionTimestamp")) and FOREGROUND in (metadata.get("finalizers") or ())


def _resource(place: _Place) -> str:
    group, plural = place[0]
    return f"{plural}.{group}" if group else plural
