"""`wb serve --web`: who gets the screens in a browser, what they can do there, and that nothing is left."""

from __future__ import annotations

import asyncio
import shutil
from importlib.util import find_spec
from pathlib import Path

import aiohttp
import pytest

from tests.workbench.cli.command import Wb
from tests.workbench.serving.conftest import PATIENCE_SECONDS, Served, serve

pytestmark = pytest.mark.skipif(
    find_spec("textual_serve") is None, reason="textual-serve is not installed: pip install textual-serve"
)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def files(root: Path) -> dict[Path, bytes]:
    return {each: each.read_bytes() for each in root.rglob("*") if each.is_file()}


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def answered(server: Served, path: str, **headers: str) -> tuple[int, str]:
    url = server.url.rstrip("/") + path
    async with aiohttp.ClientSession(trust_env=False) as http, http.get(url, headers=headers) as answer:
        return answer.status, await answer.text()


async def drawn(socket: aiohttp.ClientWebSocketResponse, wanted: str) -> str:
    """What the screens sent until a text was among it."""
    seen = ""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while wanted not in seen:
            message = await socket.receive()
            assert message.type is aiohttp.WSMsgType.BINARY, (message, seen[-500:])
            seen += message.data.decode("utf-8", "replace")
    return seen


async def test_only_pages_with_the_token_are_answered_and_they_are_for_looking(root: Path, wb: Wb) -> None:
    before = files(root)
    async with serve("--web") as server:
        home, own = f"/{server.token}", server.url.rstrip("/")
        assert (await answered(server, f"{home}/"))[0] == 200
        assert (await answered(server, f"{home}/static/js/textual.js"))[0] == 200
        for path in ("/", "/ws", "/static/js/textual.js", "/x/", f"{home}x/", f"/x{home}/", "//", f"/{'é' * 9}/"):
            status, said = await answered(server, path)
            assert (status, server.token in said) == (404, False), path
        for path in ("/static/../server.py", "/static/..%2fserver.py", "/static/", "/download/x", "/nothing"):
            assert (await answered(server, home + path))[0] in (403, 404), path
        for path in ("/", "/ws", "/static/js/textual.js"):
            assert (await answered(server, home + path, Host="evil.example"))[0] == 403
            assert (await answered(server, home + path, Origin="http://evil.example"))[0] == 403
        assert (await answered(server, f"{home}/ws"))[0] == 403, "a websocket says where its page is from"
        async with aiohttp.ClientSession(trust_env=False) as http:
            for url, origin in ((f"{own}/x/ws", own), (f"{own}{home}/ws", "null"), (f"{own}{home}/ws", "http://a.b")):
                with pytest.raises(aiohttp.WSServerHandshakeError):
                    await http.ws_connect(url, origin=origin)
            async with http.ws_connect(f"{own}{home}/ws?width=100&height=30", origin=own) as socket:
                await drawn(socket, "READ ONLY")
                (page,) = children_of(server.process.pid)
                for keys in ("iX\r", "aS", ":whatif\r", ":recover a=b\r", ":bookmark x\r", ":allow-writes web/prod\r"):
                    await socket.send_json(["stdin", keys])
                await drawn(socket, "this page is for looking")
                await socket.send_json({"what": "is this"})
                async with asyncio.timeout(PATIENCE_SECONDS):
                    while (await socket.receive()).type is aiohttp.WSMsgType.BINARY:
                        pass
            async with http.ws_connect(f"{own}{home}/ws", origin=own) as socket:
                await drawn(socket, "READ ONLY")
                (other,) = children_of(server.process.pid)
                assert other != page and not is_there(page)
                server.process.terminate()
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await server.process.wait()
        assert server.process.returncode == 0
        assert not (is_there(page) or is_there(other)), "nothing is left"
    assert files(root) == before


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium")
@pytest.mark.skipif(find_spec("playwright") is None, reason="playwright is not installed: pip install playwright")
async def test_a_browser_shows_the_screens_and_asks_nobody_else(root: Path, wb: Wb, tmp_path: Path) -> None:
    from playwright.async_api import async_playwright

    async with serve("--web") as server, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": 1000, "height": 600})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        problems: list[str] = []
        page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        await page.goto(f"{server.url}{server.token}/")
        await page.wait_for_selector("body.-first-byte", timeout=PATIENCE_SECONDS * 1000)
        await page.keyboard.type("?")
        await page.wait_for_timeout(500)
        await page.screenshot(path=tmp_path / "page.png")
        assert all(each.startswith((server.url, "data:")) for each in asked), asked
        assert not problems, problems
        await browser.close()
