"""The room that panes have, and a picture of them in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import LARGE, SMALL, opened, says, until, workbench
from workbench.tui.screens.spec import SpecScreen
from workbench.tui.widgets.resource_table import ResourceTable


def pictures(folder: Path) -> list[Path]:
    return [*folder.glob("*.svg")]


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])
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
