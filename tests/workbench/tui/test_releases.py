"""The releases of a stack: who, when, why and how; what differs between two; the way back; what is doubtful."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from runtimes.base import Rejected
from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import (
    FRONT,
    LARGE,
    SMALL,
    confirm,
    released,
    says,
    shown,
    state,
    until,
    workbench,
)
from workbench.engine.events import StepFailed, StepFinished
from workbench.engine.release import Release
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.plan import PlanScreen
from workbench.tui.screens.releases import ReleaseChangesScreen, ReleasesScreen
from workbench.tui.screens.replay import ReplayScreen
from workbench.tui.widgets.resource_table import ResourceTable


def listed(app: WorkbenchApp) -> list[str]:
    rows = app.screen.query_one("#releases", ResourceTable).shown
    return [f"{row.cells[0]} {row.cells[1]}" for row in rows]


async def board(app: WorkbenchApp, pilot: Pilot[Any]) -> None:
    await pilot.press("colon", *"releases web/prod", "enter")
    await until(pilot, lambda: isinstance(app.screen, ReleasesScreen) and bool(listed(app)))


async def again(app: WorkbenchApp, old: str, new: str, reason: str) -> None:
    """Changes a file of the stack, and releases it."""
    main = app.konfig.root / "web/prod/main.k"
    main.write_text(main.read_text().replace(old, new))
    app.session.reason = reason
    plan = await app.session.plan(app.session.select("web/prod"))
    async with app.session.apply(plan, confirm=plan.confirmation.phrase) as events:
        [None async for _ in events]


async def test_two_releases_are_compared_and_the_stack_returns_to_one_by_a_plan_that_asks(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=SMALL) as pilot:
        await released(pilot)
        await again(app, "replicas = 3", "replicas = 4", "[red]INC-7[/]\x1b[31m\u202e")
        base = app.konfig.root / "web/base/base.k"
        base.write_text(base.read_text().replace("canary-4f1d", "canary-77aa"))
        await again(app, "replicas = 4", "replicas = 5", "")
        await board(app, pilot)
        for size in (SMALL, LARGE):
            await pilot.resize_terminal(*size)
            assert listed(app) == ["#3 ✓ succeeded", "#2 ✓ succeeded", "#1 ✓ succeeded"]
            assert says(app, "ann@box") and says(app, "[red]INC-7[/]")
            assert not any("\x1b" in each or "\u202e" in each for each in shown(app))
            assert says(app, "of this machine alone") and says(app, "Deployment web-prod/front @hz  done")
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, ReleaseChangesScreen) and says(app, "release 2 → release 3"))
        assert says(app, "spec.replicas: 4 → 5") and says(app, "token") and "canary" not in "\n".join(shown(app))
        await pilot.press("escape", "space", "j", "j", "space", "d")
        await until(pilot, lambda: isinstance(app.screen, ReleaseChangesScreen) and says(app, "spec.replicas: 3 → 5"))
        await pilot.press("escape", "c")
        await until(pilot, lambda: isinstance(app.screen, ReleaseChangesScreen) and says(app, "configuration"))
        base.write_text(base.read_text().replace("canary-77aa", "canary-4f1d"))  # nothing else has the secret of then
        await pilot.press("escape", "B")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen) and says(app, "rolls back to release #1"))
        assert says(app, "Roll back")
        assert clusters["hz"].body(FRONT)["spec"]["replicas"] == 5
        await confirm(pilot)
        await until(pilot, lambda: says(app, "release #4 succeeded") and says(app, "would go forward again"))
        assert clusters["hz"].body(FRONT)["spec"]["replicas"] == 3
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ReleasesScreen) and len(listed(app)) == 4)
        assert says(app, "rolled back to #1")


async def test_a_record_that_cannot_be_read_has_a_row_and_no_way_back(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        await again(app, "replicas = 3", "replicas = 4", "")
        first = min((tmp_path / "state").rglob("*web*/**/*1.json"), key=lambda each: each.name)
        first.write_text("{")
        await board(app, pilot)
        await until(pilot, lambda: listed(app) == ["#2 ✓ succeeded", "#1 ? can't be read"])
        await pilot.press("j", "B")
        assert isinstance(app.screen, ReleasesScreen)
        await pilot.press("k", "d")
        await until(pilot, lambda: isinstance(app.screen, ReleaseChangesScreen) and says(app, "✗"))
        assert says(app, "not known")


async def test_one_key_plans_the_way_back_and_says_where_there_is_none(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await released(pilot)
        await pilot.press("colon", *"undo web/prod", "enter")
        await until(pilot, lambda: says(app, "there is no release before 1 that succeeded"))
        await pilot.press("escape")
        await again(app, "replicas = 3", "replicas = 4", "")
        await pilot.press("P")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen) and state(app).plan is not None)
        await pilot.press("U")
        await until(pilot, lambda: says(app, "rolls back to release #1") and not state(app).busy)
        assert clusters["hz"].body(FRONT)["spec"]["replicas"] == 4
        await confirm(pilot)
        await until(pilot, lambda: says(app, "release #3 succeeded"))
        assert clusters["hz"].body(FRONT)["spec"]["replicas"] == 3


async def test_a_release_is_played_as_it_went_and_nothing_of_it_happens_again(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters, is_ascii=True)
    async with app.run_test(size=SMALL) as pilot:
        clusters["sh"].fail["apply", str(FRONT)] = Rejected("[red]denied[/]\x1b[31m by a webhook", target="sh")
        await released(pilot)
        await board(app, pilot)
        calls = [*clusters["sh"].calls]
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen) and says(app, "the end"))
        await pilot.press("f")
        assert says(app, "[red]denied[/]") and says(app, "failed") and says(app, "nothing of it happens now")
        assert not any("\x1b" in each for each in shown(app))
        slow = slowed(app.session.releases(state(app).stack)[0])
        await app.push_screen(ReplayScreen(state(app), slow))
        await pilot.press("N", *["N"] * 30)
        assert says(app, "paused") and says(app, "0 of 8 steps done")
        moments = []
        for _ in range(12):
            await pilot.press("n")
            moments.append(next(each for each in shown(app) if "steps done" in each))
        assert len({*moments}) > 8 and moments[-1].endswith("7 of 8 steps done, 1 failed  partial")
        await pilot.press("space")
        assert says(app, "plays")
        await until(pilot, lambda: not says(app, "after 0.0s"))
        assert clusters["sh"].calls == calls


def slowed(release: Release) -> Release:
    """A release of which every step took two seconds, one after the other: the clock of tests stands still."""
    events = tuple(
        replace(each, at=each.at + timedelta(seconds=2 * number + 2), seconds=2.0)
        for number, each in enumerate(release.events)
        if isinstance(each, StepFinished | StepFailed)
    )
    return replace(release, events=events, finished=release.started + timedelta(seconds=2 * len(events) + 1))
