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

_TLS_HANDSHAKE = 0x16  # the type of a TLS record that opens a connection (RFC 8446, 5.1)


class Either(asyncio.Protocol):
    """Waits for the first bytes, then hands the connection on: to TLS if they ask for it, else to the server."""

    def __init__(
        self,
        factory: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext,
        connections: WeakSet[asyncio.Transport],
    ) -> None:
        """`connections` is where every connection is entered, so that a server can end those that linger."""
        self._factory, self._context, self._connections = factory, context, connections
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._connections.add(self._transport)

    def data_received(self, data: bytes) -> None:
        transport = self._transport
        assert transport is not None, "data comes after the connection"
        if data[0] == _TLS_HANDSHAKE:
            self._speak_tls(transport, data)
        else:
            protocol = self._factory()
            transport.set_protocol(protocol)
            protocol.connection_made(transport)
            protocol.data_received(data)

    def _speak_tls(self, transport: asyncio.Transport, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        # the protocol that `loop.start_tls` uses; that one can't be given bytes which were read already
        nobody_waits = cast("asyncio.Future[None]", None)
        protocol = sslproto.SSLProtocol(loop, self._factory(), self._context, nobody_waits, server_side=True)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        while data:
            buffer = protocol.get_buffer(len(data))
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            protocol.buffer_updated(count)
            data = data[count:]
