"""`wb serve` over loopback: who is answered, what is answered to what nobody should send, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
from pathlib import Path

import pytest

from tests.workbench.cli.command import Wb
from tests.workbench.serving.conftest import PATIENCE_SECONDS, ended, serve

PING = b'{"jsonrpc": "2.0", "id": 1, "method": "wb.stacks"}'


async def test_only_who_has_the_token_is_answered(root: Path, wb: Wb) -> None:
    async with serve() as server:
        assert (await server.post(PING))[0] == 200
        for wrong in (None, "Bearer ", "Bearer x", f"Basic {server.token}", server.token, f"Bearer {server.token}x"):
            status, body = await server.post(PING, Authorization=wrong)
            assert (status, b"stacks" in body) == (401, False), wrong


async def test_pages_of_a_browser_are_not_answered(root: Path, wb: Wb) -> None:
    async with serve() as server:
        port = server.url.rpartition(":")[2]
        assert (await server.post(PING, Host=f"localhost:{port}"))[0] == 200
        assert (await server.post(PING, Origin=server.url))[0] == 200
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""):
            assert (await server.post(PING, Host=host))[0] in (400, 403), host
        for origin in ("http://evil.example", "null", "https://127.0.0.1"):
            assert (await server.post(PING, Origin=origin))[0] == 403, origin
        assert (await server.post(PING, Content_Type="text/plain"))[0] == 415
        assert (await server.post(PING, Content_Encoding="gzip"))[0] in (400, 415)


async def test_the_token_is_for_its_owner_alone_and_goes_with_the_server(root: Path, wb: Wb, tmp_path: Path) -> None:
    async with serve() as server:
        (file,) = (tmp_path / "state" / "serve").iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert len(server.token) >= 32
    assert not file.exists()


async def test_a_token_of_the_users_own(root: Path, wb: Wb, tmp_path: Path) -> None:
    own = tmp_path / "token"
    async with serve("--token-file", str(own)) as server:
        first = server.token
    async with serve("--token-file", str(own)) as server:
        assert server.token == first
    own.chmod(0o644)
    code, said = await ended("--token-file", str(own))
    assert (code, "can be read by others" in said) == (1, True), said
    own.chmod(0o600)
    own.write_text("short")
    assert "has no token" in (await ended("--token-file", str(own)))[1]
    own.unlink()
    os.mkfifo(own, 0o600)
    assert (await ended("--token-file", str(own)))[0] == 1


HOSTILE = (
    (b"", -32700),
    (b"{", -32700),
    (b"\x00\xff\xfe\x80" * 100, -32700),
    ('{"jsonrpc": "2.0"}'.encode("utf-16"), -32700),
    (b"[" * 100_000, -32700),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "wb.stacks", "params": ' + b'{"a":' * 300 + b"1" + b"}" * 301, -32700),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "wb.stacks", "params": {"x": NaN}}', -32700),
    (b'{"jsonrpc": "2.0", "id": ' + b"9" * 10_000 + b', "method": "wb.stacks"}', -32700),
    (b"1", -32600),
    (b"[]", -32600),
    (b"[" + b",".join([b"1"] * 101) + b"]", -32600),
    (b'{"id": 1, "method": "wb.stacks"}', -32600),
    (b'{"jsonrpc": "2.0", "id": [1], "method": "wb.stacks"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "wb.nothing"}', -32601),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "__class__"}', -32601),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "KclService.GenerateDoc"}', -32601),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "wb.stacks", "params": [1]}', -32602),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "wb.compile", "params": {"stak": "web/dev"}}', -32602),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "wb.compile", "params": {"stack": 1}}', -32602),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "wb.compile", "params": {"stack": "no/such"}}', -32000),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "wb.watch", "params": {"timeoutSeconds": -1}}', -32602),
)  # fmt: skip


async def test_whatever_is_sent_is_answered_by_an_error(root: Path, wb: Wb) -> None:
    async with serve() as server:
        for sent, code in HOSTILE:
            status, body = await server.post(sent)
            assert (status, json.loads(body)["error"]["code"]) == (200, code), sent[:200]
            assert b"Traceback" not in body
        assert (await server("wb.stacks"))["kind"] == "Tree"
        status, body = await server.post(b" " * 17_000_000)
        assert (status, json.loads(body)["error"]["code"]) == (413, -32600)
        for method, path in (("wb.stacks", "/"), ("wb.stacks", "/rpc/../x")):
            assert (await server.post(PING, path))[0] == 404, (method, path)


async def test_a_request_that_is_never_finished_holds_nobody_up(root: Path, wb: Wb) -> None:
    async with serve() as server:
        port = int(server.url.rpartition(":")[2])
        halves = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        for _, writer in halves:
            writer.write(b"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 1000\r\n\r\n{" % port)
        assert (await server("wb.stacks"))["kind"] == "Tree"
        for _, writer in halves:
            writer.close()
        assert (await server("wb.stacks"))["kind"] == "Tree"


async def test_batches_and_notifications(root: Path, wb: Wb) -> None:
    async with serve() as server:
        one = {"jsonrpc": "2.0", "id": "a", "method": "wb.stacks"}
        note = {"jsonrpc": "2.0", "method": "wb.stacks"}
        replies = await server.ask([one, note, 1, {**one, "id": 2, "method": "x"}])
        assert [(each["id"], "result" in each) for each in replies] == [("a", True), (None, False), (2, False)]
        assert await server.ask(note) == 204
        assert await server.ask([note, note]) == 204
        same = await server.ask([{**one, "method": "wb.compile", "params": {"stack": "web/dev"}}] * 2)
        assert sorted("error" in each for each in same) == [False, True]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_ends_when_it_is_told_to(root: Path, wb: Wb, number: signal.Signals) -> None:
    async with serve() as server:
        server.process.send_signal(number)
        async with asyncio.timeout(PATIENCE_SECONDS):
            _, said = await server.process.communicate()
        assert (server.process.returncode, b"Traceback" in said) == (0, False), said


async def test_a_port_that_is_taken_is_named(root: Path, wb: Wb) -> None:
    async with serve() as server:
        code, said = await ended("--port", server.url.rpartition(":")[2])
        assert (code, "in use" in said, "--port" in said) == (1, True, True), said


def test_options_that_mean_nothing_together_are_refused(root: Path, wb: Wb) -> None:
    assert wb("serve", "--stdio", "--port", "80").code == 64
    assert wb("serve", "--framing", "headers").code == 64
