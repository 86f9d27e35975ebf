"""One cluster's objects in memory: a revision counter, the live objects, and a bounded history of changes.

Every write gets the next revision, as etcd does it, over all kinds. The history serves watches that resume from an
older revision and lists at one; what has fallen out of it is "too old" (410), which clients must handle by listing
again. Objects are plain dicts that are shared with every reader: never change one in place, make a `copied` one.
Not safe for threads: one event loop owns a store.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal

from kcl.records import dataclass
from runtimes.sandbox import limits
from runtimes.sandbox.errors import ApiError

Object = dict[str, Any]
ResourceKey = tuple[str, str]  # group, plural: versions of a resource share their storage
ObjectKey = tuple[str, str]  # namespace ("" for cluster-wide objects), name
_PODS: ResourceKey = ("", "pods")
EventType = Literal["ADDED", "MODIFIED", "DELETED"]


def copied(value: Any) -> Any:
    """A deep copy of JSON data (several times faster than `copy.deepcopy`)."""
    if isinstance(value, dict):
        return {key: copied(each) if isinstance(each, (dict, list)) else each for key, each in value.items()}
    if isinstance(value, list):
        return [copied(each) if isinstance(each, (dict, list)) else each for each in value]
    return value


@dataclass(frozen=True, slots=True)
class Change:
    """One committed write. `object` is the new state (for DELETED the last one, with the deleting revision);
    `previous` is None for ADDED."""

    revision: int
    type: EventType
    resource: ResourceKey
    key: ObjectKey
    object: Object
    previous: Object | None


Subscriber = Callable[[Change], None]


class Store:
    def __init__(self, history: int = 10_000, first_revision: int = 1) -> None:
        self.revision = first_revision
        self.compacted = first_revision  # changes up to and including this revision may be forgotten
        self._objects: dict[ResourceKey, dict[ObjectKey, Object]] = {}
        self._sizes: dict[tuple[ResourceKey, ObjectKey], int] = {}
        self._size = 0
        # Created without what reading fills in: the first write of these, even of nothing, is a change.
        self.completed_on_reading: set[tuple[ResourceKey, ObjectKey]] = set()
        self._history: deque[Change] = deque()
        self._history_sizes: deque[int] = deque()
        self._history_size = 0
        self._limit = history
        self._subscribers: list[Subscriber] = []
        self._followers: list[Subscriber] = []

    def get(self, resource: ResourceKey, key: ObjectKey) -> Object | None:
        return self._objects.get(resource, {}).get(key)

    def items(self, resource: ResourceKey, namespace: str | None = None) -> list[tuple[ObjectKey, Object]]:
        """In order of namespace and name. `namespace` None: all of them."""
        found = self._objects.get(resource, {})
        return sorted(item for item in found.items() if namespace is None or item[0][0] == namespace)

    def items_at(self, resource: ResourceKey, namespace: str | None, revision: int) -> list[tuple[ObjectKey, Object]]:
        """The objects as they were at an earlier revision: the changes since are undone. Raises 410 if forgotten."""
        if revision < self.compacted:
            raise self.too_old(revision)
        state = dict(self.items(resource, namespace))
        for change in reversed(self._history):
            if change.revision <= revision:
                break
            if change.resource != resource or (namespace is not None and change.key[0] != namespace):
                continue
            if change.previous is None:
                state.pop(change.key, None)
            else:
                state[change.key] = change.previous
        return sorted(state.items())

    def resources(self) -> Iterator[ResourceKey]:
        yield from list(self._objects)

    def put(self, resource: ResourceKey, key: ObjectKey, object_: Object) -> Object:
        """Store a new state (the store sets its resourceVersion and keeps the object: hand over your copy).

        Raises 500 where it is too large, or the cluster is full.
        """
        previous = self.get(resource, key)
        size = self._room_for(resource, key, object_)
        self.revision += 1
        object_["metadata"]["resourceVersion"] = str(self.revision)
        self._sizes[resource, key] = size
        self.completed_on_reading.discard((resource, key))
        self._objects.setdefault(resource, {})[key] = object_
        self._commit(
            Change(self.revision, "ADDED" if previous is None else "MODIFIED", resource, key, object_, previous)
        )
        return object_

    def remove(self, resource: ResourceKey, key: ObjectKey, last: Object | None = None) -> Object:
        """Delete; `last` is the final state to show to watchers, the stored one if None. KeyError if absent."""
        previous = self._objects[resource].pop(key)
        self._size -= self._sizes.pop((resource, key))
        self.completed_on_reading.discard((resource, key))
        self.revision += 1
        final = copied(last if last is not None else previous)
        final["metadata"]["resourceVersion"] = str(self.revision)
        self._commit(Change(self.revision, "DELETED", resource, key, final, previous))
        return final  # type: ignore[no-any-return]  # copied keeps the shape

    def _room_for(self, resource: ResourceKey, key: ObjectKey, object_: Object) -> int:
        """Counts an object that is about to be stored, and returns its size. Raises 500 as a full etcd does."""
        try:
            size = len(json.dumps(object_, separators=(",", ":"), check_circular=False))
        except RecursionError:
            raise limits.object_too_large() from None
        if size > limits.LARGEST_OBJECT:
            raise limits.object_too_large()
        if resource == _PODS and key not in self._objects.get(resource, {}):
            if len(self._objects.get(resource, {})) >= limits.MOST_PODS:
                raise limits.no_space()
        total = self._size - self._sizes.get((resource, key), 0) + size
        if total > limits.LARGEST_CLUSTER and total > self._size:
            raise limits.no_space()
        self._size = total
        return size

    def _commit(self, change: Change) -> None:
        size = self._sizes.get((change.resource, change.key), 0)
        self._history.append(change)
        self._history_sizes.append(size)
        self._history_size += size
        while len(self._history) > self._limit or self._history_size > limits.LARGEST_CLUSTER:
            self.compacted = self._history.popleft().revision
            self._history_size -= self._history_sizes.popleft()
        for subscriber in tuple(self._subscribers):
            subscriber(change)
        for follower in tuple(self._followers):
            follower(change)

    def compact(self) -> None:
        """Forget the history: watches from before now get 410 (a fault to rehearse; etcd does it every 5 minutes)."""
        self._history.clear()
        self._history_sizes.clear()
        self._history_size = 0
        self.compacted = self.revision

    def since(self, revision: int) -> list[Change]:
        """The changes after a revision, oldest first. Raises 410 when some of them are forgotten."""
        if revision < self.compacted:
            raise self.too_old(revision)
        changes: list[Change] = []
        for change in reversed(self._history):
            if change.revision <= revision:
                break
            changes.append(change)
        changes.reverse()
        return changes

    def too_old(self, revision: int) -> ApiError:
        return ApiError(410, "Expired", f"too old resource version: {revision} ({self.compacted})")

    def follow(self, follower: Subscriber) -> None:
        """As `subscribe`, but after all subscribers, so that it may write: theirs stays the order of the changes."""
        self._followers.append(follower)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call on every later change, at once and in order; it must only take note (no writes). Returns the undo."""
        self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return unsubscribe
