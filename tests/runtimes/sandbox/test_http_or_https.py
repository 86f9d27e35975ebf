"""One port, two protocols: with a certificate and without."""

from __future__ import annotations

import asyncio
import ssl
import urllib.request

import pytest

from runtimes.sandbox.server import Sandbox


def answer(url: str, context: ssl.SSLContext | None) -> int:
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if context:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    with urllib.request.build_opener(*handlers).open(f"{url}/readyz", timeout=10) as reply:
        return int(reply.status)


async def test_https_and_http_are_answered_on_the_same_port() -> None:
    async with Sandbox(1, controllers=False) as sandbox:
        (url,) = sandbox.urls
        authority = sandbox.kubeconfig()["clusters"][0]["cluster"]["certificate-authority-data"]  # type: ignore[index]
        assert authority
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        assert await asyncio.to_thread(answer, url, trusting) == 200
        assert await asyncio.to_thread(answer, url.replace("https://", "http://"), None) == 200


async def test_a_connection_that_says_nothing_does_not_hold_up_the_end() -> None:
    async with Sandbox(1, controllers=False) as sandbox:
        host, port = sandbox.urls[0].rpartition("/")[2].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
    writer.close()
    with pytest.raises(OSError):
        await asyncio.wait_for(asyncio.open_connection(host, int(port)), 5)
    del reader


async def test_nothing_is_left_open_at_the_end() -> None:
    """Connections that nobody closed, in the middle of TLS or after it, end with the sandbox."""
    async with Sandbox(1, controllers=False) as sandbox:
        host, port = sandbox.urls[0].rpartition("/")[2].split(":")
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        _, spoken = await asyncio.open_connection(host, int(port), ssl=trusting)
        _, silent = await asyncio.open_connection(host, int(port))
        silent.write(b"\x16")
        await asyncio.sleep(0.05)
        assert len(sandbox._connections) == 2
    assert all(each.get_extra_info("socket").fileno() == -1 for each in list(sandbox._connections))
    spoken.transport.abort()
    silent.transport.abort()
