"""The client under the transport: connects to the configured server only, and is closed when its sockets are."""

from __future__ import annotations

import asyncio
import socket
import ssl
import tempfile
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from runtimes.base import Misconfigured
from runtimes.kubernetes.kubeconfig import ClientCertificate, Connection
from runtimes.kubernetes.rest_client import Configuration, RESTClientObject
from runtimes.lean_aiohttp import aiohttp

_FAREWELL_SECONDS, _FAREWELL_STEPS = 0.5, 100


class _Staying:
    """A session that goes nowhere else: aiohttp would follow redirects with bodies, certificates and most headers."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def request(self, **arguments: Any) -> aiohttp.ClientResponse:
        return await self._session.request(**arguments, allow_redirects=False)

    @asynccontextmanager
    async def socket(self, url: str, **arguments: Any) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """aiohttp's websockets go where they are sent on to: a session of its own refuses, on the same connections."""
        async with aiohttp.ClientSession(
            connector=self._session.connector, connector_owner=False, middlewares=(_refuse_redirects,)
        ) as session:
            found = await session.ws_connect(url, **arguments)
            try:
                yield found
            finally:
                await found.close()

    async def close(self) -> None:
        await self._session.close()


async def _refuse_redirects(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    response = await handler(request)
    if 300 <= response.status < 400:
        response.close()
        raise RefusedSocket(response.status)
    return response


class RefusedSocket(Exception):
    """A websocket that was not opened, for this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _Client(RESTClientObject):  # type: ignore[misc]  # the package has no types
    """Knows its sockets, so that closing can wait for them.

    The session waits for connections in its pool alone. One that a watch or a cancelled request gave up says goodbye
    over TLS by itself, and would be torn off, with a warning, by an event loop that ends right after.
    """

    def __init__(self, configuration: Configuration) -> None:
        super().__init__(configuration)
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def _create_pool_manager(self) -> _Staying:
        return _Staying(super()._create_pool_manager())

    def _create_connector(self) -> aiohttp.TCPConnector:
        return aiohttp.TCPConnector(limit=self.maxsize, ssl=self.ssl_context, socket_factory=self._socket)

    def _socket(self, address: tuple[Any, ...]) -> socket.socket:
        family, type_, protocol = address[:3]
        made = socket.socket(family=family, type=type_, proto=protocol)
        self._sockets.add(made)
        return made

    async def close(self) -> None:
        await super().close()
        for _ in range(_FAREWELL_STEPS):
            if all(each.fileno() == -1 for each in self._sockets):
                return
            await asyncio.sleep(_FAREWELL_SECONDS / _FAREWELL_STEPS)


def proxy_of(connection: Connection) -> str:
    """Returns the proxy that leads to the server, empty for none: that of the kubeconfig, else of the environment.

    https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/#proxy
    """
    if connection.endpoint.proxy:
        return connection.endpoint.proxy
    address = urlsplit(connection.endpoint.server)
    if not address.hostname or proxy_bypass(address.hostname):
        return ""
    proxy = getproxies().get(address.scheme) or ""
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def client_of(connection: Connection, certificate: ClientCertificate | None, place: str) -> RESTClientObject:
    """Returns a client for a connection, with its certificate; raises `Misconfigured` for one that is none."""
    endpoint = connection.endpoint
    configuration = Configuration(
        host=endpoint.server,
        verify_ssl=not endpoint.skip_verify,
        tls_server_name=endpoint.tls_server_name,
        ca_cert_data=endpoint.ca_pem,
        proxy=proxy_of(connection),
        connection_pool_maxsize=0,  # no limit: every open watch holds a connection
    )
    # aiohttp would read ~/.netrc and the environment anew for each request, each in a thread: half of what a request
    # costs. A login from there would go to the cluster, beside the credentials of the kubeconfig
    configuration.client_session_kwargs = {"trust_env": False}
    try:
        if certificate is None:
            return _Client(configuration)
        # the ssl module reads certificates from files only; these live as long as the reading
        with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
            certificate_file, key_file = Path(folder, "certificate.pem"), Path(folder, "key.pem")
            certificate_file.write_text(certificate.certificate_pem, encoding="ascii")
            key_file.touch(mode=0o600)
            key_file.write_text(certificate.key_pem, encoding="ascii")
            configuration.cert_file, configuration.key_file = str(certificate_file), str(key_file)
            return _Client(configuration)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or "not a PEM certificate"
        raise Misconfigured(
            f"the certificates of context {connection.context!r} cannot be used: {reason}", target=place
        ) from None
