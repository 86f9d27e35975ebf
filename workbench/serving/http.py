"""The server over loopback: `POST /rpc` for JSON-RPC, `POST /api:protorpc/METHOD` as the official REST server has it.

Events of a call are told where the client accepts `application/x-ndjson`: one JSON object a line, the answer last.

Every program of this machine can reach a loopback port, and so can every page in a browser. So each request needs the
token; its Host has to be this server's, else a page could have its name lead here; and it has to be JSON and without a
foreign Origin, which a page cannot send without asking first.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
from aiohttp import ClientConnectionError, web

from workbench.project import WorkbenchError
from workbench.serving.calls import MOST_BYTES, Calls, Client, encoded, parsed, too_large
from workbench.serving.errors import INVALID_REQUEST, CallFailed

ADDRESS: Final = "127.0.0.1"
_LINES: Final = "application/x-ndjson"
_BODY_SECONDS: Final = 30.0
_CLOSING_SECONDS: Final = 30.0
"""So long an apply that is interrupted has to come to an end in order."""


class CannotListen(WorkbenchError):
    """The port is taken, or not this user's to take."""


@asynccontextmanager
async def serving(calls: Calls, token: str, port: int) -> AsyncIterator[int]:
    """Serves while the context lasts; yields the port. Raises `CannotListen`."""
    server = _Server(calls, token)
    app = web.Application(client_max_size=MOST_BYTES, middlewares=[server.guard])
    app.router.add_post("/rpc", server.rpc)
    app.router.add_post("/api:protorpc/{method}", server.official)
    async with listening(app, port, server.stop, closing_seconds=_CLOSING_SECONDS) as server.port:
        yield server.port


def why_foreign(request: web.Request, port: int) -> str:
    """Returns why a request is from a page of somebody else, whose name may lead here; empty where it is not."""
    names = (f"{ADDRESS}:{port}", f"localhost:{port}")
    if request.headers.getall("Host", []) not in [[each] for each in names]:
        return "the Host of the request is not this server"
    if any(each not in [f"http://{name}" for name in names] for each in request.headers.getall("Origin", [])):
        return "requests of pages of other origins are not answered"
    return ""


@asynccontextmanager
async def listening(
    app: web.Application, port: int, end: Callable[[], Awaitable[None]], *, closing_seconds: float
) -> AsyncIterator[int]:
    """Serves an application over loopback; yields the port. Raises `CannotListen`.

    `end` ends what the application has begun; requests then have `closing_seconds` to come to theirs.
    """
    runner = web.AppRunner(
        app, handler_cancellation=True, access_log=None, shutdown_timeout=closing_seconds, handle_signals=False
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, ADDRESS, port).start()
        except OSError as error:
            said = f"cannot be listened on: {os.strerror(error.errno or 0)}"
            raise CannotListen(said, where=f"{ADDRESS}:{port}", hint="take another --port, or 0 for any") from None
        yield runner.addresses[0][1]
    finally:
        with anyio.CancelScope(shield=True):
            await end()
            await runner.cleanup()


class _Server:
    def __init__(self, calls: Calls, token: str) -> None:
        self._calls, self._token = calls, token.encode()
        self._clients: set[Client] = set()
        self.port = 0

    async def stop(self) -> None:
        for each in tuple(self._clients):
            await self._calls.stop(each)

    @web.middleware
    async def guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        try:
            if (refusal := self._refusal(request)) is not None:
                return refusal
            answer: web.StreamResponse = await handler(request)
            return answer
        except web.HTTPRequestEntityTooLarge:
            return _refused(413, too_large().message)
        except web.HTTPException as error:
            return _refused(error.status, f"{request.method} {request.path}: {error.reason}")

    def _refusal(self, request: web.Request) -> web.Response | None:
        if said := why_foreign(request, self.port):
            return _refused(403, said)
        given = request.headers.getall("Authorization", [])
        if len(given) != 1 or not hmac.compare_digest(
            given[0].encode("utf-8", "surrogateescape"), b"Bearer " + self._token
        ):
            return _refused(401, "the token is missing or wrong: Authorization: Bearer TOKEN", authenticate=True)
        if request.method == "POST" and request.content_type != "application/json":
            return _refused(415, "a request needs Content-Type: application/json")
        if request.headers.get("Content-Encoding", "identity") != "identity":
            return _refused(415, "a request may not be compressed")
        return None

    async def rpc(self, request: web.Request) -> web.StreamResponse:
        raw = await _body(request)
        client = Client()
        self._clients.add(client)
        try:
            if _LINES in request.headers.get("Accept", ""):
                return await self._streamed(request, raw, client)
            reply = await self._calls.answer(raw, client)
        finally:
            self._clients.discard(client)
        return web.Response(status=204) if reply is None else _json(reply)

    async def _streamed(self, request: web.Request, raw: bytes, client: Client) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": _LINES, "Cache-Control": "no-store"})
        await response.prepare(request)
        order = anyio.Lock()

        async def write(text: bytes) -> None:
            try:
                async with order:
                    await response.write(text + b"\n")
            except (ConnectionError, ClientConnectionError):  # the client went away
                await self._calls.stop(client)

        async def tell(note: dict[str, Any]) -> None:
            await write(encoded(note))

        client.tell = tell
        reply = await self._calls.answer(raw, client)
        if reply is not None:
            await write(reply)
        with suppress(ConnectionError, ClientConnectionError):
            await response.write_eof()
        return response

    async def official(self, request: web.Request) -> web.StreamResponse:
        raw = await _body(request)
        client = Client()
        self._clients.add(client)
        try:
            # the id makes the call one that can be stopped; the client never sees it
            result = await self._calls.call(request.match_info["method"], parsed(raw or b"{}"), client, 0)
        except CallFailed as problem:
            return _json(json.dumps({"error": problem.message, "result": None}).encode())
        finally:
            self._clients.discard(client)
        return _json(encoded({"error": "", "result": result}))


async def _body(request: web.Request) -> bytes:
    try:
        with anyio.fail_after(_BODY_SECONDS):
            return await request.read()
    except TimeoutError:
        raise web.HTTPRequestTimeout from None


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json", headers={"Cache-Control": "no-store"})


def _refused(status: int, said: str, *, authenticate: bool = False) -> web.Response:
    problem = CallFailed(INVALID_REQUEST, said)
    response = _json(encoded({"jsonrpc": "2.0", "id": None, "error": problem.document()}))
    response.set_status(status)
    if authenticate:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response
