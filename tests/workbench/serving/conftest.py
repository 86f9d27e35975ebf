"""`wb serve` in a process of its own, over the shop of the command line's tests."""

from __future__ import annotations

import asyncio
import io
import json
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.workbench.cli.conftest import place, root, wb

__all__ = ["place", "root", "wb"]

PATIENCE_SECONDS = 60.0


class Served:
    """A server over loopback, and a client that has its token."""

    def __init__(self, url: str, token: str, process: asyncio.subprocess.Process, http: aiohttp.ClientSession) -> None:
        self.url, self.token, self.process, self._http = url, token, process, http

    async def post(self, body: bytes, path: str = "/rpc", **headers: str | None) -> tuple[int, bytes]:
        """Posts with the usual headers; one that is None is left out. Names have _ for -."""
        usual = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        given = {**usual, **{name.replace("_", "-"): each for name, each in headers.items()}}
        sent = {name: each for name, each in given.items() if each is not None}
        async with self._http.post(self.url + path, data=io.BytesIO(body), headers=sent) as answer:
            return answer.status, await answer.read()

    async def ask(self, request: Any) -> Any:
        status, body = await self.post(json.dumps(request).encode())
        return json.loads(body) if status == 200 else status

    async def __call__(self, method: str, **params: Any) -> Any:
        """The reply to one call: a result, or the error."""
        reply = await self.ask({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert reply["id"] == 1
        return reply.get("result", reply.get("error"))

    async def events(self, method: str, **params: Any) -> AsyncGenerator[dict[str, Any], None]:
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/x-ndjson"}
        async with self._http.post(self.url + "/rpc", json=body, headers=headers) as answer:
            async for line in answer.content:
                yield json.loads(line)


@asynccontextmanager
async def serve(*arguments: str) -> AsyncIterator[Served]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workbench", "serve", *arguments,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            told = json.loads(await process.stdout.readline())
        timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as http:
            token = await asyncio.to_thread(Path(told["tokenFile"]).read_text)
            yield Served(told["url"], token.strip(), process, http)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await process.communicate()


async def ended(*arguments: str) -> tuple[int, str]:
    """The exit code of a server that does not begin to serve, and what it says."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workbench", "serve", *arguments,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(PATIENCE_SECONDS):
        _, said = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def piped(*arguments: str, sent: bytes) -> tuple[int, list[Any], str]:
    """What `wb serve --stdio` answers to all that is sent, as JSON by lines; its exit code and what it says beside."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workbench", "serve", "--stdio", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, said = await process.communicate(sent)
    assert process.returncode is not None
    return process.returncode, [json.loads(each) for each in out.splitlines()], said.decode()
