"""The room that panes have, and a picture of them in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import LARGE, SIZES, SMALL, opened, says, until, workbench
from workbench.tui.screens.reconcile import ReconcileScreen
from workbench.tui.screens.spec import SpecScreen
from workbench.tui.widgets.resource_table import ResourceTable


def pictures(folder: Path) -> list[Path]:
    return [*folder.glob("*.svg")]


@SIZES
async def test_a_pane_gets_the_room_of_the_others_and_gives_it_back(tmp_path: Path, size: tuple[int, int]) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, SpecScreen) and says(app, "Deployment"))
        resources, text = (app.screen.query_one(name, ResourceTable) for name in ("#resources", "#yaml"))
        before = (resources.size, text.size)
        await pilot.press("z")
        await pilot.pause()
        assert not text.display and resources.size.height >= before[0].height and resources.size > before[0]
        await pilot.press("z")
        await pilot.pause()
        assert (resources.size, text.size) == before


@SIZES
async def test_a_pane_gets_more_room_or_less_until_the_end(tmp_path: Path, size: tuple[int, int]) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=size) as pilot:
        await opened(pilot)

        async def room() -> tuple[int, int]:
            await until(pilot, lambda: isinstance(app.screen, SpecScreen) and says(app, "Deployment"))
            await pilot.pause()
            sizes = [app.screen.query_one(name).outer_size for name in ("#resources", "#yaml")]
            first, second = (each.width if size == LARGE else each.height for each in sizes)
            return first, second

        await pilot.press("c")
        before = await room()
        await pilot.press("greater_than_sign")
        larger = await room()
        assert larger[0] > before[0] and larger[1] < before[1] and sum(larger) == sum(before)
        await pilot.press("escape", "c")
        assert await room() == larger, "it stays so for screens of this kind"
        await pilot.press("tab", *["greater_than_sign"] * 20)
        smallest = await room()
        assert 2 < smallest[0] < before[0] and smallest[1] > before[1], "neither goes away"
        await pilot.press("less_than_sign")
        assert (await room())[0] > smallest[0]
        await pilot.resize_terminal(*(SMALL if size == LARGE else LARGE))
        await pilot.resize_terminal(*size)
        assert (await room())[0] > smallest[0], "each way that panes may stand has its own"


async def test_a_pane_shows_after_a_zoom_what_it_showed_before(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, ReconcileScreen) and says(app, "Deployment"))

        def shown() -> list[str]:
            return [each.id or "" for each in app.screen.query("#panes ResourceTable") if each.region.area]

        assert shown() == ["objects", "events"]
        await pilot.press("z")
        await until(pilot, lambda: shown() == ["objects"])
        await pilot.press("z")
        await until(pilot, lambda: shown() == ["objects", "events"])
        await pilot.press("tab", "z")
        await until(pilot, lambda: shown() == ["events"])


async def test_a_picture_of_the_screen_is_saved_where_one_stands_and_has_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, SpecScreen) and says(app, "Secret"))
        await pilot.press("S")
        await until(pilot, lambda: bool(pictures(tmp_path)))
    picture = pictures(tmp_path)[0].read_text()
    assert "Deployment" in picture and "canary" not in picture
