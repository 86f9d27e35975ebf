"""The clusters of a session: connected when a verb first needs one, closed with the session.

The one place that names a concrete runtime, through the registry, which imports the client that it needs.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.project import ClusterMapping, checkout
from workbench.settings import Settings

if TYPE_CHECKING:
    # a session that only lists stacks must not pay for the engine below these
    from runtimes.base import ClusterIdentity, LiveOperations, Runtime, RuntimeFailure

Connect = Callable[[str], "Awaitable[Runtime]"]
"""Gives the runtime of a cluster by the name the repository has for it, or raises `RuntimeFailure`."""


class Connections:
    """`clusters` reads the repository's mapping; `connect` replaces the way they are reached (tests, rehearsals)."""

    def __init__(
        self, root: Path, settings: Settings, clusters: Callable[[], ClusterMapping], connect: Connect | None
    ) -> None:
        self._root, self._settings, self._clusters = root, settings, clusters
        self._connect = connect
        self.open: dict[str, Runtime] = {}

    async def runtime(self, cluster: str) -> Runtime:
        if cluster not in self.open:
            made = await self._connect(cluster) if self._connect else self._connected(cluster)
            self.open.setdefault(cluster, made)
        return self.open[cluster]

    async def operations(self, cluster: str) -> LiveOperations:
        """Returns the verbs over live objects; raises `Misconfigured` where a runtime has none."""
        from runtimes.base import Misconfigured, Operable

        runtime = await self.runtime(cluster)
        if not isinstance(runtime, Operable):
            raise Misconfigured("has no operations on live objects", target=cluster)
        return runtime.operations

    def described(self) -> Mapping[str, ClusterIdentity | RuntimeFailure]:
        """Returns where each name of the repository leads by the kubeconfig, or why not; asks no cluster."""
        from runtimes.registry import described

        contexts = {each.name: each.context or self._settings.context or None for each in self._clusters().clusters}
        return described(_kubeconfig_files(self._settings.kubeconfig), contexts)

    async def close(self) -> None:
        for runtime in self.open.values():
            await runtime.close()
        self.open.clear()

    def _connected(self, cluster: str) -> Runtime:
        from runtimes.base import RuntimeType
        from runtimes.registry import connect

        settings = self._settings
        context = self._clusters().cluster(cluster).context or settings.context
        return connect(
            RuntimeType.KUBERNETES,
            {
                "kubeconfig": _kubeconfig_files(settings.kubeconfig),
                "context": context or None,
                "place": cluster,
                "untrusted": () if settings.allows_exec_credentials else (checkout(self._root),),
            },
        )


def _kubeconfig_files(text: str) -> list[str] | None:
    """Splits what KUBECONFIG holds; None means: where kubectl looks."""
    return [each for each in text.split(os.pathsep) if each] or None
