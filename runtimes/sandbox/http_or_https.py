"""HTTP and HTTPS on one port: what the first byte of a connection says decides.

kubectl sends its token only over TLS, and simple scripts would rather not be bothered with certificates that nobody
signed. On loopback both are fine, so a sandbox's port understands both.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio import sslproto
from collections.abc import Callable
from typing import cast
from weakref import WeakSet

from runtimes.sandbox.limits import GREETING_SECONDS, MOST_CONNECTIONS

_TLS_HANDSHAKE = 0x16  # the type of a TLS record that opens a connection (RFC 8446, 5.1)


class HttpOrHttps(asyncio.Protocol):
    """Waits for the first bytes, then hands the connection on: to TLS if they ask for it, else to the server."""

    def __init__(
        self,
        factory: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext,
        connections: WeakSet[asyncio.Transport],
        silent: dict[asyncio.BaseProtocol, asyncio.Transport],
    ) -> None:
        """`connections` is where every connection is entered, so that a server can end those that linger; `silent`
        where those are, by their protocol and the oldest first, that did not ask for anything yet."""
        self._factory, self._context, self._connections, self._silent = factory, context, connections, silent
        self._transport: asyncio.Transport | None = None
        self._greeting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if sum(not each.is_closing() for each in self._connections) >= MOST_CONNECTIONS:
            self._make_room(self._transport)
        self._connections.add(self._transport)
        self._silent[self] = self._transport
        self._greeting = asyncio.get_running_loop().call_later(GREETING_SECONDS, self._transport.abort)

    def _make_room(self, newcomer: asyncio.Transport) -> None:
        """Who asked for nothing for the longest time makes room for who may."""
        while self._silent:
            transport = self._silent.pop(next(iter(self._silent)))
            if not transport.is_closing():
                transport.abort()
                return
        newcomer.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._heard()

    def _heard(self) -> None:
        self._silent.pop(self, None)
        if self._greeting is not None:
            self._greeting.cancel()

    def data_received(self, data: bytes) -> None:
        transport = self._transport
        assert transport is not None, "data comes after the connection"
        self._heard()
        if data[0] == _TLS_HANDSHAKE:
            self._speak_tls(transport, data)
        else:
            protocol = self._factory()
            self._silent[protocol] = transport
            transport.set_protocol(protocol)
            protocol.connection_made(transport)
            protocol.data_received(data)

    def _speak_tls(self, transport: asyncio.Transport, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        # the protocol that `loop.start_tls` uses; that one can't be given bytes which were read already
        nobody_waits = cast("asyncio.Future[None]", None)
        speaker = self._factory()
        self._silent[speaker] = transport
        protocol = sslproto.SSLProtocol(loop, speaker, self._context, nobody_waits, server_side=True)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        while data:
            buffer = protocol.get_buffer(len(data))
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            protocol.buffer_updated(count)
            data = data[count:]
