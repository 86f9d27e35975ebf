"""The screens in a browser of this machine: over loopback, read-only, for who has the token.

Every program of this machine can reach a loopback port, and so can every page in a browser. So the token is the first
part of each path, that of files and of the websocket too: no cookie holds it, which other servers on this host would be
sent. Host and Origin have to be this server's, else a page could have its name lead here, or speak to the websocket.

Each page that is open has a process of its own, which ends with it.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
import textual_serve
from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from workbench.serving.http import listening, why_foreign

MOST_PAGES: Final = 8
_MOST_BYTES: Final = 65_536
_WIDEST: Final = 500
_HIGHEST: Final = 300
_CLOSING_SECONDS: Final = 5.0
_STATIC: Final = Path(textual_serve.__file__).parent / "static"
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Konfig Workbench</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="static/css/xterm.css">
<script src="static/js/textual.js"></script>
<style>
html, body {{ margin: 0; height: 100%; background: #101418; color: #d0d4d8; font-family: monospace; }}
#terminal {{ height: 100%; }}
.closed {{ display: none; padding: 2em; }}
body.-closed .closed {{ display: block; }}
body.-closed #terminal {{ display: none; }}
</style>
</head>
<body>
<p class="closed">The session has ended. Load the page again for another.</p>
<div id="terminal" class="textual-terminal" data-session-websocket-url="{socket}" data-font-size="{size}"></div>
</body>
</html>
"""


@asynccontextmanager
async def serving(command: Sequence[str], environment: Mapping[str, str], token: str, port: int) -> AsyncIterator[int]:
    """Serves what a command draws while the context lasts; yields the port. Raises `CannotListen`."""
    pages = _Pages(command, environment, token)
    app = web.Application(client_max_size=_MOST_BYTES, middlewares=[pages.guard])
    app.router.add_get(f"/{token}/", pages.index)
    app.router.add_get(f"/{token}/ws", pages.websocket)
    app.router.add_static(f"/{token}/static", _STATIC)
    async with listening(app, port, pages.end, closing_seconds=_CLOSING_SECONDS) as pages.port:
        yield pages.port


class _Pages:
    def __init__(self, command: Sequence[str], environment: Mapping[str, str], token: str) -> None:
        self._command, self._environment, self._token = command, environment, token.encode()
        self._open: set[_Screens] = set()
        self.port = 0

    async def end(self) -> None:
        async with anyio.create_task_group() as tasks:
            for each in tuple(self._open):
                tasks.start_soon(each.end)

    @web.middleware
    async def guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        try:
            answer: web.StreamResponse = self._refusal(request) or await handler(request)
        except web.HTTPException as error:
            answer = _refused(error.status, error.reason)
        if not answer.prepared:
            answer.headers.update(_HEADERS)
            ours = f"ws://{request.host}"
            answer.headers["Content-Security-Policy"] = (
                "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
                f"connect-src 'self' {ours}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
            )
        return answer

    def _refusal(self, request: web.Request) -> web.Response | None:
        if said := why_foreign(request, self.port):
            return _refused(403, said)
        given = request.path.split("/")[1].encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._token):
            return _refused(404, "there is nothing here: the path begins with the token")
        if "Origin" not in request.headers and request.path.endswith("/ws"):
            return _refused(403, "only pages of this server speak to the screens")
        return None

    async def index(self, request: web.Request) -> web.Response:
        socket = f"ws://{request.host}/{self._token.decode()}/ws"
        text = _PAGE.format(socket=socket, size=_between(request.query.get("fontsize"), 8, 40, 16))
        return web.Response(text=text, content_type="text/html")

    async def websocket(self, request: web.Request) -> web.StreamResponse:
        if len(self._open) >= MOST_PAGES:
            return _refused(503, f"{MOST_PAGES} pages are open: close one first")
        socket = web.WebSocketResponse(heartbeat=15, max_msg_size=_MOST_BYTES)
        screens = _Screens(self._command, self._environment, socket)
        self._open.add(screens)
        try:
            await socket.prepare(request)
            await screens.start(
                _between(request.query.get("width"), 20, _WIDEST, 80),
                _between(request.query.get("height"), 5, _HIGHEST, 24),
            )
            async for message in socket:
                if message.type is WSMsgType.TEXT and not await screens.take(message.data):
                    break
        finally:
            with anyio.CancelScope(shield=True):
                await screens.end()
            self._open.discard(screens)
        return socket


class _Screens(AppService):
    """One process that draws the screens for one page."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], socket: web.WebSocketResponse) -> None:
        super().__init__(
            "",
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=self._close,
            download_manager=DownloadManager(),
        )
        self._arguments, self._given, self._socket = command, environment, socket
        self._page: Process | None = None

    async def _close(self) -> None:
        await self._socket.close()

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        return {**super()._build_environment(width, height), **self._given}

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        # no shell between it and us; and ^C reaches this process alone, which then ends the others in order
        self._process = self._page = page = await asyncio.create_subprocess_exec(
            *self._arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=self._build_environment(width, height),
            start_new_session=True,
        )
        self._stdin = page.stdin
        return page

    async def on_meta(self, data: bytes) -> None:
        """Only that it ended: no page is opened and no file is sent on its word."""
        if json.loads(data).get("type") == "exit":
            await self.remote_close()

    async def on_packed(self, payload: bytes) -> None:
        """No file is sent."""

    async def take(self, text: str) -> bool:
        """Hands on what the page sends; returns False for what no page of ours sends."""
        try:
            match json.loads(text):
                case ["stdin", str() as typed]:
                    await self.send_bytes(typed.encode("utf-8", "surrogateescape"))
                case ["resize", {"width": int() as width, "height": int() as height}]:
                    await self.set_terminal_size(min(max(width, 20), _WIDEST), min(max(height, 5), _HIGHEST))
                case ["ping", str() | int() | float() as sent]:
                    await self._socket.send_json(["pong", sent])
                case ["blur" | "focus", *_]:
                    pass
                case _:
                    return False
        except (ValueError, RecursionError, ConnectionError):
            return False
        return True

    async def end(self) -> None:
        """Ends the process in order, or at once where it takes too long."""
        process = self._page
        if process is None:
            return
        with suppress(Exception), anyio.move_on_after(_CLOSING_SECONDS):
            await self.stop()
            await process.wait()
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if not self._socket.closed and self._socket.prepared:
            with suppress(Exception):
                await self._socket.close(code=1001)


def _between(text: str | None, least: int, most: int, default: int) -> int:
    return min(max(int(text), least), most) if text and text.isascii() and text.isdigit() and len(text) < 6 else default


def _refused(status: int, said: str) -> web.Response:
    return web.Response(status=status, text=f"{said}\n")
