"""The sandbox's API server answers whatever it is asked, and goes on answering others.

It listens on loopback, for whoever runs on this machine: a mistake in a manifest must not take the cluster away.
`HOSTILE_PROGRAMS=all` asks all of it; by default it is some.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from runtimes.sandbox import limits
from runtimes.sandbox.server import Sandbox
from tests.attacks.hostile_requests import MULTIPLYING, REQUESTS, Ask
from tests.runtimes.sandbox.serving import served

_SECONDS = 60.0
_ALL = os.environ.get("HOSTILE_PROGRAMS") == "all"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with served(controllers=False) as running:
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        assert ask(running, Ask("POST", "/api/v1/namespaces/default/serviceaccounts", account))[0] == 201
        yield running


def _port(sandbox: Sandbox) -> int:
    return int(sandbox.urls[0].rpartition(":")[2])


def ask(sandbox: Sandbox, wanted: Ask) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", _port(sandbox), timeout=_SECONDS)
    headers = {"Authorization": f"Bearer {sandbox.tokens['admin']}", "Content-Type": wanted.form, **wanted.headers}
    try:
        connection.request(wanted.method, wanted.path, wanted.content, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _wait_for(sandbox: Sandbox, wanted: Ask) -> None:
    """A definition is served a moment after it was made."""
    for _ in range(300):
        if ask(sandbox, wanted)[0] == 200:
            return
        time.sleep(0.05)
    raise AssertionError(f"{wanted.path} is not served")


@pytest.mark.parametrize("name", REQUESTS if _ALL else list(REQUESTS)[::3])
def test_a_hostile_request_is_answered_and_so_is_the_next(name: str, sandbox: Sandbox) -> None:
    allowed, attack = REQUESTS[name]
    *before, last = attack()
    for each in before:
        if each.method == "GET":
            _wait_for(sandbox, each)
        else:
            ask(sandbox, each)
    status, content = ask(sandbox, last)
    assert status in allowed, content[:500]
    assert b"this is a bug" not in content
    assert ask(sandbox, Ask("GET", "/healthz")) == (200, b"ok")


@pytest.mark.parametrize("name", MULTIPLYING if _ALL else list(MULTIPLYING)[-1:])
def test_what_multiplies_comes_to_its_limit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_PODS", 60)
    allowed, attack = MULTIPLYING[name]
    with served() as running:
        for wanted in attack():
            for _ in range(300):  # the controllers make an account first
                status, content = ask(running, wanted)
                if status in allowed:
                    break
                time.sleep(0.05)
        assert status in allowed, content[:500]
        for _ in range(600):
            if len(json.loads(ask(running, Ask("GET", "/api/v1/pods"))[1])["items"]) == 60:
                break
            time.sleep(0.05)
        events = json.loads(ask(running, Ask("GET", "/api/v1/events"))[1])["items"]
        assert any("database space exceeded" in each["message"] for each in events)


def test_who_says_nothing_takes_no_place_from_others(sandbox: Sandbox) -> None:
    with ExitStack() as open_connections:
        for number in range(limits.MOST_CONNECTIONS + 50):
            each = open_connections.enter_context(socket.socket())
            each.connect(("127.0.0.1", _port(sandbox)))
            if number % 2:
                each.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
    for _ in range(600):
        try:
            assert ask(sandbox, Ask("GET", "/healthz")) == (200, b"ok")
            return
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)
    raise AssertionError("nobody is answered any more")


def test_silence_ends_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtimes.sandbox.http_or_https.GREETING_SECONDS", 0.2)
    monkeypatch.setattr("runtimes.sandbox.server.GREETING_SECONDS", 0.2)
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.2)
    with served(controllers=False) as running:
        token = running.tokens["admin"]
        head = f"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        half = f"{head}Content-Length: 900\r\n\r\n{{"
        for said in (b"", b"GET /healthz HTTP/1.1\r\nHo", half.encode()):
            with socket.create_connection(("127.0.0.1", _port(running)), timeout=_SECONDS) as connection:
                connection.sendall(said)
                heard = (
                    b"".join(iter(lambda: connection.recv(65_536), b""))
                    if said != half.encode()
                    else connection.recv(65_536)
                )
                assert heard == b"" or b" 504 " in heard


def test_watches_beyond_the_limit_are_put_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_STREAMS", 2)
    with served(controllers=False) as running, ExitStack() as watches:
        headers = {"Authorization": f"Bearer {running.tokens['admin']}"}
        statuses = []
        for _ in range(3):
            connection = http.client.HTTPConnection("127.0.0.1", _port(running), timeout=_SECONDS)
            watches.callback(connection.close)
            connection.request("GET", "/api/v1/pods?watch=1", headers=headers)
            answer = connection.getresponse()
            statuses.append(answer.status)
        assert statuses == [200, 200, 429]
        assert answer.headers["Retry-After"] == "1"
        assert json.loads(answer.read())["reason"] == "TooManyRequests"


def test_a_cluster_that_is_full_says_so_and_gives_room_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LARGEST_CLUSTER", 2_000_000)
    with served(controllers=False) as running:
        path = "/api/v1/namespaces/default/configmaps"

        def made(number: int) -> tuple[int, bytes]:
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"m{number}"},
                "data": {"a": "x" * 400_000},
            }
            return ask(running, Ask("POST", path, body))

        answers = [made(number) for number in range(6)]
        assert answers[0][0] == 201 and answers[-1][0] == 500
        assert json.loads(answers[-1][1])["message"] == "etcdserver: mvcc: database space exceeded"
        assert ask(running, Ask("DELETE", f"{path}/m0"))[0] == 200
        assert made(7)[0] == 201
