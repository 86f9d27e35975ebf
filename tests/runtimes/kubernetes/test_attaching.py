"""Programs in containers and ports of pods over websockets: a scripted server, and the sandbox."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from runtimes.base import Forbidden, Moved, NotThere, PodTarget, RuntimeFailure, Unreachable
from runtimes.base.terminals import Ended, ExecRequest
from runtimes.kubernetes.attaching import PROTOCOL, connecting, executing
from tests.runtimes.kubernetes.conftest import Place
from tests.runtimes.kubernetes.test_informer import CONFIG, PODS
from tests.runtimes.kubernetes.test_log_feed import client_of
from tests.runtimes.kubernetes.test_operations import running

POD = PodTarget("shop", "front", "1")
RUN = ExecRequest(POD, "app", ("sh", "-c", "echo $HOME"), 132, 43)


def failed(message: str, *causes: dict[str, str]) -> bytes:
    return json.dumps({"status": "Failure", "message": message, "details": {"causes": list(causes)}}).encode()


class Kubelet:
    """What a kubelet does behind the API server: a program that answers what is typed, and a port that echoes."""

    def __init__(self) -> None:
        self.asked: list[list[tuple[str, str]]] = []
        self.sizes: list[dict[str, int]] = []
        self.refuse: web.Response | None = None
        self.protocols: tuple[str, ...] = (PROTOCOL,)
        self.elsewhere = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/api/v1":
            return web.json_response(PODS)
        if request.path == "/elsewhere":
            self.elsewhere += 1
        if request.path.endswith("/front"):
            return web.json_response(
                {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "front", "namespace": "shop", "uid": "1"}}
            )
        if self.refuse is not None:
            refused = self.refuse
            return web.Response(status=refused.status, body=refused.body, headers=refused.headers.copy())
        self.asked.append(list(request.query.items()))
        socket = web.WebSocketResponse(protocols=self.protocols)
        await socket.prepare(request)
        await (self._run(socket) if request.path.endswith("/exec") else self._port(socket))
        return socket

    async def _run(self, socket: web.WebSocketResponse) -> None:
        async for message in socket:
            channel, content = message.data[0], message.data[1:]
            if channel == 4:
                self.sizes.append(json.loads(content))
                await socket.send_bytes(b"\x01$ ")
            elif content == b"exit 3\r":
                exit_code = {"reason": "ExitCode", "message": "3"}
                await socket.send_bytes(b"\x03" + failed("command terminated with non-zero exit code", exit_code))
                return
            elif content == b"exit\r":
                await socket.send_bytes(b"\x03" + b'{"status": "Success"}')
                return
            elif content == b"vanish\r":
                return
            else:
                await socket.send_bytes(b"\x02")
                await socket.send_bytes(b"\x01" + content.upper())

    async def _port(self, socket: web.WebSocketResponse) -> None:
        port = struct.pack("<H", 8080)
        await socket.send_bytes(b"\x00" + port)
        await socket.send_bytes(b"\x01" + port)
        async for message in socket:
            if message.data[1:] == b"break":
                await socket.send_bytes(b"\x01connection refused in the pod")
            elif message.data[1:] == b"end":
                return
            else:
                await socket.send_bytes(b"\x00" + message.data[1:][::-1])


@pytest.fixture
def kubelet() -> Kubelet:
    return Kubelet()


@pytest.fixture
async def client(kubelet: Kubelet, tmp_path: Path) -> AsyncIterator[Any]:
    runner = web.ServerRunner(web.Server(kubelet.answer), handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    (tmp_path / "config").write_text(CONFIG.format(server=f"http://127.0.0.1:{runner.addresses[0][1]}"))
    try:
        async with client_of(tmp_path / "config") as found:
            yield found
    finally:
        await runner.cleanup()


async def test_what_is_typed_goes_to_the_program_and_what_it_writes_comes_back(kubelet: Kubelet, client: Any) -> None:
    async with asyncio.timeout(10), executing(client, RUN) as terminal:
        assert await terminal.read() == b"$ "
        await terminal.write(b"echo x")
        assert await terminal.read() == b"ECHO X", "an empty message is no end"
        await terminal.resize(80, 24)
        assert await terminal.read() == b"$ "
        assert terminal.ended is None
        await terminal.write(b"exit 3\r")
        assert await terminal.read() == b""
        assert terminal.ended == Ended(3, "command terminated with non-zero exit code")
    assert kubelet.sizes == [{"Width": 132, "Height": 43}, {"Width": 80, "Height": 24}]
    query = kubelet.asked[0]
    assert [each for name, each in query if name == "command"] == ["sh", "-c", "echo $HOME"]
    assert ("container", "app") in query and ("tty", "true") in query and ("stdin", "true") in query


@pytest.mark.parametrize(
    ("typed", "ended"),
    [(b"exit\r", Ended(0)), (b"vanish\r", Ended(None, "the connection ended, and nobody said how the program did"))],
)
async def test_how_a_program_ended_is_said_or_that_nobody_knows(client: Any, typed: bytes, ended: Ended) -> None:
    async with asyncio.timeout(10), executing(client, RUN) as terminal:
        await terminal.read()
        await terminal.write(typed)
        assert await terminal.read() == b"" and terminal.ended == ended


FORBIDDEN = 'pods "front" is forbidden: User "ann" cannot create resource "pods/exec" in API group ""'
STATUS = {"kind": "Status", "status": "Failure"}


@pytest.mark.parametrize(
    ("status", "body", "headers", "failure", "said"),
    [
        (
            403,
            {**STATUS, "message": FORBIDDEN, "reason": "Forbidden", "code": 403},
            {},
            Forbidden,
            "cannot create",
        ),
        (
            404,
            {**STATUS, "message": "pods front not found", "reason": "NotFound", "code": 404},
            {},
            NotThere,
            "not found",
        ),
        (307, {}, {"Location": "/elsewhere"}, Unreachable, "not followed"),
        (200, {}, {}, RuntimeFailure, "opens no websocket"),
    ],
)
async def test_what_the_server_refuses_is_told_in_its_words_and_nothing_is_followed(
    kubelet: Kubelet, client: Any, status: int, body: dict[str, Any], headers: dict[str, str], failure: type, said: str
) -> None:
    kubelet.refuse = web.json_response(body, status=status, headers=headers)
    with pytest.raises(failure, match=said):
        async with executing(client, RUN):
            raise AssertionError("it was opened")
    assert kubelet.elsewhere == 0 and kubelet.asked == []


async def test_a_server_without_the_protocol_and_another_pod_of_the_name_are_left_alone(
    kubelet: Kubelet, client: Any
) -> None:
    other = ExecRequest(PodTarget("shop", "front", "2"), "app", ("sh",))
    with pytest.raises(Moved, match="made again"):
        async with executing(client, other):
            raise AssertionError("it was opened")
    assert kubelet.asked == []
    kubelet.protocols = ("v9.other",)
    with pytest.raises(Unreachable, match=r"v4\.channel"):
        async with executing(client, RUN):
            raise AssertionError("it was opened")


async def test_bytes_go_to_a_port_and_come_back_without_its_headers(kubelet: Kubelet, client: Any) -> None:
    async with asyncio.timeout(10), connecting(client, POD, 8080) as port:
        await port.write(b"abc")
        assert await port.read() == b"cba"
        await port.write(b"x" * 40_000)
        assert len(await port.read() + await port.read() + await port.read()) == 40_000
        await port.write(b"end")
        assert await port.read() == b""
    assert kubelet.asked == [[("ports", "8080")]]
    async with asyncio.timeout(10), connecting(client, POD, 8080) as port:
        await port.write(b"break")
        with pytest.raises(RuntimeFailure, match="port 8080: connection refused in the pod"):
            await port.read()


async def test_the_sandbox_says_that_nothing_runs_there(place: Place) -> None:
    if place.sandbox is None:
        pytest.skip("a real cluster runs containers")
    await place.apply(place.deployment(replicas=1))
    pods = (await running(place, place.runtime.operations, 1)).pods
    pod = PodTarget(pods[0].namespace, pods[0].name, pods[0].uid)
    with pytest.raises(RuntimeFailure, match="nothing runs in"):
        async with place.runtime.execute(ExecRequest(pod, "main", ("sh",))):
            raise AssertionError("it was opened")
    with pytest.raises(RuntimeFailure, match="nothing runs in"):
        async with place.runtime.connect_port(pod, 80):
            raise AssertionError("it was opened")
