"""Blast radius on the screens: what the edits at hand reach, in the background, and what of it is not known."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import (
    LARGE,
    SMALL,
    confirmed,
    opened,
    released,
    says,
    shown,
    state,
    until,
    workbench,
)
from workbench.engine import commits
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.plan import PlanScreen
from workbench.tui.screens.reach import ReachScreen
from workbench.tui.screens.whatif import WhatIfScreen

_WHO = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
SERVER = "models/server.k"


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(root), *_WHO, *words], check=True, capture_output=True)


async def plan(pilot: Pilot[Any], app: WorkbenchApp) -> None:
    await pilot.press("P")
    await until(pilot, lambda: isinstance(app.screen, PlanScreen) and bool(state(app).plan) and not state(app).busy)


def radius(app: WorkbenchApp) -> str:
    return next((each for each in shown(app) if each.startswith("blast radius")), "")


async def test_a_search_that_is_cancelled_ends_once_its_threads_did_and_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What else is written while the folder is taken away is an error of the file system in place of the cancelling."""
    app = workbench(tmp_path, Clusters("hz", "sh"))
    git(app.konfig.root, "init", "-q")
    git(app.konfig.root, "add", "-A")
    git(app.konfig.root, "commit", "-qm", "x")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    begun, go_on, write = threading.Event(), threading.Event(), commits.write_files

    def held(*given: Any) -> None:
        begun.set()
        go_on.wait(30)
        write(*given)

    monkeypatch.setattr("workbench.engine.impacts.write_files", held)
    async with app.session:
        search = asyncio.create_task(app.session.impact())
        await asyncio.to_thread(begun.wait, 30)
        search.cancel()
        for _ in range(20):
            await asyncio.sleep(0)
        assert not search.done(), "a thread writes into its folder"
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await search
    assert not [*scratch.iterdir()]


async def test_a_plan_says_what_else_the_uncommitted_files_reach(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    root = app.konfig.root
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    async with app.run_test(size=SMALL) as pilot:
        await released(pilot)
        await plan(pilot, app)
        await until(pilot, lambda: radius(app) == "blast radius of what is not committed: changes no stack")
        server = root / SERVER
        server.write_text(server.read_text().replace("image = s.image", 'image = s.image + "[red]\\u202e"'))
        await pilot.press("r")
        await until(pilot, lambda: "live" in radius(app))
        assert radius(app) == (
            "blast radius of what is not committed: 2 of 2 stacks, 2 resources; live: 3 objects, 2 restarts"
        )
        for size in (SMALL, LARGE):
            await pilot.resize_terminal(*size)
            await pilot.press("b")
            await until(pilot, lambda: isinstance(app.screen, ReachScreen) and says(app, "web/dev changed"))
            assert says(app, "web/prod changed") and says(app, "base.k:5") and says(app, "restarts pods")
            assert says(app, "front:1[red]") and not any("\u202e" in each for each in shown(app))
            await pilot.press("escape")
        del clusters.by_name["sh"]
        await app.session._connections.close()
        dev = root / "web/dev/main.k"
        dev.write_text(dev.read_text().replace("replicas = 1", "replicas = "))
        await pilot.press("r")
        await until(pilot, lambda: "not all known" in radius(app))
        assert "1 of 2 stacks, 1 resource; ? not known of 1 stack; live: " in radius(app), radius(app)
        assert "? not all known of 1 stack" in radius(app)


async def test_what_cannot_be_worked_out_is_said_and_the_plan_stands(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await plan(pilot, app)
        await until(pilot, lambda: "? not known: " in radius(app))
        assert says(app, "+8 create") and state(app).error is None
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, ReachScreen) and says(app, "✗"))


async def test_an_edit_of_a_what_if_says_whom_it_reaches_before_anything_is_planned(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, WhatIfScreen))
        await pilot.press("escape", "f")
        editor = app.screen.query_one(TextArea)
        editor.load_text(editor.text.replace("front:1", "front:2"))
        await until(pilot, lambda: "live" in radius(app))
        assert radius(app).startswith("blast radius of this edit: 2 of 2 stacks, 2 resources; live: "), radius(app)
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, ReachScreen) and says(app, "web/dev changed"))
        await pilot.press("escape")
        await confirmed(pilot, "X", "drop")
        await until(pilot, lambda: "this edit" not in radius(app))
