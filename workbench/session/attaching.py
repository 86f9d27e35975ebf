"""Programs in containers, and ports of pods on this machine: guarded and audited as acts on live objects are.

The audit trail has who, where and when; not what was typed, which may be a secret.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from kcl.records import dataclass, field
from workbench.session.acting import Acting

if TYPE_CHECKING:
    # The engine pulls in the language, asyncio much else; a session that only lists stacks must not pay for them.
    import asyncio

    from runtimes.base import KubernetesId, PodTarget
    from runtimes.base.terminals import Attachable, ExecRequest, RemotePort, RemoteTerminal

LOOPBACK = "127.0.0.1"
_CHUNK_BYTES = 16_384


@dataclass(slots=True)
class Forward:
    """A port of a pod on this machine: on loopback alone. `failure` is why the last connection to the pod broke."""

    cluster: str
    pod: PodTarget
    port: int
    local: int
    since: datetime
    connections: int = 0
    opened: int = 0
    failure: str = ""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, repr=False)


class Attaching(Acting):
    @asynccontextmanager
    async def execute_live(self, cluster: str, request: ExecRequest) -> AsyncIterator[RemoteTerminal]:
        """Starts a program in a container, with a terminal. Leaving ends the connection.

        Raises `Refused` (read-only) and `Moved` before anything is started, else the `RuntimeFailure` of the cluster.
        """
        runtime = await self._allowed(cluster, request.pod)
        async with self._noted("exec", cluster, request.pod, f"container {request.container or 'that is the default'}"):
            with self._masking_failures():
                async with runtime.execute(request) as remote:
                    yield remote

    @asynccontextmanager
    async def forward_port(self, cluster: str, pod: PodTarget, port: int, local: int) -> AsyncIterator[Forward]:
        """Listens on a port of this machine, and connects each caller to a port of the pod until it is left.

        Raises as `execute_live`, and `Misconfigured` where nothing can listen there.
        """
        import asyncio

        from runtimes.base import Misconfigured

        runtime = await self._allowed(cluster, pod)
        found = Forward(cluster, pod, port, local, self._now())

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None, "a server runs each caller in a task"
            found._tasks.add(task)
            try:
                await self._carry(runtime, found, reader, writer)
            finally:
                found._tasks.discard(task)

        try:
            server = await asyncio.start_server(serve, LOOPBACK, local)
        except (OSError, OverflowError) as error:
            said = (
                f"nothing can listen on {LOOPBACK}:{local}: {error.strerror if isinstance(error, OSError) else error}"
            )
            raise Misconfigured(said, target=cluster, hint=f"choose another: forward {port}:LOCAL") from None
        try:
            found.local = int(server.sockets[0].getsockname()[1])
            async with self._noted("forward", cluster, pod, f"port {port} on {LOOPBACK}:{found.local}"):
                yield found
        finally:
            server.close()
            for each in tuple(found._tasks):
                each.cancel()
            await asyncio.gather(*found._tasks, return_exceptions=True)

    async def _carry(
        self, runtime: Attachable, found: Forward, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        from runtimes.base import RuntimeFailure

        found.connections += 1
        found.opened += 1
        try:
            with self._masking_failures():
                async with runtime.connect_port(found.pod, found.port) as remote:
                    await _pipe(remote, reader, writer)
            found.failure = ""
        except RuntimeFailure as failure:
            found.failure = str(failure)
        except OSError:
            pass  # the caller went away
        finally:
            found.connections -= 1
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _allowed(self, cluster: str, pod: PodTarget) -> Attachable:
        from runtimes.base import Misconfigured
        from runtimes.base.terminals import Attachable
        from workbench.engine.errors import Refused

        id_ = _id(pod)
        with self._masking_failures():
            live = await self._same(cluster, id_, pod.uid)
        tree = self.tree()
        if why := self._why_not(cluster, self._owner(live, tree), tree):
            raise Refused([why], where=cluster)
        runtime = await self._connections.runtime(cluster)
        if not isinstance(runtime, Attachable):
            raise Misconfigured("runs no programs in containers, and forwards no ports", target=cluster)
        return runtime

    @asynccontextmanager
    async def _noted(self, what: str, cluster: str, pod: PodTarget, detail: str) -> AsyncIterator[None]:
        def note(result: str, said: str = "") -> None:
            self.audit().append(
                self._actor(), self._now(), action=f"live {what}", plan="", target=str(_id(pod)), cluster=cluster,
                result=result, detail=said or detail, reason=self.reason,
            )  # fmt: skip

        from runtimes.base import RuntimeFailure

        note("started")
        try:
            yield
        except RuntimeFailure as failure:
            note("failed", type(failure).__name__)
            raise
        except BaseException:
            note("done", f"{detail}, left")
            raise
        note("done")


def _id(pod: PodTarget) -> KubernetesId:
    from runtimes.base import KubernetesId

    return KubernetesId("v1", "Pod", pod.namespace, pod.name)


async def _pipe(remote: RemotePort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carries bytes both ways until the pod ends its side, or the caller goes away."""
    import asyncio

    async def out() -> None:
        while sent := await reader.read(_CHUNK_BYTES):
            await remote.write(sent)
        # a caller may end its side and wait for the answer: the protocol cannot say so to the pod
        await asyncio.Event().wait()

    async def back() -> None:
        while came := await remote.read():
            writer.write(came)
            await writer.drain()

    tasks = (asyncio.create_task(out()), asyncio.create_task(back()))
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
