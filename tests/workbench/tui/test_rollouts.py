"""The rollouts board: where each stands and why it halted, what is not known, and acts behind typed phrases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from runtimes.base import Blocking, Health, ObjectRef, Status
from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import FRONT, LARGE, SMALL, opened, says, shown, until, workbench
from workbench.tui import rolling_out
from workbench.tui.app import WorkbenchApp
from workbench.tui.rolling_out import AskedRollout
from workbench.tui.screens.rollout_plan import RolloutPlanScreen
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


async def test_a_rollout_is_planned_begun_by_its_phrase_and_carried_out_from_the_screens(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    file = app.konfig.root / "rollout.yaml"
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await board(app, pilot)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, RolloutPlanScreen) and says(app, "rollout.yaml"))
        await pilot.press("a")
        assert not app.screen.query_one("#confirm").has_class("asked"), "there are no stages"
        file.write_text(STAGES)
        await pilot.press("r")
        await until(pilot, lambda: says(app, "asks for the phrase"))
        await pilot.press("escape", "colon", *"rollout -D nobody.asks=s3cret --reason 'incident 7'", "enter")
        await until(pilot, lambda: says(app, "-D nobody.asks=...") and says(app, "asks for the phrase"))
        for size in (SMALL, LARGE):
            await pilot.resize_terminal(*size)
            assert says(app, "1 east  ") and says(app, "2 rest  ") and says(app, "needs an approval"), shown(app)
        await typed(app, pilot, "a", "yes")
        await pilot.press("escape")
        assert not (await app.session.rollouts()).known, "nothing was begun"
        assert isinstance(app.screen, RolloutPlanScreen) and app.screen._planned is not None
        planned = app.screen._planned
        await typed(app, pilot, "a", planned.confirmation.phrase)
        await until(pilot, lambda: isinstance(app.screen, RolloutsScreen))
        await until(pilot, lambda: begun(app) == ["waiting for approval"] and not app.rolling_out.is_running)
        assert clusters["hz"].body(FRONT)["spec"]["replicas"] == 3
        lines = [each.line for each in app.command_log.acts]
        said = "wb rollout start -D nobody.asks=\"$nobody_asks\" --reason 'incident 7'"
        assert "wb rollout start --dry-run" in lines and f"{said} --dry-run" in lines and said in lines
        known = (await app.session.rollouts()).known[0].progress.began
        assert known.reason == "incident 7"
        whys = {each.action: each.reason for each in app.session.audit().entries()}
        assert whys["apply"] == whys["rollout"] == "incident 7"
        await pilot.press("escape", "escape")
        assert app.screen_stack[-1] is app.screen_stack[1], "back in Browse"


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("", AskedRollout()),
        ("web/* b", AskedRollout(("web/*", "b"))),
        ("-D a=1 --reason 'x y' web/dev -D b=", AskedRollout(("web/dev",), {"a": "1", "b": ""}, "x y")),
        ("--argument a=b=c", AskedRollout((), {"a": "b=c"})),
    ],
)
def test_what_is_typed_after_rollout_is_what_wb_rollout_start_takes(typed: str, asked: AskedRollout) -> None:
    assert rolling_out.parse(typed) == asked


@pytest.mark.parametrize("typed", ["-D", "-D a", "-D =1", "--reason", "--reason ' '", "--yes", "'"])
def test_what_cannot_be_read_after_rollout_plans_nothing(typed: str) -> None:
    with pytest.raises(ValueError, match=r"say|no option|quotation"):
        rolling_out.parse(typed)


async def test_of_marked_stacks_a_rollout_is_planned_and_what_cannot_be_begun_says_why(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"), is_read_only=True)
    (app.konfig.root / "rollout.yaml").write_text(STAGES)
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("colon", *"rollout web/dev", "enter")
        await until(pilot, lambda: says(app, "web/dev is in no stage"))
        await pilot.press("escape", "space", "colon", *"rollout", "enter")
        await until(pilot, lambda: isinstance(app.screen, RolloutPlanScreen) and says(app, "refused: the guards of"))
        assert says(app, "web/prod")
        await pilot.press("a", "K")
        assert not app.screen.query_one("#confirm").has_class("asked")
