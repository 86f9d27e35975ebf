"""The only HTTP to a cluster, over the REST client of `kubernetes.aio`, whose traps end here.

Bodies are plain dicts: the generated models refuse answers that lack a field they think required. Time limits are
given request by request, since the client's own default (five minutes in total) cuts watches. Credentials come from
credentials.py and are renewed once on a 401, which the client does not do.

What is repeated: reads after a lost connection or a 5xx; every verb after a 429, or a 503 that names a time to come
back, as the server did nothing then. A write whose answer was lost is never sent again: nobody knows whether it
happened.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import ssl
import tempfile
import time
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.client.rest import RESTClientObject

from runtimes.base import Misconfigured, RuntimeFailure, Unreachable
from runtimes.base.documents import load_json
from runtimes.kubernetes.credentials import Credentials, Grant
from runtimes.kubernetes.failures import failure
from runtimes.kubernetes.kubeconfig import ClientCertificate, Connection

Query = Sequence[tuple[str, str]]

USER_AGENT = "konfig-workbench"
_MAX_LINE_BYTES = 32 * 1024 * 1024
_READ_ATTEMPTS = 4
_FAREWELL_SECONDS, _FAREWELL_STEPS = 0.5, 100
_WARNING_PREFIX = '299 - "'


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait: for a connection, for one answer, between two bytes of a stream, for an overloaded server."""

    connect_seconds: float = 5.0
    answer_seconds: float = 30.0
    silence_seconds: float = 90.0
    patience_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: Any = field(repr=False)
    warnings: tuple[str, ...] = ()


class _Client(RESTClientObject):  # type: ignore[misc]  # the package has no types
    """Knows its sockets, so that closing can wait for them.

    The session waits for connections in its pool alone. One that a watch or a cancelled request gave up says goodbye
    over TLS by itself, and would be torn off, with a warning, by an event loop that ends right after.
    """

    def __init__(self, configuration: Configuration) -> None:
        super().__init__(configuration)
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

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


class Transport:
    def __init__(self, connection: Connection, *, place: str, refusal: str = "", limits: Limits | None = None) -> None:
        self.connection, self.place = connection, place
        self.limits = limits or Limits()
        self._credentials = Credentials(connection, place=place, refusal=refusal)
        self._rest: RESTClientObject | None = None
        self._certificate: ClientCertificate | None = None
        self._retired: list[RESTClientObject] = []

    async def close(self) -> None:
        clients = [*self._retired, *([self._rest] if self._rest else [])]
        self._rest, self._retired = None, []
        for client in clients:
            await client.close()

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: Any = None,
        content_type: str = "application/json",
        subject: str = "",
        secrets: Sequence[str] = (),
        is_text: bool = False,
        is_once: bool = False,
    ) -> Reply:
        """Sends one request and returns its decoded answer, or its text if `is_text`.

        Raises the error that stands for any other answer than 2xx. `subject` names the resource in errors, `secrets`
        are values in the body that no error may repeat. `is_once` repeats nothing: a request to come back later is the
        answer, and so is a lost connection.
        """
        is_read = method == "GET"
        give_up_at = time.monotonic() + self.limits.patience_seconds
        attempt, renewed = 0, False
        while True:
            attempt += 1
            grant = await self._credentials.grant()
            try:
                status, headers, content = await self._exchange(method, path, query, body, content_type, grant)
            except (OSError, aiohttp.ClientError, TimeoutError) as error:
                if not is_read or is_once or attempt >= _READ_ATTEMPTS:
                    raise self._unreachable(error, subject, is_read or ("dryRun", "All") in query) from None
                await asyncio.sleep(_pause(attempt))
                continue
            if 200 <= status < 300:
                try:
                    answer = content.decode("utf-8", "replace") if is_text else load_json(content)
                    return Reply(status, answer, _warnings(headers))
                except ValueError:
                    if is_read and attempt < _READ_ATTEMPTS:
                        await asyncio.sleep(_pause(attempt))
                        continue
                    raise RuntimeFailure(
                        "the answer is not complete JSON", target=self.place, subject=subject
                    ) from None
            if status == 401 and self._credentials.is_renewable and not renewed:
                renewed = True
                self._credentials.forget(grant)
                continue
            wait = None if is_once else _seconds_to_wait(status, headers, attempt, is_read)
            if wait is not None and time.monotonic() + wait < give_up_at:
                await asyncio.sleep(wait)
                continue
            raise self._failure(status, content, subject, secrets)

    @asynccontextmanager
    async def stream(self, path: str, query: Query) -> AsyncIterator[AsyncIterator[bytes]]:
        """Opens a stream of lines: a watch. Ends with the server's end; a lost connection raises `Unreachable`.

        Nothing is repeated here: the reader knows from where to go on.
        """
        grant = await self._credentials.grant()
        try:
            response = await self._open("GET", path, query, None, "application/json", grant, is_stream=True)
        except (OSError, aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error, "", True) from None
        try:
            if not 200 <= response.status < 300:
                if response.status == 401:
                    self._credentials.forget(grant)
                raise self._failure(response.status, await response.read(), "", ())
            yield self._lines(response)
        finally:
            response.close()

    async def _lines(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        rest = bytearray()
        try:
            async for chunk in response.content.iter_any():
                rest += chunk
                if len(rest) > _MAX_LINE_BYTES:
                    raise RuntimeFailure("one line of a watch is larger than 32 MiB", target=self.place)
                *whole, last = rest.split(b"\n")
                for line in whole:
                    if line:
                        yield bytes(line)
                rest = bytearray(last)
        except (OSError, aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error, "", True) from None

    async def _exchange(
        self, method: str, path: str, query: Query, body: Any, content_type: str, grant: Grant
    ) -> tuple[int, Mapping[str, str], bytes]:
        response = await self._open(method, path, query, body, content_type, grant)
        try:
            return response.status, response.headers, await response.read()
        finally:
            response.release()

    async def _open(
        self,
        method: str,
        path: str,
        query: Query,
        body: Any,
        content_type: str,
        grant: Grant,
        is_stream: bool = False,
    ) -> aiohttp.ClientResponse:
        limits = self.limits
        # the client hands this to aiohttp as it is, and would replace anything false by five minutes
        timeout = aiohttp.ClientTimeout(
            total=None if is_stream else limits.answer_seconds,
            sock_connect=limits.connect_seconds,
            sock_read=limits.silence_seconds if is_stream else None,
        )
        url = self.connection.endpoint.server + path + (f"?{urlencode(list(query))}" if query else "")
        headers = {
            "Accept": "application/json",
            "Content-Type": content_type,
            "User-Agent": USER_AGENT,
            **grant.headers,
            **dict(self.connection.impersonate),
        }
        answer = await self._client(grant).request(method, url, headers=headers, body=body, _request_timeout=timeout)
        response: aiohttp.ClientResponse = answer.response
        return response

    def _client(self, grant: Grant) -> RESTClientObject:
        if self._rest is None or grant.certificate != self._certificate:
            if self._rest is not None:
                self._retired.append(self._rest)
            self._rest = self._new_client(grant.certificate)
            self._certificate = grant.certificate
        return self._rest

    def _new_client(self, certificate: ClientCertificate | None) -> RESTClientObject:
        endpoint = self.connection.endpoint
        configuration = Configuration(
            host=endpoint.server,
            verify_ssl=not endpoint.skip_verify,
            tls_server_name=endpoint.tls_server_name,
            ca_cert_data=endpoint.ca_pem,
            proxy=endpoint.proxy,
            connection_pool_maxsize=0,  # no limit: every open watch holds a connection
        )
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
                f"the certificates of context {self.connection.context!r} cannot be used: {reason}", target=self.place
            ) from None

    def _failure(self, status: int, content: bytes, subject: str, secrets: Sequence[str]) -> RuntimeFailure:
        try:
            body = load_json(content)
        except ValueError:
            body = content.decode("utf-8", "replace")
        return failure(
            status, body, target=self.place, subject=subject, context=self.connection.context, secrets=secrets
        )

    def _unreachable(self, error: BaseException, subject: str, is_read: bool) -> Unreachable:
        match error:
            case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError() | ssl.SSLError():
                what, hint = "the server's certificate is not trusted", "check certificate-authority in the kubeconfig"
            case aiohttp.ConnectionTimeoutError():
                what, hint = f"no connection within {self.limits.connect_seconds:g} s", "check address, network and VPN"
            case TimeoutError():
                what, hint = f"no answer within {self.limits.answer_seconds:g} s", "the API server may be overloaded"
            case aiohttp.ClientConnectorDNSError():
                what, hint = "the server's name is not known", "check the server address in the kubeconfig"
            case aiohttp.ClientConnectorError():
                what, hint = _in_words(error.os_error), "is the cluster up, and the address right?"
            case _:
                what, hint = "the connection was lost", "is the cluster up?"
        # a connection that never was has carried nothing
        never_was = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
        is_uncertain = not is_read and not never_was
        if is_uncertain:
            hint = f"whether the change was made is not known: read the object before trying again ({hint})"
        endpoint = self.connection.endpoint.shown
        return Unreachable(
            f"{endpoint} cannot be reached: {what}",
            target=self.place,
            subject=subject,
            hint=hint,
            is_uncertain=is_uncertain,
        )


def _in_words(error: OSError) -> str:
    # asyncio puts the address where the system's words should be
    return os.strerror(error.errno).lower() if error.errno else "no connection"


def path_of(*parts: str) -> str:
    """Joins path segments, each escaped."""
    return "/" + "/".join(quote(part, safe="") for part in parts if part)


def _warnings(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The texts of `Warning: 299 - "..."`, of which there may be several."""
    values = headers.getall("Warning", []) if hasattr(headers, "getall") else []
    texts = []
    for value in values:
        text = value.removeprefix(_WARNING_PREFIX)
        texts.append(text.rpartition('"')[0].replace('\\"', '"') if text != value else value)
    return tuple(dict.fromkeys(texts))


def _pause(attempt: int) -> float:
    return float(0.1 * 3 ** (attempt - 1)) * random.uniform(0.5, 1.5)


def _seconds_to_wait(status: int, headers: Mapping[str, str], attempt: int, is_read: bool) -> float | None:
    """Returns how long to wait before sending again, or None if that would be wrong or hopeless."""
    if status == 429 or (status == 503 and "Retry-After" in headers):
        after = headers.get("Retry-After", "")
        return float(after) if after.isdigit() else min(_pause(attempt), 10.0)
    if is_read and status in (500, 502, 503, 504) and attempt < _READ_ATTEMPTS:
        return _pause(attempt)
    return None
