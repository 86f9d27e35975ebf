"""Listing live objects of any kind, in a few clusters at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from kcl.records import replace
from workbench.session.opened import Opened

if TYPE_CHECKING:
    # The engine pulls in the language, asyncio much else; a session that only lists stacks must not pay for them.
    import asyncio

    from runtimes.base import KubernetesId, Resource, RuntimeFailure
    from runtimes.base.logs import LogQuery, LogReport
    from runtimes.base.metrics import Usage
    from runtimes.base.relations import Relations
    from runtimes.base.tables import Listable, LiveKind, LiveKinds, LiveTable, TableReport
    from workbench.engine.live import Listing, LiveObject
    from workbench.engine.spec import Spec

_CONNECT_AGAIN_SECONDS = 5.0


def _object(id_: KubernetesId, resource: Resource) -> dict[str, Any]:
    """The body of a resource as a cluster would name it: with the namespace that the Spec puts it in."""
    metadata = resource.attributes.get("metadata")
    named = {**(metadata if isinstance(metadata, Mapping) else {}), "name": id_.name, "namespace": id_.namespace}
    return {**resource.attributes, "apiVersion": id_.api_version, "kind": id_.kind, "metadata": named}


class ListingLive(Opened):
    """Writes nothing."""

    async def find_kind(self, name: str, clusters: Sequence[str]) -> LiveKind:
        """Returns the kind that goes by this name in any of the clusters, as kubectl would find it.

        Raises `UnknownKind`, and `RuntimeFailure` where none of the clusters answers.
        """
        from runtimes.base import RuntimeFailure
        from workbench.engine.live import find_kind, unknown_kind

        found = await self._kinds(clusters)
        failures = [each for each in found.values() if isinstance(each, RuntimeFailure)]
        if failures and len(failures) == len(found):
            with self._masking_failures():
                raise failures[0]
        kinds = [
            kind for name in clusters if not isinstance(each := found[name], RuntimeFailure) for kind in each.kinds
        ]
        kind = find_kind(name, kinds)
        if kind is None:
            silent = [name for name, each in found.items() if isinstance(each, RuntimeFailure)]
            away = [
                f"the server behind {version} of {name} ({why})" if why else f"the server behind {version} of {name}"
                for name, each in found.items()
                if not isinstance(each, RuntimeFailure)
                for version, why in each.silent.items()
            ]
            raise unknown_kind(name, kinds, [*silent, *away])
        return kind

    async def kind_names(self, clusters: Sequence[str]) -> tuple[str, ...]:
        """Returns by what names the kinds go that clusters serve, as far as they answer."""
        from runtimes.base import RuntimeFailure

        every = (each for each in (await self._kinds(clusters)).values() if not isinstance(each, RuntimeFailure))
        return tuple(sorted({name for found in every for kind in found.kinds for name in kind.names}))

    async def _kinds(self, clusters: Sequence[str]) -> dict[str, LiveKinds | RuntimeFailure]:
        import anyio

        from runtimes.base import RuntimeFailure

        found: dict[str, LiveKinds | RuntimeFailure] = {}

        async def ask(cluster: str) -> None:
            try:
                found[cluster] = await (await self._listable(cluster)).kinds()
            except RuntimeFailure as error:
                found[cluster] = error

        async with anyio.create_task_group() as tasks:
            for cluster in clusters:
                tasks.start_soon(ask, cluster)
        return found

    @asynccontextmanager
    async def follow_live(
        self, kind: LiveKind, clusters: Sequence[str], namespaces: Sequence[str] = ()
    ) -> AsyncIterator[AsyncIterator[tuple[Listing, ...]]]:
        """Lists a kind in each of the clusters, in all namespaces where none is named, and keeps the lists up to date.

        Gives all listings after each change, the latest alone to a slow reader. Raises nothing of its own: what a
        cluster refuses or does not answer is in its listing.
        """
        import asyncio

        feed = _LiveFeed(clusters)
        tasks = [asyncio.create_task(self._follow(kind, each, namespaces, feed)) for each in clusters]
        feed.tasks = tasks
        for each in tasks:
            each.add_done_callback(lambda _: feed.changed.set())
        try:
            yield feed
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, kind: LiveKind, cluster: str, namespaces: Sequence[str], feed: _LiveFeed) -> None:
        import anyio
        import anyio.to_thread

        from runtimes.base import RuntimeFailure
        from runtimes.base.tables import TableReport
        from workbench.engine.live import TableScrubber
        from workbench.engine.scrubbing import masked_failure
        from workbench.project.masking import read_masking

        rules, scrubber = read_masking(self._root), TableScrubber()
        while True:
            try:
                async with (await self._listable(cluster)).follow(kind, namespaces) as reports:
                    async for report in reports:
                        table = report.table and await anyio.to_thread.run_sync(
                            scrubber.scrubbed, report.table, self._secrets, rules
                        )
                        failure = masked_failure(report.failure, self._secrets, rules)
                        feed.take(cluster, replace(report, failure=failure), table)
            except RuntimeFailure as error:
                feed.take(cluster, TableReport(failure=masked_failure(error, self._secrets, rules)), None)
            await anyio.sleep(_CONNECT_AGAIN_SECONDS)

    async def read_live(self, cluster: str, id_: KubernetesId, *, with_events: bool = True) -> LiveObject | None:
        """Returns one object with who owns its fields and what was reported of it; None if it is not there.

        Raises `RuntimeFailure` where it can't be read; events that can't be are said in the object.
        """
        from runtimes.base import ReadRequest, Resource, RuntimeFailure, RuntimeType
        from workbench.engine.live import shown
        from workbench.engine.masking import secret_values
        from workbench.engine.scrubbing import masked_failure, scrubbed
        from workbench.project.masking import read_masking

        rules = read_masking(self._root)
        at = self._now()
        with self._masking_failures():
            live = await (await self._connections.runtime(cluster)).read(ReadRequest(id_))
        if live is None:
            return None
        self._secrets |= secret_values([Resource(id_, RuntimeType.KUBERNETES, live.body)], rules)
        found = shown(cluster, live, at, self._secrets, rules)
        if not with_events:
            return found
        try:
            events = await (await self._listable(cluster)).events(id_, live.identity.uid)
        except RuntimeFailure as error:
            return replace(found, events_failure=masked_failure(error, self._secrets, rules))
        return replace(found, events=scrubbed(events, self._secrets, rules))

    async def usage(
        self, kind: LiveKind, cluster: str, namespaces: Sequence[str] = ()
    ) -> Mapping[tuple[str, str], Usage] | None:
        """Returns what pods or nodes use, by namespace and name; None where nothing there measures it.

        Raises `RuntimeFailure` where it can't be read.
        """
        from runtimes.base.metrics import Measurable

        with self._masking_failures():
            runtime = await self._connections.runtime(cluster)
            return await runtime.usage(kind, namespaces) if isinstance(runtime, Measurable) else None

    def relations_in(self, spec: Spec, id_: KubernetesId) -> Relations:
        """Returns what one object of a Spec has to do with the others of it. Asks no cluster: what only a cluster has
        is not in it, and of what the Spec does not have it is not known whether it is there."""
        from runtimes.base import KubernetesId
        from runtimes.base.relations import Relations
        from runtimes.kubernetes.relations import among
        from workbench.engine.scrubbing import scrubbed

        objects = {each.id: _object(each.id, each) for each in spec if isinstance(each.id, KubernetesId)}
        live = objects.get(id_)
        found = among(live, objects.values()) if live is not None else Relations()
        return scrubbed(found, spec.secrets, spec.rules)

    async def relations(self, cluster: str, id_: KubernetesId) -> Relations | None:
        """Returns what one object has to do with others; None if it is not there.

        Raises `RuntimeFailure` where it can't be read; kinds that can't be looked into are in the answer.
        """
        from runtimes.base import Misconfigured
        from runtimes.base.relations import Relatable
        from workbench.engine.scrubbing import masked_failure, scrubbed
        from workbench.project.masking import read_masking

        runtime = await self._connections.runtime(cluster)
        if not isinstance(runtime, Relatable):
            raise Misconfigured("does not say how objects are related", target=cluster)
        with self._masking_failures():
            found = await runtime.relations(id_)
        if found is None:
            return None
        rules = read_masking(self._root)
        refused = ((kind, masked_failure(each, self._secrets, rules) or each) for kind, each in found.not_known)
        return scrubbed(replace(found, not_known=tuple(refused)), self._secrets, rules)

    @asynccontextmanager
    async def follow_logs(self, cluster: str, query: LogQuery) -> AsyncIterator[AsyncIterator[LogReport]]:
        """Gives what containers write as it comes, secrets masked. Raises `RuntimeFailure` where the cluster can't be
        reached at all; what happens later is in the reports."""
        import anyio.to_thread

        from runtimes.base import Misconfigured
        from runtimes.base.logs import LogFollowable
        from workbench.engine.logs import shown
        from workbench.project.masking import read_masking

        runtime = await self._connections.runtime(cluster)
        if not isinstance(runtime, LogFollowable):
            raise Misconfigured("gives no logs", target=cluster)
        rules = read_masking(self._root)

        async def masked(reports: AsyncIterator[LogReport]) -> AsyncIterator[LogReport]:
            async for each in reports:
                yield await anyio.to_thread.run_sync(shown, each, self._secrets, rules)

        with self._masking_failures():
            async with runtime.follow_logs(query) as reports:
                yield masked(reports)

    @asynccontextmanager
    async def follow_logs_together(
        self, queries: Sequence[tuple[str, LogQuery]]
    ) -> AsyncIterator[AsyncIterator[LogReport]]:
        """As `follow_logs`, of several in their clusters, in the order the lines come; a cluster that can't be reached
        is asked again, and keeps the others from nothing."""
        from functools import partial

        import anyio

        from runtimes.base import RuntimeFailure
        from runtimes.base.logs import LogReport
        from workbench.engine.logs import Together
        from workbench.engine.tasks import running

        together = Together([cluster for cluster, _ in queries])
        send, receive = anyio.create_memory_object_stream[LogReport](0)

        async def feed(number: int, cluster: str, query: LogQuery) -> None:
            while True:
                try:
                    async with self.follow_logs(cluster, query) as reports:
                        async for each in reports:
                            await send.send(together.take(number, each))
                        return
                except RuntimeFailure as failure:
                    await send.send(together.take(number, LogReport(failure=failure)))
                await anyio.sleep(_CONNECT_AGAIN_SECONDS)

        work = (partial(feed, number, cluster, query) for number, (cluster, query) in enumerate(queries))
        async with send, receive, running(*work):
            yield receive

    async def _listable(self, cluster: str) -> Listable:
        from runtimes.base import Misconfigured
        from runtimes.base.tables import Listable

        runtime = await self._connections.runtime(cluster)
        if not isinstance(runtime, Listable):
            raise Misconfigured("lists no objects of any kind", target=cluster)
        return runtime


class _LiveFeed(AsyncIterator["tuple[Listing, ...]"]):
    tasks: Sequence[asyncio.Task[None]] = ()

    def __init__(self, clusters: Sequence[str]) -> None:
        import asyncio

        from workbench.engine.live import Listing

        self.changed = asyncio.Event()
        self._listings = {each: Listing(each) for each in clusters}

    def take(self, cluster: str, report: TableReport, table: LiveTable | None) -> None:
        self._listings[cluster] = self._listings[cluster].reported(report, table)
        self.changed.set()

    async def __anext__(self) -> tuple[Listing, ...]:
        await self.changed.wait()
        self.changed.clear()
        for each in self.tasks:
            if each.done():
                each.result()  # none ends but by a defect, which is raised
        return tuple(self._listings.values())
