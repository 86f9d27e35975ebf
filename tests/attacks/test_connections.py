"""What answers in the place of an API server, or does not: each has its own message, in bounded time and memory, and
credentials go nowhere else."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from runtimes.base import Misconfigured, Overloaded, RuntimeFailure, Unauthenticated, Unreachable
from runtimes.base.tables import LiveKind
from runtimes.kubernetes import silences, table_feed
from runtimes.kubernetes.client import MOST_EMPTY_PAGES, Client
from runtimes.kubernetes.kubeconfig import Kubeconfig
from runtimes.kubernetes.transport import Limits, TooLarge, Transport
from tests.attacks import certificates

TOKEN = "canary-of-a-token"
Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def kubeconfig(folder: Path, server: str, *, ca: str = "", token: str = TOKEN) -> Kubeconfig:
    trust = {"certificate-authority-data": base64.b64encode(ca.encode()).decode()} if ca else {}
    content = {
        "current-context": "main",
        "clusters": [{"name": "main", "cluster": {"server": server, **trust}}],
        "users": [{"name": "me", "user": {"token": token, "as": "somebody"}}],
        "contexts": [{"name": "main", "context": {"cluster": "main", "user": "me"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return Kubeconfig([path])


@asynccontextmanager
async def serving(
    answer: Answer, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[str, list[web.BaseRequest]]]:
    """Gives the address of a server that answers so, and the requests it got."""
    got: list[web.BaseRequest] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        got.append(request)
        return await answer(request)

    runner = web.ServerRunner(web.Server(handle, handler_cancellation=True), handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}", got
    finally:
        await runner.cleanup()


@asynccontextmanager
async def asking(
    folder: Path, server: str, *, ca: str = "", token: str = TOKEN, **limits: Any
) -> AsyncIterator[Transport]:
    transport = Transport(
        kubeconfig(folder, server, ca=ca, token=token).connection(), place="hz", limits=Limits(**limits)
    )
    try:
        yield transport
    finally:
        await transport.close()


async def failing(folder: Path, answer: Answer, method: str = "GET", **more: Any) -> tuple[RuntimeFailure, int]:
    """What a request fails with, and how often it was sent."""
    async with serving(answer) as (server, got), asking(folder, server, **more) as transport:
        with pytest.raises(RuntimeFailure) as caught:
            await transport.call(method, "/api/v1/namespaces/kube-system", body={} if method == "PATCH" else None)
    assert TOKEN not in f"{caught.value} {caught.value.hint} {caught.value!r}"
    return caught.value, len(got)


def always(status: int = 200, body: bytes = b"{}", **headers: str) -> Answer:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        named = {"Content-Type": "application/json", **{key.replace("_", "-"): each for key, each in headers.items()}}
        return web.Response(status=status, body=body, headers=named)

    return answer


# --- certificates

WRONG = {
    "expired": ({"begins": -3, "ends": -1}, "has expired"),
    "not yet valid": ({"begins": 1, "ends": 3}, "is not valid yet"),
    "for another name": ({"host": "other.example"}, "is for another"),
    "for another address": ({"host": "127.0.0.2"}, "is for another address"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_each_wrong_certificate_is_said_to_be_wrong_in_its_own_way(tmp_path: Path, name: str) -> None:
    options, said = WRONG[name]
    trusted = certificates.authority()
    context = trusted.server(tmp_path, **options)  # type: ignore[arg-type]  # a table of both kinds of values
    failure = await refused_by_tls(tmp_path, context, trusted.pem)
    assert said in failure.message and failure.hint


async def refused_by_tls(folder: Path, context: ssl.SSLContext, ca: str) -> RuntimeFailure:
    async with serving(always(), context) as (server, got), asking(folder, server, ca=ca) as transport:
        with pytest.raises(Unreachable) as caught:
            await transport.call("GET", "/api")
    assert got == [], "nothing was sent"
    return caught.value


async def test_a_certificate_of_another_authority_is_said_to_be(tmp_path: Path) -> None:
    context = certificates.authority().server(tmp_path)
    failure = await refused_by_tls(tmp_path, context, certificates.authority().pem)
    assert "authority that is not trusted" in failure.message


async def test_a_certificate_signed_by_itself_is_said_to_be(tmp_path: Path) -> None:
    context = certificates.signed_by_itself(tmp_path)
    failure = await refused_by_tls(tmp_path, context, certificates.authority().pem)
    assert "signed by itself" in failure.message


async def test_a_server_without_tls_is_said_to_be(tmp_path: Path) -> None:
    ca = certificates.authority().pem
    async with (
        serving(always()) as (server, _),
        asking(tmp_path, server.replace("http://", "https://"), ca=ca) as transport,
    ):
        with pytest.raises(Unreachable, match="does not speak TLS"):
            await transport.call("GET", "/api")


async def test_tls_in_place_of_plain_http_is_said_to_be(tmp_path: Path) -> None:
    context = certificates.authority().server(tmp_path)
    async with (
        serving(always(), context) as (server, _),
        asking(tmp_path, server.replace("https://", "http://")) as transport,
    ):
        with pytest.raises(Unreachable, match=r"does not speak HTTP|connection was lost|web page"):
            await transport.call("GET", "/api")


# --- addresses

SECRETS_IN = [
    "https://canary:pw-canary@h:6443",
    "https://canary@h:6443",
    "https://:pw-canary@h",
    "http://a:b:pw-canary@h",
]


@pytest.mark.parametrize("server", SECRETS_IN)
def test_credentials_in_an_address_are_refused_and_not_shown(tmp_path: Path, server: str) -> None:
    found = kubeconfig(tmp_path, server)
    for ask in (found.connection, found.place):
        with pytest.raises(Misconfigured, match="holds a user or a password") as caught:
            ask()
        assert "canary" not in f"{caught.value} {caught.value.hint}"


SECRETS_BEHIND = [
    "http://127.0.0.1:{port}/k8s/clusters/c-1?token=canary",
    "http://127.0.0.1:{port}?access_token=canary&x=1",
    "http://127.0.0.1:{port}/#canary",
]


@pytest.mark.parametrize("server", SECRETS_BEHIND)
async def test_what_stands_behind_the_path_of_an_address_is_not_shown(tmp_path: Path, server: str) -> None:
    address = server.format(port=free_port())
    found = kubeconfig(tmp_path, address)
    places = [found.place(), found.connection().identity]
    async with asking(tmp_path, address) as transport:
        with pytest.raises(Unreachable) as caught:
            await transport.call("GET", "/api")
    said = f"{places} {[each.server for each in places]} {caught.value!r} {caught.value} {caught.value.hint}"
    assert "127.0.0.1" in said and "canary" not in said


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.parametrize(
    "server",
    [
        "https://",
        "https://[::1",
        "https://h:port",
        "https://h:99999",
        "https://h\x1b]52;c;",
        "ftp://h",
        "https://a..b",
        f"https://{'a' * 300}",
    ],
)
def test_an_address_that_is_none_is_a_message(tmp_path: Path, server: str) -> None:
    with pytest.raises(Misconfigured, match=r"is no URL|has no server URL"):
        kubeconfig(tmp_path, server).connection()


# --- redirects


@pytest.mark.parametrize("status", [302, 307])
@pytest.mark.parametrize("method", ["GET", "PATCH"])
async def test_a_redirect_is_not_followed(tmp_path: Path, status: int, method: str) -> None:
    async with serving(always()) as (other, got):
        to = f"{other.replace('127.0.0.1', 'canary:pw@localhost')}/login?state=canary"
        failure, sent = await failing(tmp_path, always(status, Location=to), method)
    assert (got, sent) == ([], 1)
    assert "sends us on to http://localhost (HTTP" in failure.message and "canary" not in failure.message
    assert isinstance(failure, Unreachable) and failure.is_uncertain == (method == "PATCH")


async def test_a_watch_does_not_follow_a_redirect(tmp_path: Path) -> None:
    async with (
        serving(always()) as (other, got),
        serving(always(307, Location=other)) as (server, _),
        asking(tmp_path, server) as transport,
    ):
        with pytest.raises(Unreachable, match="sends us on"):
            async with transport.stream("/api/v1/pods", ()):
                pass
    assert got == []


# --- what is no answer of an API server

PAGE = b"<!DOCTYPE html><html><title>Log in</title><script>canary</script></html>"


@pytest.mark.parametrize("status", [200, 401, 403, 503])
@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/json"])
async def test_a_login_page_is_said_to_be_a_web_page(tmp_path: Path, status: int, kind: str) -> None:
    failure, sent = await failing(tmp_path, always(status, PAGE, Content_Type=kind))
    assert f"answers with a web page (HTTP {status})" in failure.message and "canary" not in str(failure)
    assert sent == 1 and "log in" in failure.hint


async def test_a_log_may_hold_a_web_page(tmp_path: Path) -> None:
    async with (
        serving(always(200, PAGE, Content_Type="text/plain")) as (server, _),
        asking(tmp_path, server) as transport,
    ):
        assert (await transport.call("GET", "/log", is_text=True)).body == PAGE.decode()


async def test_a_login_page_in_place_of_a_log_is_none(tmp_path: Path) -> None:
    async with (
        serving(always(200, PAGE, Content_Type="text/html")) as (server, _),
        asking(tmp_path, server) as transport,
    ):
        with pytest.raises(Unreachable, match="web page"):
            await transport.call("GET", "/log", is_text=True)


@pytest.mark.parametrize("body", [b"", b'{"a": ', pytest.param(b"[" * 100_000, id="deep"), b"[]", b'"a"', b"null"])
async def test_what_is_no_object_is_a_failure_of_the_cluster(tmp_path: Path, body: bytes) -> None:
    async with serving(always(200, body)) as (server, _), asking(tmp_path, server) as transport:
        with pytest.raises(RuntimeFailure) as caught:
            await Client(transport).system_namespace()
    assert "answer" in caught.value.message


@pytest.mark.parametrize(
    "document",
    [[], {"groups": 3}, {"groups": [{}]}, {"groups": ["x"]}],
)
async def test_a_discovery_that_is_none_is_a_failure_of_the_cluster(tmp_path: Path, document: Any) -> None:
    async with (
        serving(always(200, json.dumps(document).encode())) as (server, _),
        asking(tmp_path, server) as transport,
    ):
        with pytest.raises(RuntimeFailure, match="not as an API server says it"):
            await Client(transport).discovery.served()


PODS = {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["list"]}]}


@pytest.mark.parametrize(
    "page", [{"items": 3}, {"items": ["x"]}, {"items": [{"metadata": 3}]}, {"items": [], "metadata": {"continue": "a"}}]
)
async def test_a_list_that_is_none_or_has_no_end_is_a_failure_of_the_cluster(tmp_path: Path, page: Any) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response(PODS if request.path == "/api/v1" else page)

    async with serving(answer) as (server, _), asking(tmp_path, server) as transport:
        client = Client(transport)
        with pytest.raises(RuntimeFailure, match="Pod list"):
            await client.list(await client.discovery.resource("v1", "Pod"))


@pytest.mark.parametrize("is_table", [False, True])
async def test_a_list_of_pages_with_nothing_new_on_them_ends(tmp_path: Path, is_table: bool) -> None:
    """Each page names another one to come, so that none comes again."""
    asked: list[str] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/api/v1":
            return web.json_response(PODS)
        asked.append(request.query.get("continue", ""))
        page = {"metadata": {"continue": str(len(asked))}}
        content = {"kind": "Table", "columnDefinitions": [], "rows": []} if is_table else {"items": []}
        return web.json_response({**page, **content})

    async with serving(answer) as (server, _), asking(tmp_path, server) as transport:
        client = Client(transport)
        kind = LiveKind("v1", "Pod", "pods", True)
        with pytest.raises(RuntimeFailure, match="a list goes on for ever"):
            if is_table:
                async with table_feed.following(client, kind, (), 10) as reports:
                    async for report in reports:
                        if report.failure is not None:
                            raise report.failure
            else:
                await client.list(await client.discovery.resource("v1", "Pod"))
    assert len(set(asked)) == MOST_EMPTY_PAGES


# --- too much, too long


async def test_a_huge_answer_is_not_read_to_its_end(tmp_path: Path) -> None:
    failure, _ = await failing(tmp_path, always(200, b" " * 400_000), answer_bytes=100_000)
    assert isinstance(failure, TooLarge) and "larger than 0.1 MB" in failure.message


async def test_an_answer_that_grows_when_it_is_unpacked_is_not_read_to_its_end(tmp_path: Path) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    failure, _ = await failing(tmp_path, always(200, bomb, Content_Encoding="gzip"), answer_bytes=1_000_000)
    assert isinstance(failure, TooLarge)


@pytest.mark.parametrize("status", [200, 401, 500])
async def test_an_answer_without_end_ends(tmp_path: Path, status: int) -> None:
    async def drip(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(status=status)
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(b" " * 10)
                await asyncio.sleep(0.05)
        return response

    failure, sent = await failing(tmp_path, drip, answer_seconds=0.4)
    assert "no answer within 0.4 s" in failure.message
    assert sent == 1, "a whole time limit is not waited for again"


async def test_objects_too_large_for_one_page_come_in_smaller_ones(tmp_path: Path) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/api/v1":
            return web.json_response(PODS)
        first, many = int(request.query.get("continue") or 0), int(request.query["limit"])
        items = [{"metadata": {"name": str(n)}, "fill": "x" * 1000} for n in range(first, min(first + many, 70))]
        after = {"continue": str(first + many)} if first + many < 70 else {}
        return web.json_response({"metadata": {"resourceVersion": "1", **after}, "items": items})

    async with serving(answer) as (server, _), asking(tmp_path, server, answer_bytes=20_000) as transport:
        client = Client(transport)
        listing = await client.list(await client.discovery.resource("v1", "Pod"))
    assert [each["metadata"]["name"] for each in listing.items] == [str(n) for n in range(70)]


async def test_a_server_that_hangs_is_given_up_after_one_time_limit(tmp_path: Path) -> None:
    async def never(_: web.BaseRequest) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    failure, sent = await failing(tmp_path, never, answer_seconds=0.3)
    assert (sent, "no answer within 0.3 s" in failure.message) == (1, True)


async def test_a_server_that_hung_is_waited_for_in_full_once_until_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each verb of a notebook would take as long again."""
    monkeypatch.setattr(silences, "AFTER_SILENCE_SECONDS", 0.1)
    hangs = asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if not hangs.is_set() or "metrics" in request.path:
            await asyncio.Event().wait()
        return web.json_response({})

    async def said(path: str) -> str:
        with pytest.raises(Unreachable) as caught:
            await transport.call("GET", path)
        return caught.value.message

    async with serving(answer) as (server, _), asking(tmp_path, server, answer_seconds=0.4) as transport:
        assert "no answer within 0.4 s" in await said("/api/v1/pods")
        assert "no answer within 0.1 s" in await said("/apis/apps/v1/deployments")
        hangs.set()
        await transport.call("GET", "/api/v1/pods")
        assert transport._seconds_for("GET", "/api/v1/pods") == 0.4
        assert "no answer within 0.4 s" in await said("/apis/metrics.k8s.io/v1beta1/pods")
        await transport.call("GET", "/api/v1/pods")
        assert "no answer within 0.1 s" in await said("/apis/metrics.k8s.io/v1beta1/nodes"), "it alone hangs"
        assert transport._seconds_for("PATCH", "/apis/metrics.k8s.io/v1beta1/nodes") > 0.4, "writes are waited for"


async def hanging(_: web.BaseRequest) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_server_that_hung_and_is_slow_now_is_waited_for_again_after_some_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each of its answers that is cut off would be a reason to cut off the next one."""
    monkeypatch.setattr(silences, "AFTER_SILENCE_SECONDS", 0.05)
    minutes = 0.0
    monkeypatch.setattr(silences, "_now", lambda: minutes * 60)

    async def slow(_: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(0.1)
        return web.json_response({})

    answers = iter((hanging, slow, slow, slow))
    async with (
        serving(lambda request: next(answers)(request)) as (server, _),
        asking(tmp_path, server, answer_seconds=0.4) as transport,
    ):
        for at, seconds in ((0.0, 0.4), (1.0, 0.05), (4.0, 0.05)):
            minutes = at
            with pytest.raises(Unreachable, match=f"no answer within {seconds:g} s"):
                await transport.call("GET", "/api/v1/pods")
        minutes = 6.0
        await transport.call("GET", "/api/v1/pods")


async def test_an_answer_that_is_on_its_way_after_a_silence_is_taken_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of a long list may take longer than what is silent is waited for."""
    monkeypatch.setattr(silences, "AFTER_SILENCE_SECONDS", 0.2)

    async def in_pieces(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b"{")
        for _ in range(12):
            await asyncio.sleep(0.02)
            await response.write(b" ")
        if request.path.endswith("nodes"):
            await asyncio.Event().wait()
        await response.write(b"}")
        return response

    async with serving(in_pieces) as (server, _), asking(tmp_path, server) as transport:
        transport._silences.hung("/api/v1/pods", asyncio.get_running_loop().time())
        assert (await transport.call("GET", "/api/v1/pods")).body == {}
        transport._silences.hung("/api/v1/nodes", asyncio.get_running_loop().time())
        with pytest.raises(Unreachable, match=r"no answer within 0\.2 s"):
            await transport.call("GET", "/api/v1/nodes")
    async with serving(in_pieces) as (server, _), asking(tmp_path, server, answer_seconds=0.3) as transport:
        transport._silences.hung("/api/v1/nodes", asyncio.get_running_loop().time())
        with pytest.raises(Unreachable, match=r"no answer within 0\.3 s"):
            await transport.call("GET", "/api/v1/nodes")


@pytest.mark.parametrize(
    "after", [{}, {"Retry_After": "0"}, {"Retry_After": "Wed, 21 Oct 2099 07:28:00 GMT"}, {"Retry_After": "\u00b2"},
              {"Retry_After": "9" * 400}, {"Retry_After": "nan"}],
)  # fmt: skip
@pytest.mark.parametrize("status", [429, 503])
async def test_a_server_that_is_always_overloaded_is_given_up(
    tmp_path: Path, status: int, after: dict[str, str]
) -> None:
    body = json.dumps({"kind": "Status", "message": "come back later", "code": status}).encode()
    failure, sent = await failing(tmp_path, always(status, body, **after), patience_seconds=0.2)
    assert isinstance(failure, Overloaded)
    if sent > 1:
        assert f"HTTP {status}, asked {sent} times in 0.2 s" in failure.message


# --- credentials that end


def jwt(claims: object) -> str:
    return ".".join(
        base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in ({}, claims, {})
    )


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_token_that_ran_out_is_said_to_have(tmp_path: Path, is_stream: bool) -> None:
    async with (
        serving(always(401, b'{"kind": "Status", "code": 401, "message": "Unauthorized"}')) as (server, _),
        asking(tmp_path, server, token=jwt({"exp": 1_700_000_000, "sub": "canary"})) as transport,
    ):
        with pytest.raises(Unauthenticated, match=r"the token has expired: at 2023-11-14 22:13:20 UTC") as caught:
            if is_stream:
                async with transport.stream("/api/v1/pods", ()):
                    pass
            else:
                await transport.call("GET", "/api")
    assert "canary" not in f"{caught.value} {caught.value.hint}" and "log in" in caught.value.hint


@pytest.mark.parametrize(
    "claims", [3, [], {}, {"exp": "x"}, {"exp": 1e300}, {"exp": -1e300}, {"exp": [1]}, {"exp": None}]
)
async def test_a_token_that_says_nonsense_of_its_end_is_only_refused(tmp_path: Path, claims: object) -> None:
    async with (
        serving(always(401, b"{}")) as (server, _),
        asking(tmp_path, server, token=jwt(claims)) as transport,
    ):
        with pytest.raises(Unauthenticated, match="does not accept the credentials"):
            await transport.call("GET", "/api")


async def test_a_watch_whose_token_runs_out_on_the_way_says_so(tmp_path: Path) -> None:
    async def ends(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/api/v1":
            return web.json_response(PODS)
        error = {"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"}
        return web.Response(body=json.dumps({"type": "ERROR", "object": error}).encode() + b"\n")

    async with serving(ends) as (server, _), asking(tmp_path, server) as transport:
        client = Client(transport)
        pods = await client.discovery.resource("v1", "Pod")
        with pytest.raises(Unauthenticated, match="does not accept the credentials"):
            async with client.watch(pods, "", "1", seconds=5) as events:
                async for _ in events:
                    pass


EVENTS = [
    b"[]",
    b"{}",
    b"<html>",
    pytest.param(b"[" * 50_000, id="deep"),
    b'{"type": "ADDED", "object": 3}',
    b'{"type": "ADDED", "object": {"metadata": 3}}',
    b'{"type": "ERROR", "object": 3}',
    b'{"type": "ERROR", "object": {"code": "x"}}',
    b'{"type": "RENAMED", "object": {"metadata": {"name": "a", "namespace": "shop"}}}',
    b'{"type": "ADDED", "object": {"kind": "Secret", "metadata": {"name": "a", "namespace": "shop"}}}',
    b'{"type": "ADDED", "object": {"apiVersion": "v2", "metadata": {"name": "a", "namespace": "shop"}}}',
    b'{"type": "DELETED", "object": {"metadata": {"name": "a", "namespace": "another"}}}',
    b'{"type": "ADDED", "object": {"metadata": {"namespace": "shop"}}}',
]


@pytest.mark.parametrize("event", EVENTS)
async def test_a_watch_that_sends_nonsense_is_a_failure_of_the_cluster(tmp_path: Path, event: bytes) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response(PODS) if request.path == "/api/v1" else web.Response(body=event + b"\n")

    async with serving(answer) as (server, _), asking(tmp_path, server) as transport:
        client = Client(transport)
        pods = await client.discovery.resource("v1", "Pod")
        with pytest.raises(RuntimeFailure):
            async with client.watch(pods, "shop", "1", seconds=5) as events:
                async for _ in events:
                    pass


@pytest.mark.parametrize(
    "between", [b"", b"\r", b'{"type": "ADDED"}\n'], ids=["nothing", "half an end", "a line before"]
)
async def test_a_line_of_a_watch_without_end_is_not_read_to_its_end(tmp_path: Path, between: bytes) -> None:
    sent = 0

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(between)
        with suppress(ConnectionError):
            while sent < 400 * 2**20:
                await response.write(b'{"a":"' + b"x" * 2**20)
                sent += 2**20
        return response

    async with serving(answer) as (server, _), asking(tmp_path, server) as transport:
        with pytest.raises(RuntimeFailure, match="one line of a watch is larger than 32 MiB"):
            async with transport.stream("/api/v1/pods", [("watch", "1")]) as lines:
                async for _ in lines:
                    pass
    assert sent < 100 * 2**20
