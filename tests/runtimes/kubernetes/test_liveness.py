"""Nothing counts as heard that a silent server last said, however well its connections seem to stand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

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
from runtimes.kubernetes.runtime import KubernetesRuntime
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
