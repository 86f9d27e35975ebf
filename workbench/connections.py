"""The clusters of a session: connected when a verb first needs one, closed with the session.

The one place that names a concrete runtime, through the registry, which imports the client that it needs.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

from workbench.project import ClusterMapping, checkout
from workbench.settings import Settings
from workbench.trust import Trust

if TYPE_CHECKING:
    # a session that only lists stacks must not pay for the engine below these
    import asyncio

    from runtimes.base import ClusterIdentity, LiveOperations, Runtime, RuntimeFailure
    from workbench.release.in_bucket import BucketKeeper

_MOMENT_SECONDS = 2.0

Connect = Callable[[str], "Awaitable[Runtime]"]
"""Gives the runtime of a cluster by the name the repository has for it, or raises `RuntimeFailure`."""
Labels = Callable[[], Mapping[str, str]]
"""Gives the labels of what is wanted; none once nobody wants it any more."""


class Connections:
    """`clusters` reads the repository's mapping; `connect` replaces the way they are reached (tests, rehearsals)."""

    def __init__(
        self, trust: Trust, settings: Settings, clusters: Callable[[], ClusterMapping], connect: Connect | None
    ) -> None:
        self._trust, self._settings, self._clusters = trust, settings, clusters
        self._connect = connect
        self.may_compare = False
        """Whether an untrusted repository's objects may be compared with live ones, because the user asked for it."""
        self.open: dict[str, Runtime] = {}
        self._opened_at = 0.0
        """When the first of them was connected, by the monotonic clock."""
        self._bucket: BucketKeeper | None = None
        self._loaded: threading.Event | None = None
        """Set once the client is imported; None where nobody imports it ahead."""
        self._preparing: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._is_discarded = False
        """Whether who clusters are asked ahead for is done, which may be before the client is imported."""

    def prepare(
        self,
        clusters: Iterable[str],
        labels: Labels,
        besides: Callable[[], object],
        then: Callable[[], object] = lambda: None,
    ) -> None:
        """Has clusters asked what they are asked first, while who will ask waits for something else.

        That is which they are, what they serve, and what carries these labels, if there are any by then.

        That is once, before any is connected: the client is imported in a thread, and then what `besides` imports;
        after that the event loop calls `then`. What fails is met again by who asks. To be called on that loop.
        """
        if self._loaded is not None or self._connect is not None or self.open:
            return
        import asyncio

        loaded, loop, names = threading.Event(), asyncio.get_running_loop(), tuple(clusters)
        self._loaded = loaded

        def load() -> None:
            try:
                _load_client()
            finally:
                loaded.set()
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._begin, names, labels)
            with suppress(Exception):  # as for the client
                besides()
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._go_on, then)

        threading.Thread(target=load, name="wb-client").start()

    def _begin(self, clusters: Iterable[str], labels: Labels) -> None:
        import asyncio

        if self._is_closed or self._is_discarded:
            return  # while the client was imported: nobody would close what is opened now
        for each in clusters:
            task = asyncio.ensure_future(self._prepared(each, labels))
            self._preparing.add(task)
            task.add_done_callback(self._preparing.discard)

    def _go_on(self, then: Callable[[], object]) -> None:
        if not self._is_closed and not self._is_discarded:
            with suppress(Exception):  # as for the client
                then()

    async def _prepared(self, cluster: str, labels: Labels) -> None:
        from runtimes.base import Preparable

        with suppress(Exception):  # who asks meets it again, and reports it
            runtime = await self.runtime(cluster)
            if isinstance(runtime, Preparable):
                await runtime.prepare(labels)

    def discard_prepared(self) -> None:
        """Has the next who asks a cluster answered anew: who it was asked ahead for is done, or has failed."""
        self._is_discarded = True
        if not self.open:
            return
        from runtimes.base import Preparable

        for each in self.open.values():
            if isinstance(each, Preparable):
                each.discard_prepared()

    async def runtime(self, cluster: str) -> Runtime:
        self._refuse_untrusted(cluster)
        if cluster not in self.open:
            self._opened_at = self._opened_at or time.monotonic()
            made = await self._connect(cluster) if self._connect else self._connected(cluster)
            if self.open.setdefault(cluster, made) is not made:
                await made.close()  # somebody else was faster
        return self.open[cluster]

    def bucket(self) -> BucketKeeper:
        """Returns the bucket that the user names for releases; raises `Misconfigured` as `runtime` does."""
        url = self._settings.releases_bucket
        assert url is not None, "who asks has looked"
        self._refuse_untrusted(str(url))
        if self._bucket is None:
            from workbench.release.in_bucket import BucketKeeper

            self._bucket = BucketKeeper(url)
        return self._bucket

    def _refuse_untrusted(self, place: str) -> None:
        if self._trust.untrusted and not self.may_compare:
            from runtimes.base import Misconfigured

            said = self._trust.refusal("no cluster was contacted, so nothing is compared")
            raise Misconfigured(said, target=place, hint=f"--server-dry-run asks it; {self._trust.lifting}")

    async def operations(self, cluster: str) -> LiveOperations:
        """Returns the verbs over live objects; raises `Misconfigured` where a runtime has none."""
        from runtimes.base import Misconfigured, Operable

        runtime = await self.runtime(cluster)
        if not isinstance(runtime, Operable):
            raise Misconfigured("has no operations on live objects", target=cluster)
        return runtime.operations

    def described(self) -> Mapping[str, ClusterIdentity | RuntimeFailure]:
        """Returns where each name of the repository leads, or why not; asks no cluster.

        A cluster that is connected is the one that this session goes to, whatever the files say by now.
        """
        return {**self._by_files(), **self._ways()}

    def led_elsewhere_meanwhile(self) -> tuple[str, ...]:
        """As `led_elsewhere`, of one that was connected for something else, and not a moment ago for this."""
        return self.led_elsewhere() if time.monotonic() - self._opened_at > _MOMENT_SECONDS else ()

    def led_elsewhere(self) -> tuple[str, ...]:
        """Says of each cluster that is connected whether its name leads elsewhere by now, or nowhere."""
        from runtimes.base import ClusterIdentity, RuntimeFailure

        if not (ways := self._ways()):
            return ()
        now, said = self._by_files(), list[str]()
        for name, way in ways.items():
            match now.get(name):
                case ClusterIdentity() as other if (other.context, other.server, other.user) != _shown(way):
                    said.append(f"{name} leads to {_named(other)} now; this session stays with {_named(way)}")
                case None:
                    said.append(f"clusters.yaml names no {name} any more; this session stays with {_named(way)}")
                case RuntimeFailure() as failure:
                    said.append(f"{name} leads nowhere now, {failure.message}; this session stays with {_named(way)}")
        return tuple(said)

    def _by_files(self) -> Mapping[str, ClusterIdentity | RuntimeFailure]:
        from runtimes.registry import described

        contexts = {each.name: each.context or self._settings.context or None for each in self._clusters().clusters}
        return described(_kubeconfig_files(self._settings.kubeconfig), contexts)

    def _ways(self) -> Mapping[str, ClusterIdentity]:
        if not self.open:
            return {}
        from runtimes.base import Connected

        return {name: each.way for name, each in self.open.items() if isinstance(each, Connected)}

    async def close(self) -> None:
        """Closes every one, whatever becomes of the others: who closes may be interrupted."""
        self._is_closed = True
        async with AsyncExitStack() as closing:
            for task in self._preparing:
                task.cancel()
            for runtime in self.open.values():
                closing.push_async_callback(runtime.close)
            self.open.clear()
            if self._preparing:
                import asyncio

                await asyncio.gather(*self._preparing, return_exceptions=True)

    def _connected(self, cluster: str) -> Runtime:
        from runtimes.base import RuntimeType
        from runtimes.registry import connect

        if self._loaded is not None:
            self._loaded.wait()  # two threads that import the same modules may see halves of them
        settings, trust = self._settings, self._trust
        has_consent = settings.allows_exec_credentials and not trust.untrusted
        context = self._clusters().cluster(cluster).context or settings.context
        return connect(
            RuntimeType.KUBERNETES,
            {
                "kubeconfig": _kubeconfig_files(settings.kubeconfig),
                "context": context or None,
                "place": cluster,
                "untrusted": () if has_consent else (checkout(trust.root),),
                "trusted_kubeconfigs": trust.trusted_kubeconfigs(),
            },
        )


def _shown(way: ClusterIdentity) -> tuple[str, str, str]:
    """Whoever acts for another user is told of by the connection alone."""
    return way.context, way.server, way.user.partition(" for ")[0]


def _named(way: ClusterIdentity) -> str:
    return f"context {way.context}, {way.server} as {way.user}"


def _load_client() -> None:
    from runtimes.base import RuntimeType
    from runtimes.registry import load

    with suppress(Exception):  # who connects meets it again, and reports it
        load(RuntimeType.KUBERNETES)


def _kubeconfig_files(text: str) -> list[str] | None:
    """Splits what KUBECONFIG holds; None means: where kubectl looks."""
    return [each for each in text.split(os.pathsep) if each] or None
