"""The releases of a session's stacks, wherever they are kept: read for a plan, and written by an apply.

They lie in the clusters that a stack goes to, where every machine sees them, or in the bucket that the user names for
all; on this machine where its user wants that (WB_RELEASES=local), and, without a bucket, where nothing tells which
repository this is and for stacks that go to no cluster. A bucket that has no release of a stack takes over what the
clusters have: there a part is left that says where the whole is. This machine
always keeps its own as well: the steps of an apply are written here, one by one, its intent and its end everywhere.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread

from kcl.records import dataclass, replace
from runtimes.base import (
    ClusterIdentity,
    Forbidden,
    Keeping,
    Misconfigured,
    Runtime,
    RuntimeFailure,
    Unreachable,
)
from workbench.engine.changes import Problem
from workbench.engine.errors import ReleaseFailure
from workbench.engine.events import ApplyFinished, Event, StepStarted
from workbench.engine.masking import Seal
from workbench.engine.release import Release, ReleasedResource
from workbench.engine.tasks import running
from workbench.project import StackPath
from workbench.release.contract import KEPT_RELEASES, Entry, HeldLock, Holder, NotAllowed, Records
from workbench.release.encoding import SALT_BYTES
from workbench.release.history import Asked, History, disposable, merged, part_of, unused
from workbench.release.lease import DEFAULT_TIMING, Timing
from workbench.release.lock import Lock
from workbench.release.packing import REPOSITORY, Place, labelled, repository_label, stack_name, stacks_of
from workbench.release.remote_records import RemoteRecords
from workbench.release.store import ReleaseJournal, ReleaseStore
from workbench.release.stored_rollouts import Claim

if TYPE_CHECKING:
    from workbench.release.in_bucket import BucketKeeper

_RENEWAL_SECONDS = 10.0
_ELSEWHERE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ReleasePlaces:
    """A stack, where it goes in the order of its placement, and which other clusters its repository knows.

    `has_objects` is False for one that has nothing but Terraform resources.
    """

    stack: StackPath
    clusters: tuple[str, ...]
    others: tuple[str, ...] = ()
    has_objects: bool = True


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket that keeps the releases of all stacks. `open` raises `RuntimeFailure`."""

    place: str
    open: Callable[[], BucketKeeper]


@dataclass(frozen=True, slots=True)
class Besides:
    """The last releases of stacks that a repository has no more, by stack; None where it can't be read.

    `silent` are the clusters of which that is not known, or the bucket, with the reason.
    """

    releases: Mapping[str, Release | None]
    silent: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Releases:
    """`repository` or `namespace` is empty where clusters keep no releases."""

    store: ReleaseStore
    connect: Callable[[str], Awaitable[Runtime]]
    repository: str = ""
    namespace: str = ""
    timing: Timing = DEFAULT_TIMING
    bucket: Bucket | None = None

    async def read(self, goes: ReleasePlaces) -> History:
        """Asks every cluster of the stack once, or the bucket. Raises `ReleaseFailure` where none of the records there
        is readable.

        Where none of them has a release, nor this machine, the other clusters of the repository are asked: the stack
        may have gone there before.
        """
        following = self.store.next_revision(goes.stack)
        if self.bucket is not None and not self.repository:
            return _nameless(self.bucket.place, following)
        places = self.places(goes)
        asked = await self._ask(goes.stack, places) if places else None
        if asked is None:
            mine = self._knowing(History(self.store.latest(goes.stack), following), goes.stack)
            return await self._with_unused(mine, goes)
        local, unreadable = self._local(goes.stack)
        if unreadable is not None and not any(asked.own(self.repository).values()):
            raise unreadable
        if asked.home in asked.entries and asked.lacks_whole(self.repository):
            knows = local is not None and not any(asked.own(self.repository).values())
            if self.bucket is not None:
                asked = await self._before_the_bucket(goes, asked)
            elif goes.others and not knows:
                asked = await self._elsewhere(goes.stack, goes.others, asked)
        found = merged(asked, self.repository, local, following)
        return found if unreadable is not None else self._knowing(found, goes.stack)

    def _knowing(self, history: History, stack: StackPath) -> History:
        """Adds what this machine released itself."""
        return replace(
            history,
            local=partial(self.store.releases, stack),
            local_revisions=partial(self.store.revisions, stack),
            local_release=partial(self.store.release, stack),
        )

    def seal(self, release: Release | None) -> Seal:
        """Returns the seal that a release was sealed with, for comparing; raises `ReleaseFailure`."""
        return Seal(release.salt) if release is not None and release.salt else self.store.seal()

    @asynccontextmanager
    async def working(
        self,
        goes: ReleasePlaces,
        *,
        user: str,
        host: str,
        clusters: Mapping[str, ClusterIdentity],
        asked: Iterable[str] = (),
        also: Mapping[str, HeldLock] = MappingProxyType({}),
    ) -> AsyncIterator[Work]:
        """Holds the stack, here and in its clusters: the home, and those of `asked`, which are to be written to. With a
        bucket there, in the cluster that had the last release before, and in the clusters all the same, as another
        machine may keep its releases there. `also` are locks of the caller, without which no step begins.

        Raises `Locked`, `ReleaseFailure` or `RuntimeFailure`; nothing is written by then but locks.
        """
        local = self.store.lock(goes.stack, user=user, host=host, clusters=clusters)
        held: dict[str, HeldLock] = {}
        try:
            denied: NotAllowed | None = None
            holder = Holder(user, host, os.getpid(), clusters, local.token, local.ended)
            places: dict[str, Records] = {}
            home = self.places(goes)[:1]
            written_to = asked if home and self.bucket is None else ()
            for cluster in dict.fromkeys((*home, *written_to)):
                records = await self._records(cluster, goes.stack)
                if records is None:
                    break
                try:
                    held[cluster] = await records.lock(holder)
                    places[cluster] = records
                except NotAllowed as error:
                    if self.bucket is not None:
                        raise
                    if cluster in home:
                        denied = error
                        break
            history = await self.read(goes)
            if history.problems:
                raise ReleaseFailure(history.problems[0].message, where=history.problems[0].cluster)
            if history.is_shared and denied is not None:
                raise denied
            if history.is_shared and history.home not in ("", *held):
                # it was the home before: what it keeps from now on says that it is no more
                held[history.home], places[history.home] = await self._take(history.home, goes.stack, holder)
                history = await self.read(goes)
            if home and self.bucket is not None:
                await self._hold_clusters(goes, asked, holder, held)
            async with running(renewed(held)):
                for each in also.values():
                    await each.check()
                yield Work(self, goes, history, local, {**also, **held}, places if history.is_shared else {})
        finally:
            with anyio.CancelScope(shield=True):
                for each in held.values():
                    await each.release()
            local.release()

    async def _hold_clusters(
        self, goes: ReleasePlaces, asked: Iterable[str], holder: Holder, held: dict[str, HeldLock]
    ) -> None:
        """Holds off whoever keeps the releases of the stack in its clusters: they hold it in each that they write to,
        and in the first one. Where that is silent and nothing is written to it, it is left out: nobody can have it.
        """
        written_to = tuple(asked)
        for cluster in dict.fromkeys((*self._clusters(goes)[:1], *written_to)):
            if cluster in held:
                continue
            try:
                records = await self._records(cluster, goes.stack)
                if records is not None:
                    held[cluster] = await records.lock(holder)
            except NotAllowed as error:
                raise ReleaseFailure(
                    f"the stack can't be locked in {cluster}, where another machine may keep its releases",
                    where=error.where,
                    hint=f"it takes get, create and update of leases.coordination.k8s.io there ({error.message})",
                ) from error
            except RuntimeFailure:
                if cluster in written_to:
                    raise

    async def _take(self, cluster: str, stack: StackPath, holder: Holder) -> tuple[HeldLock, Records]:
        records = await self._records(cluster, stack)
        assert records is not None, "a release was found there"
        return await records.lock(holder), records

    async def forget(
        self, goes: ReleasePlaces, cluster: str, *, user: str, host: str, now: datetime
    ) -> tuple[ReleasedResource, ...]:
        """Writes a release that knows nothing of a cluster any more; returns what the last one had there.

        Raises `Locked`, `RuntimeFailure` or `ReleaseFailure`, also where the last release has nothing there.
        """
        written_to = tuple(each for each in goes.clusters if each != cluster)
        async with self.working(goes, user=user, host=host, clusters={}, asked=written_to) as work:
            latest = work.history.latest
            resources = latest.resources if latest is not None else {}
            gone = [each for address, each in resources.items() if address.cluster == cluster]
            if latest is None or not gone:
                there = ", ".join(sorted({each.cluster for each in resources}))
                hint = f"it has some in: {there}" if there else "there is no release, or nothing in it"
                raise ReleaseFailure(f"the last release has nothing in {cluster}", where=str(goes.stack), hint=hint)
            left = {address: each for address, each in resources.items() if address.cluster != cluster}
            clusters = {name: each for name, each in latest.clusters.items() if name != cluster}
            after = replace(
                latest, revision=work.history.next_revision, plan=f"forget {cluster}", user=user, host=host,
                started=now, finished=now, resources=left, clusters=clusters, warnings=(), audit="",
                rolled_back_to=0, reason="", rollout="", events=(),
            )  # fmt: skip
            await work.begin(after)
            return tuple(gone)

    async def unlock(self, goes: ReleasePlaces, holder: str) -> tuple[str, ...]:
        """Frees the leases of a stack that this holder has; returns who has any. An empty `holder` only looks.

        Raises `Locked` where somebody else has one, or `RuntimeFailure`.
        """
        held: list[tuple[str, RemoteRecords]] = []
        for cluster in dict.fromkeys((*self.places(goes), *(self._clusters(goes) if self.bucket is not None else ()))):
            records = await self._records(cluster, goes.stack)
            if records is not None and (who := await records.unlock("")):
                held.append((who, records))
        if holder and held:
            own = [each for each in held if _process(each[0]) == _process(holder)]
            for who, records in own or held[:1]:
                await records.unlock(who if own else holder)  # which another one's refuses
            held = own
        named = {_process(who): who for who, _ in reversed(held)}
        return tuple(reversed(named.values()))

    def places(self, goes: ReleasePlaces) -> tuple[str, ...]:
        """Returns who is asked for the releases of a stack, its home first; nobody where this machine keeps them."""
        if not self.repository:
            return ()
        return (self.bucket.place,) if self.bucket is not None else self._clusters(goes)

    async def besides(self, clusters: Sequence[str], stacks: Iterable[StackPath]) -> Besides:
        """Asks clusters, or the bucket, for the last releases of stacks of this repository that are none of these."""
        if not self.repository or not (self.bucket or self.namespace):
            return Besides({}, {})
        stacks = tuple(stacks)
        known = frozenset(map(labelled, stacks))
        had: dict[StackPath, list[str]] = {}
        places = clusters if self.bucket is None else (self.bucket.place,)
        silent = dict.fromkeys(places, f"no answer within {_ELSEWHERE_SECONDS:.0f} s")

        async def ask(place: str) -> None:
            try:
                labels = await (self._labels_in(place) if self.bucket is None else self._labels_besides(stacks))
            except RuntimeFailure as error:
                silent[place] = error.message
                return
            del silent[place]
            for each in stacks_of(labels, self.repository) - known:
                had.setdefault(each, []).append(place)

        with anyio.move_on_after(_ELSEWHERE_SECONDS):
            async with anyio.create_task_group() as tasks:
                for place in places:
                    tasks.start_soon(ask, place)
        found: dict[str, Release | None] = {}
        for stack, where in sorted(had.items(), key=lambda each: str(each[0])):
            goes = ReleasePlaces(stack, tuple(sorted(where)) if self.bucket is None else ())
            try:
                found[str(stack)] = (await self.read(goes)).latest
            except ReleaseFailure:
                found[str(stack)] = None
        return Besides(found, silent)

    async def _labels_in(self, cluster: str) -> Sequence[Mapping[str, str]]:
        """Returns the labels of all records of this repository there."""
        runtime = await self.connect(cluster)
        if not isinstance(runtime, Keeping):
            return ()
        return await runtime.records.labels(self.namespace, {REPOSITORY: repository_label(self.repository)})

    async def _labels_besides(self, stacks: Iterable[StackPath]) -> Sequence[Mapping[str, str]]:
        """Returns the labels of the records of this repository in the bucket, but for those of these stacks."""
        assert self.bucket is not None
        keeper, found, failures = self.bucket.open(), list[Mapping[str, str]](), list[RuntimeFailure]()
        own = {REPOSITORY: repository_label(self.repository)}

        async def read(namespace: str) -> None:
            try:
                there = await keeper.secrets(namespace, own)
            except RuntimeFailure as error:
                failures.append(error)
                return
            readable = [each.labels for each in there if not each.unreadable]
            found.extend(readable)
            if there and not readable:
                failures.append(Misconfigured(f"{keeper.within(namespace)}: {there[0].unreadable}"))

        others = frozenset(await keeper.namespaces()) - frozenset(map(stack_name, stacks))
        async with anyio.create_task_group() as tasks:
            for each in sorted(others):
                tasks.start_soon(read, each)
        if failures:
            raise failures[0]
        return found

    def _clusters(self, goes: ReleasePlaces) -> tuple[str, ...]:
        return goes.clusters if self.namespace and goes.has_objects else ()

    async def _with_unused(self, mine: History, goes: ReleasePlaces) -> History:
        """Says of a repository that nothing names what its home has of a stack of this name: it may well be its own."""
        if self.repository or not self._clusters(goes):
            return mine
        asked = await self._ask(goes.stack, goes.clusters[:1])
        if asked is None:
            return mine
        return replace(mine, warnings=tuple(unused(asked)), silent=asked.silent)

    async def _elsewhere(self, stack: StackPath, others: Sequence[str], asked: Asked) -> Asked:
        """Asks other clusters of the repository, for a while."""
        found = None
        with anyio.move_on_after(_ELSEWHERE_SECONDS) as waiting:
            found = await self._ask(stack, others)
        if waiting.cancelled_caught:
            late = Unreachable(f"no answer within {_ELSEWHERE_SECONDS:.0f} s")
            return replace(asked, unasked={**asked.unasked, **dict.fromkeys(others, late)})
        if found is None:
            return asked
        return replace(asked, entries={**asked.entries, **found.entries}, unasked={**asked.unasked, **found.silent})

    async def _before_the_bucket(self, goes: ReleasePlaces, asked: Asked) -> Asked:
        """Asks the clusters for what was released before the bucket was chosen: its own that are silent leave a gap."""
        clusters = self._clusters(goes)
        found = await self._ask(goes.stack, clusters) if clusters else None
        if found is not None:
            asked = replace(
                asked,
                entries={**asked.entries, **found.entries},
                silent={**asked.silent, **found.silent},
                claims={**found.claims, **asked.claims},
                unasked=found.denied,
            )
        if goes.others and clusters and asked.lacks_whole(self.repository):
            asked = await self._elsewhere(goes.stack, goes.others, asked)
        return asked

    def _local(self, stack: StackPath) -> tuple[Release | None, ReleaseFailure | None]:
        try:
            return self.store.latest(stack), None
        except ReleaseFailure as error:
            return None, error

    async def _ask(self, stack: StackPath, clusters: Sequence[str]) -> Asked | None:
        """Asks clusters side by side; None where the first of them keeps no records, as in a rehearsal."""
        entries: dict[str, Sequence[Entry]] = {}
        denied: dict[str, ReleaseFailure] = {}
        silent: dict[str, RuntimeFailure] = {}
        claims: dict[str, Claim] = {}
        keepless: set[str] = set()

        async def ask(cluster: str) -> None:
            try:
                records = await self._records(cluster, stack)
                if records is None:
                    keepless.add(cluster)
                    return
                entries[cluster] = await records.entries()
                if (claim := records.claim) is not None:
                    claims[cluster] = claim
            except NotAllowed as error:
                if self.bucket is not None and cluster == self.bucket.place:
                    silent[cluster] = Forbidden(error.message, hint=error.hint)  # it is to be there, and nowhere else
                else:
                    denied[cluster] = error
            except RuntimeFailure as error:
                silent[cluster] = error

        async with anyio.create_task_group() as tasks:
            for each in clusters:
                tasks.start_soon(ask, each)
        if clusters[0] in keepless:
            return None
        in_order = {each: entries[each] for each in clusters if each in entries}
        return Asked(clusters[0], in_order, denied, silent, claims=claims)

    async def _records(self, cluster: str, stack: StackPath) -> RemoteRecords | None:
        if self.bucket is not None and cluster == self.bucket.place:
            return RemoteRecords(self.bucket.open(), Place(stack_name(stack), stack, self.repository), self.timing)
        runtime = await self.connect(cluster)
        if not isinstance(runtime, Keeping):
            return None
        return RemoteRecords(runtime.records, Place(self.namespace, stack, self.repository), self.timing)


@dataclass(frozen=True, slots=True)
class Work:
    """A stack that is held. `places` are those that keep its next release, the home first."""

    releases: Releases
    goes: ReleasePlaces
    history: History
    lock: Lock
    held: Mapping[str, HeldLock]
    places: Mapping[str, Records]

    def salt(self) -> bytes:
        """Returns what keys the digests of the next release: that of the last one, so that they compare."""
        latest = self.history.latest
        if latest is not None and latest.salt:
            return latest.salt
        return secrets.token_bytes(SALT_BYTES) if self.places else b""

    def seal(self, salt: bytes) -> Seal:
        return Seal(salt) if salt else self.releases.store.seal()

    async def begin(self, release: Release) -> SharedJournal:
        """Writes the release as intended, everywhere, before anything is applied. Raises `ReleaseFailure`."""
        versions: dict[str, str] = {}
        try:
            # the home first: a part without its whole would be a release that nobody knows all of
            for cluster, records in self.places.items():
                shown, home = _for(cluster, release, self.places)
                versions[cluster] = await records.create(shown, home=home)
        except RuntimeFailure as error:
            raise _unwritten(error) from error
        local = self.releases.store.journal(self.goes.stack, release, self.lock)
        return SharedJournal(local, self.held, self.places, self.releases.repository, versions)


@dataclass(slots=True)
class SharedJournal:
    """Keeps the records of one release in step with its apply. See `workbench.engine.release.Journal`."""

    local: ReleaseJournal
    held: Mapping[str, HeldLock]
    places: Mapping[str, Records]
    repository: str
    versions: dict[str, str]

    def note_audit(self, anchor: str) -> None:
        self.local.note_audit(anchor)

    def record(self, event: Event) -> None:
        """Called on a thread of its own, as it blocks. A step begins only while the locks are known to be held."""
        if isinstance(event, StepStarted) and self.held:
            anyio.from_thread.run(self._check)
        self.local.record(event)  # what was done is known here, whoever holds the stack by now
        for each in self.held.values():
            each.verify()
        if isinstance(event, ApplyFinished) and self.places:
            anyio.from_thread.run(self.end)

    async def _check(self) -> None:
        for each in self.held.values():
            await each.check()

    async def end(self) -> None:
        """Writes the release as it ended. Raises `ReleaseFailure` where some cluster does not have that."""
        failures: list[ReleaseFailure] = []

        async def write(cluster: str, records: Records) -> None:
            try:
                await self.held[cluster].renew()  # which the cluster refuses where the lock is another's
                release, home = _for(cluster, self.local.release, self.places)
                self.versions[cluster] = await records.replace(release, self.versions[cluster], home=home)
            except RuntimeFailure as error:
                failures.append(_unwritten(error))
            except ReleaseFailure as error:
                failures.append(error)
            else:
                await self._trim(records)

        async with anyio.create_task_group() as tasks:
            for cluster, records in self.places.items():
                tasks.start_soon(write, cluster, records)
        if failures:
            raise failures[0]

    async def _trim(self, records: Records) -> None:
        """Removes what is beyond the history; what can't be removed now is tried again by the next release."""
        if self.local.release.revision <= KEPT_RELEASES:
            return
        with suppress(RuntimeFailure, ReleaseFailure):
            for each in disposable(await records.entries(), self.repository, KEPT_RELEASES):
                await records.delete(each)


def _nameless(place: str, following: int) -> History:
    said = f"releases are kept in {place}, and nothing says which repository this is: git knows no remote origin"
    return History(None, following, problems=(Problem(place, "ReleaseFailure", said, "WB_REPOSITORY=NAME says it"),))


def _for(cluster: str, release: Release, places: Iterable[str]) -> tuple[Release, str]:
    """Returns what a cluster keeps of a release, and which one has the whole where that is another."""
    home = next(iter(places))
    return (release, "") if cluster == home else (part_of(release, cluster), home)


def _process(holder: str) -> str:
    """Returns who holds a lease without since when: one process takes those of several clusters one after the other."""
    return holder.partition(" since ")[0]


def _unwritten(error: RuntimeFailure) -> ReleaseFailure:
    return ReleaseFailure(
        f"the release can't be written: {error.message}",
        where=error.target,
        hint=error.hint or "plan again when it answers",
    )


def renewed(held: Mapping[str, HeldLock]) -> Callable[[], Coroutine[Any, Any, None]]:
    """Returns what keeps these locks, until it is cancelled."""

    async def renew_one(lock: HeldLock) -> None:
        while True:
            await anyio.sleep(_RENEWAL_SECONDS)
            try:
                await lock.renew()
            except ReleaseFailure:
                return  # lost: the next step finds out
            except RuntimeFailure:
                continue  # it holds for a while without

    async def renew() -> None:
        async with anyio.create_task_group() as tasks:
            for each in held.values():
                tasks.start_soon(renew_one, each)

    return renew
