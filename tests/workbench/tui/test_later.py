"""Work that is called off before it began."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path

from runtimes.base import PlanRequest, Prediction
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import LARGE, opened, says, state, until, workbench
from workbench import tui
from workbench.tui.widgets.resource_table import ResourceTable


def test_no_coroutine_is_made_before_its_worker_begins() -> None:
    """One that is never awaited is a warning, drawn over the screen."""
    asked = [
        node
        for file in Path(tui.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "run_worker"
    ]
    assert len(asked) > 30
    assert {ast.unparse(each.args[0]).partition("(")[0] for each in asked} == {"later"}


async def test_an_apply_that_is_stopped_before_it_begins_is_over(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("P")
        await until(pilot, lambda: state(app).plan is not None and not state(app).busy)
        found = state(app)
        app.apply_plan(found)
        app.stop_apply(found)
        await pilot.pause()
        assert not found.is_applying and found.plan is not None
        assert clusters["hz"].calls == clusters["sh"].calls == []
        app.apply_plan(found)
        await until(pilot, lambda: bool(found.events) and not found.is_applying)
        assert clusters["hz"].calls


class Waiting(FakeCluster):
    """Takes every question about a change, and answers once it may."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.answers = asyncio.Event()

    async def plan(self, request: PlanRequest) -> Prediction:
        await self.answers.wait()
        return await super().plan(request)


async def test_what_is_awaited_can_be_stopped_and_is_not_said_to_be_awaited_any_more(tmp_path: Path) -> None:
    clusters, waiting = Clusters("hz", "sh"), Waiting("sh")
    clusters.by_name["sh"] = waiting
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("d")
        await until(pilot, lambda: says(app, "comparing with hz, sh") and says(app, "K stops it"))
        await pilot.press("K")
        await until(pilot, lambda: says(app, "stopped while comparing with hz, sh: nothing new is known"))
        assert says(app, "r asks again") and not says(app, "comparing ...")
        await pilot.press("K")
        assert not state(app).busy
        waiting.answers.set()
        await pilot.press("r")
        await until(pilot, lambda: says(app, "+8 create") and not says(app, "nothing new is known"))


async def test_all_between_two_stacks_are_marked(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        tree = app.screen.query_one("#tree", ResourceTable)
        await pilot.press("V")
        assert not tree.marks
        await pilot.press("g", "g", "j", "space", "G", "V")
        assert {str(each) for each in tree.marks} == {"web/dev", "web/prod"}
        await pilot.press("V", "V")
        assert len(tree.marks) == 2
