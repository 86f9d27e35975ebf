"""What the HTTP edge repeats, what it never repeats, and what its errors say, against a scripted server."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from aiohttp import web

from runtimes.base import Forbidden, Misconfigured, Overloaded, RuntimeFailure, Unauthenticated, Unreachable
from runtimes.kubernetes.kubeconfig import Kubeconfig
from runtimes.kubernetes.pinned_client import proxy_of
from runtimes.kubernetes.transport import Limits, Transport

TOKEN = "a-token-that-nobody-may-see"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

CONFIG = """
apiVersion: v1
kind: Config
current-context: main
clusters: [{{name: main, cluster: {{server: "{server}"}}}}]
users: [{{name: me, user: {user}}}]
contexts: [{{name: main, context: {{cluster: main, user: me, namespace: shop}}}}]
"""


@asynccontextmanager
async def _serving(
    tmp_path: Path, answer: Answer, *, user: str = f"{{token: {TOKEN}}}", refusal: str = "", **limits: float
) -> AsyncIterator[tuple[Transport, list[str]]]:
    """Gives a transport to a server that answers so, and the list of requests it got."""
    got: list[str] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        got.append(f"{request.method} {request.path}")
        return await answer(request)  # type: ignore[arg-type]

    runner = web.ServerRunner(web.Server(handle), handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    path = tmp_path / "kubeconfig"
    path.write_text(CONFIG.format(server=f"http://127.0.0.1:{port}", user=user))
    connection = Kubeconfig([path]).connection()
    bounds = replace(Limits(), **limits)  # type: ignore[arg-type]  # numbers of any kind, by name
    transport = Transport(connection, place="shop-eu", refusal=refusal, limits=bounds)
    try:
        yield transport, got
    finally:
        await transport.close()
        await runner.cleanup()


def _in_turn(*answers: Callable[[web.Request], web.StreamResponse]) -> Answer:
    """Gives each answer once, the last one for ever."""
    left = list(answers)

    async def answer(request: web.Request) -> web.StreamResponse:
        return (left.pop(0) if len(left) > 1 else left[0])(request)

    return answer


def _ok(_: web.Request) -> web.StreamResponse:
    return web.json_response({"kind": "Thing"})


def _status(code: int, message: str = "no", **headers: str) -> Callable[[web.Request], web.StreamResponse]:
    body = {"kind": "Status", "status": "Failure", "message": message, "code": code}
    return lambda _: web.json_response(body, status=code, headers=headers)


def _hang_up(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


def _half(_: web.Request) -> web.StreamResponse:
    return web.Response(body=b'{"kind": "Th', content_type="application/json")


@pytest.mark.parametrize(
    ("said", "ahead"),
    [
        ("Thu, 01 Jan 1970 00:00:00 GMT", -1e9),
        ("Fri, 31 Dec 9999 00:00:00 GMT", 1e9),
        ("yesterday", None),
        ("", None),
    ],
)
async def test_the_clock_of_the_server_is_heard(tmp_path: Path, said: str, ahead: float | None) -> None:
    """Also where it refuses: what time it is there is nobody's secret."""
    async with _serving(tmp_path, _in_turn(_status(403, Date=said))) as (transport, _):
        assert transport.clock.ahead_seconds is None
        with pytest.raises(RuntimeFailure):
            await transport.call("GET", "/api/v1/things")
        found = transport.clock.ahead_seconds
    assert found is ahead or (found is not None and ahead is not None and found / ahead > 1)


@pytest.mark.parametrize(("hours", "ahead"), [(-3, -3), (2, 2), (0, 0), (24 * 366 * 20, 0)])
async def test_how_far_a_clock_is_ahead_stays_the_same_from_one_answer_to_the_next(
    tmp_path: Path, hours: int, ahead: int
) -> None:
    def answer(request: web.Request) -> web.StreamResponse:
        return _status(403, Date=format_datetime(datetime.now(UTC) + timedelta(hours=hours), usegmt=True))(request)

    async with _serving(tmp_path, _in_turn(answer)) as (transport, _):
        assert transport.clock.ahead == timedelta()
        found = set()
        for _ in range(3):
            with pytest.raises(RuntimeFailure):
                await transport.call("GET", "/api/v1/things")
            found.add(transport.clock.ahead)
            off = transport.clock.now() - datetime.now(UTC) - transport.clock.ahead
            assert abs(off) < timedelta(seconds=0.5), "the time is told by as much"
    assert len(found) == 1 and abs(found.pop() - timedelta(hours=ahead)) <= timedelta(seconds=2)


async def test_every_group_that_is_taken_on_is_told(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response(
            {"groups": request.headers.getall("Impersonate-Group"), "as": request.headers["Impersonate-User"]}
        )

    async with _serving(tmp_path, answer, user="{token: t, as: jane, as-groups: [one, two]}") as (transport, _):
        reply = await transport.call("GET", "/api/v1/things")
        assert reply.body == {"groups": ["one", "two"], "as": "jane"}


@pytest.mark.parametrize("trouble", [_hang_up, _half, _status(500), _status(503), _status(429, **{"Retry-After": "0"})])
async def test_a_read_is_repeated(tmp_path: Path, trouble: Callable[[web.Request], web.StreamResponse]) -> None:
    async with _serving(tmp_path, _in_turn(trouble, trouble, _ok)) as (transport, got):
        reply = await transport.call("GET", "/api/v1/things")
    assert reply.body == {"kind": "Thing"}
    assert len(got) == 3


@pytest.mark.parametrize("trouble", [_hang_up, _half, _status(500), _status(503)])
async def test_a_dry_run_is_repeated_as_it_changes_nothing(
    tmp_path: Path, trouble: Callable[[web.Request], web.StreamResponse]
) -> None:
    async with _serving(tmp_path, _in_turn(trouble, trouble, _ok)) as (transport, got):
        reply = await transport.call("PATCH", "/api/v1/things/a", query=[("dryRun", "All")], body={})
    assert reply.body == {"kind": "Thing"}
    assert len(got) == 3


@pytest.mark.parametrize(
    ("trouble", "error"), [(_hang_up, Unreachable), (_status(500), RuntimeFailure), (_status(503), Overloaded)]
)
async def test_a_write_is_never_sent_twice_when_its_outcome_is_unknown(
    tmp_path: Path, trouble: Callable[[web.Request], web.StreamResponse], error: type[RuntimeFailure]
) -> None:
    async with _serving(tmp_path, _in_turn(trouble, _ok)) as (transport, got):
        with pytest.raises(error) as refused:
            await transport.call("PATCH", "/api/v1/things/a", body={}, subject="v1:Thing:a")
    assert len(got) == 1
    if error is Unreachable:
        assert "not known" in refused.value.hint


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_an_overloaded_server_is_asked_again_when_it_says(tmp_path: Path, method: str) -> None:
    answers = _in_turn(_status(429, **{"Retry-After": "1"}), _status(503, **{"Retry-After": "0"}), _ok)
    loop = asyncio.get_running_loop()
    async with _serving(tmp_path, answers) as (transport, got):
        began = loop.time()
        await transport.call(method, "/api/v1/things/a", body={})
        assert loop.time() - began >= 1.0
    assert len(got) == 3


async def test_patience_with_an_overloaded_server_ends(tmp_path: Path) -> None:
    async with _serving(tmp_path, _in_turn(_status(429, **{"Retry-After": "60"})), patience_seconds=5) as (
        transport,
        got,
    ):
        with pytest.raises(Overloaded):
            await transport.call("PATCH", "/api/v1/things/a", body={})
    assert len(got) == 1


async def test_a_server_that_does_not_answer_is_unreachable_in_time(tmp_path: Path) -> None:
    async def never(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(30)
        raise AssertionError

    async with _serving(tmp_path, never, answer_seconds=0.1, admission_seconds=0.1, connect_seconds=0.1) as (
        transport,
        got,
    ):
        with pytest.raises(Unreachable, match=r"cannot be reached: no answer within 0.2 s"):
            await transport.call("DELETE", "/api/v1/things/a")
    assert got == ["DELETE /api/v1/things/a", "GET /version"]


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("head", "then", "said"),
    [
        (_HEAD + b"Content-Length: 1000\r\n\r\n", b" ", "no answer within 0.6 s"),
        (_HEAD + b"X-A: ", b"a", "no answer within 0.6 s"),
        (_HEAD + b"X-A: " + b"a" * 1_000_000, b"\r\n\r\n{}", "does not speak HTTP as a server should"),
        (_HEAD + b"X-A: a\r\n" * 100_000, b"\r\n\r\n{}", "does not speak HTTP as a server should"),
    ],
    ids=["a byte of the body at a time", "a byte of a header at a time", "a huge header", "many headers"],
)
async def test_an_answer_that_never_ends_or_has_no_measure_is_given_up_in_time(
    tmp_path: Path, head: bytes, then: bytes, said: str
) -> None:
    answering: list[asyncio.Task[None] | None] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.append(asyncio.current_task())
        with suppress(OSError), closing(writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            while not writer.is_closing():
                await writer.drain()
                await asyncio.sleep(0.05)
                writer.write(then)

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        path = tmp_path / "kubeconfig"
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        path.write_text(CONFIG.format(server=address, user=f"{{token: {TOKEN}}}"))
        limits = replace(Limits(), answer_seconds=0.3, admission_seconds=0.3, patience_seconds=1)
        transport = Transport(Kubeconfig([path]).connection(), place="shop-eu", limits=limits)
        try:
            with pytest.raises(Unreachable, match=said):
                await transport.call("PATCH", "/api/v1/things/a", body={})
        finally:
            await transport.close()
            await asyncio.gather(*(each for each in answering if each is not None))


@pytest.mark.parametrize("query", [(), (("dryRun", "All"),)])
async def test_one_request_that_is_held_up_is_no_server_that_is_away(
    tmp_path: Path, query: tuple[tuple[str, str], ...]
) -> None:
    """As with a webhook that hangs: a cluster that is said to be away would take everything else with it."""

    async def hangs(request: web.Request) -> web.StreamResponse:
        if request.method == "PATCH":
            await asyncio.sleep(30)
        return _ok(request)

    async with _serving(tmp_path, hangs, answer_seconds=0.1, admission_seconds=0.1) as (transport, got):
        with pytest.raises(RuntimeFailure) as refused:
            await transport.call("PATCH", "/api/v1/things/a", body={}, query=query, subject="Thing a")
    assert type(refused.value) is RuntimeFailure
    assert refused.value.message == "no answer within 0.2 s, while the server answers other requests"
    assert "webhook" in refused.value.hint
    assert ("whether the change was made is not known" in refused.value.hint) == (not query)
    assert got == ["PATCH /api/v1/things/a", "GET /version"], "a whole time limit is not waited for again"


async def test_the_server_s_own_end_of_a_change_is_waited_for(tmp_path: Path) -> None:
    """After 30 s a webhook is given up by the server, which names it, after 60 s the request."""

    async def late(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.3)
        said = {"kind": "Status", "status": "Failure", "code": 500, "message": 'failed calling webhook "slow.example"'}
        return web.json_response(said, status=500)

    async with _serving(tmp_path, late, answer_seconds=0.1, admission_seconds=20) as (transport, _):
        with pytest.raises(RuntimeFailure, match=r"slow\.example"):
            await transport.call("PATCH", "/api/v1/things/a", body={})


async def test_a_stream_outlives_the_time_limit_of_answers(tmp_path: Path) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(4):
            await response.write(json.dumps({"n": number}).encode() + b"\n")
            await asyncio.sleep(0.15)
        await response.write(b'{"n": "no end of line"}')
        return response

    async with (
        _serving(tmp_path, drip, answer_seconds=0.2) as (transport, _),
        transport.stream("/api/v1/things", [("watch", "true")]) as lines,
    ):
        assert [json.loads(line)["n"] async for line in lines] == [0, 1, 2, 3]


async def test_a_stream_that_falls_silent_is_lost(tmp_path: Path) -> None:
    async def one(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{}\n")
        await asyncio.sleep(30)
        return response

    async with _serving(tmp_path, one, silence_seconds=0.2) as (transport, _):
        with pytest.raises(Unreachable):
            async with transport.stream("/api/v1/things", ()) as lines:
                async for _line in lines:
                    pass


async def test_no_error_repeats_the_token(tmp_path: Path) -> None:
    told = []
    for trouble in (_status(401), _status(403, 'User "me" cannot get things'), _status(500), _hang_up):
        async with _serving(tmp_path, _in_turn(trouble)) as (transport, _):
            with pytest.raises(RuntimeFailure) as refused:
                await transport.call("GET", "/api/v1/things")
            told.append(f"{refused.value} {refused.value!r} {refused.value.hint} {refused.value.__cause__}")
            told.append(repr(transport.connection))
    assert all(TOKEN not in each for each in told)
    assert all("shop-eu" in each for each in told[::2])


async def test_warnings_of_the_server_come_along(tmp_path: Path) -> None:
    def warned(_: web.Request) -> web.StreamResponse:
        response = web.json_response({})
        response.headers.add("Warning", '299 - "policy/v1beta1 is \\"old\\""')
        response.headers.add("Warning", '299 - "another"')
        return response

    async with _serving(tmp_path, _in_turn(warned)) as (transport, _):
        assert (await transport.call("GET", "/api")).warnings == ('policy/v1beta1 is "old"', "another")


@pytest.mark.parametrize("scheme", ["http://", ""])
async def test_a_proxy_of_the_environment_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    async with _serving(tmp_path, _in_turn(_ok)) as (through, got):
        address = through.connection.endpoint.server.removeprefix("http://")
        for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HTTP_PROXY", scheme + address)
        monkeypatch.setenv("no_proxy", "127.0.0.1,inside.example")
        endpoint = replace(through.connection.endpoint, server="http://cluster.example")
        transport = Transport(replace(through.connection, endpoint=endpoint), place="shop-eu")
        try:
            await transport.call("GET", "/version")
        finally:
            await transport.close()
        assert got == ["GET /version"]
        assert proxy_of(transport.connection) == f"http://{address}" and proxy_of(through.connection) == ""
        inside = replace(endpoint, server="http://inside.example")
        assert proxy_of(replace(through.connection, endpoint=inside)) == ""


async def test_a_login_that_netrc_has_for_the_host_is_not_the_cluster_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password for-something-else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    logins: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        logins.append(request.headers.get("Authorization", ""))
        return _ok(request)

    for user in (f"{{token: {TOKEN}}}", "{}"):
        async with _serving(tmp_path, answer, user=user) as (transport, _):
            await transport.call("GET", "/api")
    assert logins == [f"Bearer {TOKEN}", ""]


async def test_text_that_looks_like_json_stays_text(tmp_path: Path) -> None:
    async with _serving(tmp_path, _in_turn(lambda _: web.Response(text='{"level": "info"}'))) as (transport, _):
        assert (await transport.call("GET", "/log", is_text=True)).body == '{"level": "info"}'


def _plugin(tmp_path: Path, script: str) -> str:
    path = tmp_path / "get-token"
    path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return (
        f'{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: "{path}", installHint: "install it", '
        "env: [{name: COLOUR, value: blue}], provideClusterInfo: true}}"
    )


COUNTING = """
count = len(open("{0}").read()) if os.path.exists("{0}") else 0
open("{0}", "a").write("x")
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
assert info["spec"]["cluster"]["server"].startswith("http://127.0.0.1") and os.environ["COLOUR"] == "blue"
sys.stderr.write("talk " * 50000)
status = {{"token": "token-%d" % count}}
print(json.dumps({{"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": status}}))
"""


def _accepting(token: str) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        is_known = request.headers.get("Authorization") == f"Bearer {token}"
        return _ok(request) if is_known else _status(401)(request)

    return answer


async def test_refused_credentials_are_never_obtained(tmp_path: Path) -> None:
    user = _plugin(tmp_path, COUNTING.format(tmp_path / "count"))
    async with _serving(tmp_path, _accepting("token-0"), user=user, refusal="because") as (transport, got):
        with pytest.raises(Misconfigured, match="is not trusted: because"):
            await transport.call("GET", "/api")
    assert got == [] and not (tmp_path / "count").exists()


async def test_a_program_that_wants_a_terminal_is_not_started(tmp_path: Path) -> None:
    user = _plugin(tmp_path, COUNTING.format(tmp_path / "count")).replace(
        "installHint", "interactiveMode: Always, installHint"
    )
    async with _serving(tmp_path, _accepting("token-0"), user=user) as (transport, _):
        with pytest.raises(Unauthenticated, match="wants a terminal"):
            await transport.call("GET", "/api")
    assert not (tmp_path / "count").exists()


async def test_a_bare_name_is_never_found_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _plugin(tmp_path, COUNTING.format(tmp_path / "count"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", os.environ["PATH"])))
    user = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: get-token}}"
    async with _serving(tmp_path, _accepting("token-0"), user=user) as (transport, _):
        with pytest.raises(Unauthenticated, match="cannot be started"):
            await transport.call("GET", "/api")
    assert not (tmp_path / "count").exists()


async def test_a_token_of_a_program_is_kept_and_renewed_once_when_it_is_refused(tmp_path: Path) -> None:
    user = _plugin(tmp_path, COUNTING.format(tmp_path / "count"))
    async with _serving(tmp_path, _accepting("token-1"), user=user) as (transport, got):
        for _ in range(3):
            await transport.call("GET", "/api")
    assert len(got) == 4
    assert (tmp_path / "count").read_text() == "xx"
    async with _serving(tmp_path, _accepting("none"), user=user) as (transport, got):
        with pytest.raises(Unauthenticated):
            await transport.call("GET", "/api")
    assert len(got) == 2


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("sys.exit('login expired, token AbCdEfGhIjKlMnOpQrStUvWx refused')", "login expired"),
        ("print('hello')", "ExecCredential"),
        ("print(json.dumps({'kind': 'ExecCredential', 'status': {}}))", "neither token nor certificate"),
    ],
    ids=["fails", "prints-something", "prints-nothing"],
)
async def test_a_credential_program_that_fails_is_told_without_secrets(tmp_path: Path, script: str, words: str) -> None:
    async with _serving(tmp_path, _in_turn(_ok), user=_plugin(tmp_path, script)) as (transport, _):
        with pytest.raises(Unauthenticated, match=words) as refused:
            await transport.call("GET", "/api")
    assert "AbCdEfGh" not in str(refused.value)


async def test_a_missing_credential_program_says_how_to_get_it(tmp_path: Path) -> None:
    user = '{exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-program-here, installHint: "get it"}}'
    async with _serving(tmp_path, _in_turn(_ok), user=user) as (transport, _):
        with pytest.raises(Unauthenticated, match="cannot be started") as refused:
            await transport.call("GET", "/api")
    assert refused.value.hint == "get it"


async def test_a_token_file_is_read_again_when_its_token_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("old\n")
    async with _serving(tmp_path, _accepting("new"), user="{tokenFile: token}") as (transport, got):
        with pytest.raises(Unauthenticated):
            await transport.call("GET", "/api")
        (tmp_path / "token").write_text("new\n")
        await transport.call("GET", "/api")
    assert len(got) == 4


async def test_a_forbidden_answer_is_told_in_the_servers_words(tmp_path: Path) -> None:
    message = 'things "a" is forbidden: User "me" cannot get resource "things"'
    async with _serving(tmp_path, _in_turn(_status(403, message))) as (transport, _):
        with pytest.raises(Forbidden, match="cannot get resource"):
            await transport.call("GET", "/api")
