"""The live objects of one kind in one namespace: a paged list, then a watch from its version on, for ever.

A watch that ends or breaks goes on from the last version seen; one whose version the server has forgotten (410) starts
again with a list. Between attempts the pauses grow and are spread at random, so that many clients do not come back at
once. The server is asked to end each watch within seconds, and a stream that goes on after that is a dead connection:
a watch that was frozen on its way, while others get through, is found out by nothing else.

A cluster that was restored from a backup counts its versions on from an earlier one. A watch from a version that it has
not reached opens there, and says nothing until it has: so where a watch ended before its time, the server is asked how
far it is, and one that is behind what was seen is read anew.

Where somebody may list and not watch, the list is asked for again and again; where somebody may not list either, and
whoever looks has named what matters, these objects are read one by one. Rights in one namespace alone are the rule in
a shared cluster, and with these a namespace can be read and never be listed.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

from runtimes.base import Forbidden, KubernetesId, Lost, NotThere, RuntimeFailure, Unreachable
from runtimes.kubernetes.client import Listing, Object, Thin, WatchEvent
from runtimes.kubernetes.discovery import ApiResource
from runtimes.kubernetes.event_room import EventRoom
from runtimes.kubernetes.failures import Expired
from runtimes.kubernetes.trimming import trimmed

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 10.0
_PAUSE_AFTER_STREAM_SECONDS = 1.0
_LASTING_SECONDS = 1.0
_MOST_EMPTY = 2
"""So many watches in a row may end at once without a word before the list is read again."""
_WATCH_SECONDS = (10, 20)
_OVERTIME_SECONDS = 3.0
_EARLY_SECONDS = 1.0
_OPENING_SECONDS = 10.0
"""How long a watch may take to open. It may be asked for on a connection that froze while nothing was sent on it, which
only the silence tells."""
_GRACE_SECONDS = 2.0
"""A connection that breaks and is made again within this is not worth a word."""
_POLL_SECONDS = 3.0
"""How often is asked where no watch may be opened: what is shown is at most as old."""
_TOMBSTONES = 1000


class Source(Protocol):
    """What an informer asks: a client, or what gives its objects in another form."""

    @property
    def place(self) -> str: ...

    async def resource(self, api_version: str, kind: str) -> ApiResource: ...

    async def list(
        self,
        resource: ApiResource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        trim: Callable[[Object], Object] = ...,
        thin: Thin | None = None,
    ) -> Listing: ...

    async def newest_version(self, resource: ApiResource, namespace: str = "") -> str: ...

    def watch(
        self, resource: ApiResource, namespace: str, version: str, *, seconds: int, fields: str = ""
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]: ...


class Informer:
    """Keeps `objects` (by uid) up to date while `run` runs, and calls `changed` with itself after each change.

    `heard` is called whenever the server says something. `is_settled` turns true when the first list is there, or was
    refused. `failure` is the last error while it holds, `lost_at` since when nothing could be heard, None while the
    connection stands. Of events only so many are kept as there is `room` for; it is None for any other kind.
    """

    def __init__(
        self,
        client: Source,
        kind: KubernetesId,
        *,
        name: str = "",
        changed: Callable[[Informer], None],
        heard: Callable[[], None] = lambda: None,
        read_named: Callable[[], Awaitable[Iterable[Object]]] | None = None,
        room: EventRoom | None = None,
        has_rules: bool = False,
    ) -> None:
        """`kind` names kind and namespace; with `name`, only the object of that name is looked at. `read_named` reads
        all that matters one by one, None where that is not known. `has_rules`: see `trimmed`."""
        self._client, self._kind, self._name = client, kind, name
        self._changed, self._on_heard, self._read_named = changed, heard, read_named
        self._trimmed = partial(trimmed, has_rules=has_rules)
        self._is_polled = False
        self.objects: dict[str, Object] = {}
        self.is_settled = False
        self.failure: RuntimeFailure | None = None
        self.lost_at: datetime | None = datetime.now(UTC)
        self._has_listed = False
        self._is_doubted = False
        self._version = ""
        self._ended_early = False
        self._opened_at: float | None = None
        self._is_told = False
        self._attempt: asyncio.Timeout | None = None
        self._again = asyncio.Event()
        self._gone: dict[str, int] = {}
        self._moved: set[str] | None = None
        self.room = (room or EventRoom()) if self.is_of_events else None

    def take_moved(self) -> set[str] | None:
        """Returns the uids of what came, went or changed since it was last asked; None where that may be anything."""
        moved, self._moved = self._moved, set()
        return moved

    @property
    def is_of_events(self) -> bool:
        return self._kind.kind == "Event"

    @property
    def lost(self) -> Lost | None:
        """Since when this kind is not heard; None while it is, and where we were never allowed to look."""
        if self.lost_at is None or self.failure is None:
            return None
        is_brief = self._has_listed and not self._is_doubted and self.silent_seconds < _GRACE_SECONDS
        if is_brief or self._is_closed_to_us:
            return None
        return Lost(self.lost_at, type(self.failure).__name__, self.failure.message, self.failure.hint)

    @property
    def silent_seconds(self) -> float:
        """How long nothing could be heard; 0 while the connection stands, and where we were never allowed to look."""
        if self.lost_at is None or self._is_closed_to_us:
            return 0.0
        return (datetime.now(UTC) - self.lost_at).total_seconds()

    @property
    def _is_closed_to_us(self) -> bool:
        return isinstance(self.failure, Forbidden) and not self._has_listed

    def doubt(self, failure: RuntimeFailure) -> None:
        """Counts nothing as heard until the server was asked again, which begins at once."""
        self._is_doubted = True
        if self.failure is None:
            self._fail(failure)
        self.reopen()

    def reopen(self) -> None:
        """Gives up what it waits for, an answer or a pause, and asks again at once."""
        self._again.set()
        if self._attempt is not None and not self._attempt.expired():
            self._attempt.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        attempt, said_nothing = 0, 0
        while True:
            self._opened_at, self._is_told = None, False
            try:
                async with asyncio.timeout(None) as self._attempt:
                    await self._follow()
            except Expired:
                self._version = ""
            except NotThere:
                # the kind is not served, or not yet: then there are none of it
                self._version = ""
                self._replace({})
                self._heard()
            except TimeoutError:
                if self.failure is None:
                    self._fail(Unreachable("the watch is silent", target=self._client.place, hint="it is opened again"))
            except RuntimeFailure as failure:
                self._fail(failure)
                if self._opened_at is None:
                    # whatever comes back may not be what went: another server, a restored state
                    self._version = ""
            finally:
                self._attempt = None
            attempt = 0 if self._has_lasted() else attempt + 1
            said_nothing = 0 if attempt == 0 or self._is_told or self._opened_at is None else said_nothing + 1
            if said_nothing >= _MOST_EMPTY:
                # whoever answers so would never tell what happens: only a list is a state of now
                self._version = ""
            if attempt or self.failure:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pause(attempt)):
                        await self._again.wait()
            self._again.clear()

    async def _follow(self) -> None:
        if self.lost is not None:
            # a watch from the old version opens before it tells what happened since: only a list is a state of now
            self._version = ""
        resource = await self._client.resource(self._kind.api_version, self._kind.kind)
        self._is_polled, has_listed = False, not self._version
        try:
            if has_listed:
                await self._list(resource)
            elif self._ended_early:
                await self._refuse_restored(resource)
        except Forbidden as refusal:
            await self._poll(refusal)
            return
        try:
            await self._watch(resource)
        except Forbidden:
            if not has_listed:
                raise
            self._version, self._is_polled = "", True

    async def _poll(self, refusal: Forbidden) -> None:
        """Reads what matters one by one; raises the refusal of the list where that is not known, or refused too."""
        if self._read_named is None:
            raise refusal
        try:
            found = await self._read_named()
        except Forbidden:
            raise refusal from None
        self._is_polled = True
        self._replace({_uid(each): self._trimmed(each) for each in found})
        self._heard()

    def _has_lasted(self) -> bool:
        return self._opened_at is not None and time.monotonic() - self._opened_at > _LASTING_SECONDS

    def _pause(self, attempt: int) -> float:
        if self._is_polled:
            return _POLL_SECONDS
        if isinstance(self.failure, Forbidden):
            return _LONGEST_PAUSE_SECONDS
        # a stream that opens and breaks is worth asking for again sooner than a server that does not answer
        limit = _LONGEST_PAUSE_SECONDS if self._opened_at is None else _PAUSE_AFTER_STREAM_SECONDS
        longest = min(_FIRST_PAUSE_SECONDS * 2 ** min(attempt, 8), limit)
        return random.uniform(longest / 2, longest)

    async def _list(self, resource: ApiResource) -> None:
        room = None if self.room is None else EventRoom(self.room.most)
        thin = None if room is None else room.thinned
        listing = await self._client.list(
            resource, self._kind.namespace, fields=self._selector(), trim=self._trimmed, thin=thin
        )
        if self.room is not None and room is not None:
            self.room.take_over(room)
        self._version = listing.version
        self._gone.clear()
        self._replace({_uid(each): each for each in listing.items})
        self._heard()

    async def _refuse_restored(self, resource: ApiResource) -> None:
        """Raises `Expired` where the server is at an earlier version than was seen: nothing follows from that one."""
        if self._attempt is not None:
            self._attempt.reschedule(asyncio.get_running_loop().time() + _OPENING_SECONDS)
        now = await self._client.newest_version(resource, self._kind.namespace)
        if 0 <= _number(now) < _number(self._version):
            raise Expired("the server went back to an earlier state", target=self._client.place)

    async def _watch(self, resource: ApiResource) -> None:
        seconds = random.randint(*_WATCH_SECONDS)
        self._ended_early = True
        if self._attempt is not None:
            self._attempt.reschedule(asyncio.get_running_loop().time() + _OPENING_SECONDS)
        async with self._client.watch(
            resource, self._kind.namespace, self._version, seconds=seconds, fields=self._selector()
        ) as events:
            self._opened_at = time.monotonic()
            self._heard()
            if self._attempt is not None:
                self._attempt.reschedule(asyncio.get_running_loop().time() + seconds + _OVERTIME_SECONDS)
            async for event in events:
                self._on_heard()
                self._is_told = True
                self._take(event)
        self._ended_early = time.monotonic() - self._opened_at < seconds - _EARLY_SECONDS

    def _take(self, event: WatchEvent) -> None:
        version = _version(event.object)
        if event.type == "BOOKMARK":
            self._version = version or self._version
            return
        self._version = version or self._version
        uid = _uid(event.object)
        known = self.objects.get(uid)
        seen = self._gone.get(uid, -1) if known is None else _number(_version(known))
        if 0 <= _number(version) <= seen and event.type != "DELETED":
            return  # repeated, or overtaken by a newer one
        if self.room is not None and known is None and event.type != "ADDED":
            self.room.come_back(event.object)
        if event.type == "DELETED":
            self.objects.pop(uid, None)
            self._gone[uid] = _number(version)
            while len(self._gone) > _TOMBSTONES:
                del self._gone[next(iter(self._gone))]
        else:
            self.objects[uid] = {
                "apiVersion": self._kind.api_version,
                "kind": self._kind.kind,
                **self._trimmed(event.object),
            }
        if self._moved is not None:
            self._moved.add(uid)
        self._make_room()
        self._changed(self)

    def _make_room(self) -> None:
        if self.room is None or not self.room.is_over(len(self.objects)):
            return
        for each in self.room.thin(list(self.objects.values()))[1]:
            uid = _uid(each)
            del self.objects[uid]
            if self._moved is not None:
                self._moved.add(uid)

    def _replace(self, objects: dict[str, Object]) -> None:
        if objects != self.objects or not self.is_settled:
            self.objects = objects
            self._all_changed()

    def _heard(self) -> None:
        was_lost = self.lost_at is not None or not self.is_settled
        self.lost_at, self.failure, self.is_settled = None, None, True
        self._has_listed, self._is_doubted = True, False
        self._on_heard()
        if was_lost:
            self._all_changed()

    def _fail(self, failure: RuntimeFailure) -> None:
        if self.lost_at is None:
            self.lost_at = datetime.now(UTC)
        self.failure, self.is_settled = failure, True
        self._all_changed()

    def _all_changed(self) -> None:
        self._moved = None
        self._changed(self)

    def _selector(self) -> str:
        return f"metadata.name={self._name}" if self._name else ""


def _uid(live: Object) -> str:
    metadata: Any = live.get("metadata") or {}
    return str(metadata.get("uid") or f"{metadata.get('namespace')}/{metadata.get('name')}")


def _version(live: Object) -> str:
    return str((live.get("metadata") or {}).get("resourceVersion") or "")


def _number(version: str) -> int:
    """Versions of one kind can be compared; -1 for one that is not a number."""
    return int(version) if version.isdigit() else -1
