"""The last lines of a container, where what it writes is larger than anybody wants to read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from runtimes.kubernetes import client as client_module
from runtimes.kubernetes.client import Client
from runtimes.kubernetes.kubeconfig import Kubeconfig
from runtimes.kubernetes.transport import Transport
from tests.runtimes.kubernetes.test_informer import CONFIG, PODS

LIMIT, LINE = 1000, 100


@asynccontextmanager
async def writing(folder: Path, *written: str) -> AsyncIterator[tuple[Client, list[int]]]:
    """A client of a server whose container wrote these lines, and how many of them it was asked for."""
    asked: list[int] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/api/v1":
            return web.json_response(PODS)
        count, limit = int(request.query["tailLines"]), int(request.query["limitBytes"])
        asked.append(count)
        text = "".join(f"{each}\n" for each in written[-count:])
        return web.Response(body=text.encode()[:limit])  # the first of them, as a kubelet does it

    runner = web.ServerRunner(web.Server(answer), handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    (folder / "config").write_text(CONFIG.format(server=f"http://127.0.0.1:{runner.addresses[0][1]}"))
    client = Client(Transport(Kubeconfig([folder / "config"]).connection(), place="here"))
    try:
        async with asyncio.timeout(20):
            yield client, asked
    finally:
        await client.close()
        await runner.cleanup()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_LOG_LIMIT_BYTES", LIMIT)
    monkeypatch.setattr(client_module, "_LOG_LEEWAY_BYTES", 10)
    monkeypatch.setattr(client_module, "_MOST_LOG_LINE", LINE)


async def test_the_last_line_is_among_the_last_lines_however_long_those_before_it_are(tmp_path: Path) -> None:
    async with writing(tmp_path, "x" * 5000, *"abcdefgh", "panic: no config") as (client, asked):
        assert await client.log("shop", "front", tail_lines=20) == ("h", "panic: no config")
    assert asked == [20, 2]


async def test_of_a_line_that_is_longer_than_may_be_read_the_begin_is_shown_and_said_to_be_one(tmp_path: Path) -> None:
    async with writing(tmp_path, "before", "panic: " + "x" * 50_000) as (client, asked):
        (line,) = await client.log("shop", "front", tail_lines=20)
    assert line == f"panic: {'x' * (LINE - 7)}… (the begin of a line of more than {LIMIT} characters)"
    assert asked == [20, 2, 1]


async def test_a_long_line_is_cut_and_the_others_are_not(tmp_path: Path) -> None:
    async with writing(tmp_path, "x" * 300, "", "ends\twell") as (client, asked):
        lines = await client.log("shop", "front", tail_lines=20)
    assert lines == (f"{'x' * LINE}… (the begin of a line of 300 characters)", "", "ends\twell") and asked == [20]
