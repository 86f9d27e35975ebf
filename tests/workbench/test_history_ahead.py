"""Who compares takes over what was read of releases meanwhile: of the same places, once, with what it raised."""

from __future__ import annotations

import asyncio

import pytest

from workbench.engine.errors import ReleaseFailure
from workbench.history_ahead import HistoryAhead
from workbench.project import ProjectName, StackName, StackPath
from workbench.release.history import History
from workbench.release.shared import ReleasePlaces

SHOP = ReleasePlaces(StackPath(ProjectName("shop"), StackName("prod")), ("hz",))
OTHER = ReleasePlaces(SHOP.stack, ("hz", "sh"))


async def test_what_was_begun_is_taken_once() -> None:
    ahead, asked = HistoryAhead(), list[ReleasePlaces]()

    async def read(where: ReleasePlaces) -> History:
        asked.append(where)
        return History(None, 7)

    ahead.begin(SHOP, read)
    task = ahead.take(SHOP)
    assert task is not None and (await task).next_revision == 7 and asked == [SHOP]
    assert ahead.take(SHOP) is None, "the next one reads what is there then"


@pytest.mark.parametrize("how", ["other places", "discarded", "begun again"])
async def test_what_nobody_wants_is_given_up(how: str) -> None:
    ahead, ended = HistoryAhead(), list[str]()

    async def read(where: ReleasePlaces) -> History:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(how)
        raise AssertionError

    ahead.begin(SHOP, read)
    await asyncio.sleep(0)
    if how == "other places":
        assert ahead.take(OTHER) is None
    elif how == "discarded":
        ahead.discard()
    else:
        ahead.begin(OTHER, read)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert ended == [how]
    assert ahead.take(SHOP) is None
    ahead.discard()


async def test_what_it_raised_is_raised_to_who_takes_it_and_is_else_no_news(caplog: pytest.LogCaptureFixture) -> None:
    async def read(where: ReleasePlaces) -> History:
        raise ReleaseFailure("broken", where="hz")

    ahead = HistoryAhead()
    ahead.begin(SHOP, read)
    task = ahead.take(SHOP)
    assert task is not None
    with pytest.raises(ReleaseFailure, match="broken"):
        await task
    ahead.begin(SHOP, read)
    await asyncio.sleep(0)
    ahead.discard()
    del task
    await asyncio.sleep(0)
    assert not [each for each in caplog.records if each.levelname == "ERROR"]
