"""Programs in containers and ports of pods, over the websockets of the API server.

A message is one channel's: its number, then bytes. For a program 0 is what is typed, 1 and 2 what it writes, 3 how it
ended (a Status), 4 the size of the terminal (subprotocol v4.channel.k8s.io). For ports each has two channels, bytes and
errors, which begin with a message of the port's number:
https://github.com/kubernetes/kubernetes/tree/master/staging/src/k8s.io/apimachinery/pkg/util/remotecommand
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from runtimes.base import KubernetesId, Moved, PodTarget, RuntimeFailure
from runtimes.base.documents import load_json
from runtimes.base.terminals import Ended, ExecRequest
from runtimes.kubernetes.client import Client
from runtimes.kubernetes.objects import mapping, mappings, uid_of
from runtimes.kubernetes.transport import Socket

PROTOCOL = "v4.channel.k8s.io"
_INPUT, _OUTPUT, _ERRORS, _END, _SIZE = range(5)
_PORT_BYTES, _PORT_ERRORS = 0, 1
_PORT_HEADER = 2
"""Bytes of the message that each channel of a port begins with."""
_MOST_AT_ONCE = 16_384


@asynccontextmanager
async def executing(client: Client, request: ExecRequest) -> AsyncIterator[Terminal]:
    """See `runtimes.base.terminals.Attachable`."""
    query = [("container", request.container), *(("command", each) for each in request.command)]
    query += [(name, "true") for name in ("stdin", "stdout", "tty")]
    async with client.socket(await _same(client, request.pod), "exec", query, PROTOCOL) as socket:
        terminal = Terminal(socket)
        await terminal.resize(request.columns, request.rows)
        yield terminal


@asynccontextmanager
async def connecting(client: Client, pod: PodTarget, port: int) -> AsyncIterator[Port]:
    """See `runtimes.base.terminals.Attachable`."""
    async with client.socket(await _same(client, pod), "portforward", [("ports", str(port))], PROTOCOL) as socket:
        yield Port(socket, port, client.place)


async def _same(client: Client, pod: PodTarget) -> KubernetesId:
    """These requests have no precondition: the pod is looked at right before."""
    id_ = KubernetesId("v1", "Pod", pod.namespace, pod.name)
    live = await client.get(id_)
    if live is None or uid_of(live) != pod.uid:
        gone = "it is not there any more" if live is None else "it was deleted and made again"
        raise Moved(f"{gone}, since it was looked at", target=client.place, subject=str(id_))
    return id_


class Terminal:
    """See `RemoteTerminal`."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self.ended: Ended | None = None

    async def read(self) -> bytes:
        while self.ended is None:
            message = await self._socket.receive()
            if message is None:
                self.ended = Ended(None, "the connection ended, and nobody said how the program did")
            elif message[:1] in (bytes([_OUTPUT]), bytes([_ERRORS])) and len(message) > 1:
                return message[1:]
            elif message[:1] == bytes([_END]):
                self.ended = _ended(message[1:])
        return b""

    async def write(self, typed: bytes) -> None:
        for start in range(0, len(typed), _MOST_AT_ONCE):
            await self._socket.send(bytes([_INPUT]) + typed[start : start + _MOST_AT_ONCE])

    async def resize(self, columns: int, rows: int) -> None:
        await self._socket.send(bytes([_SIZE]) + json.dumps({"Width": columns, "Height": rows}).encode())


def _ended(content: bytes) -> Ended:
    try:
        status: Any = mapping(load_json(content))
    except ValueError:
        return Ended(None, content[:500].decode("utf-8", "replace"))
    if status.get("status") == "Success":
        return Ended(0)
    causes = mappings(mapping(status.get("details")).get("causes"))
    codes = (str(each.get("message")) for each in causes if each.get("reason") == "ExitCode")
    code = next((each for each in codes if each.isascii() and each.isdigit()), "")
    return Ended(int(code) if code else None, str(status.get("message") or ""))


class Port:
    """See `RemotePort`."""

    def __init__(self, socket: Socket, port: int, place: str) -> None:
        self._socket, self._port, self._place = socket, port, place
        self._headers = {_PORT_BYTES: _PORT_HEADER, _PORT_ERRORS: _PORT_HEADER}

    async def read(self) -> bytes:
        while (message := await self._socket.receive()) is not None:
            if not message:
                continue
            channel, content = message[0], message[1:]
            left = self._headers.get(channel)
            if left is None:
                continue
            self._headers[channel] = max(0, left - len(content))
            content = content[left:]
            if channel == _PORT_ERRORS and content:
                said = content[:500].decode("utf-8", "replace")
                raise RuntimeFailure(f"port {self._port}: {said}", target=self._place)
            if content:
                return content
        return b""

    async def write(self, sent: bytes) -> None:
        for start in range(0, len(sent), _MOST_AT_ONCE):
            await self._socket.send(bytes([_PORT_BYTES]) + sent[start : start + _MOST_AT_ONCE])
