"""Logs on the screen: hostile, huge and many lines, what is missing, what is saved."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import KubernetesId, Unreachable
from runtimes.base.logs import LogLine, LogNote, LogQuery, LogReport, LogSource
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import LARGE, NOW, SIZES, SMALL, opened, says, shown, until, workbench
from workbench.tui.screens import logs as screen
from workbench.tui.screens.logs import LogsScreen
from workbench.tui.widgets.resource_table import ResourceTable

POD = KubernetesId("v1", "Pod", "web-prod", "front")
SOURCE, OTHER = LogSource("front", "app"), LogSource("front", "side")


class Writing(FakeCluster):
    """A cluster in memory whose pods write what is put into `reports`."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.reports: asyncio.Queue[LogReport] = asyncio.Queue()
        self.asked: list[LogQuery] = []

    @asynccontextmanager
    async def follow_logs(self, query: LogQuery) -> AsyncIterator[AsyncIterator[LogReport]]:
        self.asked.append(query)

        async def reports() -> AsyncIterator[LogReport]:
            while True:
                yield await self.reports.get()

        yield reports()

    def write(self, *texts: str, cut_bytes: int = 0, source: LogSource = SOURCE) -> None:
        lines = tuple(LogLine(source, NOW + timedelta(seconds=n), text, cut_bytes) for n, text in enumerate(texts))
        self.reports.put_nowait(LogReport(lines, (SOURCE, OTHER), NOW))


@pytest.fixture
def cluster() -> Writing:
    return Writing("hz")


def app_of(folder: Path, cluster: Writing) -> Any:
    clusters = Clusters()
    clusters.by_name["hz"] = cluster
    return workbench(folder, clusters)


def rows(app: Any) -> list[str]:
    return [str(row.cells[0]) for row in app.screen.query_one("#logs", ResourceTable).shown]


@SIZES
async def test_lines_are_shown_inert_with_their_container_and_what_is_missing(
    tmp_path: Path, cluster: Writing, size: tuple[int, int]
) -> None:
    app = app_of(tmp_path, cluster)
    async with app.session, app.run_test(size=size) as pilot:
        await opened(pilot)
        app.push_screen(LogsScreen("hz", POD))
        cluster.write("[red]up[/]\x1b[31m\u202e", "x" * 1_000_000, "日本" * 60)
        cluster.write("short", source=OTHER, cut_bytes=4711)
        await until(pilot, lambda: len(rows(app)) == 4)
        assert rows(app)[0] == "app [red]up[/]�" and len(rows(app)[1]) < 17_000
        assert "984,000 bytes more" in rows(app)[1] and rows(app)[3] == "side  (4,711 bytes more are not shown)short"
        await pilot.press("w")
        room = app.screen.query_one("#logs", ResourceTable).room
        assert len(rows(app)) > 16_000 // room and says(app, "all containers (2)")
        failure = Unreachable("no answer within 3 s", target="hz")
        note = LogNote(None, NOW, "nothing is heard: no answer within 3 s")
        cluster.reports.put_nowait(LogReport((note,), (SOURCE,), NOW - timedelta(seconds=7), failure))
        await until(pilot, lambda: says(app, "? no answer within 3 s, nothing was heard for 7s"))
        assert any("nothing is heard" in each for each in rows(app))
        assert not any("\x1b" in each or "\u202e" in each for each in shown(app))


async def test_the_end_is_followed_until_the_cursor_goes_up_and_old_lines_are_counted(
    tmp_path: Path, cluster: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "MOST_LINES", 100)
    app = app_of(tmp_path, cluster)
    async with app.session, app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        app.push_screen(LogsScreen("hz", POD))
        cluster.write(*(f"line {number}" for number in range(130)))
        await until(pilot, lambda: len(rows(app)) == 100)
        assert says(app, "30 older lines are not shown: 100 are held") and rows(app)[0] == "app line 30"
        table = app.screen.query_one("#logs", ResourceTable)
        assert table.cursor == 99
        await pilot.press("k")
        await until(pilot, lambda: says(app, "the cursor stays"))
        cluster.write("later")
        await until(pilot, lambda: rows(app)[-1] == "app later")
        assert rows(app)[table.cursor] == "app line 128"
        await pilot.press("G")
        await until(pilot, lambda: not says(app, "the cursor stays"))
        await pilot.press("slash", *"LATER|12[0-3]", "enter")
        assert [each.split()[-1] for each in rows(app)] == ["120", "121", "122", "123", "later"]


async def test_what_is_asked_for_again_is_another_container_run_or_time(tmp_path: Path, cluster: Writing) -> None:
    app = app_of(tmp_path, cluster)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        app.push_screen(LogsScreen("hz", POD))
        cluster.write("one")
        await until(pilot, lambda: rows(app) == ["app one"])
        for key in "ctp":
            count = len(cluster.asked)
            await pilot.press(key)
            await until(pilot, lambda count=count: len(cluster.asked) > count)  # type: ignore[misc]
        assert cluster.asked[0] == LogQuery(POD) and rows(app) == []
        assert cluster.asked[-1] == LogQuery(POD, "app", True, None, 300)


async def test_what_is_saved_is_masked_has_what_is_missing_and_overwrites_nothing(
    tmp_path: Path, cluster: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = app_of(tmp_path, cluster)
    async with app.session, app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        app.session._secrets |= {"canary-4711"}
        app.push_screen(LogsScreen("hz", POD))
        cluster.write("password canary-4711\x1b[2J", "other")
        cluster.reports.put_nowait(LogReport((LogNote(SOURCE, NOW, "the stream was lost: gone"),), (SOURCE,), NOW))
        await until(pilot, lambda: len(rows(app)) == 3)
        await pilot.press("E", "E")
    check_file(tmp_path)


def check_file(folder: Path) -> None:
    (path,) = folder.glob("*.log")
    text = path.read_text()
    assert path.stat().st_mode & 0o077 == 0 and "canary" not in text and "\x1b" not in text
    head, first, _, note = text.splitlines()
    assert head.startswith("# Pod web-prod/front @hz") and "secrets masked" in head
    assert first.startswith("2026-01-01T00:10:00.000000+00:00 front/app password ")
    assert note.startswith("# ") and "the stream was lost: gone" in note
