"""Observing resources and everything they own, over informers.

Each kind that may matter is watched once a namespace; after a change, and after a short wait for its neighbours, the
state of every watched resource is worked out again by pure functions and given out where it differs. A slow reader
finds the latest state of each resource, never a queue of old ones. Beside the watches the server is asked whether it
answers; when it does not, every watch is opened again before anything counts as heard.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from kcl.records import replace
from runtimes.base import (
    NO_RULES,
    Blocking,
    Contact,
    Forbidden,
    Health,
    KubernetesId,
    Lost,
    NotThere,
    Observation,
    ReadyRules,
    RuntimeFailure,
    Status,
    WatchReport,
)
from runtimes.base.scopes import CLUSTER_WIDE
from runtimes.kubernetes import tree, why
from runtimes.kubernetes.client import Client
from runtimes.kubernetes.event_room import MOST_EVENTS
from runtimes.kubernetes.informer import Informer
from runtimes.kubernetes.liveness import Liveness
from runtimes.kubernetes.log_tails import LogTails
from runtimes.kubernetes.objects import Object, Objects
from runtimes.kubernetes.subjects import Name, subjects_of

_GATHER_SECONDS = 0.05
_TICK_SECONDS = 1.0
_SHARE_SECONDS = 0.01
"""So long is looked, between two looks at what happened, at what only time may have changed."""

_POD = ("v1", "Pod")
_CLAIM = ("v1", "PersistentVolumeClaim")
_EVENT = ("v1", "Event")
_REPLICA_SET = ("apps/v1", "ReplicaSet")
_WORKLOADS = (("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"), ("apps/v1", "DaemonSet"), ("batch/v1", "Job"))
# what objects of a kind own or wait for, however deep; Events come with every kind that has any of these
_BELOW: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {
    ("apps", "Deployment"): (_REPLICA_SET, _POD, _CLAIM),
    ("apps", "ReplicaSet"): (_POD, _CLAIM),
    ("apps", "StatefulSet"): (_POD, _CLAIM),
    ("apps", "DaemonSet"): (_POD, _CLAIM),
    ("", "ReplicationController"): (_POD, _CLAIM),
    ("", "Pod"): (_CLAIM,),
    ("batch", "Job"): (_POD, _CLAIM),
    ("batch", "CronJob"): (("batch/v1", "Job"), _POD, _CLAIM),
    ("", "Service"): (("discovery.k8s.io/v1", "EndpointSlice"),),
    ("networking.k8s.io", "Ingress"): (_EVENT,),
    ("", "PersistentVolumeClaim"): (_POD, _EVENT),
}
_OWNED = frozenset(kind for kinds in _BELOW.values() for kind in kinds)
"""Kinds of which those that matter have no names known before."""
_BUILT_IN_GROUPS = frozenset({"", "apps", "batch", "autoscaling", "policy"})


@asynccontextmanager
async def watching(
    client: Client, ids: tuple[KubernetesId, ...], rules: ReadyRules = NO_RULES, most_events: int = MOST_EVENTS
) -> AsyncIterator[AsyncIterator[WatchReport]]:
    observer = _Observer(client, ids, rules, client.transport.clock.now, most_events)
    task = asyncio.create_task(observer.run())
    observer.follow(task)
    try:
        yield observer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class _Observer(AsyncIterator[WatchReport]):
    def __init__(
        self,
        client: Client,
        ids: tuple[KubernetesId, ...],
        rules: ReadyRules,
        now: Callable[[], datetime],
        most_events: int = MOST_EVENTS,
    ) -> None:
        self._rules, self._now, self._most_events = rules, now, most_events
        self._client, self._ids = client, tuple(dict.fromkeys(ids))
        self._order = {id_: number for number, id_ in enumerate(self._ids)}
        self._informers: dict[tuple[str, str, str, str], Informer] = {}
        self._needs: dict[KubernetesId, list[Informer]] = {}
        self._namespaces: dict[KubernetesId, str] = {}
        self._last: dict[KubernetesId, Observation] = {}
        self._pending: dict[KubernetesId, Observation] = {}
        self._dirty, self._ready = asyncio.Event(), asyncio.Event()
        self._changed: set[Informer] = set()
        self._groups: dict[tuple[Informer, ...], list[KubernetesId]] = {}
        self._named: dict[Name, list[KubernetesId]] = {}
        self._unsettled: dict[KubernetesId, float] = dict.fromkeys(self._ids, -math.inf)
        self._objects = Objects()
        self._indexed: dict[Informer, dict[str, Object]] = {}
        self._is_silent = False
        self._ahead = timedelta()
        """How far the cluster's clock is ahead of this machine's: times are reported by this one, as ages are shown."""
        self._logs = LogTails(client, self._hear_of_logs)
        self._liveness = Liveness(client, changed=self._report_contact, turned=self._turn)
        self._contact: Contact | None = None
        self._task: asyncio.Task[None] | None = None

    def follow(self, task: asyncio.Task[None]) -> None:
        self._task = task
        task.add_done_callback(lambda _: self._ready.set())

    def __aiter__(self) -> _Observer:
        return self

    async def __anext__(self) -> WatchReport:
        while not self._pending and self._contact is None:
            if self._task is not None and self._task.done():
                self._task.result()  # raises what ended it
                raise StopAsyncIteration
            self._ready.clear()
            await self._ready.wait()
        contact, self._contact = self._contact, None
        return contact or self._pending.pop(next(iter(self._pending)))

    def _report_contact(self) -> None:
        self._contact = self._liveness.contact
        self._ready.set()

    def _turn(self) -> None:
        """A watch that seems open may be as dead as the rest: what counts as heard later has been asked for again."""
        failure = self._liveness.failure
        for informer in self._informers.values():
            if failure is not None:
                informer.doubt(failure)
            elif informer.lost_at is not None:
                informer.reopen()
        self._look()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._liveness.run())
            for id_ in self._ids:
                await self._prepare(id_)
            self._share_room()
            for informer in self._informers.values():
                group.create_task(informer.run())
            self._logs.start(group)
            group.create_task(self._refresh())

    def _share_room(self) -> None:
        rooms = [each.room for each in self._informers.values() if each.room is not None]
        for room in rooms:
            room.share(self._most_events, len(rooms))
            self._objects.leave_out(room)

    async def _prepare(self, id_: KubernetesId) -> None:
        namespace = await self._namespace(id_)
        self._namespaces[id_] = namespace
        below = _below(id_) if namespace else ()
        alone = not below and sum(each.kind == id_.kind and each.namespace == id_.namespace for each in self._ids) == 1
        needs = [self._informer(id_.api_version, id_.kind, namespace, id_.name if alone else "")]
        needs += [self._informer(api_version, kind, namespace) for api_version, kind in below]
        if id_.kind == "PersistentVolumeClaim":
            needs.append(self._informer("v1", "PersistentVolume", ""))
        if not _is_built_in(id_.group) and await self._keeps_status(id_):
            self._objects.expect_status(id_.group, id_.kind)
        self._needs[id_] = needs
        self._groups.setdefault(tuple(needs), []).append(id_)
        self._named.setdefault(self._name(id_), []).append(id_)

    async def _namespace(self, id_: KubernetesId) -> str:
        """Asks the cluster only where it is needed: watching must begin while the cluster is out of reach, too."""
        if id_.namespace or (_is_built_in(id_.group) and id_.kind in CLUSTER_WIDE):
            return id_.namespace
        if id_.group in _BUILT_IN_GROUPS:
            return self._client.default_namespace
        try:
            return await self._client.namespace_of(id_)
        except RuntimeFailure:
            return ""  # out of reach, or not served: its informer will say so

    async def _keeps_status(self, id_: KubernetesId) -> bool:
        """Where nobody can say, the kind may: an object that has none is waited for a moment longer then."""
        if self._is_silent:
            return True
        try:
            return (await self._client.resource(id_.api_version, id_.kind)).keeps_status
        except NotThere:
            return False
        except RuntimeFailure:
            self._is_silent = True  # one is enough: watching must begin while the cluster is out of reach, too
            return True

    def _informer(self, api_version: str, kind: str, namespace: str, name: str = "") -> Informer:
        whole = (api_version, kind, namespace, "")
        key = whole if whole in self._informers else (api_version, kind, namespace, name)
        if key not in self._informers:
            self._informers[key] = Informer(
                self._client,
                KubernetesId(api_version, kind, namespace, "*"),
                name=name,
                changed=self._mark,
                heard=self._liveness.heard,
                read_named=None if (api_version, kind) in _OWNED else partial(self._read_named, *whole[:3]),
                has_rules=any(each.kind == kind and self._rules.get(each) is not None for each in self._ids),
            )
        return self._informers[key]

    async def _read_named(self, api_version: str, kind: str, namespace: str) -> list[dict[str, Any]]:
        """Reads the objects of a kind that are watched, one by one, for who may not list them."""
        found: list[dict[str, Any]] = []
        for id_ in self._ids:
            if (id_.api_version, id_.kind, self._namespaces.get(id_)) == (api_version, kind, namespace):
                live = await self._client.get(replace(id_, namespace=namespace))
                found += [live] if live is not None else []
        return found

    def _hear_of_logs(self) -> None:
        """They are shown of what is not ready: all that is due, what was looked at longest ago still first."""
        self._unsettled = {id_: at - _TICK_SECONDS for id_, at in self._unsettled.items()}
        self._dirty.set()

    def _mark(self, informer: Informer) -> None:
        self._changed.add(informer)
        self._dirty.set()

    async def _refresh(self) -> None:
        is_behind = False
        while True:
            # time alone changes things, too: for restarts, and where nothing is heard
            is_moving = bool(self._unsettled) or any(informer.lost_at for informer in self._informers.values())
            if not is_behind:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_TICK_SECONDS if is_moving else None):
                        await self._dirty.wait()
            self._dirty.clear()
            began = time.perf_counter()
            is_behind = self._look()
            await asyncio.sleep(max(_GATHER_SECONDS, 4 * (time.perf_counter() - began)))

    def _look(self) -> bool:
        """Works out again what may be another now: of a kind that tells of single changes, what these lead up to.

        What is not final, or was not heard of yet, may change with time, and is looked at every second; where that is
        much, a share of it at a time, so that what happened is told meanwhile. Returns whether some of that is left.
        """
        changed, self._changed = self._changed, set()
        whole = {each for each in changed if each not in self._indexed}
        moved: list[Object] = []
        for informer in changed:
            uids = informer.take_moved()
            whole |= {informer} if uids is None else set()
            moved += self._index(informer, uids)
        touched = subjects_of(moved, self._objects, self._by_uid)
        if touched is None:
            whole, touched = changed, set()
        now = self._now()  # what is old is so by the cluster's clock: this machine's may be wrong
        self._ahead = self._client.transport.clock.ahead
        # of ten thousand resources at rest not one is gone through
        some = {id_ for name in touched for id_ in self._named.get(name, ())}
        unheard: set[KubernetesId] = set()
        for needs, ids in self._groups.items():
            if not all(informer.is_settled for informer in needs):
                unheard.update(ids)
            elif not whole.isdisjoint(needs):
                some.update(ids)
            elif any(informer.lost_at for informer in needs):
                some.update(each for each in ids if each not in self._last or self._last[each].lost is None)
        for id_ in sorted(some - unheard, key=self._order.__getitem__):
            self._see(id_, now)
        return self._look_at_unsettled(unheard, now)

    def _look_at_unsettled(self, unheard: set[KubernetesId], now: datetime) -> bool:
        """Looks at what was looked at longest ago, for as long as its share is."""
        began, ended = asyncio.get_running_loop().time(), time.perf_counter() + _SHARE_SECONDS
        due = [id_ for id_, at in self._unsettled.items() if began - at >= _TICK_SECONDS and id_ not in unheard]
        for number, id_ in enumerate(sorted(due, key=self._unsettled.__getitem__)):
            self._see(id_, now)
            if time.perf_counter() > ended:
                return number + 1 < len(due)
        return False

    def _see(self, id_: KubernetesId, now: datetime) -> None:
        seen = self._observe(id_, self._objects, now)
        if _is_moving(seen):
            self._unsettled[id_] = asyncio.get_running_loop().time()
        else:
            self._unsettled.pop(id_, None)
        if seen != self._last.get(id_):
            self._last[id_] = seen
            self._pending[id_] = seen
            self._ready.set()

    def _name(self, id_: KubernetesId) -> Name:
        return id_.kind, self._namespaces[id_], id_.name

    def _index(self, informer: Informer, uids: set[str] | None) -> list[Object]:
        """Brings the index up to date with an informer; returns what went and what came, in both forms."""
        known = self._indexed.setdefault(informer, {})
        found: list[Object] = []
        for uid in known.keys() | informer.objects.keys() if uids is None else uids:
            old, new = known.pop(uid, None), informer.objects.get(uid)
            if new is not None:
                known[uid] = new
            if old is new:
                continue
            if old is not None:
                self._objects.take(old, is_event=informer.is_of_events)
                found.append(old)
            # one kind may be looked at as a whole and by name
            other = new or next((each[uid] for each in self._indexed.values() if uid in each), None)
            if other is not None:
                self._objects.put(other, is_event=informer.is_of_events)
                found.append(other)
        return found

    def _by_uid(self, uid: str) -> Object | None:
        return next((each[uid] for each in self._indexed.values() if uid in each), None)

    def _observe(self, id_: KubernetesId, objects: Objects, now: datetime) -> Observation:
        top, *_ = needs = self._needs[id_]
        lost = min((each for informer in needs if (each := informer.lost)), key=_since, default=None)
        objects.are_events_known = not any(each.is_of_events and isinstance(each.failure, Forbidden) for each in needs)
        live = objects.get(id_.kind, self._namespaces[id_], id_.name, id_.group)
        if live is None:
            if top.failure is not None:
                health = Health(Status.UNKNOWN, type(top.failure).__name__, _said(top.failure))
                return Observation(id_, health, None, None, lost)
            return Observation(id_, Health(Status.NOT_FOUND, "", "it does not exist"), None, None, lost)
        root = tree.build(live, objects, now, self._rules.get(id_))
        if self._ahead:
            root = tree.by_clock(root, self._ahead)
        return Observation(id_, root.health, root, self._blocking(id_, live, objects, now), lost)

    def _blocking(self, id_: KubernetesId, live: Object, objects: Objects, now: datetime) -> Blocking | None:
        found = why.deepest(live, objects, now, self._rules.get(id_))
        if found is None:
            return None
        blocking = why.blocking_of(*found)
        if left_out := tree.left_out_text(objects.events_left_out(found[0])):
            # what decides may be among them
            blocking = replace(blocking, message=f"{blocking.message} ({left_out})")
        return replace(blocking, log_tail=self._logs.tail(*found))


def _said(failure: RuntimeFailure) -> str:
    """Which cluster and which resource it is about stands beside the health already."""
    return f"{failure.message} ({failure.hint})" if failure.hint else failure.message


def _since(lost: Lost) -> datetime:
    return lost.since


def _is_moving(seen: Observation) -> bool:
    """Whether a state may change without an event: one that is not final, or that is not heard of any more."""
    return seen.lost is not None or seen.health.status not in (Status.CURRENT, Status.NOT_FOUND)


def _below(id_: KubernetesId) -> tuple[tuple[str, str], ...]:
    known = _BELOW.get((id_.group, id_.kind))
    if known is None:
        # a kind of someone else's may own anything that runs
        return () if _is_built_in(id_.group) else (*_WORKLOADS, _REPLICA_SET, _POD, _CLAIM, _EVENT)
    return known if _EVENT in known else (*known, _EVENT)


def _is_built_in(group: str) -> bool:
    return group in _BUILT_IN_GROUPS or group.endswith(".k8s.io")
