"""What would like to be an order, wide, unseen or endless, in names, values and messages: inert and aligned everywhere.

Every screen of a stack is walked over one repository and two clusters in which all of them are so. Live objects, their
logs and descriptions are held to it where they are tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from kcl.terminal import has_orders
from runtimes.base import Blocking, KubernetesId, ObjectRef, Status
from tests.stories.recording import Recording
from tests.workbench.session.shop import FILES, Clusters, session, shop
from tests.workbench.tui.test_screens import FRONT, SMALL, opened, released, until
from workbench.tui.app import WorkbenchApp
from workbench.tui.widgets.resource_table import ResourceTable

SIGNS = "[red]x[/] \x1b[31m\u202e漢字\u200bé\x9b"
ENDLESS = "y" * 1_000_000
SETTINGS = KubernetesId("v1", "ConfigMap", "web-prod", "front")
PLACES = "spec; diff; plan; watch; whatif; releases; fleet; drift; log; bookmarks; rollouts"
"""Each is opened; `enter` then opens what is under its cursor, where something is."""


def repository(root: Path) -> Path:
    base = FILES["web/base/base.k"].replace('"red"', f'"[red]x[/] 漢字\u200bé", LONG = "{ENDLESS}"')
    folder = "[b]漢字\u200b\u202e"
    return shop(
        root,
        {
            "web/base/base.k": base,
            f"{folder}/project.yaml": "name: other\n",
            f"{folder}/[red]\u202ex/stack.yaml": "name: '[red]x'\n",
            f"{folder}/[red]\u202ex/main.k": "a = 1\n",
        },
    )


def has_rows(app: WorkbenchApp) -> bool:
    return any(table.shown for table in app.screen.query(ResourceTable))


def bad_lines(app: WorkbenchApp, size: tuple[int, int]) -> Iterator[str]:
    seen = Recording("", *size)
    seen.take(app, "")
    for text in seen.texts():
        if has_orders(text) or cell_len(text) != size[0]:
            yield f"{type(app.screen).__name__}: {text!r}"


async def test_what_is_hostile_is_inert_and_aligned_on_every_screen_of_a_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    clusters = Clusters("hz", "sh")
    app = WorkbenchApp(session(repository(tmp_path / "shop"), clusters), open_at="web/prod")
    found: list[str] = []
    screens: set[str] = set()
    async with app.run_test(size=SMALL, notifications=True) as pilot:

        async def look() -> None:
            await until(pilot, lambda: not any(each.busy for each in app.states.values()))
            await pilot.pause()
            screens.add(type(app.screen).__name__)
            found.extend(bad_lines(app, SMALL))

        await opened(pilot)
        await look()
        await released(pilot)
        clusters["hz"].edit(SETTINGS, ("data", "COLOUR"), SIGNS + ENDLESS, f"me{SIGNS}")
        pod = Blocking(ObjectRef("Pod", "web-prod", f"front{SIGNS}", "u1"), f"Bad{SIGNS}", SIGNS + ENDLESS)
        clusters["sh"].become(FRONT, Status.FAILED, pod)
        app.notify(SIGNS)
        app.run_command("bookmark a[b]漢字", app.screen)  # type: ignore[arg-type]
        for place in PLACES.split("; "):
            screen: Any = app.screen
            app.run_command(f"{place} web/prod" if place in ("spec", "diff", "plan", "watch") else place, screen)
            await look()
            if place == "watch":
                await until(pilot, lambda: has_rows(app))
            await pilot.press("enter")
            await look()
            await pilot.press("question_mark")
            await look()
            await pilot.press("escape", "escape", "escape")
    assert found == []
    assert {"BrowseScreen", "SpecScreen", "DiffScreen", "PlanScreen", "StepScreen", "ReconcileScreen"} <= screens
    assert {"WhatIfScreen", "ReleasesScreen", "FleetScreen", "DriftScreen", "CommandLogScreen"} <= screens
    assert {"ObjectScreen", "BookmarksScreen", "RolloutsScreen"} <= screens
