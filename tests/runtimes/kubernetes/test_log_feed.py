"""Logs as they are written, by a scripted server that breaks off, forgets and floods; and by the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from runtimes.base import KubernetesId
from runtimes.base.logs import LogLine, LogNote, LogQuery, LogReport
from runtimes.kubernetes import log_feed
from runtimes.kubernetes.client import Client
from runtimes.kubernetes.kubeconfig import Kubeconfig
from runtimes.kubernetes.transport import Limits, Transport
from runtimes.sandbox.server import Sandbox
from tests.runtimes.kubernetes.test_informer import CONFIG, PODS

POD = KubernetesId("v1", "Pod", "shop", "front")


class Script:
    """What each request for the log is answered with; the last answer stays open. None breaks the connection."""

    def __init__(self, *answers: list[str | None], restarts: int = 0) -> None:
        self.answers, self.restarts = list(answers), restarts
        self.asked: list[dict[str, str]] = []

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/api/v1":
            return web.json_response(PODS)
        if request.path == "/version":
            return web.json_response({})
        if request.path == "/api/v1/namespaces/kube-system":
            return web.json_response({}, status=403)
        if request.path.endswith("/front"):
            return web.json_response(self._pod())
        self.asked.append(dict(request.query))
        response = web.StreamResponse()
        await response.prepare(request)
        for line in self.answers.pop(0):
            if line is None:
                assert request.transport is not None
                request.transport.abort()
                return response
            await response.write(f"{line}\n".encode())
        if not self.answers:
            await asyncio.sleep(30)
        return response

    def _pod(self) -> dict[str, Any]:
        status = {"name": "app", "restartCount": self.restarts, "state": {"running": {}}}
        metadata = {"name": "front", "namespace": "shop", "uid": "1"}
        spec = {"containers": [{"name": "app"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        return {**pod, "status": {"containerStatuses": [status]}}


@asynccontextmanager
async def client_of(kubeconfig: Path) -> AsyncIterator[Client]:
    limits = Limits(connect_seconds=0.5, answer_seconds=2.0, patience_seconds=0.2)
    client = Client(Transport(Kubeconfig([kubeconfig]).connection(), place="here", limits=limits))
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def followed(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AsyncIterator[LogReport]]:
    monkeypatch.setattr(log_feed, "FIND_SECONDS", 0.05)
    runner = web.ServerRunner(web.Server(script.answer), handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    (tmp_path / "config").write_text(CONFIG.format(server=f"http://127.0.0.1:{runner.addresses[0][1]}"))
    try:
        async with client_of(tmp_path / "config") as client, log_feed.following(client, LogQuery(POD)) as reports:
            yield reports
    finally:
        await runner.cleanup()


async def read(reports: AsyncIterator[LogReport], enough: Callable[[list[str]], bool]) -> list[str]:
    """Returns what was said in its order, notes after a `#`."""
    said: list[str] = []
    async with asyncio.timeout(10):
        async for report in reports:
            said += [f"# {each.text}" if isinstance(each, LogNote) else each.text for each in report.entries]
            if enough(said):
                return said
    raise AssertionError("it ended")


def at(seconds: str, text: str) -> str:
    return f"2026-11-24T12:00:{seconds}Z {text}"


async def test_a_stream_that_breaks_goes_on_after_the_last_line_and_repeats_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, same = at("01.5", "one"), at("02.000000001", "two"), at("02.000000001", "and with it")
    script = Script([one, two, None], [one, two, same, at("03", "three")])
    async with followed(script, tmp_path, monkeypatch) as reports:
        said = await read(reports, lambda each: "three" in each)
    assert [each for each in said if not each.startswith("#")] == ["one", "two", "and with it", "three"]
    assert [each for each in said if each.startswith("# the stream was lost")]
    assert script.asked[0]["tailLines"] == "500"
    assert script.asked[1]["sinceTime"] == "2026-11-24T12:00:02Z" and "tailLines" not in script.asked[1]


async def test_where_the_last_line_is_gone_lines_may_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script([at("01", "one")], [at("09", "nine")])
    async with followed(script, tmp_path, monkeypatch) as reports:
        said = await read(reports, lambda each: "nine" in each)
    assert said == ["one", "# lines may be missing here after 12:00:01: what was read last is gone", "nine"]


async def test_what_comes_faster_than_it_is_taken_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_feed, "MOST_PENDING", 10)
    script = Script([at("01", f"line {number}") for number in range(50)])
    async with followed(script, tmp_path, monkeypatch) as reports:
        said = await read(reports, lambda each: "line 49" in each)
    assert said[0] == "# 40 lines are not shown: they came faster than they could be taken" and len(said) == 11


async def test_a_huge_line_is_cut_and_what_is_missing_is_counted() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(16):
            yield b"x" * 65_536
        yield b"y\nshort\nno end"

    found = [each async for each in log_feed.lines(chunks(), 1000)]
    assert found == [(b"x" * 1000, 16 * 65_536 + 1 - 1000), (b"short", 0), (b"no end", 0)]


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Sandbox]:
    async with Sandbox(seed=1) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        yield sandbox


async def test_all_containers_of_a_workload_are_followed_and_pods_that_come_later_too(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_feed, "FIND_SECONDS", 0.1)
    labels = {"app": "front"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [_container("app"), _container("side")]}}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "front", "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod},
    }
    cluster = sandbox.clusters[0]
    cluster.create("deployments.apps", "default", body)
    query = LogQuery(KubernetesId("apps/v1", "Deployment", "default", "front"))
    async with client_of(tmp_path / "kubeconfig") as client, log_feed.following(client, query) as reports:
        await sources(reports, 2)
        cluster.patch("deployments.apps", "default", "front", {"spec": {"replicas": 2}}, "merge", manager="someone")
        assert {each.container for each in await sources(reports, 4)} == {"app", "side"}


async def test_what_is_not_there_is_a_failure_and_what_had_no_run_before_says_so(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    gone = LogQuery(KubernetesId("v1", "Pod", "default", "gone"))
    async with client_of(tmp_path / "kubeconfig") as client, log_feed.following(client, gone) as reports:
        async with asyncio.timeout(10):
            report = await anext(reports)
            while report.failure is None:
                report = await anext(reports)
        assert "is not there" in report.failure.message


def _container(name: str) -> dict[str, Any]:
    return {"name": name, "image": "example/app:v1"}


async def sources(reports: AsyncIterator[LogReport], count: int) -> set[Any]:
    written: set[Any] = set()
    async with asyncio.timeout(20):
        async for report in reports:
            written |= {each.source for each in report.entries if isinstance(each, LogLine)}
            if len(written) == count:
                return written
    raise AssertionError("it ended")
