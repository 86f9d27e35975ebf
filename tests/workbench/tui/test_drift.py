"""The drift board over clusters in memory: who changed what, what is not known, and the two answers to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from runtimes.base import KubernetesId
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
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.adopt import AdoptScreen
from workbench.tui.screens.diff import DiffScreen
from workbench.tui.screens.drift import DriftScreen
from workbench.tui.screens.plan import PlanScreen
from workbench.tui.screens.whatif import WhatIfScreen
from workbench.tui.state import Verb
from workbench.tui.widgets.resource_table import ResourceTable

SETTINGS = KubernetesId("v1", "ConfigMap", "web-prod", "front")
SECRET = KubernetesId("v1", "Secret", "web-prod", "front")
HOSTILE = "[red]grey[/]\x1b[31m\u202e"


def stacks(app: WorkbenchApp) -> list[str]:
    rows = app.screen.query_one("#stacks", ResourceTable).shown
    return [str(row.cells[0]) for row in rows if row.depth == 0]


async def board(pilot: Pilot[Any], app: WorkbenchApp) -> None:
    await pilot.press("colon", *"drift", "enter")
    await until(pilot, lambda: isinstance(app.screen, DriftScreen) and not app.screen.is_looking)
    await until(pilot, lambda: says(app, "2 stacks") and not says(app, "not looked at"))


async def test_what_others_changed_is_listed_with_who_and_when_the_drifted_first(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=SMALL) as pilot:
        await released(pilot)
        clusters["hz"].edit(FRONT, ("spec", "replicas"), 9, manager="[b]kubectl[/]\x1b[31m")
        clusters["sh"].edit(SETTINGS, ("data", "COLOUR"), HOSTILE)
        clusters["sh"].objects.pop(SECRET)
        await board(pilot, app)
        for size in (SMALL, LARGE):
            await pilot.resize_terminal(*size)
            assert stacks(app) == ["web/prod", "web/dev"]
            lines = shown(app)
            assert any("spec.replicas 3 → 9 [b]kubectl[/]" in each and each.endswith("9m") for each in lines), lines
            assert any("data.COLOUR" in each and "[red]grey[/]" in each and "kubectl-edit" in each for each in lines)
            assert any(each.startswith("Secret web-prod/front @sh deleted live") for each in lines)
            assert says(app, "2 stacks: ! 1 drifted") and says(app, "2 drift  1 deleted")
            assert not any("\x1b" in each or "\u202e" in each for each in lines)
        await pilot.press("f")
        assert stacks(app) == ["web/prod", "web/dev"], "of dev no release can tell what was deleted"
        left = app.screen
        assert isinstance(left, DriftScreen)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not left.is_attached)
        left._redraw_now()  # what its worker tells while it ends


async def test_what_could_not_be_asked_is_no_absence_of_drift(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        main = app.konfig.root / "web/dev/main.k"
        main.write_text(main.read_text().replace("replicas = 1", "replicas = "))
        await board(pilot, app)
        assert says(app, "? could not be compared") and says(app, "main.k:4")
        assert says(app, "✓ 1 without drift") and says(app, "? 1 not known for sure")
        del clusters.by_name["sh"]
        await app.session._connections.close()
        await pilot.press("r")
        await until(pilot, lambda: says(app, "sh: connection refused"))
        assert says(app, "? 2 not known for sure") and not says(app, "without drift")


async def test_drift_is_taken_back_by_a_plan_that_asks_and_does_nothing_else(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=SMALL) as pilot:
        await released(pilot)
        clusters["hz"].edit(SETTINGS, ("data", "COLOUR"), "grey")
        main = app.konfig.root / "web/prod/main.k"
        before = main.read_text()
        main.write_text(before.replace("replicas = 3", "replicas = 4"))
        await board(pilot, app)
        await pilot.press("R")
        refused = "drift only: the configuration itself has changed since the last release: 2 of the steps"
        await until(pilot, lambda: isinstance(app.screen, PlanScreen) and says(app, refused))
        await pilot.press("a")
        assert not app.screen.query_one("#confirm").has_class("asked")
        main.write_text(before)
        await pilot.press("r")
        await until(pilot, lambda: bool((made := state(app).plan) and not made.is_refused))
        await until(pilot, lambda: says(app, "Revert drift") and says(app, "~1 update"))
        assert clusters["hz"].body(SETTINGS)["data"]["COLOUR"] == "grey"
        await pilot.press("F")
        assert state(app).goal.verb is Verb.REVERT and not state(app).busy
        await confirm(pilot)
        await until(pilot, lambda: says(app, "release #2 succeeded"))
        assert clusters["hz"].body(SETTINGS)["data"]["COLOUR"] == "red"
        await pilot.press("escape", "r")
        await until(pilot, lambda: says(app, "✓ 1 without drift"))
        await pilot.press("A")
        assert isinstance(app.screen, DriftScreen), "there is nothing to take over"


async def test_drift_is_taken_over_as_an_edit_that_is_shown_before_it_is_written(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=SMALL) as pilot:
        await released(pilot)
        main = app.konfig.root / "web/prod/main.k"
        before = main.read_text()
        for name in ("hz", "sh"):
            clusters[name].edit(FRONT, ("spec", "replicas"), 9)
        await board(pilot, app)
        await pilot.press("A")
        await until(pilot, lambda: isinstance(app.screen, AdoptScreen) and says(app, "drift with this: ✓ no drift"))
        for size in (SMALL, LARGE):
            await pilot.resize_terminal(*size)
            assert says(app, "-    replicas = 3") and says(app, "+    replicas = 9") and says(app, "main.k:4")
        await pilot.press("W", "W", "enter")
        assert main.read_text() == before, "only the word writes"
        app.screen.query_one("#phrase", Input).value = "write"
        await pilot.press("enter")
        await until(pilot, lambda: says(app, "✓ written"))
        assert main.read_text() == before.replace("replicas = 3", "replicas = 9")
        await pilot.press("escape", "r")
        await until(pilot, lambda: says(app, "✓ 1 without drift"))


async def test_an_edit_that_takes_over_can_be_looked_at_in_a_what_if(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        clusters["sh"].edit(FRONT, ("spec", "replicas"), 9)
        clusters["sh"].edit(SECRET, ("data", "token"), "aHVzaA==")
        await board(pilot, app)
        await pilot.press("A")
        await until(pilot, lambda: says(app, "live in sh only: an apply would set it in hz too"))
        assert says(app, "it is secret: what is live is not written into a file")
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, WhatIfScreen))
        assert state(app).edits == "main.k"
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, DriftScreen))
        await pilot.press("A", "R")
        assert isinstance(app.screen, DriftScreen), "a What-if is open: its edits would mix with these"
