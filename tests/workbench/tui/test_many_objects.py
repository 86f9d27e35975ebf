"""50,000 objects in one list: opened, filtered, ordered, scrolled and changed, with as much drawn as is seen.

Nothing here looks at a clock: what is held are the rows that are made, and the lines that are drawn.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from runtimes.base import KubernetesId
from runtimes.base.tables import LiveColumn, LiveKind, LiveKinds, LiveRow, LiveTable, TableReport
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_live import names
from tests.workbench.tui.test_screens import LARGE, NOW, opened, says, until, workbench
from workbench.tui.screens.live import LiveScreen
from workbench.tui.widgets.resource_table import ResourceTable

COUNT = 50_000
KIND = LiveKind("v1", "ConfigMap", "configmaps", True)
COLUMNS = (LiveColumn("Name"), LiveColumn("Data", "integer"), LiveColumn("Age", "date"))


class Full(FakeCluster):
    """A cluster in memory with so many objects, of which tests change some."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.rows = [self.row(number) for number in range(COUNT)]
        self.reports: asyncio.Queue[TableReport] = asyncio.Queue()

    def row(self, number: int, data: int = 1) -> LiveRow:
        name = f"settings-{number:05}"
        id_ = KubernetesId(KIND.api_version, KIND.kind, "shop", name)
        return LiveRow(id_, name, (name, f"{data}", "5d"), {}, NOW - timedelta(days=5))

    async def kinds(self) -> LiveKinds:
        return LiveKinds((KIND,))

    async def events(self, id_: KubernetesId, uid: str) -> tuple[()]:
        return ()

    @asynccontextmanager
    async def follow(
        self, kind: LiveKind, namespaces: Collection[str] = (), *, most: int = 20_000
    ) -> AsyncIterator[AsyncIterator[TableReport]]:
        async def reports() -> AsyncIterator[TableReport]:
            while True:
                yield await self.reports.get()

        yield reports()

    def tell(self) -> None:
        table = LiveTable(KIND, COLUMNS, tuple(self.rows))
        self.reports.put_nowait(TableReport(table, NOW, is_watched=True))


def drawn(table: ResourceTable) -> int:
    """How many lines were drawn so far since the rows moved."""
    return table._strip.cache_info().misses


async def test_as_much_is_drawn_as_is_seen_and_made_as_is_new(tmp_path: Path) -> None:
    clusters, full = Clusters(), Full("hz")
    clusters.by_name["hz"] = full
    app = workbench(tmp_path, clusters)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        full.tell()
        await pilot.press("colon", *"configmaps@hz", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen), looks=5_000)
        table = app.screen.query_one("#objects", ResourceTable)
        await until(pilot, lambda: len(table.shown) == COUNT, looks=5_000)
        assert says(app, f"hz {COUNT}, watched")
        seen = LARGE[1]
        await pilot.press("G")
        assert str(table.current_row.cells[0]) == f"settings-{COUNT - 1}"  # type: ignore[union-attr]
        before = drawn(table)
        assert before <= 3 * seen
        await pilot.press("pageup", "k", "k")
        assert drawn(table) - before <= 3 * seen

        before_rows, there = [*table.shown], table.current
        full.rows[COUNT - 3] = full.row(COUNT - 3, data=7)
        full.tell()
        await until(pilot, lambda: any(str(row.cells[1]) == "7" for row in table.shown[-3:]), looks=5_000)
        new = [index for index, row in enumerate(table.shown) if row is not before_rows[index]]
        assert new == [COUNT - 3] and table.current == there
        assert all(one.key is other.key for one, other in zip(before_rows, table.shown, strict=True))

        del full.rows[0]
        full.tell()
        await until(pilot, lambda: len(table.shown) == COUNT - 1, looks=5_000)
        assert table.current == there and drawn(table) <= 2 * seen

        await pilot.press("o", "o", "O")
        await until(pilot, lambda: str(table.shown[0].cells[1]) == "7", looks=5_000)
        await pilot.press("slash", *"-4999[0-4]", "enter")
        assert sorted(names(app)) == [f"settings-4999{digit}" for digit in range(5)]
        await pilot.press("escape")
        assert len(table.shown) == COUNT - 1
