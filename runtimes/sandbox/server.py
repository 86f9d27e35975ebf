"""The sandbox: simulated clusters served over HTTP on loopback, several side by side in one process.

    async with Sandbox(clusters=2) as sandbox:
        sandbox.urls                        one base URL a cluster
        sandbox.write_kubeconfig(path)      contexts sandbox-1, sandbox-2, ...

`python -m runtimes.sandbox.server --kubeconfig FILE` serves until SIGINT or SIGTERM and prints one READY line.
No object is kept: a sandbox starts empty and ends with its process. Which cluster it is stays in the kubeconfig that it
writes: started again with the same file, it counts as the same cluster, whose objects somebody took away.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import logging
import os
import secrets
import signal
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from weakref import WeakSet

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.web_protocol import RequestHandler

from kcl import whole_file
from runtimes.base.documents import load_json
from runtimes.sandbox import certificates
from runtimes.sandbox import controllers as controlling
from runtimes.sandbox.api.disturbances import Disturbances
from runtimes.sandbox.api.gateway import Gateway
from runtimes.sandbox.bootstrap import furnish
from runtimes.sandbox.clock import Clock, WallClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.faults import Faults
from runtimes.sandbox.http_or_https import HttpOrHttps
from runtimes.sandbox.limits import GREETING_SECONDS, LARGEST_BODY
from runtimes.sandbox.role_rules import MASTERS
from runtimes.sandbox.users import User

GROUPS: Mapping[str, tuple[str, ...]] = {"admin": (MASTERS,), "alice": (MASTERS,), "viewer": ("viewers",)}
PARENT_SECONDS = 1.0
"""How often a sandbox looks whether the process it serves is still there."""
_UID_EXTENSION = "sandbox.workbench.konfig.io"


class _Speakers:
    """The protocols of one server's connections: each has to ask for something soon after it was made."""

    def __init__(self, server: web.Server) -> None:
        self._server = server
        self.silent: dict[asyncio.BaseProtocol, asyncio.Transport] = {}

    def request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        """As aiohttp makes it, but with room for large objects."""
        self.silent.pop(protocol, None)
        loop = asyncio.get_running_loop()
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=LARGEST_BODY)

    def speak(self) -> asyncio.Protocol:
        protocol = self._server()
        asyncio.get_running_loop().call_later(GREETING_SECONDS, self._end_if_silent, protocol)
        return protocol

    def _end_if_silent(self, protocol: RequestHandler) -> None:
        if self.silent.pop(protocol, None) is not None:
            protocol.force_close()


class Sandbox:
    """Use as an async context manager: entering starts the servers and controllers, leaving stops them.

    `tokens` are bearer tokens by user name: `admin` and `alice` may do everything, `viewer` and any other name what
    roles grant. Without tokens, a random one is made for `admin`. Ports are chosen by the system unless `port` is
    given for the first cluster (the next ones follow). A port understands https and http alike;
    URLs are https, since kubectl sends its token to nothing else, unless `tls` is off.
    """

    def __init__(
        self,
        clusters: int = 1,
        *,
        tokens: Mapping[str, str] | None = None,
        controllers: bool = True,
        clock: Clock | None = None,
        names: Sequence[str] = (),
        port: int = 0,
        seed: int | None = None,
        history: int = 10_000,
        tls: bool = True,
        uids: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`uids` are those of kube-system by name of cluster, by which clients know a cluster again."""
        self.tokens = dict(tokens) if tokens is not None else {"admin": secrets.token_urlsafe(24)}
        users = {token: User(name, GROUPS.get(name, ()), f"{name}-uid") for name, token in self.tokens.items()}
        self.clock = clock or WallClock()
        self.names = [*names, *(f"sandbox-{n}" for n in range(len(names) + 1, clusters + 1))][:clusters]
        self.clusters = [
            Cluster(name, self.clock, history=history, seed=seed, uid=uids.get(name, "")) for name in self.names
        ]
        self._has_controllers, self._port = controllers, port
        self._certificate = certificates.make() if tls else None
        self.gateways = [Gateway(cluster, users) for cluster in self.clusters]
        self.controllers: list[controlling.Controllers] = []
        self.urls: list[str] = []
        self._runners: list[web.ServerRunner] = []
        self._listening: list[asyncio.Server] = []
        self._connections: WeakSet[asyncio.Transport] = WeakSet()

    @property
    def faults(self) -> list[Faults]:
        """Of nodes and Pods, one set a cluster; empty without controllers."""
        return [each.faults for each in self.controllers]

    @property
    def disturbances(self) -> list[Disturbances]:
        """Faults of the API itself, one set a cluster."""
        return [gateway.disturbances for gateway in self.gateways]

    async def __aenter__(self) -> Sandbox:
        try:
            for index, (cluster, gateway) in enumerate(zip(self.clusters, self.gateways, strict=True)):
                furnish(cluster)
                if self._has_controllers:
                    running = controlling.start(cluster, self.clock)
                    self.controllers.append(running)
                    gateway.faults = running.faults
                self.urls.append(await self._serve(gateway, self._port + index if self._port else 0))
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _serve(self, gateway: Gateway, port: int) -> str:
        server = web.Server(gateway.handle, handler_cancellation=True)
        speakers = _Speakers(server)
        server.request_factory = speakers.request
        runner = web.ServerRunner(server, handle_signals=False, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        self._runners.append(runner)
        context = self._certificate.context() if self._certificate else None
        factory: Callable[[], asyncio.Protocol] = speakers.speak
        if context is not None:
            factory = partial(HttpOrHttps, speakers.speak, context, self._connections, speakers.silent)
        listening = await asyncio.get_running_loop().create_server(factory, "127.0.0.1", port)
        self._listening.append(listening)
        host, bound = listening.sockets[0].getsockname()[:2]
        return f"{'https' if context else 'http'}://{host}:{bound}"

    async def close(self) -> None:
        for running in self.controllers:
            running.stop()
        self.controllers.clear()
        for listening in self._listening:
            listening.close()
        self._listening.clear()
        for gateway in self.gateways:
            gateway.close()
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()
        # TLS would wait for the other side's goodbye, longer than the loop may live
        for connection in list(self._connections):
            connection.abort()
        for _ in range(3):  # the loop closes a socket in a later turn
            await asyncio.sleep(0)
        self.urls.clear()

    def kubeconfig(self, user: str = "admin") -> dict[str, object]:
        """A context a cluster, named as it is, for the user; the first is the current one."""
        trust = {}
        if self._certificate:
            trust["certificate-authority-data"] = base64.b64encode(self._certificate.certificate.encode()).decode()
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": self.names[0],
            "preferences": {},
            "clusters": [
                {"name": name, "cluster": {"server": url, **trust, "extensions": [_uid_extension(cluster)]}}
                for name, url, cluster in zip(self.names, self.urls, self.clusters, strict=True)
            ],
            "users": [{"name": f"sandbox-{user}", "user": {"token": self.tokens[user]}}],
            "contexts": [
                {"name": name, "context": {"cluster": name, "user": f"sandbox-{user}"}} for name in self.names
            ],
        }

    def write_kubeconfig(self, path: Path, user: str = "admin") -> None:
        """For its owner's eyes only, since the token is in it. Replaces the file at once or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        whole_file.write(path, json.dumps(self.kubeconfig(user), indent=2).encode())


def _uid_extension(cluster: Cluster) -> dict[str, object]:
    system = cluster.get("namespaces", None, "kube-system")
    return {"name": _UID_EXTENSION, "extension": {"uid": system["metadata"]["uid"]}}


def written_uids(kubeconfig: Path) -> dict[str, str]:
    """Returns the uids that an earlier sandbox wrote, by cluster: served again from the same file, it is the same."""
    found: dict[str, str] = {}
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        for each in load_json(kubeconfig.read_bytes())["clusters"]:
            for extension in each["cluster"]["extensions"]:
                if extension["name"] == _UID_EXTENSION:
                    found[str(each["name"])] = str(uuid.UUID(extension["extension"]["uid"]))
    return found


async def serve(
    kubeconfig: Path,
    *,
    clusters: int = 1,
    names: Sequence[str] = (),
    port: int = 0,
    tokens: Mapping[str, str] | None = None,
    controllers: bool = True,
    seed: int | None = None,
    failing_images: Mapping[str, str] | None = None,
    tls: bool = True,
    parent: int = 0,
) -> None:
    """Serve until SIGINT or SIGTERM. Prints `READY KUBECONFIG URL...` on standard output when clients may come.

    `failing_images` maps patterns of images to behaviours, in all clusters from the start (see faults.py). With
    `parent`, the pid of the process that started this one, it also ends when that one is gone, however it went.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    sandbox = Sandbox(
        clusters,
        names=names,
        port=port,
        tokens=tokens,
        controllers=controllers,
        seed=seed,
        tls=tls,
        uids=written_uids(kubeconfig) if seed is None else {},
    )
    async with sandbox:
        for faults in sandbox.faults:
            for pattern, behaviour in (failing_images or {}).items():
                faults.fail_image(pattern, behaviour)
        sandbox.write_kubeconfig(kubeconfig, "admin" if "admin" in sandbox.tokens else next(iter(sandbox.tokens)))
        sys.stdout.write(f"READY {kubeconfig} {' '.join(sandbox.urls)}\n")
        sys.stdout.flush()
        while not stop.is_set() and parent in (0, os.getppid()):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), PARENT_SECONDS)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m runtimes.sandbox.server", description="Serve simulated clusters.")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="file to write contexts and a token to")
    parser.add_argument("--clusters", type=int, default=1)
    parser.add_argument("--name", action="append", default=[], help="of the first cluster, then of the next")
    parser.add_argument("--port", type=int, default=0, help="of the first cluster; 0 for any free one")
    parser.add_argument("--token", action="append", default=[], metavar="USER=TOKEN")
    parser.add_argument("--no-controllers", action="store_true")
    parser.add_argument("--plain", action="store_true", help="http instead of https; kubectl sends no token to it")
    parser.add_argument("--seed", type=int, help="makes names and uids repeat")
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    tokens = dict(each.split("=", 1) for each in options.token) or None
    asyncio.run(
        serve(
            options.kubeconfig,
            clusters=max(options.clusters, len(options.name)),
            names=options.name,
            port=options.port,
            tokens=tokens,
            controllers=not options.no_controllers,
            seed=options.seed,
            tls=not options.plain,
        )
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
