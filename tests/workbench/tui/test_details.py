"""What `enter` opens, which logs `l` shows, and names that can be told apart however narrow the screen."""

from __future__ import annotations

import itertools
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Address, Health, KubernetesId, ObjectRef, Status, StatusNode
from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import (
    FRONT,
    NOW,
    SIZES,
    SMALL,
    confirm,
    opened,
    released,
    says,
    shown,
    state,
    until,
    workbench,
)
from workbench.present import plan
from workbench.tui.frame import DRAW_SECONDS, pause_before
from workbench.tui.screens.details import ObjectScreen, StepScreen
from workbench.tui.screens.plan import PlanScreen
from workbench.tui.screens.reconcile import ReconcileScreen
from workbench.tui.widgets.resource_table import ResourceTable

LONG = "storefront-checkout-frontend-7d9f8b6c5"


def tree(pods: int, health: Health = Health(Status.CURRENT)) -> StatusNode:  # noqa: B008  # a frozen value
    made = NOW - timedelta(hours=1)
    children = tuple(
        StatusNode(
            ObjectRef("Pod", "web-prod", f"{LONG}-{number:05}", f"p{number}"), health, ("Running", "1/1 ready"), made
        )
        for number in range(pods)
    )
    replica_set = StatusNode(ObjectRef("ReplicaSet", "web-prod", LONG, "rs"), health, (), made, children)
    return StatusNode(ObjectRef("Deployment", "web-prod", "front", "d"), health, ("3/3 ready",), made, (replica_set,))


@SIZES
async def test_enter_opens_the_step_and_the_object_under_the_cursor(tmp_path: Path, size: tuple[int, int]) -> None:
    clusters = Clusters("hz", "sh")
    clusters["hz"].trees[FRONT] = tree(2)
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("P")
        await until(pilot, lambda: state(app).plan is not None and says(app, "Deployment web-prod/front @hz"))
        await pilot.press("G", "enter")
        await until(pilot, lambda: isinstance(app.screen, StepScreen))
        await until(pilot, lambda: says(app, "front:1") and says(app, "@sh"))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen))
        await confirm(pilot)
        await until(pilot, lambda: says(app, "succeeded"))
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, ReconcileScreen) and says(app, "everything is ready"))
        app.screen.query_one("#objects", ResourceTable).move_to((state(app).tree.resources[6].address, "p1"))  # type: ignore[union-attr]
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ObjectScreen))
        await until(pilot, lambda: says(app, f"{LONG}-00001") and says(app, "heard 0s ago"))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ReconcileScreen))


async def test_logs_that_come_after_their_screen_was_left_have_nowhere_to_go(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        app.run_command("watch web/prod", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: isinstance(app.screen, ReconcileScreen))
        screen = app.screen
        assert isinstance(screen, ReconcileScreen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not screen and not screen.query("#logs"))
        screen.show_logs(("too late",))


@SIZES
async def test_space_leaves_a_step_out_of_the_plan_and_takes_it_back(tmp_path: Path, size: tuple[int, int]) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("P")
        await until(pilot, lambda: state(app).plan is not None and says(app, "Deployment web-prod/front @hz"))
        every = len(state(app).plan.steps())  # type: ignore[union-attr]
        steps = app.screen.query_one("#steps", ResourceTable)
        steps.move_to(Address("hz", KubernetesId("v1", "Namespace", "", "web-prod")))
        await pilot.press("space")
        await until(pilot, lambda: says(app, "left out") and not state(app).busy)
        made = state(app).plan
        assert made is not None and {each.cluster for each in made.by_address()} == {"sh"}, "all in it needs it"
        steps.move_to(Address("hz", FRONT))
        assert says(app, "needs Namespace web-prod @hz, skipped")
        await pilot.press("enter")
        assert isinstance(app.screen, PlanScreen), "there is no step to open"
        await pilot.press("space")  # takes back why it is left out
        await until(pilot, lambda: (plan := state(app).plan) is not None and len(plan.steps()) == every)
        steps.move_to(Address("hz", FRONT))
        await pilot.press("space")
        await until(pilot, lambda: says(app, "left out") and not state(app).busy)
        await confirm(pilot)
        await until(pilot, lambda: says(app, "succeeded"))
        assert FRONT in clusters["sh"].objects and FRONT not in clusters["hz"].objects


@pytest.mark.parametrize("pods", [5, 15])
async def test_logs_are_of_every_pod_that_the_row_stands_for(tmp_path: Path, pods: int) -> None:
    clusters = Clusters("hz", "sh")
    clusters["hz"].trees[FRONT] = tree(pods)
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=SMALL) as pilot:
        await released(pilot)
        await pilot.press("w")
        await until(pilot, lambda: says(app, "everything is ready"))
        objects = app.screen.query_one("#objects", ResourceTable)
        rows = [row.key for row in objects.rows if isinstance(row.key, tuple) and row.key[0].cluster == "hz"]
        for key in [each for each in rows if each[0].id == FRONT]:
            objects.move_to(key)
            await pilot.press("v", "l")
            for number in range(min(pods, 10)):
                await until(pilot, lambda number=number: says(app, f"log of Pod/{LONG}-{number:05}"))  # type: ignore[misc]
            assert says(app, "more pods are not read") == (pods > 10)


def drawn(table: ResourceTable) -> list[str]:
    lines = [table.render_line(y).text.rstrip() for y in range(table.size.height)]
    return [each for each in lines if each.strip()]


@pytest.mark.parametrize("width", [40, 80])
async def test_names_can_be_told_apart_however_narrow_it_is(tmp_path: Path, width: int) -> None:
    clusters = Clusters("hz", "sh")
    clusters["hz"].trees[FRONT] = tree(8, Health(Status.IN_PROGRESS, "ContainersNotReady"))
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=(width, 40)) as pilot:
        await released(pilot)
        await pilot.press("w")
        await until(pilot, lambda: says(app, "everything is ready"))
        objects = app.screen.query_one("#objects", ResourceTable)
        objects.folded.clear()
        objects.set_rows(objects.rows)
        objects.on_resize()
        await pilot.pause()
        lines = [each for each in drawn(objects) if "Pod " in each]
        names = {each.split("Pod ", 1)[1].split(" ")[0] for each in lines}
        assert len(names) == 8, lines
        assert all(name[-5:].isdigit() for name in names), names
        if width >= 80:
            assert all(LONG in name for name in names), names


class Counted(tuple[Any, ...]):
    """Counts how often it is gone through."""

    walks = 0

    def __iter__(self) -> Any:
        Counted.walks += 1
        return super().__iter__()


async def test_drawing_a_plan_goes_through_it_once_and_not_once_a_step(tmp_path: Path) -> None:
    import dataclasses

    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await pilot.press("P")
        await until(pilot, lambda: state(app).plan is not None)
        made = state(app).plan
        assert made is not None
    counted = dataclasses.replace(made, changes=Counted(made.changes))
    Counted.walks = 0
    assert len(plan.step_rows(counted, ())) == len(made.changes) == 8
    assert Counted.walks <= 2
    Counted.walks = 0
    assert list(plan.lines(counted, plan_glyphs()))
    assert Counted.walks <= 8, "the same for any number of steps"


def plan_glyphs() -> Any:
    from workbench.present.glyphs import UNICODE

    return UNICODE


@pytest.mark.parametrize("drawing_seconds", [0.0, 0.001, 0.1, 3.0])
def test_drawing_takes_a_tenth_of_the_time_at_the_most(drawing_seconds: float) -> None:
    assert drawing_seconds <= pause_before(5.0, 5.0, drawing_seconds) / 10


def test_a_storm_is_painted_four_times_a_second_and_what_comes_after_a_rest_at_once() -> None:
    now, drawn_at, paints = 100.0, float("-inf"), []
    while now < 110.0:  # something changes every 10 ms, and is drawn with what came before it
        now = drawn_at = now + pause_before(now, drawn_at, 0.002)
        paints.append(now)
        now += 0.01
    assert paints[0] == 100.0 + DRAW_SECONDS and len(paints) == 41, "at most four a second, and the first at once"
    assert min(after - before for before, after in itertools.pairwise(paints)) >= 0.25 - 1e-9
    assert pause_before(now + 1.0, drawn_at, 0.002) == DRAW_SECONDS


async def test_an_apply_draws_for_time_that_passes_and_not_for_every_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    drawings: list[int] = []
    before = PlanScreen.show_state
    monkeypatch.setattr(
        PlanScreen, "show_state", lambda self: (drawings.append(len(self.state.events)), before(self))[1]
    )
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await pilot.press("P")
        await until(pilot, lambda: state(app).plan is not None)
        drawings.clear()
        await confirm(pilot)
        await until(pilot, lambda: says(app, "succeeded"))
        events = len(state(app).events)
    assert events > 16 and drawings[-1] == events, "the end is drawn"
    assert len({each for each in drawings if each}) < events / 2, (drawings, shown(app))
