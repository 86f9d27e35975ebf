"""What a session has opened is closed, all of it, whoever interrupts that."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.session.shop import shop
from workbench.session import Session
from workbench.settings import Settings


class Lingering(FakeCluster):
    """Takes its time to say goodbye, and says when it begins to."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.closing = asyncio.Event()

    async def close(self) -> None:
        await super().close()
        self.closing.set()
        await asyncio.Event().wait()


async def test_every_cluster_is_closed_though_one_lingers_and_is_given_up(tmp_path: Path) -> None:
    clusters = {name: Lingering(name) for name in ("hz", "sh")}

    async def connect(name: str) -> FakeCluster:
        return clusters[name]

    async def use() -> None:
        settings = Settings(tmp_path / "state", tmp_path / "cache", user="ann", host="box")
        async with Session(shop(tmp_path / "shop"), settings, connect=connect) as session:
            await session.diff(session.select("web/prod"))

    using = asyncio.create_task(use())
    for last_first in ("sh", "hz"):
        await clusters[last_first].closing.wait()
        using.cancel()
    with pytest.raises(asyncio.CancelledError):
        await using
    assert all(each.closed for each in clusters.values())
