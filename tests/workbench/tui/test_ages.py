"""What the screens show is of now, or says how old it is."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.workbench.session.shop import Clusters, shop
from tests.workbench.tui.test_screens import FRONT, LARGE, NOW, SMALL, released, says, shown, state, until
from workbench.session import Session
from workbench.settings import Settings
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.browse import BrowseScreen
from workbench.tui.screens.reconcile import ReconcileScreen


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def go_on(self, **by: float) -> None:
        self.now += timedelta(**by)


def workbench(folder: Path, clusters: Clusters, clock: Clock) -> WorkbenchApp:
    for each in clusters.by_name.values():
        each.clock, each.valid_seconds = clock, 10.0
    settings = Settings(folder / "state", folder / "state", user="ann", host="box")
    session = Session(shop(folder / "shop"), settings, connect=clusters, now=clock)
    return WorkbenchApp(session, open_at="web/prod", now=clock)


CLAIMS = ("everything is ready", "8/8 ready", "✓ Ready", "nothing to wait for")


def claims(app: Any) -> list[str]:
    return [each for each in CLAIMS if says(app, each)]


@pytest.mark.parametrize(
    "away",
    [
        (":watch", "escape"),
        (":plan", "escape"),
        (":watch", ":watch", "escape", "escape"),
    ],
    ids=" ".join,
)
async def test_what_happens_while_another_screen_is_open_is_seen_on_coming_back(
    tmp_path: Path, away: tuple[str, ...]
) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters, Clock())
    async with app.run_test(size=SMALL) as pilot:
        await released(pilot)
        await pilot.press("w")
        await until(pilot, lambda: says(app, "everything is ready"))
        for keys in away[: len(away) // 2 or 1]:
            depth = len(app.screen_stack)
            await pilot.press(*([*keys, "enter"] if keys.startswith(":") else [keys]))
            await until(pilot, lambda depth=depth, keys=keys: len(app.screen_stack) > depth)  # type: ignore[misc]
        del clusters["sh"].objects[FRONT]
        clusters["sh"].wake()
        for key in away[len(away) // 2 or 1 :]:
            await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, ReconcileScreen) and says(app, "Missing"))
        await until(pilot, lambda: not says(app, "everything is ready"))


async def test_a_picture_that_nobody_keeps_up_to_date_claims_nothing(tmp_path: Path) -> None:
    clock = Clock()
    app = workbench(tmp_path, Clusters("hz", "sh"), clock)
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        await pilot.press("w")
        await until(pilot, lambda: says(app, "everything is ready"))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, BrowseScreen) and not state(app).is_watched)
        await until(pilot, lambda: says(app, "not watched now"))
        clock.go_on(minutes=5)
        app.screen.redraw()  # type: ignore[attr-defined]
        await until(pilot, lambda: says(app, "? 5m ago Ready"))
        assert not claims(app), shown(app)
        assert says(app, "silent")


async def test_a_watch_that_dies_below_its_screen_is_said(tmp_path: Path) -> None:
    clock = Clock()
    app = workbench(tmp_path, Clusters("hz", "sh"), clock)
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        await pilot.press("w")
        await until(pilot, lambda: says(app, "everything is ready"))
        app.workers.cancel_group(app, "watch web/prod")
        await until(pilot, lambda: not state(app).is_watched)
        clock.go_on(seconds=30)
        app.screen.redraw()  # type: ignore[attr-defined]
        await until(pilot, lambda: says(app, "NOT WATCHED"))
        assert not claims(app), shown(app)
        assert says(app, "30s ago: Ready")
        await pilot.press("r")
        await until(pilot, lambda: says(app, "everything is ready"))


@pytest.mark.parametrize("silent", [("sh",), ("hz", "sh")], ids="+".join)
async def test_a_cluster_that_goes_silent_is_named_with_since_when(tmp_path: Path, silent: tuple[str, ...]) -> None:
    clock, clusters = Clock(), Clusters("hz", "sh")
    app = workbench(tmp_path, clusters, clock)
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        await pilot.press("w")
        await until(pilot, lambda: says(app, "everything is ready"))
        for name in silent:
            clusters[name].fall_silent()
        clock.go_on(seconds=8)
        await until(pilot, lambda: says(app, "silent: "))
        app.screen.redraw()  # type: ignore[attr-defined]
        assert all(says(app, f"{name} 8s") for name in silent), shown(app)
        assert says(app, "no answer within 3 s, silent for 8s")
        assert not set(claims(app)) - {"✓ Ready"}, shown(app)
        assert says(app, "8s ago: Ready") and says(app, "✓ Ready") == (len(silent) == 1)
        for name in silent:
            clusters[name].speak()
        await until(pilot, lambda: says(app, "everything is ready"))


async def test_a_comparison_has_an_age_and_is_no_all_clear_while_a_cluster_is_away(tmp_path: Path) -> None:
    clock, clusters = Clock(), Clusters("hz", "sh")
    app = workbench(tmp_path, clusters, clock)
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        await pilot.press("d")
        await until(pilot, lambda: says(app, "no difference"))
        await pilot.press("escape")
        await until(pilot, lambda: says(app, "=  hz, sh"))
        clock.go_on(minutes=3)
        app.screen.redraw()  # type: ignore[attr-defined]
        assert says(app, "= 3m") and says(app, "compared 3m ago")
        del clusters.by_name["sh"]
        app.session._connections.open.clear()
        await pilot.press("d")
        await until(pilot, lambda: says(app, "connection refused"))
        assert says(app, "not everything could") and not says(app, "no difference:")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, BrowseScreen))
        assert not says(app, "= "), shown(app)
        await pilot.press("P")
        await until(pilot, lambda: state(app).plan is not None)
        await until(pilot, lambda: says(app, "not everything could be found out"))
        assert not says(app, "nothing to do"), shown(app)
