"""Listing every kind that a cluster serves, and what of it carries the labels of a stack.

Two want to know what carries them. What an apply would change is compared with what is there, which is most of it; what
is left is to be deleted. So everything is listed once, while others go on: the kinds that are compared come first, and
who compares them waits for no other; who deletes waits for all.

Nothing is left out because this machine never applied such a kind: another one may have.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping

from kcl.records import dataclass, field
from runtimes.base import (
    Forbidden,
    Identity,
    KubernetesId,
    LiveResource,
    NotThere,
    Overloaded,
    Owned,
    Rejected,
    ResourceId,
    RuntimeFailure,
    TooMany,
    Unauthenticated,
    Unreachable,
)
from runtimes.kubernetes import fields, normalize
from runtimes.kubernetes.anothers import AggregatedUnavailable, may_be_anothers
from runtimes.kubernetes.client import FIELD_MANAGER, PAGE_SIZE, Client, Object, whole
from runtimes.kubernetes.discovery import ApiResource
from runtimes.kubernetes.together import together

PARALLEL_LISTS = 8
# Copies that controllers make with the labels of what they belong to.
_MADE_BY_CONTROLLERS = frozenset({"Endpoints", "EndpointSlice", "Event", "ControllerRevision"})
_FEWEST_LISTED = 4  # so many reads of single objects are dearer than a list
_FEWEST_COMPARED = 20
_MOST_LISTED_FOR_ONE = 4
"""So many objects of a list are cheaper than the request for one of them."""
_FRESH_SECONDS = 5.0
"""So long after its first request what was looked for ahead is still taken for an answer."""

Kind = tuple[str, str]
"""The version and the name of a kind."""


@dataclass(slots=True)
class _List:
    """The list of one kind. `items` None: there is none (yet); `is_refused` where we may not have it, `away` why
    another server that serves it does not give it.
    """

    resource: ApiResource
    items: tuple[Object, ...] | None = field(default=None, repr=False)
    is_refused: bool = False
    away: str = ""
    has_ended: asyncio.Event = field(default_factory=asyncio.Event)


class KindLists:
    """Lists of all kinds that may hold what somebody applied."""

    def __init__(
        self, client: Client, *, namespace: str = "", labels: str = "", trim: Callable[[Object], Object] = whole
    ) -> None:
        self._client, self._namespace, self._labels, self._trim = client, namespace, labels, trim
        self._first: Collection[Kind] = ()
        self._lists: dict[Kind, _List] = {}
        self._waiting: deque[_List] = deque()
        self._silent: Mapping[str, str] = {}
        self._failed: dict[str, str] = {}
        self._failure: RuntimeFailure | None = None
        self._are_kinds_known = asyncio.Event()

    async def run(self) -> None:
        """Lists everything. What fails is raised to those who want what it would have told.

        A kind that may not be listed is one of which nothing is known, and so is one of another server behind the API
        server, which fails; any other failure concerns all of them.
        """
        try:
            served = await self._client.discovery.served()
            self._silent, kinds = served.silent, [each for each in served.kinds if self._may_hold(each)]
        except RuntimeFailure as error:
            self._failure, kinds = error, []
        self._lists = {_kind(each): _List(each) for each in kinds}
        self._waiting.extend(self._lists.values())
        self.put_first(self._first)
        self._are_kinds_known.set()
        try:
            await together(*(self._list_waiting() for _ in range(PARALLEL_LISTS)))
        except RuntimeFailure as error:
            self._failure = error
        finally:
            for each in self._lists.values():
                each.has_ended.set()

    def put_first(self, kinds: Collection[Kind]) -> None:
        """Has lists of these that have not begun come before the others; may be told at any time."""
        self._first = kinds
        ordered = sorted(self._waiting, key=lambda each: _kind(each.resource) not in kinds)
        self._waiting.clear()
        self._waiting.extend(ordered)

    @property
    def has_failed(self) -> bool:
        return self._failure is not None

    async def listed(self, kind: Kind) -> tuple[Object, ...] | None:
        """Waits for the list of one kind; None where there is none."""
        await self._are_kinds_known.wait()
        found = self._lists.get(kind)
        if found is None:
            return None
        await found.has_ended.wait()
        return found.items

    async def all(self) -> tuple[list[Object], tuple[str, ...]]:
        """Waits for the objects of all lists, and the kinds that are not known; raises `RuntimeFailure`.

        Those are what may not be listed, and what is `away`.
        """
        await self._are_kinds_known.wait()
        for each in self._lists.values():
            await each.has_ended.wait()
        if self._failure is not None:
            raise self._failure
        found = [one for each in self._lists.values() for one in each.items or ()]
        refused = {each.resource.kind for each in self._lists.values() if each.is_refused}
        return found, tuple(sorted(refused.union(self.away)))

    @property
    def away(self) -> Mapping[str, str]:
        """What other servers, and definitions, serve and could not be listed, and why; to be asked after `all`."""
        kinds = (each for each in self._lists.values() if each.away)
        return {
            **{f"all of {version}": why for version, why in self._silent.items()},
            **{f"{each.resource.kind} of {each.resource.api_version}": each.away for each in kinds},
        }

    def kinds(self) -> frozenset[tuple[str, str]]:
        """Returns group and name of the kinds that were listed; to be asked after `all`."""
        listed = (each.resource for each in self._lists.values() if not each.is_refused and not each.away)
        return frozenset((each.api_version.rpartition("/")[0], each.kind) for each in listed)

    def _may_hold(self, resource: ApiResource) -> bool:
        is_there = resource.is_namespaced or not self._namespace
        return is_there and {"list", "patch"} <= resource.verbs and resource.kind not in _MADE_BY_CONTROLLERS

    async def _list_waiting(self) -> None:
        while self._waiting:
            await self._list(self._waiting.popleft())

    async def _list(self, wanted: _List) -> None:
        version = wanted.resource.api_version
        try:
            if version in self._failed:  # its other kinds need not be waited for, too
                wanted.away = self._failed[version]
                return
            listing = await self._client.list(wanted.resource, self._namespace, labels=self._labels, trim=self._trim)
            wanted.items = listing.items
        except NotThere:
            wanted.items = ()  # its definition was deleted since
        except (Forbidden, Rejected):
            wanted.is_refused = True
        except (Unauthenticated, TooMany):
            raise
        except RuntimeFailure as error:
            if not may_be_anothers(version) or isinstance(error, Unreachable):
                raise
            wanted.away = error.message
            if isinstance(error, Overloaded | AggregatedUnavailable):
                self._failed[version] = error.message
        finally:
            wanted.has_ended.set()


class Unowned:
    """Counts what no other object owns, and leaves of the rest what tells whose it is: of thousands of pods nobody who
    takes in a namespace reads more. Raises `TooMany` as soon as there are more than `most` that nothing owns."""

    def __init__(self, place: str, namespace: str, most: int) -> None:
        self._place, self._namespace, self._most = place, namespace, most
        self._uids: dict[str, str] = {}

    def trimmed(self, live: Object) -> Object:
        metadata, kind = live["metadata"], str(live["kind"])
        if not metadata.get("ownerReferences"):
            self._uids[str(metadata.get("uid"))] = kind  # a list that is begun again is no second one
            if len(self._uids) > self._most:
                raise self._too_many()
            return live
        if kind == "HorizontalPodAutoscaler":  # whoever made it, it says how many replicas others have
            return live
        kept = {name: each for name, each in metadata.items() if name != "managedFields"}
        return {"apiVersion": live["apiVersion"], "kind": kind, "metadata": kept}

    def _too_many(self) -> TooMany:
        counts = ", ".join(f"{count} {kind}" for kind, count in Counter(self._uids.values()).most_common(3))
        said = f"namespace {self._namespace} holds more than {self._most} objects that no other owns ({counts} so far)"
        return TooMany(said, target=self._place, subject=self._namespace)


class Labelled:
    """See `runtimes.base.Labelled`."""

    def __init__(self, client: Client, labels: Mapping[str, str]) -> None:
        self._client, self._labels = client, labels
        self._lists = KindLists(client, labels=selector(labels))
        self._begun: tuple[float, asyncio.Task[None]] | None = None
        self._is_given_up = False

    def begin(self) -> None:
        """Looks ahead of who will want to know. `close` gives it up."""
        self._begun = (time.monotonic(), asyncio.ensure_future(self._lists.run()))

    def fits(self, labels: Mapping[str, str]) -> bool:
        """Whether what was begun answers who asks for these labels now. A failure is no answer: who asks meets it."""
        if self._begun is None or self._is_given_up or self._labels != labels or self._lists.has_failed:
            return False
        return time.monotonic() - self._begun[0] < _FRESH_SECONDS

    def put_first(self, ids: Iterable[KubernetesId]) -> None:
        self._lists.put_first({(each.api_version, each.kind) for each in ids})

    async def run(self) -> None:
        if self._begun is None:
            await self._lists.run()
            return
        try:
            await asyncio.shield(self._begun[1])
        finally:
            await self.close()

    def give_up(self) -> None:
        """What was begun ends, and answers nobody: what it has not found yet would be missing."""
        self._is_given_up = True
        if self._begun is not None:
            self._begun[1].cancel()

    async def close(self) -> None:
        self.give_up()
        if self._begun is not None:
            await asyncio.gather(self._begun[1], return_exceptions=True)

    async def observed(self, ids: Collection[ResourceId]) -> Mapping[ResourceId, Object | None]:
        """Where a kind may not be listed in all namespaces, those that are wanted are."""
        found: dict[ResourceId, Object | None] = {}
        rest: list[KubernetesId] = []
        for kind, wanted in _by_kind(ids).items():
            if (listed := await self._lists.listed(kind)) is None:
                rest += wanted
                continue
            by_place = {
                (each["metadata"].get("namespace") or "", each["metadata"].get("name")): each for each in listed
            }
            for id_ in wanted:
                found[id_] = by_place.get((await self._client.namespace_of(id_), id_.name))
        return {**found, **(await read_many(self._client, rest, self._labels))}

    async def owned(self, known: Collection[str]) -> Owned:
        """Tells what was applied by the workbench apart from what another object owns.

        Controllers copy labels to things they make (claims of a StatefulSet, Endpoints of a Service); those were
        never applied, so they are not ours to prune.
        """
        found, unlisted = await self._lists.all()
        others = [each for each in found if each["metadata"].get("uid") not in known]
        ours = [each for each in others if _is_applied_by_us(each) and not each["metadata"].get("ownerReferences")]
        uids = frozenset(str(each["metadata"].get("uid")) for each in found)
        return Owned(by_id(ours), unlisted, self._lists.kinds(), uids, self._lists.away)


async def read_many(
    client: Client, ids: Collection[ResourceId], labels: Mapping[str, str]
) -> Mapping[ResourceId, Object | None]:
    """See `BulkReadable`: one list for each kind and namespace of which several are wanted."""
    gate = asyncio.Semaphore(PARALLEL_LISTS)
    found: dict[ResourceId, Object | None] = {}

    async def list_group(wanted: list[KubernetesId]) -> None:
        async with gate:
            try:
                namespace = await client.namespace_of(wanted[0])
                resource = await client.discovery.resource(wanted[0].api_version, wanted[0].kind)
                listing = await client.list(resource, namespace, labels=selector(labels))
            except RuntimeFailure:
                return  # reading them one by one meets the same failure, or does not
        by_name = {str(live["metadata"].get("name")): live for live in listing.items}
        found.update({each: by_name.get(each.name) for each in wanted})

    groups: dict[tuple[Kind, str], list[KubernetesId]] = {}
    for kind, wanted in _by_kind(ids).items():
        for each in wanted:
            groups.setdefault((kind, each.namespace), []).append(each)
    await together(*(list_group(each) for each in groups.values() if len(each) >= _FEWEST_LISTED))
    return found


async def unmoved(client: Client, seen: Mapping[KubernetesId, Identity | None]) -> frozenset[ResourceId]:
    """See `BulkComparable`: one list of a kind in a namespace, of metadata alone, where many of that kind are meant.

    The list has no selector, as what was made meanwhile may carry any labels, or none. So where a namespace has far
    more of the kind, it is not read.
    """
    gate = asyncio.Semaphore(PARALLEL_LISTS)
    found: set[ResourceId] = set()

    async def compare(group: list[KubernetesId]) -> None:
        async with gate:
            try:
                namespace = await client.namespace_of(group[0])
                resource = await client.discovery.resource(group[0].api_version, group[0].kind)
                most = _MOST_LISTED_FOR_ONE * len(group) + PAGE_SIZE
                listing = await client.list(resource, namespace, trim=_version_alone, metadata_only=True, most=most)
            except RuntimeFailure:
                return  # reading them one by one meets the same failure, or does not
        now = {each["name"]: each for each in listing.items}
        found.update(each for each in group if _is_unmoved(seen[each], now.get(each.name)))

    groups: dict[tuple[Kind, str], list[KubernetesId]] = {}
    for each in seen:
        groups.setdefault(((each.api_version, each.kind), each.namespace), []).append(each)
    await together(*(compare(each) for each in groups.values() if len(each) >= _FEWEST_COMPARED))
    return frozenset(found)


def _version_alone(live: Object) -> Object:
    metadata = live["metadata"]
    kept = {name: metadata.get(name) for name in ("name", "uid", "resourceVersion", "deletionTimestamp")}
    return {**kept, "mark": normalize.mark(metadata)}


def _is_unmoved(seen: Identity | None, now: Object | None) -> bool:
    if seen is None or now is None:
        return seen is None and now is None
    same = now["uid"] == seen.uid and normalize.is_version(seen, now["resourceVersion"], now["mark"])
    return same and bool(seen.uid) and not now["deletionTimestamp"]


def selector(labels: Mapping[str, str]) -> str:
    return ",".join(f"{name}={text}" for name, text in sorted(labels.items()))


def by_id(found: Iterable[Object]) -> tuple[LiveResource, ...]:
    """The objects in the order of their ids, each once: some are listed under two versions."""
    by_uid: dict[str, LiveResource] = {}
    for live in found:
        resource = normalize.live_resource(KubernetesId.of(live), live)
        by_uid.setdefault(resource.identity.uid, resource)
    return tuple(sorted(by_uid.values(), key=lambda each: str(each.id)))


def _kind(resource: ApiResource) -> Kind:
    return resource.api_version, resource.kind


def _by_kind(ids: Iterable[ResourceId]) -> dict[Kind, list[KubernetesId]]:
    found: dict[Kind, list[KubernetesId]] = {}
    for each in ids:
        if isinstance(each, KubernetesId):
            found.setdefault((each.api_version, each.kind), []).append(each)
    return found


def _is_applied_by_us(live: Object) -> bool:
    return any(
        entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply" for entry in fields.entries(live)
    )
