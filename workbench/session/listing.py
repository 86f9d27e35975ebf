"""Listing live objects of any kind, in a few clusters at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.session.opened import Opened

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from runtimes.base import KubernetesId
    from runtimes.base.tables import Listable, LiveKind
    from workbench.engine.live import Listing, LiveObject


class ListingLive(Opened):
    """Writes nothing."""

    async def find_kind(self, name: str, clusters: Sequence[str]) -> LiveKind:
        """Returns the kind that goes by this name in any of the clusters, as kubectl would find it.

        Raises `UnknownKind`, and `RuntimeFailure` where none of the clusters answers.
        """
        import anyio

        from runtimes.base import RuntimeFailure
        from workbench.engine.live import find_kind, unknown_kind

        found: dict[str, tuple[LiveKind, ...] | RuntimeFailure] = {}

        async def ask(cluster: str) -> None:
            try:
                found[cluster] = await (await self._listable(cluster)).kinds()
            except RuntimeFailure as error:
                found[cluster] = error

        async with anyio.create_task_group() as tasks:
            for cluster in clusters:
                tasks.start_soon(ask, cluster)
        silent = {name: each for name, each in found.items() if isinstance(each, RuntimeFailure)}
        if silent and len(silent) == len(found):
            raise next(iter(silent.values()))
        kinds = [kind for name in clusters if not isinstance(each := found[name], RuntimeFailure) for kind in each]
        kind = find_kind(name, kinds)
        if kind is None:
            raise unknown_kind(name, kinds, silent)
        return kind

    async def list_live(
        self, kind: LiveKind, clusters: Sequence[str], namespaces: Sequence[str] = ()
    ) -> tuple[Listing, ...]:
        """Lists a kind in each of the clusters, in all namespaces where none is named. Raises nothing of its own:
        what a cluster refuses or does not answer is in its listing."""
        import anyio

        from runtimes.base import RuntimeFailure
        from workbench.engine.live import Listing, merged
        from workbench.engine.scrubbing import scrubbed
        from workbench.project.masking import read_masking

        found: dict[str, Listing] = {}
        rules = read_masking(self._root)
        where = tuple(namespaces) if kind.is_namespaced and namespaces else ("",)

        async def ask(cluster: str) -> None:
            at = self._now()
            try:
                listable = await self._listable(cluster)
                table = merged([await listable.table(kind, each) for each in where])
                found[cluster] = Listing(cluster, at, scrubbed(table, self._secrets, rules), at)
            except RuntimeFailure as error:
                found[cluster] = Listing(cluster, at, failure=error)

        async with anyio.create_task_group() as tasks:
            for each in clusters:
                tasks.start_soon(ask, each)
        return tuple(found[each] for each in clusters)

    async def read_live(self, cluster: str, id_: KubernetesId) -> LiveObject | None:
        """Returns one object with who owns its fields and what was reported of it; None if it is not there.

        Raises `RuntimeFailure` where it can't be read; events that can't be are said in the object.
        """
        from dataclasses import replace

        from runtimes.base import ReadRequest, Resource, RuntimeFailure, RuntimeType
        from workbench.engine.live import shown
        from workbench.engine.masking import secret_values
        from workbench.engine.scrubbing import scrubbed
        from workbench.project.masking import read_masking

        rules = read_masking(self._root)
        at = self._now()
        live = await (await self._connections.runtime(cluster)).read(ReadRequest(id_))
        if live is None:
            return None
        self._secrets |= secret_values([Resource(id_, RuntimeType.KUBERNETES, live.body)], rules)
        found = shown(cluster, live, at, self._secrets, rules)
        try:
            events = await (await self._listable(cluster)).events(id_, live.identity.uid)
        except RuntimeFailure as error:
            return replace(found, events_failure=error)
        return replace(found, events=scrubbed(events, self._secrets, rules))

    async def _listable(self, cluster: str) -> Listable:
        from runtimes.base import Misconfigured
        from runtimes.base.tables import Listable

        runtime = await self._connections.runtime(cluster)
        if not isinstance(runtime, Listable):
            raise Misconfigured("lists no objects of any kind", target=cluster)
        return runtime
