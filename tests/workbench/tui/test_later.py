"""Work that is called off before it began."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import LARGE, opened, state, until, workbench
from workbench import tui


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
