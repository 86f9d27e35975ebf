"""Nothing counts as heard that a silent server last said, however well its connections seem to stand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import (
    ApplyRequest,
    Contact,
    DeleteRequest,
    KubernetesId,
    Observation,
    Resource,
    RuntimeType,
    Status,
    WatchReport,
    WatchRequest,
)
from runtimes.kubernetes import informer, liveness
from runtimes.kubernetes.client import Client
from runtimes.kubernetes.failures import failure
from runtimes.kubernetes.liveness import Liveness
from runtimes.kubernetes.runtime import KubernetesRuntime
from runtimes.kubernetes.transport import Reply
from runtimes.sandbox.server import Sandbox
from tests.runtimes.kubernetes.black_hole import Proxy, in_front_of, port_of

SECONDS = 60
BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": {"k": "v"}}
ID = KubernetesId.of(BODY)


@dataclass
class Seen:
    """All that a watch reports, and what is to be believed of it after each report."""

    reports: AsyncIterator[WatchReport]
    contact: Contact | None = None
    state: Observation | None = None
    believed: list[tuple[bool, Status | None]] = field(default_factory=list)

    @property
    def is_present(self) -> bool:
        """Whether the state is one of now: the server answers, and this part of it was heard since it does."""
        return self.contact is not None and not self.contact.lost and self.state is not None and not self.state.lost

    async def until(self, is_present: bool, status: Status | None = None) -> None:
        async with asyncio.timeout(SECONDS):
            while self.is_present is not is_present or (status and self.state and self.state.health.status != status):
                match await anext(self.reports):
                    case Contact() as contact:
                        self.contact = contact
                    case Observation() as state:
                        self.state = state
                self.believed.append((self.is_present, self.state.health.status if self.state else None))


@dataclass
class Place:
    runtime: KubernetesRuntime
    direct: KubernetesRuntime
    """Past the proxy."""
    proxy: Proxy
    sandbox: Sandbox


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    monkeypatch.setattr(liveness, "PROBE_SECONDS", 0.1)
    monkeypatch.setattr(liveness, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(liveness, "_REPORT_SECONDS", 0.0)
    async with Sandbox(clusters=2, controllers=False) as sandbox:
        for name in ("direct", "through"):
            sandbox.write_kubeconfig(tmp_path / name)
        direct = KubernetesRuntime.connect(kubeconfig=tmp_path / "direct")
        async with in_front_of(tmp_path / "through") as proxy:
            runtime = KubernetesRuntime.connect(kubeconfig=tmp_path / "through")
            await direct.apply(ApplyRequest(Resource(ID, RuntimeType.KUBERNETES, BODY), None))
            try:
                yield Place(runtime, direct, proxy, sandbox)
            finally:
                await runtime.close()
                await direct.close()


async def test_a_server_that_goes_silent_is_lost_since_its_last_answer(place: Place) -> None:
    async with place.runtime.watch(WatchRequest((ID,))) as reports:
        seen = Seen(reports)
        await seen.until(is_present=True)
        place.proxy.swallow()
        swallowed = datetime.now(UTC)
        await seen.until(is_present=False)
        assert seen.contact is not None and seen.contact.lost is not None
        assert seen.contact.answered_at is not None
        assert seen.contact.lost.since == seen.contact.answered_at <= datetime.now(UTC)
        assert (seen.contact.lost.since - swallowed).total_seconds() < 0.5, "since it last answered, not since we saw"
        assert "no answer" in seen.contact.lost.message and seen.contact.lost.hint


async def test_after_a_silence_nothing_is_present_before_it_was_asked_for_again(place: Place) -> None:
    async with place.runtime.watch(WatchRequest((ID,))) as reports:
        seen = Seen(reports)
        await seen.until(is_present=True, status=Status.CURRENT)
        place.proxy.swallow()
        await seen.until(is_present=False)
        await place.direct.delete(DeleteRequest(ID, None))
        seen.believed.clear()
        place.proxy.pass_on()
        await seen.until(is_present=True, status=Status.NOT_FOUND)
        assert (True, Status.CURRENT) not in seen.believed, "what was deleted in the silence was shown as if it stood"


async def test_connections_that_froze_while_new_ones_get_through_are_found_out(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(informer, "_WATCH_SECONDS", (1, 1))
    monkeypatch.setattr(informer, "_OVERTIME_SECONDS", 0.3)
    monkeypatch.setattr(informer, "_OPENING_SECONDS", 1.0)
    async with place.runtime.watch(WatchRequest((ID,))) as reports:
        seen = Seen(reports)
        await seen.until(is_present=True, status=Status.CURRENT)
        place.proxy.swallow(only_old=True)
        await place.direct.delete(DeleteRequest(ID, None))
        await seen.until(is_present=True, status=Status.NOT_FOUND)


async def test_a_server_that_never_answers_is_lost_and_not_waited_for(place: Place) -> None:
    place.proxy.swallow()
    async with place.runtime.watch(WatchRequest((ID,))) as reports:
        seen = Seen(reports)
        async with asyncio.timeout(SECONDS):
            while seen.contact is None or seen.state is None:
                report = await anext(reports)
                seen.contact = report if isinstance(report, Contact) else seen.contact
                seen.state = report if isinstance(report, Observation) else seen.state
        assert seen.contact.answered_at is None and seen.contact.lost is not None
        assert seen.state.health.status is Status.UNKNOWN
        place.proxy.pass_on()
        await seen.until(is_present=True, status=Status.CURRENT)


async def test_a_server_that_is_killed_is_lost(place: Place) -> None:
    async with place.runtime.watch(WatchRequest((ID,))) as reports:
        seen = Seen(reports)
        await seen.until(is_present=True)
        await place.sandbox.close()
        await seen.until(is_present=False)


async def test_a_right_that_was_taken_away_makes_what_was_seen_old(tmp_path: Path) -> None:
    """It is not the silence of a server that never let us look: there is something to be wrong about."""
    found = informer.Informer.__new__(informer.Informer)
    from runtimes.base import Forbidden

    found.lost_at, found.failure = datetime(2026, 1, 1, tzinfo=UTC), Forbidden("no more")
    found._is_doubted = False
    for has_listed, is_lost in ((False, False), (True, True)):
        found._has_listed = has_listed
        assert (found.lost is not None) is is_lost


async def test_another_cluster_behind_the_address_says_nothing_of_what_was_looked_at(
    place: Place, tmp_path: Path
) -> None:
    """It has an object of the same name, which is ready there."""
    context = place.sandbox.names[1]
    other = KubernetesRuntime.connect(kubeconfig=tmp_path / "direct", context=context)
    await other.apply(ApplyRequest(Resource(ID, RuntimeType.KUBERNETES, BODY), None))
    await other.close()
    await place.runtime.identify()
    async with asyncio.timeout(SECONDS), place.runtime.watch(WatchRequest((ID,))) as reports:
        seen = Seen(reports)
        await seen.until(is_present=True, status=Status.CURRENT)
        before = place.proxy.lead_to(port_of(tmp_path / "direct", context))
        while seen.contact is None or seen.contact.lost is None or "another cluster" not in seen.contact.lost.message:
            seen.contact = next_contact if isinstance(next_contact := await anext(reports), Contact) else seen.contact
        await place.direct.delete(DeleteRequest(ID, None))
        seen.believed.clear()
        place.proxy.lead_to(before)
        await seen.until(is_present=True, status=Status.NOT_FOUND)
        assert (True, Status.CURRENT) not in seen.believed, "what the other has was shown as if it were here"


class InTurn:
    """Says, probe by probe, which cluster it is by the uid of kube-system, or refuses to with a code; then nothing."""

    place = "here"

    def __init__(self, *answers: str | int) -> None:
        self.answers, self.asked = list(answers), 0
        self.reached_end = asyncio.Event()
        self._refused = False

    async def call(self, method: str, path: str, **rest: Any) -> Reply:
        is_refused, self._refused = self._refused, False
        if is_refused and path == "/version":  # of the same probe
            return Reply(200, "")
        if not self.answers:
            self.reached_end.set()
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        self.before_answer()
        if path == "/version":
            return Reply(200, "")
        self.asked += 1
        if isinstance(answer, int):
            self._refused = True
            said = 'namespaces "kube-system" is forbidden: User "me" cannot get resource "namespaces" in API group ""'
            raise failure(answer, {"kind": "Status", "message": said, "code": answer}, target=self.place)
        return Reply(200, {"metadata": {"uid": answer}})

    def before_answer(self) -> None:
        pass


ANOTHER, UNKNOWN = "another cluster answers at this address now", "which cluster answers here is not known"


@pytest.mark.parametrize(
    ("answers", "reported"),
    [
        (("a", 403, "b", "b", "a", "a"), ["", UNKNOWN, ANOTHER, ANOTHER, "the cluster is back", ""]),
        (("a", "b", 404, 404, "a", "a"), ["", ANOTHER, UNKNOWN, UNKNOWN, "the cluster is back", ""]),
        (("a", 403, 403, "a", "a"), ["", UNKNOWN, UNKNOWN, "the cluster is back", ""]),
        ((403, 403, 403), ["", "", ""]),
    ],
)
async def test_a_cluster_that_does_not_say_which_it_is_is_not_taken_for_the_one_that_was(
    monkeypatch: pytest.MonkeyPatch, answers: tuple[str | int, ...], reported: list[str]
) -> None:
    """Another one may refuse what this one told."""
    monkeypatch.setattr(liveness, "PROBE_SECONDS", 0.0)
    monkeypatch.setattr(liveness, "_REPORT_SECONDS", 0.0)
    server = InTurn(*answers)
    turns: list[str] = []
    found: list[str] = []

    def message() -> str:
        assert watched.contact is not None
        return watched.contact.lost.message if watched.contact.lost else ""

    def hear() -> None:
        """A watch that is open hears something of whoever answers."""
        if len(server.answers) < len(answers) - 1:
            found.append(message())
            if found[-1] in (ANOTHER, UNKNOWN):
                watched.heard()
                assert message() == found[-1], "what is heard is not of the one that is looked at"

    server.before_answer = hear  # type: ignore[method-assign]
    client = Client(server)  # type: ignore[arg-type]  # it has what is used
    watched = Liveness(client, changed=lambda: None, turned=lambda: turns.append(message()))
    probing = asyncio.create_task(watched.run())
    async with asyncio.timeout(SECONDS):
        await server.reached_end.wait()
    probing.cancel()
    assert [*found, message()] == reported
    assert server.asked == (len(answers) if "a" in answers else 1), "who may not know is not refused again and again"
    changes = [said for said, before in zip(reported[1:], reported, strict=False) if said != before]
    assert turns == changes, "with each, all that was heard is asked for again"


async def test_a_uid_that_is_told_later_is_asked_for_from_then_on() -> None:
    client = Client(InTurn(403, "a", "b"))  # type: ignore[arg-type]  # it has what is used
    assert await client.probe() == ""
    await client.system_namespace()
    assert await client.probe() == "b"
