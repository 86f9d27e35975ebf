"""A kind as a table that is kept up to date: one list, then a watch of table rows, by the informer's rules.

A server that lets its user list but not watch is listed again every few seconds instead; that is said, not hidden.
Rows hold cells that count time ("5 (3m ago)"), which no event renews: where there are such, the list is read again
once a minute.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from kcl.records import replace
from runtimes.base import Forbidden, KubernetesId, NotThere, Rejected, RuntimeFailure
from runtimes.base.tables import LiveColumn, LiveKind, LiveRow, LiveTable, TableReport
from runtimes.kubernetes import tables
from runtimes.kubernetes.client import MOST_EMPTY_PAGES, Client, Listing, Object, Thin, WatchEvent
from runtimes.kubernetes.discovery import ApiResource
from runtimes.kubernetes.failures import Expired
from runtimes.kubernetes.feed import Feed
from runtimes.kubernetes.informer import Informer
from runtimes.kubernetes.liveness import Liveness
from runtimes.kubernetes.transport import TooLarge

_PAGE_SIZE, _SMALLER, _ATTEMPTS = 500, 10, 3
LIST_AGAIN_SECONDS = 5.0
RENEW_SECONDS = 60.0
_REPORT_SECONDS = 0.25
_NO_EVENTS: tuple[WatchEvent, ...] = ()
_UNREADABLE = (KeyError, TypeError, AttributeError, ValueError)


@asynccontextmanager
async def following(
    client: Client, kind: LiveKind, namespaces: Collection[str], most: int
) -> AsyncIterator[AsyncIterator[TableReport]]:
    feed = _Feed(client, kind, tuple(namespaces) if kind.is_namespaced and namespaces else ("",), most)
    async with feed.running() as given:
        yield given


class _Feed(Feed[TableReport]):
    def __init__(self, client: Client, kind: LiveKind, namespaces: tuple[str, ...], most: int) -> None:
        self._kind = kind
        super().__init__()
        self._rows_changed = True
        self._liveness = Liveness(client, changed=self.changed, turned=self._turn)
        self._parts = [_Rows(client, kind, most // len(namespaces), self._take_rows, self.changed) for _ in namespaces]
        self._informers = [
            Informer(
                rows,
                KubernetesId(kind.api_version, kind.kind, each, "*"),
                changed=lambda _: self._take_rows(),
                heard=self._liveness.heard,
            )
            for rows, each in zip(self._parts, namespaces, strict=True)
        ]
        self._last = TableReport()
        self._given_at = float("-inf")

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._liveness.run())
            for informer in self._informers:
                group.create_task(informer.run())

    def _take_rows(self) -> None:
        self._rows_changed = True
        self.changed()

    def _turn(self) -> None:
        """A watch that seems open may be as dead as the rest: what counts as heard later has been asked for again."""
        for informer in self._informers:
            if (failure := self._liveness.failure) is not None:
                informer.doubt(failure)
            elif informer.lost_at is not None:
                informer.reopen()

    async def __anext__(self) -> TableReport:
        while True:
            await self.wait()
            await asyncio.sleep(self._given_at + _REPORT_SECONDS - time.monotonic())
            self._dirty.clear()
            report = self._report()
            if report != self._last:
                self._last, self._given_at = report, time.monotonic()
                return report

    def _report(self) -> TableReport:
        failure = next((each for each in map(_failure, self._informers) if each is not None), None)
        is_known = all(each.listed_at is not None for each in self._parts)
        is_watched = is_known and failure is None and all(each.is_watched for each in self._parts)
        answered_at = self._liveness.contact.answered_at if self._liveness.contact is not None else None
        lost_at = [each.lost_at for each in self._informers]
        known_at = [each.listed_at for each in self._parts]
        at = (
            answered_at
            if is_watched
            else min((each for each in (*known_at, *lost_at) if each is not None), default=None)
        )
        if not is_known and (failure is not None or not any(each.page for each in self._parts)):
            return TableReport(failure=failure)
        return TableReport(self._table(), at or datetime.now(UTC), is_watched, not is_known, failure)

    def _table(self) -> LiveTable:
        if not self._rows_changed and self._last.table is not None:
            return self._last.table
        self._rows_changed = False
        columns = max((each.columns for each in self._parts), key=len)
        found: list[LiveRow] = []
        for rows, informer in zip(self._parts, self._informers, strict=True):
            found += [each["row"] for each in informer.objects.values()] if rows.listed_at else rows.page
        return LiveTable(self._kind, columns, tuple(found), all(each.is_whole for each in self._parts))


def _failure(informer: Informer) -> RuntimeFailure | None:
    """Returns why a kind is not heard, where that is worth a word: a connection may break for a moment."""
    return informer.failure if informer.lost is not None or isinstance(informer.failure, Forbidden) else None


class _Rows:
    """What an informer asks instead of a client: its objects are rows, each below `row` beside a bit of metadata."""

    def __init__(
        self, client: Client, kind: LiveKind, most: int, paged: Callable[[], None], opened: Callable[[], None]
    ) -> None:
        self._client, self._kind, self._most, self._paged, self._opened = client, kind, most, paged, opened
        self._listed: set[str] = set()
        self._renew_at = float("inf")
        self.columns: tuple[LiveColumn, ...] = tables.PLAIN_COLUMNS
        self.page: list[LiveRow] = []
        self.listed_at: datetime | None = None
        self.is_whole, self.is_watched = True, False

    @property
    def place(self) -> str:
        return self._client.place

    async def resource(self, api_version: str, kind: str) -> ApiResource:
        try:
            return await self._client.resource(api_version, kind)
        except NotThere as error:
            raise self._not_served(error) from None

    def _not_served(self, error: NotThere) -> RuntimeFailure:
        """That there are none of it would be another thing to say."""
        return RuntimeFailure(error.message, target=self.place, hint=error.hint)

    async def list(
        self,
        resource: ApiResource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        trim: Callable[[Object], Object] = dict,
        thin: Thin | None = None,
    ) -> Listing:
        """Rows are short as they are, and there are never more than so many: there is nothing to `trim` or `thin`."""
        for _ in range(_ATTEMPTS):
            try:
                return await self._pages(resource, namespace)
            except Expired:
                continue  # it took longer than the server remembers: from the start
            except NotThere as error:
                raise self._not_served(error) from None
        return await self._pages(resource, namespace)

    async def _pages(self, resource: ApiResource, namespace: str) -> Listing:
        found: dict[str, Object] = {}
        self.page.clear()
        after, version, page_size, empty = "", "", _PAGE_SIZE, 0
        while True:
            query = [("limit", str(page_size)), *([("continue", after)] if after else [])]
            subject = f"{self._kind.kind} list"
            try:
                reply = await self._client.transport.call(
                    "GET", resource.path(namespace), query=query, subject=subject, accept=tables.ACCEPT
                )
            except TooLarge:
                if page_size == 1:
                    raise
                page_size = max(1, page_size // _SMALLER)
                continue
            try:
                if not after:
                    self.columns = tables.columns(reply.body) or tables.PLAIN_COLUMNS
                new = dict(self._objects(reply.body))
                metadata = reply.body.get("metadata") or {}
                before, after = after, str(metadata.get("continue") or "")
                version = str(metadata.get("resourceVersion") or version)
            except _UNREADABLE:
                said = "the server answered something that is no list"
                raise RuntimeFailure(said, target=self.place, subject=subject) from None
            empty = empty + 1 if new.keys() <= found.keys() else 0
            found |= new
            if empty == MOST_EMPTY_PAGES:
                raise RuntimeFailure("a list goes on for ever", target=self.place, subject=subject)
            if not after or len(found) >= self._most or after == before:
                break
            self.page += [each["row"] for each in new.values()]
            self._paged()
        self.page.clear()
        self.is_whole = not after and len(found) <= self._most
        kept = dict(list(found.items())[: self._most])
        self._listed, self.listed_at = set(kept), datetime.now(UTC)
        counts_time = any(tables.counts_time(each["row"], self.columns) for each in kept.values())
        self._renew_at = time.monotonic() + RENEW_SECONDS if counts_time else float("inf")
        return Listing(version, tuple(kept.values()))

    def _objects(self, body: Any) -> Iterator[tuple[str, Object]]:
        clock = self._client.transport.clock
        for version, row in tables.rows(body, self._kind, self.columns, clock.now()):
            if clock.ahead and row.created_at is not None:  # its reader counts on by this machine's clock
                row = replace(row, created_at=row.created_at - clock.ahead)
            metadata = {
                "uid": row.uid or f"{row.id.namespace}/{row.id.name}",
                "name": row.id.name,
                "resourceVersion": version,
            }
            yield metadata["uid"], {"kind": "Row", "metadata": metadata, "row": row}

    async def newest_version(self, resource: ApiResource, namespace: str = "") -> str:
        return await self._client.newest_version(resource, namespace)

    @asynccontextmanager
    async def watch(
        self, resource: ApiResource, namespace: str, version: str, *, seconds: int, fields: str = ""
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        if time.monotonic() > self._renew_at:
            raise Expired("its cells say how long ago something was", target=self.place)
        if "watch" not in resource.verbs or not version:
            yield self._listed_again()
            return
        async with AsyncExitStack() as stack:
            watch = self._client.watch(resource, namespace, version, seconds=seconds, accept=tables.ACCEPT)
            try:
                events = self._events(await stack.enter_async_context(watch))
                self.is_watched = True
                self._opened()
            except (Forbidden, NotThere, Rejected):
                events = self._listed_again()
            try:
                yield events
            finally:
                if self.is_watched:
                    self.is_watched, self.listed_at = False, datetime.now(UTC)

    async def _listed_again(self) -> AsyncIterator[WatchEvent]:
        await asyncio.sleep(LIST_AGAIN_SECONDS)
        for each in _NO_EVENTS:
            yield each
        raise Expired("it may be listed, not watched", target=self.place)

    async def _events(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            try:
                found = self._event(event)
            except _UNREADABLE:
                raise RuntimeFailure("a watch sent something that is no table", target=self.place) from None
            if found is not None:
                yield found

    def _event(self, event: WatchEvent) -> WatchEvent | None:
        body = event.object
        shown = tables.columns(body)
        if shown and shown != self.columns:
            raise Expired("its columns are others now", target=self.place)
        if event.type == "BOOKMARK":
            return WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": _version_of(body)}})
        uid, found = next(iter(self._objects(body)))
        if not self.is_whole and uid not in self._listed:
            return None  # one of those that there was no room for
        return WatchEvent(event.type, found)


def _version_of(body: Any) -> str:
    own = (body.get("metadata") or {}).get("resourceVersion")
    inner = [each["object"]["metadata"].get("resourceVersion") for each in body.get("rows") or () if not own]
    return str(own or next(iter(inner), "") or "")
