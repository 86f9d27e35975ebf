"""A cluster small enough to read: a store of objects with field owners, behind the `Runtime` contract.

It knows server-side apply as far as the engine can tell the difference: owners by leaf, conflicts, fields given up,
lists by identity, defaults, immutable fields. Time and uids count up, so that tests can name them.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio

from runtimes.base import (
    ApplyRequest,
    Blocking,
    ClusterIdentity,
    Conflict,
    Contact,
    DeleteRequest,
    FieldConflict,
    FieldOwner,
    FieldPath,
    Health,
    Identity,
    KubernetesId,
    ListKey,
    LiveResource,
    LogRequest,
    Lost,
    Moved,
    NotThere,
    Observation,
    Owned,
    PlanRequest,
    Prediction,
    ReadRequest,
    Rejected,
    ResourceId,
    RuntimeFailure,
    Status,
    StatusNode,
    WatchReport,
    WatchRequest,
)

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_CONTAINERS = ("spec", "template", "spec", "containers")
LIST_KEYS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    _CONTAINERS: ("name",),
    (*_CONTAINERS, "env"): ("name",),
    (*_CONTAINERS, "ports"): ("containerPort", "protocol"),
    ("spec", "ports"): ("port", "protocol"),
}
_DEFAULTS: Mapping[str, Mapping[FieldPath, Any]] = {
    "Deployment": {("spec", "replicas"): 1, ("spec", "revisionHistoryLimit"): 10},
    "Service": {("spec", "type"): "ClusterIP"},
}
_IMMUTABLE: Mapping[str, tuple[FieldPath, ...]] = {"Deployment": (("spec", "selector"),)}

Leaves = dict[FieldPath, Any]


@dataclass
class Stored:
    uid: str
    version: int
    leaves: Leaves
    owners: dict[FieldPath, dict[str, tuple[str, datetime]]] = field(default_factory=dict)

    def copy(self) -> Stored:
        owners = {path: dict(each) for path, each in self.owners.items()}
        return Stored(self.uid, self.version, dict(self.leaves), owners)


class FakeCluster:
    """`calls` lists every write that was tried, as (verb, id). `fail` maps (verb, id) or verb to what it raises."""

    def __init__(self, place: str = "hz") -> None:
        self._place = place
        self.objects: dict[ResourceId, Stored] = {}
        self.calls: list[tuple[str, str]] = []
        self.fail: dict[Any, RuntimeFailure] = {}
        self.before_write: Callable[[str, ResourceId], None] = lambda verb, id_: None
        self.gate: anyio.Event | None = None
        self.health: dict[ResourceId, tuple[Health, Blocking | None]] = {}
        self.status: dict[ResourceId, Mapping[str, Any]] = {}
        self.trees: dict[ResourceId, StatusNode] = {}
        self.closed = False
        self.lost: Lost | None = None
        self.valid_seconds = 600.0
        self.clock: Callable[[], datetime] = lambda: datetime.now(UTC)
        self.undeletable: dict[ResourceId, str] = {}
        """Why something may not be deleted."""
        self.unlisted: set[str] = set()
        self.away: dict[str, str] = {}
        self.hidden: set[ResourceId] = set()
        """What lists leave out, and a read finds."""
        self.overrule: dict[tuple[ResourceId, FieldPath], Any] = {}
        """What a webhook makes of fields that are written; of a dry run it makes nothing."""
        """Kinds that may be read and not listed."""
        self.identity = ClusterIdentity(
            context=f"{place}-admin", server=f"https://{place}.test:6443", user="ann", uid=f"uid-of-{place}"
        )
        self._changed: list[anyio.Event] = []
        self._count = 0
        self.now = EPOCH

    @property
    def place(self) -> str:
        return self._place

    # What a test does to it

    def put(self, body: Mapping[str, Any], manager: str = "kubectl-create") -> KubernetesId:
        """Makes an object as somebody else would, owning every leaf."""
        id_ = KubernetesId.of(body)
        stored = Stored(self._uid(), self._version(), dict(leaves(body)))
        stored.owners = {path: {manager: ("Update", self.tick())} for path in stored.leaves}
        self.objects[id_] = stored
        return id_

    def edit(self, id_: ResourceId, path: FieldPath, value: Any, manager: str = "kubectl-edit") -> None:
        """Changes one field of a live object as somebody else would; value None takes it away."""
        stored = self.objects[id_]
        stored.version = self._version()
        if value is None:
            stored.leaves.pop(path, None)
            stored.owners.pop(path, None)
        else:
            stored.leaves[path] = value
            stored.owners[path] = {manager: ("Update", self.tick())}

    def touch(self, id_: ResourceId) -> None:
        """Writes the object's status: a new version, the same content."""
        self.objects[id_].version = self._version()

    def body(self, id_: ResourceId) -> Any:
        return built(self.objects[id_].leaves)

    def become(self, id_: ResourceId, status: Status, blocking: Blocking | None = None, reason: str = "") -> None:
        self.health[id_] = (Health(status, reason), blocking)
        self.wake()

    def fall_silent(self, since: datetime | None = None) -> None:
        """Answers watchers no more, as behind a connection that takes everything and gives nothing."""
        self.lost = Lost(since or self.clock(), "Unreachable", "no answer within 3 s", "check the network")
        self.wake()

    def speak(self) -> None:
        self.lost = None
        self.wake()

    def wake(self) -> None:
        """Has every watch look again."""
        for each in self._changed:
            each.set()

    def tick(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now

    # The contract

    async def identify(self, *, again: bool = False) -> ClusterIdentity:
        await anyio.lowlevel.checkpoint()
        self._raise("identify", None)
        return self.identity

    async def read(self, request: ReadRequest) -> LiveResource | None:
        await anyio.lowlevel.checkpoint()
        self._raise("read", request.id)
        stored = self.objects.get(request.id)
        return self._live(request.id, stored) if stored else None

    async def unmoved(self, seen: Mapping[ResourceId, Identity | None]) -> frozenset[ResourceId]:
        await anyio.lowlevel.checkpoint()
        return frozenset(id_ for id_, identity in seen.items() if self._is_unmoved(id_, identity))

    def _is_unmoved(self, id_: ResourceId, identity: Identity | None) -> bool:
        try:
            self._raise("read", id_)
        except RuntimeFailure:
            return False
        live = self._live(id_, stored) if (stored := self.objects.get(id_)) else None
        is_going = live is not None and (
            "deletionTimestamp" in live.observed.get("metadata", {})
            or (live.health is not None and live.health.status is Status.TERMINATING)
        )
        return not is_going and (live.identity if live else None) == identity

    async def plan(self, request: PlanRequest) -> Prediction:
        await anyio.lowlevel.checkpoint()
        id_ = request.resource.id
        self._raise("plan", id_)
        assert isinstance(id_, KubernetesId)
        self._refuse(id_, request.resource.attributes, request.new_namespaces)
        stored = self.objects.get(id_)
        after, conflicts = self._applied(id_, stored, request.resource.attributes)
        replaces = tuple(
            path
            for path in _IMMUTABLE.get(id_.kind, ())
            if stored and _below(stored.leaves, path) != _below(after.leaves, path)
        )
        return Prediction(
            id_,
            self._live(id_, stored) if stored else None,
            built(after.leaves),
            conflicts=conflicts,
            replaces=replaces,
            list_keys=LIST_KEYS,
            sensitive=(("data",), ("stringData",)) if id_.kind == "Secret" else (),
        )

    async def apply(self, request: ApplyRequest) -> LiveResource:
        id_ = request.resource.id
        self.calls.append(("apply", str(id_)))
        self.before_write("apply", id_)
        if self.gate is not None:
            await self.gate.wait()
        await anyio.lowlevel.checkpoint()
        self._raise("apply", id_)
        assert isinstance(id_, KubernetesId)
        self._refuse(id_, request.resource.attributes, frozenset())
        stored = self.objects.get(id_)
        if (stored is None) != (request.expected is None):
            raise Moved("is not as expected", target=self._place, subject=str(id_))
        if stored and request.expected != Identity(stored.uid, str(stored.version)):
            raise Moved("has another version", target=self._place, subject=str(id_))
        after, conflicts = self._applied(id_, stored, request.resource.attributes)
        if conflicts and not request.force:
            raise Conflict("conflicts", conflicts=conflicts, target=self._place, subject=str(id_))
        for path in _IMMUTABLE.get(id_.kind, ()):
            if stored and _below(stored.leaves, path) != _below(after.leaves, path):
                raise Rejected("field is immutable", target=self._place, subject=str(id_))
        after.leaves.update({path: value for (of, path), value in self.overrule.items() if of == id_})
        if stored is None or after.leaves != stored.leaves or after.owners != stored.owners:
            after.version = self._version()
        self.objects[id_] = after
        return self._live(id_, after)

    async def delete(self, request: DeleteRequest) -> None:
        self.calls.append(("delete", str(request.id)))
        self.before_write("delete", request.id)
        await anyio.lowlevel.checkpoint()
        self._raise("delete", request.id)
        stored = self.objects.get(request.id)
        if stored is None:
            return
        if request.expected and request.expected.uid != stored.uid:
            raise Moved("is another object now", target=self._place, subject=str(request.id))
        del self.objects[request.id]

    async def may_delete(self, id_: ResourceId) -> str:
        self._raise("may delete", id_)
        return self.undeletable.get(id_, "")

    @asynccontextmanager
    async def watch(self, request: WatchRequest) -> AsyncIterator[AsyncIterator[WatchReport]]:
        self._raise("watch", None)
        changed = anyio.Event()
        self._changed.append(changed)

        async def reports() -> AsyncIterator[WatchReport]:
            nonlocal changed
            told: dict[ResourceId, Observation] = {}
            while True:
                answered = self.clock() if self.lost is None else self.lost.since
                yield Contact(answered, self.lost, self.valid_seconds)
                for id_ in request.ids:
                    health, blocking = self.health.get(id_, (_own_health(id_, self.objects), None))
                    seen = Observation(id_, health, self.trees.get(id_), blocking)
                    if self.lost is None and told.get(id_) != seen:
                        told[id_] = seen
                        yield seen
                await changed.wait()
                self._changed.remove(changed)
                changed = anyio.Event()
                self._changed.append(changed)
                self._raise("watch", None)

        yield reports()

    async def logs(self, request: LogRequest) -> tuple[str, ...]:
        return (f"log of {request.ref}",)

    async def owned(self, labels: Mapping[str, str], known: Collection[str] = ()) -> Owned:
        await anyio.lowlevel.checkpoint()
        self._raise("owned", None)
        found = []
        for id_, stored in self.objects.items():
            if isinstance(id_, KubernetesId) and id_.kind in self.unlisted:
                continue
            own = built(stored.leaves).get("metadata", {}).get("labels", {})
            if id_ in self.hidden:
                continue
            if labels.items() <= own.items():
                found.append(self._live(id_, stored))
        kinds = {(each.group, each.kind) for each in self.objects if isinstance(each, KubernetesId)}
        listed = frozenset(each for each in kinds if each[1] not in self.unlisted)
        uids = frozenset(each.identity.uid for each in found)
        return Owned(tuple(found), tuple(sorted(self.unlisted.union(self.away))), listed, uids, self.away)

    async def close(self) -> None:
        self.closed = True

    # Inside

    def _applied(
        self, id_: KubernetesId, stored: Stored | None, body: Mapping[str, Any]
    ) -> tuple[Stored, tuple[FieldConflict, ...]]:
        wanted = dict(leaves(body))
        after = stored.copy() if stored else Stored(self._uid(), 0, {})
        conflicts = []
        for path, value in wanted.items():
            owners = after.owners.setdefault(path, {})
            if path not in after.leaves or after.leaves[path] != value:
                others = {name: each for name, each in owners.items() if name != "workbench"}
                conflicts += [FieldConflict(path, name, each[1].isoformat()) for name, each in others.items()]
                owners.clear()
            after.leaves[path] = value
            owners.setdefault("workbench", ("Apply", self.now))
        for path in [path for path, each in after.owners.items() if "workbench" in each and path not in wanted]:
            del after.owners[path]["workbench"]
            if not after.owners[path]:
                del after.owners[path]
                after.leaves.pop(path, None)
        for path, value in _DEFAULTS.get(id_.kind, {}).items():
            after.leaves.setdefault(path, value)
        return after, tuple(conflicts)

    def _refuse(self, id_: KubernetesId, body: Mapping[str, Any], new_namespaces: frozenset[str]) -> None:
        if body.get("refuse"):
            raise Rejected(str(body["refuse"]), target=self._place, subject=str(id_))
        known = {each.name for each in self.objects if isinstance(each, KubernetesId) and each.kind == "Namespace"}
        if id_.namespace not in {"", "default", *known, *new_namespaces}:
            raise NotThere(f"there is no namespace {id_.namespace}", target=self._place, subject=str(id_))

    def _live(self, id_: ResourceId, stored: Stored) -> LiveResource:
        owners = tuple(
            FieldOwner(path, manager, operation, when)
            for path, each in stored.owners.items()
            for manager, (operation, when) in each.items()
        )
        identity = Identity(stored.uid, str(stored.version))
        body = built(stored.leaves)
        observed = {**body, "status": self.status[id_]} if id_ in self.status else body
        health = self.health.get(id_, (None, None))[0]
        return LiveResource(id_, identity, body, owners, health, observed)

    def _raise(self, verb: str, id_: ResourceId | None) -> None:
        for key in ((verb, str(id_)), verb, "everything"):
            if key in self.fail:
                raise self.fail[key]

    def _uid(self) -> str:
        self._count += 1
        return f"uid-{self._count}"

    def _version(self) -> int:
        self._count += 1
        return self._count


def leaves(body: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Any]]:
    if isinstance(body, Mapping) and body:
        for key, value in body.items():
            yield from leaves(value, (*path, key))
        return
    names = LIST_KEYS.get(tuple(each for each in path if isinstance(each, str)))
    if isinstance(body, list) and body and names:
        for each in body:
            if "protocol" in names:
                each = {"protocol": "TCP", **each}
            key = ListKey(tuple((name, each[name]) for name in names))
            yield from leaves(each, (*path, key))
        return
    yield path, copy.deepcopy(body)


def built(found: Leaves) -> Any:
    body: dict[str, Any] = {}
    for path, value in found.items():
        target: Any = body
        for step, following in zip(path, (*path[1:], None), strict=True):
            fresh: Any = [] if isinstance(following, ListKey) else {}
            if isinstance(step, ListKey):
                element = next((each for each in target if step.matches(each)), None)
                if element is None:
                    element = dict(step.fields)
                    target.append(element)
                target = element
            elif following is None:
                target[step] = copy.deepcopy(value)
            else:
                target = target.setdefault(step, fresh)
    return body


def _below(found: Leaves, path: FieldPath) -> Leaves:
    return {each: value for each, value in found.items() if each[: len(path)] == path}


def _own_health(id_: ResourceId, objects: Mapping[ResourceId, Stored]) -> Health:
    return Health(Status.CURRENT) if id_ in objects else Health(Status.NOT_FOUND)
