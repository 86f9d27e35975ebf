"""Takes the pictures of the documentation: the screens, on the practice clusters of the demo.

    python -m tests.screenshots docs/screenshots

Each picture is an SVG of what the terminal face draws at 120x36, reached by the keys that a person would press. The one
of Terraform needs a terraform or tofu on the PATH; without, the picture that is there stays.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from workbench.cli import practice
from workbench.session import Session
from workbench.settings import Settings
from workbench.tui.app import WorkbenchApp
from workbench.tui.state import StackState
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.resource_table import ResourceTable

SIZE = (120, 36)
PATIENCE_SECONDS = 40.0


async def take(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240  # nothing else runs yet
    here = Path(__file__).parents[1]
    async with (
        practice.practise(Settings.load({}), here) as place,
        Session.open(place.root, settings=place.settings) as session,
    ):
        await practice.seed(session)
        await practice.change_by_hand(place)
        app = WorkbenchApp(session, open_at=practice.STACK)
        async with app.run_test(size=SIZE) as pilot:
            await _walk(app, pilot, folder)
            if place.no_cloud:
                sys.stderr.write(f"no picture of Terraform: {place.no_cloud}\n")
            else:
                await _walk_terraform(app, pilot, folder)


async def _walk(app: WorkbenchApp, pilot: Pilot[Any], folder: Path) -> None:
    await _until(pilot, lambda: getattr(app.screen, "shown_state", None) is not None)
    await pilot.press("d")
    await _until(pilot, lambda: _state(app).diff is not None and not _state(app).busy)
    await pilot.press("escape")
    _save(app, folder / "browse.svg")

    await pilot.press("c")
    await _until(pilot, lambda: _table(app, "#yaml") is not None and bool(_table(app, "#yaml").rows))
    await pilot.press(*"jjjjj")
    await pilot.pause()
    _save(app, folder / "spec.svg")

    await pilot.press("d")
    await _until(pilot, lambda: bool(_table(app, "#changes").rows) and not _state(app).busy)
    await pilot.press(*"jj")
    await pilot.pause()
    _save(app, folder / "diff.svg")

    await pilot.press("P")
    await _until(pilot, lambda: _state(app).plan is not None)
    await pilot.press("F")
    await _until(pilot, lambda: _state(app).plan is not None and not _state(app).busy)
    await pilot.press("a")
    app.screen.query_one("#phrase", Input).value = practice.STACK
    await pilot.pause()
    _save(app, folder / "plan.svg")

    await pilot.press("enter")
    await _until(pilot, lambda: bool(_state(app).events) and not _state(app).is_applying)
    await pilot.press("w")
    await _until(pilot, lambda: (tree := _state(app).tree) is not None and tree.ready == tree.total - 2)
    for _ in range(20):  # until the back-off and its events are there
        await pilot.pause(0.1)
    _save(app, folder / "reconcile.svg")


async def _walk_terraform(app: WorkbenchApp, pilot: Pilot[Any], folder: Path) -> None:
    await pilot.press("colon")
    app.screen.query_one(Prompt).value = f"diff {practice.RENTING}"
    await pilot.press("enter")
    await _until(pilot, lambda: _state(app).stack.name == practice.RENTING and _state(app).diff is not None)
    await pilot.press(*"jjj")
    await pilot.pause()
    _save(app, folder / "terraform.svg")


def _state(app: WorkbenchApp) -> StackState:
    state: StackState = app.screen.shown_state  # type: ignore[attr-defined]
    return state


def _table(app: WorkbenchApp, selector: str) -> ResourceTable:
    return app.screen.query_one(selector, ResourceTable)


def _save(app: WorkbenchApp, path: Path) -> None:
    # trailing blanks are what a diff of a text file should not be about
    svg = app.export_screenshot(title="wb")
    path.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")
    sys.stderr.write(f"{path}\n")


async def _until(pilot: Pilot[Any], reached: Callable[[], bool]) -> None:
    for _ in range(int(PATIENCE_SECONDS / 0.05)):
        await pilot.pause(0.05)
        if reached():
            return
    raise TimeoutError("the screen did not come to what the picture should show")


if __name__ == "__main__":
    asyncio.run(take(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/screenshots")))
