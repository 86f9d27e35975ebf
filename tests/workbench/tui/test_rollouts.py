"""The rollouts board: where each stands and why it halted, what is not known, and acts behind typed phrases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from runtimes.base import Blocking, Health, ObjectRef, Status
from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import FRONT, LARGE, SMALL, opened, says, shown, until, workbench
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.rollouts import RolloutsScreen
from workbench.tui.widgets.resource_table import ResourceTable

STAGES = """\
stages:
  - {name: east, stacks: ["web/prod"], clusters: [hz], timeout: 5s}
  - {name: rest, stacks: ["web/prod"], approval: true}
"""
WHY = "[red]Crash[/]\x1b[31m\u202e"
BAD = Health(Status.FAILED, "CrashLoopBackOff"), Blocking(ObjectRef("Pod", "web-prod", "front-1", "p"), WHY, "")


async def board(app: WorkbenchApp, pilot: Pilot[Any]) -> None:
    await pilot.press("colon", *"rollouts", "enter")
    await until(pilot, lambda: isinstance(app.screen, RolloutsScreen) and not says(app, "asking where"))


async def typed(app: WorkbenchApp, pilot: Pilot[Any], key: str, phrase: str) -> None:
    await pilot.press(key)
    app.screen.query_one("#phrase", Input).value = phrase
    await pilot.press("enter")


def begun(app: WorkbenchApp) -> list[str]:
    return [str(row.cells[1]) for row in app.screen.query_one("#rollouts", ResourceTable).shown]


async def begin(app: WorkbenchApp) -> str:
    session = app.session
    session.reason = "[b]INC-7[/]"
    planned = await session.plan_rollout()
    return await session.begin_rollout(planned, confirm=planned.confirmation.phrase)


async def test_a_rollout_is_carried_out_halts_goes_on_after_an_approval_and_ends(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    (app.konfig.root / "rollout.yaml").write_text(STAGES)
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await board(app, pilot)
        assert says(app, "there is no rollout of this repository")
        id_ = await begin(app)
        await pilot.press("r")
        await until(pilot, lambda: begun(app) == ["stopped"])
        clusters["hz"].health[FRONT] = BAD
        await typed(app, pilot, "R", f"resume {id_}")
        await until(pilot, lambda: begun(app) == ["halted"] and not app.rolling_out.is_running)
        for size in (SMALL, LARGE):
            await pilot.resize_terminal(*size)
            assert says(app, "1 rollout: 1 ✗ halted") and says(app, "halted in east, batch 1")
            assert says(app, "WHY"), shown(app)
            assert says(app, "Pod/front-1 in hz: [red]Crash[/]") and says(app, "wb rollout resume"), "\n".join(
                shown(app)
            )
            assert not any("\x1b" in each or "\u202e" in each for each in shown(app))
        del clusters["hz"].health[FRONT]
        await typed(app, pilot, "R", f"resume {id_}")
        await until(pilot, lambda: begun(app) == ["waiting for approval"] and not app.rolling_out.is_running)
        await pilot.press("R")
        assert not app.screen.query_one("#confirm").has_class("asked"), "it waits for an approval"
        await typed(app, pilot, "a", f"approve rest {id_}")
        await until(pilot, lambda: says(app, "approved by ann"))
        await typed(app, pilot, "R", f"resume {id_}")
        await until(pilot, lambda: begun(app) == ["finished"])
        assert clusters["sh"].body(FRONT)["spec"]["replicas"] == 3
        await pilot.press("X")
        assert not app.screen.query_one("#confirm").has_class("asked"), "it has ended"


async def test_pause_and_abort_take_a_phrase_that_names_the_rollout(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    (app.konfig.root / "rollout.yaml").write_text(STAGES)
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        id_ = await begin(app)
        await board(app, pilot)
        await until(pilot, lambda: begun(app) == ["stopped"])
        assert says(app, "[b]INC-7[/]")
        await typed(app, pilot, "p", "pause")
        assert app.screen.query_one("#confirm").has_class("asked")
        await pilot.press("escape")
        assert begun(app) == ["stopped"]
        await typed(app, pilot, "p", f"pause {id_}")
        await until(pilot, lambda: begun(app) == ["paused"])
        await typed(app, pilot, "X", f"abort {id_}")
        await until(pilot, lambda: begun(app) == ["aborted"])


async def test_a_record_that_cannot_be_read_is_listed_and_is_no_absence(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    (app.konfig.root / "rollout.yaml").write_text(STAGES)
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        id_ = await begin(app)
        for file in (tmp_path / "state").rglob(f"*{id_}*"):
            if file.is_file():
                file.write_text("{")
        await board(app, pilot)
        await until(pilot, lambda: says(app, "can't be read"))
        assert begun(app) == ["? can't be read"]
        await pilot.press("R")
        assert not app.screen.query_one("#confirm").has_class("asked")
