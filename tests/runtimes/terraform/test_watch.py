"""A state that can't be read is not one that says nothing changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runtimes.base import Contact, Observation, RuntimeFailure, Status, TerraformId, Unreachable, WatchReport
from runtimes.terraform import watch
from runtimes.terraform.folder import Folder
from runtimes.terraform.state import State

ID = TerraformId("sandbox", "sandbox", "sandbox_bucket", "invoices")


class Backend:
    """A state that is kept elsewhere; `failure` is what reading it raises."""

    def __init__(self) -> None:
        self.failure: RuntimeFailure | None = None
        self.reads = 0

    async def read(self) -> State:
        self.reads += 1
        if self.failure is not None:
            raise self.failure
        return State()


async def contact(reports: AsyncIterator[WatchReport], *, is_lost: bool) -> Contact:
    async with asyncio.timeout(30):
        async for each in reports:
            if isinstance(each, Contact) and (each.lost is not None) == is_lost:
                return each
    raise AssertionError("the watch ended")


async def observation(reports: AsyncIterator[WatchReport]) -> Observation:
    async with asyncio.timeout(30):
        async for each in reports:
            if isinstance(each, Observation):
                return each
    raise AssertionError("the watch ended")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(watch, "_GRACE_SECONDS", 0.05)
    monkeypatch.setattr(watch, "_CONTACT_SECONDS", 0.02)
    monkeypatch.setattr(watch, "_ELSEWHERE_SECONDS", 0.02)


async def test_a_state_that_is_lost_says_since_when_and_comes_back(tmp_path: Path, quick: None) -> None:
    backend = Backend()
    async with watch.watching((ID,), Folder(tmp_path), None, backend.read) as reports:
        alive = await contact(reports, is_lost=False)
        assert alive.answered_at is not None and alive.valid_seconds > watch._ELSEWHERE_SECONDS
        backend.failure = Unreachable("the bucket does not answer", hint="check the network")
        lost = await contact(reports, is_lost=True)
        assert lost.lost is not None and lost.answered_at is not None
        assert lost.lost.since == lost.answered_at <= datetime.now(UTC)
        assert (lost.lost.reason, lost.lost.message) == ("Unreachable", "the bucket does not answer")
        state = await observation(reports)
        assert state.lost == lost.lost
        backend.failure = None
        back = await contact(reports, is_lost=False)
        assert back.answered_at is not None and back.answered_at > lost.lost.since
        state = await observation(reports)
        assert state.lost is None and state.health.status is Status.NOT_FOUND


async def test_a_state_that_could_never_be_read_is_lost_from_the_start(tmp_path: Path, quick: None) -> None:
    backend = Backend()
    backend.failure = Unreachable("the bucket does not answer")
    async with watch.watching((ID,), Folder(tmp_path), None, backend.read) as reports:
        lost = await contact(reports, is_lost=True)
        assert lost.answered_at is None
        state = await observation(reports)
        assert state.health.status is Status.UNKNOWN


async def test_a_state_that_stays_the_same_is_vouched_for_again_and_again(tmp_path: Path, quick: None) -> None:
    async with watch.watching((ID,), Folder(tmp_path), tmp_path / "none", Backend().read) as reports:
        first = await contact(reports, is_lost=False)
        second = await contact(reports, is_lost=False)
        assert first.answered_at is not None and second.answered_at is not None
        assert second.answered_at > first.answered_at
