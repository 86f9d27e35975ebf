"""A TCP proxy that can stop passing anything on, while every connection stands: what a lost route looks like."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import yaml


class Proxy:
    """`swallow` takes bytes and gives none, on connections that stand and on new ones unless `only_old`."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._server: asyncio.Server | None = None
        self._passes = asyncio.Event()
        self._passes.set()
        self._frozen: set[int] = set()
        self._count = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def swallow(self, *, only_old: bool = False) -> None:
        if only_old:
            self._frozen = set(range(self._count + 1))
        else:
            self._passes.clear()

    def pass_on(self) -> None:
        """Passes everything on again; what was frozen alone stays so."""
        self._passes.set()

    def lead_to(self, port: int) -> int:
        """Leads to another server from now on, and breaks all connections; returns where it led before."""
        before, self._target = self._target, port
        for each in self._tasks:
            each.cancel()
        return before

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        tasks = list(self._tasks)
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._count += 1
        number = self._count
        writers = [writer]
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
            writers.append(far_writer)
            await asyncio.gather(self._pump(number, reader, far_writer), self._pump(number, far_reader, writer))
        except OSError:
            pass
        finally:
            for each in writers:
                each.transport.abort()
            self._tasks.discard(task)

    async def _pump(self, number: int, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await source.read(65536):
                await self._passes.wait()
                if number in self._frozen:
                    await asyncio.sleep(3600)
                target.write(chunk)
                await target.drain()
        target.close()


def _redirect(kubeconfig: Path, port: int, to: int) -> None:
    kubeconfig.write_text(kubeconfig.read_text().replace(f":{port}", f":{to}"))


def port_of(kubeconfig: Path, name: str = "") -> int:
    """Returns the port of a cluster, the first one unless it is named."""
    clusters = yaml.safe_load(kubeconfig.read_text())["clusters"]
    found = next(each["cluster"] for each in clusters if name in ("", each["name"]))
    return int(found["server"].rpartition(":")[2])


@asynccontextmanager
async def in_front_of(kubeconfig: Path) -> AsyncIterator[Proxy]:
    """Puts a proxy before the server of a kubeconfig, and itself into the file."""
    port = port_of(kubeconfig)
    proxy = Proxy(port)
    await proxy.start()
    _redirect(kubeconfig, port, proxy.port)
    try:
        yield proxy
    finally:
        await proxy.close()
