"""The only HTTP to a cluster, over the REST client of `kubernetes.aio`, whose traps end here.

Bodies are plain dicts: the generated models refuse answers that lack a field they think required. Time limits are
given request by request, since the client's own default (five minutes in total) cuts watches. Credentials come from
credentials.py and are renewed once on a 401, which the client does not do.

What is repeated: reads and dry runs after a lost connection or a 5xx; every verb after a 429, or a 503 that names a
time to come back, as the server did nothing then. A write whose answer was lost is never sent again here: who sent it
has to look whether it happened. One whose answer is overdue is sent a second time where that can do no harm.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from multidict import CIMultiDict

from kcl.records import dataclass, field
from kcl.secrecy.rules import BUILT_IN, MASK
from runtimes.base import Overloaded, RuntimeFailure, Unauthenticated, Unreachable, limiter
from runtimes.base.answer_listeners import notify
from runtimes.base.documents import OverLimit, load_json
from runtimes.base.secret_texts import secret_texts
from runtimes.kubernetes import connection_errors
from runtimes.kubernetes.credentials import Credentials, Grant
from runtimes.kubernetes.failures import CONVERTS, failure
from runtimes.kubernetes.hedging import GivenUp, HedgeBudget, LatencyEstimate, first_answer, timely_answer
from runtimes.kubernetes.kubeconfig import ClientCertificate, Connection
from runtimes.kubernetes.pinned_client import RefusedSocket, client_of, proxy_of
from runtimes.kubernetes.rest_client import RESTClientObject
from runtimes.kubernetes.server_clock import ServerClock
from runtimes.kubernetes.silences import Silences
from runtimes.lean_aiohttp import aiohttp, http_exceptions

Query = Sequence[tuple[str, str]]
_Answer = tuple[int, Mapping[str, str], bytes]

USER_AGENT = "konfig-workbench"
JSON = "application/json"
_MAX_LINE_BYTES = 32 * 1024 * 1024
_READ_ATTEMPTS = 4
_FAILED = (500, 502, 503, 504)
_WARNING_PREFIX = '299 - "'
_MAX_ERROR_BYTES = 1_000_000
_HEARTBEAT_SECONDS = 20.0
"""How often an open websocket is asked whether anybody is there: load balancers end what is silent."""
_SECONDS = re.compile(r"[0-9]{1,9}")
_LOST = (OSError, aiohttp.ClientError, http_exceptions.HttpProcessingError, TimeoutError)


class TooLarge(RuntimeFailure):
    """An answer over the limit: it was not read to its end."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait: for a connection, for one answer, between two bytes of a stream, for a server that is
    overloaded or does not answer; and how large an answer may be.

    `admission_seconds` are added for what changes something, or would: the server asks webhooks, each of them for 30 s
    at most, and ends every request after 60 s in words of its own, which name the webhook.
    """

    connect_seconds: float = 5.0
    answer_seconds: float = 30.0
    admission_seconds: float = 35.0
    silence_seconds: float = 90.0
    patience_seconds: float = 30.0
    answer_bytes: int = 64_000_000

    def seconds_for(self, method: str) -> float:
        return self.answer_seconds if method == "GET" else self.answer_seconds + self.admission_seconds


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: Any = field(repr=False)
    warnings: tuple[str, ...] = ()


class Socket:
    """An open websocket of bytes."""

    def __init__(self, response: aiohttp.ClientWebSocketResponse, transport: Transport) -> None:
        self._response, self._transport = response, transport

    async def receive(self) -> bytes | None:
        """Returns one message, None at the end. Raises `Unreachable` where the connection is lost."""
        try:
            while True:
                message = await self._response.receive()
                match message.type:
                    case aiohttp.WSMsgType.BINARY:
                        return bytes(message.data)
                    case aiohttp.WSMsgType.TEXT:
                        return str(message.data).encode()
                    case aiohttp.WSMsgType.ERROR:
                        raise self._transport.lost(self._response.exception() or OSError("the websocket broke"))
                    case aiohttp.WSMsgType.CLOSE | aiohttp.WSMsgType.CLOSED | aiohttp.WSMsgType.CLOSING:
                        return None
        except _LOST as error:
            raise self._transport.lost(error) from None

    async def send(self, content: bytes) -> None:
        """Raises `Unreachable` where the connection is lost, or ended."""
        try:
            await self._response.send_bytes(content)
        except _LOST as error:
            raise self._transport.lost(error) from None


class Transport:
    def __init__(self, connection: Connection, *, place: str, refusal: str = "", limits: Limits | None = None) -> None:
        self.connection, self.place = connection, place
        self.limits = limits or Limits()
        self._credentials = Credentials(connection, place=place, refusal=refusal)
        self._rest: RESTClientObject | None = None
        self._certificate: ClientCertificate | None = None
        self._retired: list[RESTClientObject] = []
        self._is_closed = False
        self._logins: frozenset[str] = frozenset()
        self.clock = ServerClock()
        self._hedge_budget, self._silences = HedgeBudget(), Silences()
        self._read_latency, self._write_latency = LatencyEstimate(0.5, 1.5), LatencyEstimate(1.0, 10.0)

    async def close(self) -> None:
        self._is_closed = True
        clients = [*self._retired, *([self._rest] if self._rest else [])]
        self._rest, self._retired = None, []
        async with AsyncExitStack() as closing:  # every one, though who closes is interrupted
            for client in clients:
                closing.push_async_callback(client.close)

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
        is_bound: bool = False,
        gives_up_after: float = math.inf,
        accept: str = JSON,
    ) -> Reply:
        """Sends one request and returns its decoded answer, or its text if `is_text`.

        Raises the error that stands for any other answer than 2xx. `subject` names the resource in errors, `secrets`
        are values in the body that no error may repeat. `is_once` repeats nothing: a request to come back later is the
        answer, and so is a lost connection. `is_bound`: the body names the uid and the version of the object that it is
        for, so that of two the server carries out one. `gives_up_after`: an answer so many times overdue is given up,
        which raises `Unreachable`: what is not `is_bound` may then be looked for, and sent again. `accept` are the
        forms of an answer that are understood.
        """
        changes_nothing = method == "GET" or ("dryRun", "All") in query
        now = asyncio.get_running_loop().time
        give_up_at = now() + self.limits.patience_seconds
        asked, failed, renewed = 0, 0, False  # to be told to come back later is no failure
        while True:
            asked += 1
            grant, patience_seconds = await self._granted(), self._seconds_for(method, path)
            try:
                ask = partial(self._exchange, method, path, query, body, content_type, grant, accept, patience_seconds)
                async with limiter.awaiting_answer():
                    if is_once or is_text or not (changes_nothing or is_bound):
                        budget, latency = self._hedge_budget, self._write_latency
                        status, headers, content = await timely_answer(ask, budget, latency, gives_up_after)
                    else:
                        status, headers, content = await self._first_answer(ask, method, changes_nothing)
            except _LOST as error:
                if isinstance(error, GivenUp):
                    raise self._given_up(error, subject) from None
                failed += 1
                patience_seconds = self._waited_seconds(error, method, path, patience_seconds)
                is_hopeless = connection_errors.is_lasting(error) or now() > give_up_at
                if not changes_nothing or is_once or failed >= _READ_ATTEMPTS or is_hopeless:
                    if method != "GET" and connection_errors.is_slow(error) and await self.answers_others():
                        raise self._held_up(patience_seconds, subject, changes_nothing) from None
                    raise self._unreachable(error, subject, changes_nothing, patience_seconds) from None
                await limiter.pause(_pause(failed))
                continue
            # what a log holds may well be a web page
            looked_at = b"" if is_text and status == 200 else content
            self._check_is_api(status, headers, looked_at, subject, is_read=changes_nothing)
            if 200 <= status < 300:
                if is_text:
                    return Reply(status, content.decode("utf-8", "replace"), self._warnings(headers))
                try:
                    return Reply(status, load_json(content), self._warnings(headers))
                except OverLimit as error:
                    raise RuntimeFailure(f"its answer {error.problem}", target=self.place, subject=subject) from None
                except ValueError:
                    failed += 1
                    if changes_nothing and failed < _READ_ATTEMPTS:
                        await limiter.pause(_pause(failed))
                        continue
                    raise RuntimeFailure(
                        "the answer is not complete JSON",
                        target=self.place,
                        subject=subject,
                        hint=f"does {self._shown} lead to an API server?",
                    ) from None
            if status == 401 and self._credentials.is_renewable and not renewed:
                renewed = True
                self._credentials.forget(grant)
                continue
            is_hopeless = is_once or CONVERTS.encode() in content[:_MAX_ERROR_BYTES]
            wait = None if is_hopeless else _seconds_to_come_back(status, headers, asked)
            if wait is None and not is_hopeless and changes_nothing and status in _FAILED:
                failed += 1
                wait = _pause(failed) if failed < _READ_ATTEMPTS else None
            if wait is not None and now() + wait < give_up_at:
                await limiter.pause(wait)
                continue
            raise self._failure(status, content, subject, secrets, grant, asked)

    async def _first_answer(
        self, ask: Callable[[], Coroutine[Any, Any, _Answer]], method: str, changes_nothing: bool
    ) -> _Answer:
        """Asks, and once more what is overdue; see hedging.py."""
        if not changes_nothing:
            latency, counts = self._write_latency, _is_success
            return await first_answer(ask, self._hedge_budget, _LOST, latency, counts=counts)
        began = asyncio.get_running_loop().time()
        found = await first_answer(ask, self._hedge_budget, _LOST, self._read_latency, counts=_is_answer)
        if method != "GET":  # a dry run goes the way of a write, its webhooks included
            self._write_latency.learn(asyncio.get_running_loop().time() - began)
        return found

    @asynccontextmanager
    async def stream(self, path: str, query: Query, *, accept: str = JSON) -> AsyncIterator[AsyncIterator[bytes]]:
        """Opens a stream of lines: a watch. See `chunks`."""
        async with self.chunks(path, query, accept=accept) as found:
            yield self._lines(found)

    @asynccontextmanager
    async def chunks(self, path: str, query: Query, *, accept: str = JSON) -> AsyncIterator[AsyncIterator[bytes]]:
        """Opens a stream of bytes as they come. Ends with the server's end; a lost connection raises `Unreachable`.

        Nothing is repeated here: the reader knows from where to go on.
        """
        grant = await self._granted()
        try:
            quiet_seconds = self.limits.silence_seconds
            response = await self._open("GET", path, query, None, JSON, grant, accept, None, quiet_seconds)
        except _LOST as error:
            raise self._unreachable(error, "", True) from None
        try:
            if not 200 <= response.status < 300:
                await self._refuse_stream(response, grant)
            yield self._chunks(response)
        finally:
            response.close()

    @asynccontextmanager
    async def socket(self, path: str, query: Query, protocol: str) -> AsyncIterator[Socket]:
        """Opens a websocket with this subprotocol. What the server refuses is raised as of any other request.

        Nothing is repeated: what is opened may begin something.
        """
        grant = await self._granted()
        client = self._client(grant)
        headers = CIMultiDict[str]((("User-Agent", USER_AGENT), *grant.headers.items(), *self.connection.impersonate))
        arguments: dict[str, Any] = (
            {"server_hostname": name} if (name := self.connection.endpoint.tls_server_name) else {}
        )
        if proxy := proxy_of(self.connection):
            arguments["proxy"] = proxy
        url = f"{self.connection.endpoint.server}{path}?{urlencode(list(query))}"
        async with AsyncExitStack() as opened:
            try:
                async with asyncio.timeout(self.limits.answer_seconds):
                    found = await opened.enter_async_context(
                        client.pool_manager.socket(
                            url, protocols=(protocol,), headers=headers, heartbeat=_HEARTBEAT_SECONDS,
                            max_msg_size=_MAX_LINE_BYTES, **arguments,
                        )
                    )  # fmt: skip
            except (aiohttp.WSServerHandshakeError, RefusedSocket) as error:
                raise await self._why_no_socket(path, query, error.status, grant) from None
            except _LOST as error:
                raise self._unreachable(error, "", False) from None
            if found.protocol != protocol:
                said = f"opens no websocket of the protocol {protocol}"
                raise self._no_api(said, "is the API server old, or a proxy in between?", "", is_read=True)
            yield Socket(found, self)

    async def _why_no_socket(self, path: str, query: Query, status: int, grant: Grant) -> RuntimeFailure:
        """The answer to a websocket has no body here. Asked plainly the server says why, and starts nothing."""
        try:
            async with self.chunks(path, query):
                pass
        except RuntimeFailure as failure:
            if status != 400:
                return failure
        return self._failure(status, b"the server opens no websocket here", "", (), grant)

    def lost(self, error: BaseException) -> Unreachable:
        """Returns that the connection was lost under something that was open."""
        return self._unreachable(error, "", False)

    async def _refuse_stream(self, response: aiohttp.ClientResponse, grant: Grant) -> None:
        try:
            async with asyncio.timeout(self.limits.answer_seconds):
                content = await self._content(response, _MAX_ERROR_BYTES)
        except _LOST as error:
            raise self._unreachable(error, "", True) from None
        self._check_is_api(response.status, response.headers, content, "", is_read=True)
        if response.status == 401:
            self._credentials.forget(grant)
        raise self._failure(response.status, content, "", (), grant)

    async def _chunks(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        try:
            async for chunk in response.content.iter_any():
                notify()
                yield chunk
        except _LOST as error:
            raise self._unreachable(error, "", True) from None

    async def _lines(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        rest = bytearray()
        async for chunk in chunks:
            rest += chunk
            if len(rest) > _MAX_LINE_BYTES:
                raise RuntimeFailure("one line of a watch is larger than 32 MiB", target=self.place)
            if b"\n" not in chunk:
                continue  # what came before has been looked through
            *whole, last = rest.split(b"\n")
            for line in whole:
                if line:
                    yield bytes(line)
            rest = bytearray(last)

    async def _exchange(
        self, method: str, path: str, query: Query, body: Any, content_type: str, grant: Grant, accept: str,
        quiet_seconds: float,
    ) -> tuple[int, Mapping[str, str], bytes]:  # fmt: skip
        total_seconds = self.limits.seconds_for(method)
        response = await self._open(
            method, path, query, body, content_type, grant, accept, total_seconds, quiet_seconds
        )
        try:
            content = await self._content(response, self.limits.answer_bytes)
        except BaseException:
            response.close()  # the rest of it is not waited for
            raise
        response.release()
        self.clock.hear(response.headers.get("Date", ""))
        self._silences.answered(path)
        notify()
        return response.status, response.headers, content

    async def _content(self, response: aiohttp.ClientResponse, most: int) -> bytes:
        """Reads an answer as it comes, and no further than it may be long; raises `TooLarge`."""
        content = bytearray()
        async for chunk in response.content.iter_any():
            content += chunk
            if len(content) > most:
                raise TooLarge(
                    f"an answer of {self._shown} is larger than {most / 1_000_000:g} MB",
                    target=self.place,
                    hint="is it an API server? An object of one is far smaller",
                )
        return bytes(content)

    def _check_is_api(
        self, status: int, headers: Mapping[str, str], content: bytes, subject: str, *, is_read: bool
    ) -> None:
        """Raises `Unreachable` where something else answers in the place of the API server."""
        if 300 <= status < 400:
            host = connection_errors.shown_host(headers.get("Location", ""))
            there = f" to {host}" if host else ""
            raise self._no_api(
                f"sends us on{there} (HTTP {status}): not followed, as credentials are for the server alone",
                "log in, or write the address of the API server itself into the kubeconfig",
                subject,
                is_read=is_read,
            )
        if connection_errors.is_web_page(headers.get("Content-Type", ""), content):
            raise self._no_api(
                f"answers with a web page (HTTP {status}), not as an API server does",
                "a proxy, a gateway or a login page may be in between: log in, check network and VPN",
                subject,
                is_read=is_read,
            )

    async def _open(
        self,
        method: str,
        path: str,
        query: Query,
        body: Any,
        content_type: str,
        grant: Grant,
        accept: str,
        total_seconds: float | None,
        quiet_seconds: float,
    ) -> aiohttp.ClientResponse:
        # the client hands this to aiohttp as it is, and would replace anything false by five minutes
        timeout = aiohttp.ClientTimeout(
            total=total_seconds, sock_connect=self.limits.connect_seconds, sock_read=quiet_seconds
        )
        url = self.connection.endpoint.server + path + (f"?{urlencode(list(query))}" if query else "")
        headers = CIMultiDict[str](
            (
                ("Accept", accept),
                ("Content-Type", content_type),
                ("User-Agent", USER_AGENT),
                *grant.headers.items(),
                *self.connection.impersonate,  # one of each group
            )
        )
        answer = await self._client(grant).request(method, url, headers=headers, body=body, _request_timeout=timeout)
        response: aiohttp.ClientResponse = answer.response
        return response

    def _client(self, grant: Grant) -> RESTClientObject:
        if self._is_closed:  # else what comes late would open connections that nobody closes
            raise Unreachable("its connections were closed", target=self.place)
        if self._rest is None or grant.certificate != self._certificate:
            if self._rest is not None:
                self._retired.append(self._rest)
            self._rest = client_of(self.connection, grant.certificate, self.place)
            self._certificate = grant.certificate
        return self._rest

    def _failure(
        self, status: int, content: bytes, subject: str, secrets: Sequence[str], grant: Grant, attempts: int = 1
    ) -> RuntimeFailure:
        try:
            body = load_json(content)
        except ValueError:
            body = content[:_MAX_ERROR_BYTES].decode("utf-8", "replace")
        found = self.refused(status, body, subject, secrets)
        if status == 401 and (end := _expired(grant)) is not None:
            said = f"the token has expired: at {end:%Y-%m-%d %H:%M:%S} UTC"
            return Unauthenticated(said, target=self.place, subject=subject, hint=found.hint)
        if isinstance(found, Overloaded) and attempts > 1:
            said = f"{found.message} (HTTP {status}, asked {attempts} times in {self.limits.patience_seconds:g} s)"
            return Overloaded(said, target=self.place, subject=subject, hint=found.hint)
        return found

    def refused(self, status: int, body: Any, subject: str = "", secrets: Sequence[str] = ()) -> RuntimeFailure:
        """Returns the error for what the server answered, without what it quotes of credentials."""
        said, context = self._without_secrets(body), self.connection.context
        return failure(status, said, target=self.place, subject=subject, context=context, secrets=secrets)

    def _warnings(self, headers: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(map(self._without_secrets, _warnings(headers)))

    def _without_secrets(self, said: Any) -> Any:
        match said:
            case str():
                return BUILT_IN.masked(secret_texts(self._logins).masked(said), MASK)
            case Mapping():
                return {key: self._without_secrets(each) for key, each in said.items()}
            case list():
                return [self._without_secrets(each) for each in said]
            case _:
                return said

    async def _granted(self) -> Grant:
        grant = await self._credentials.grant()
        self._logins |= grant.logins
        return grant

    def _waited_seconds(self, error: BaseException, method: str, path: str, quiet_seconds: float) -> float:
        """Returns how long was waited in vain, and takes note where nothing came in all the time there is."""
        limit = self.limits.seconds_for(method)
        # less than that says nothing new: a server that takes a little longer would never be waited for again
        if method == "GET" and connection_errors.is_slow(error) and quiet_seconds >= limit:
            self._silences.hung(path, asyncio.get_running_loop().time() - limit)
        # else something arrived, and went on to until the end of it
        return quiet_seconds if isinstance(error, aiohttp.SocketTimeoutError) else limit

    def _seconds_for(self, method: str, path: str) -> float:
        """How long it may be silent: as long as the whole answer may take, or less where it was so lately."""
        limit = self.limits.seconds_for(method)
        return self._silences.seconds(limit, path) if method == "GET" else limit

    async def answers_others(self) -> bool:
        """Whether the server itself answers, while it leaves one request without an answer."""
        try:
            async with asyncio.timeout(self.limits.connect_seconds):
                grant = await self._granted()
                await self._exchange(
                    "GET", "/version", (), None, JSON, grant, JSON, self._seconds_for("GET", "/version")
                )
        except (*_LOST, RuntimeFailure):
            return False
        return True

    def _held_up(self, waited: float, subject: str, is_read: bool) -> RuntimeFailure:
        """What holds one request up is not the server: all else that is asked of it may well be answered."""
        hint = (
            "most likely an admission webhook for this kind hangs: "
            "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"
        )
        if not is_read:
            hint = f"whether the change was made is not known: read the object before trying again ({hint})"
        said = f"no answer within {waited:g} s, while the server answers other requests"
        return RuntimeFailure(said, target=self.place, subject=subject, hint=hint)

    def _given_up(self, error: GivenUp, subject: str) -> Unreachable:
        said = f"{self._shown} gave {error}, when others were answered sooner: given up"
        hint = "whether the change was made is not known: read the object before trying again"
        return Unreachable(said, target=self.place, subject=subject, hint=hint, is_uncertain=True)

    def _unreachable(
        self, error: BaseException, subject: str, is_read: bool, answer_seconds: float | None = None
    ) -> Unreachable:
        waits = connection_errors.Waits(self.limits.connect_seconds, answer_seconds or self.limits.answer_seconds)
        what, hint = connection_errors.reason(error, waits)
        # a connection that never was has carried nothing
        never_was = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
        is_uncertain = not is_read and not never_was
        if is_uncertain:
            hint = f"whether the change was made is not known: read the object before trying again ({hint})"
        return Unreachable(
            f"{self._shown} cannot be reached: {what}",
            target=self.place,
            subject=subject,
            hint=hint,
            is_uncertain=is_uncertain,
        )

    def _no_api(self, what: str, hint: str, subject: str, *, is_read: bool) -> Unreachable:
        """What answered is not the API server: whether it was asked at all, nobody knows."""
        if not is_read:
            hint = f"whether the change was made is not known: read the object before trying again ({hint})"
        return Unreachable(
            f"{self._shown} {what}", target=self.place, subject=subject, hint=hint, is_uncertain=not is_read
        )

    @property
    def _shown(self) -> str:
        return self.connection.endpoint.shown


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


def _is_answer(answer: _Answer) -> bool:
    """Whether the server has dealt with it: one that it had no room for says nothing of another on its way."""
    return answer[0] != 429


def _is_success(answer: _Answer) -> bool:
    return 200 <= answer[0] < 300


def _expired(grant: Grant) -> datetime | None:
    token = grant.headers.get("Authorization", "")
    return connection_errors.expired_at(token.removeprefix("Bearer ")) if token.startswith("Bearer ") else None


def _pause(attempt: int) -> float:
    return float(0.1 * 3 ** (attempt - 1)) * random.uniform(0.5, 1.5)


def _seconds_to_come_back(status: int, headers: Mapping[str, str], asked: int) -> float | None:
    """Returns how long the server wants to be left alone before it is asked again, None where it said no such thing."""
    if status == 429 or (status == 503 and "Retry-After" in headers):
        after = headers.get("Retry-After", "")
        return float(after) if _SECONDS.fullmatch(after) else min(_pause(min(asked, 9)), 10.0)
    return None
