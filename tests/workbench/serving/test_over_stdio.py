"""`wb serve --stdio`: requests by lines and by headers, broken ones among them, until the input ends."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.workbench.cli.command import Wb
from tests.workbench.serving.conftest import PATIENCE_SECONDS, piped


def request(method: str, id_: object = 1, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode()


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


async def test_every_line_is_answered_and_a_broken_one_hinders_no_other(root: Path, wb: Wb) -> None:
    lines = [
        request("wb.stacks", "first"),
        b"{half",
        b"\xff\xfe\x00",
        b"",
        b"x" * 17_000_000,
        request("wb.compile", 2, stack="web/dev"),
        request("wb.stacks", "last without an end of line"),
    ]
    code, replies, said = await piped(sent=b"\n".join(lines))
    by_id = {each["id"]: each for each in replies if each["id"] is not None}
    assert by_id.keys() == {"first", 2, "last without an end of line"}
    assert all("result" in each for each in by_id.values())
    assert [each["error"]["code"] for each in replies if each["id"] is None] == [-32700] * 3
    assert (code, "Traceback" in said) == (0, False)


async def test_requests_by_headers(root: Path, wb: Wb) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workbench", "serve", "--stdio", "--framing", "headers",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    sent = framed(request("wb.stacks")) + framed(b"{broken") + b"Content-Length: x\r\n\r\n"
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, said = await process.communicate(sent)
    replies = []
    while out:
        head, _, rest = out.partition(b"\r\n\r\n")
        length = int(head.removeprefix(b"Content-Length: "))
        replies.append(json.loads(rest[:length]))
        out = rest[length:]
    codes = sorted(each.get("error", {}).get("code", 0) for each in replies)
    assert codes == [-32700, -32600, 0]
    assert (process.returncode, b"Traceback" in said) == (0, False)


async def test_what_is_not_answered_yet_can_be_cancelled(place: Any) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workbench", "serve", "--stdio",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        process.stdin.write(request("wb.watch", 5, stack="web/dev") + b"\n")
        first = json.loads(await process.stdout.readline())
        assert (first["method"], first["params"]["id"]) == ("$/progress", 5)
        assert first["params"]["event"]["kind"] == "Status"
        process.stdin.write(b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 5}}\n')
        while (reply := json.loads(await process.stdout.readline())).get("id") != 5:
            pass
        assert reply["error"]["code"] == -32800
        process.stdin.write(request("wb.watch", 6, stack="web/dev") + b"\n")
        await process.stdout.readline()
        process.stdin.close()
        out, _ = await process.communicate()  # nobody watches after the end of the input
        assert json.loads(out.splitlines()[-1])["error"]["code"] == -32800
    assert process.returncode == 0
