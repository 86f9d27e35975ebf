"""The timeline of a stack that is watched: every object on one axis, and what became of the one under the cursor."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from runtimes.base import Blocking, Health, ObjectRef, Status
from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import FRONT, LARGE, NOW, SMALL, released, says, shown, state, until, workbench
from workbench.tui.screens.details import ObjectScreen
from workbench.tui.screens.timeline import TimelineScreen
from workbench.tui.widgets.resource_table import ResourceTable

BAD = Health(Status.FAILED, "ImagePullBackOff", "no image"), Blocking(ObjectRef("Pod", "web-prod", "p", "p"), "x", "")

BAD_NOW = Status.FAILED, Blocking(ObjectRef("Pod", "web-prod", "p", "p"), "ImagePullBackOff", "no image")


def tracks(app: object) -> list[str]:
    return [str(row.cells[0]) for row in app.screen.query_one("#tracks", ResourceTable).shown]  # type: ignore[attr-defined]


async def test_paused_tables_hide_no_failure_and_lose_nothing(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    at = [NOW]
    app.now = lambda: at[0]

    def fronts() -> set[str]:
        rows = app.screen.query_one("#objects", ResourceTable).rows
        return {str(row.cells[1]) for row in rows if str(row.cells[0]) == "Deployment front @hz"}

    async with app.run_test(size=SMALL) as pilot:
        await released(pilot)
        await pilot.press("w")
        await until(pilot, lambda: says(app, "8/8 ready"))
        ready = fronts()
        await pilot.press("p")
        await until(pilot, lambda: says(app, "paused, 0 changes since, 0s ago: p goes on"))
        at[0] += timedelta(seconds=3)
        clusters["hz"].become(FRONT, *BAD_NOW)
        await until(pilot, lambda: says(app, "7/8 ready") and says(app, "WHY Pod/p @hz"))
        await until(pilot, lambda: says(app, "paused, 1 change since, 3s ago"))
        assert fronts() == ready and len(ready) == 1
        await pilot.press("p")
        await until(pilot, lambda: not says(app, "paused"))
        assert fronts() != ready
        await pilot.press("p")
        clusters["hz"].become(FRONT, Status.CURRENT)
        await until(pilot, lambda: says(app, "8/8 ready") and says(app, "paused, 1 change since"))
        await pilot.press("o")
        await until(pilot, lambda: not says(app, "paused"))
        assert fronts() == ready


def _fits(table: ResourceTable) -> bool:
    """Whether nothing of it is cut, once its columns have widths."""
    return bool(table.columns[0].width) and sum(each.width or 0 for each in table.columns) < table.size.width


async def test_every_object_is_on_one_axis_and_its_changes_are_listed(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    at = [NOW]
    app.now = lambda: at[0]
    async with app.run_test(size=SMALL) as pilot:
        await released(pilot)
        await pilot.press("w")
        await until(pilot, lambda: says(app, "8/8 ready"))
        clusters["hz"].health[FRONT] = BAD
        at[0] += timedelta(seconds=3)
        await pilot.press("r")
        await until(pilot, lambda: says(app, "7/8 ready"))
        await pilot.press("T")
        await until(pilot, lambda: isinstance(app.screen, TimelineScreen) and len(tracks(app)) == 8)
        assert says(app, "✗ failed") and any("━" in each for each in shown(app))
        table = app.screen.query_one("#tracks", ResourceTable)
        for size in (LARGE, SMALL):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: table.size.width == app.size.width and _fits(table))
        await pilot.press("f")
        await until(pilot, lambda: tracks(app) == ["Deployment front @hz"])
        assert says(app, "ImagePullBackOff") and says(app, "no image")
        await pilot.press("enter")
        assert isinstance(app.screen, ObjectScreen)
        await pilot.press("escape", "escape", "escape")
        await until(pilot, lambda: not state(app).is_watched)
        last = [each.last for each in state(app).timeline.tracks()]
        assert {each.reason for each in last if each is not None} == {"NotWatched"}
