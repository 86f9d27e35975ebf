"""Acts on a live object from its screen: typed, confirmed by a phrase, and seen to happen on a sandbox cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from runtimes.sandbox.server import Sandbox
from tests.workbench.tui.test_live import names, sandbox, workbench
from tests.workbench.tui.test_screens import LARGE, SMALL, released, says, until
from workbench.tui.screens.live import LiveScreen
from workbench.tui.screens.live_object import LiveObjectScreen
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

__all__ = ["sandbox"]


def is_asked(app: Any) -> bool:
    return bool(app.screen.query_one(TypedConfirmation).is_asked)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])
async def test_a_workload_is_scaled_after_its_phrase_and_nothing_less(
    tmp_path: Path, sandbox: Sandbox, size: tuple[int, int]
) -> None:
    app = workbench(tmp_path)
    cluster = sandbox.clusters[0]

    def replicas() -> int:
        found = cluster.find("deployments.apps", "web-prod", "front")
        assert found is not None
        return int(found["spec"]["replicas"])

    async with app.session, app.run_test(size=size) as pilot:
        await released(pilot)
        before = replicas()
        await pilot.press("colon", *"scale 4", "enter")
        assert not isinstance(app.screen, LiveObjectScreen), "nothing is acted on that is not seen"
        await pilot.press("colon", *"deploy@hz web-prod", "enter")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen) and names(app) == ["front"])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LiveObjectScreen) and says(app, "replicas:"))
        await pilot.press("colon", *"scale many", "enter")
        assert not is_asked(app)
        await pilot.press("colon", *"scale 4", "enter")
        await until(pilot, lambda: is_asked(app))
        assert says(app, "web/prod has it") and says(app, "drift") and says(app, "scale web-prod/front@hz to 4")
        await pilot.press("enter", *"yes", "enter", "escape")
        assert not is_asked(app) and replicas() == before
        await pilot.press("colon", "up", "enter")
        await until(pilot, lambda: is_asked(app))
        app.screen.query_one("#phrase", Input).value = "scale web-prod/front@hz to 4"
        await pilot.press("enter")
        await until(pilot, lambda: says(app, "replicas: 4"))
        assert replicas() == 4
        trail = [(each.action, each.result) for each in app.session.audit().entries()]
        assert trail[:2] == [("live scale", "done"), ("live scale", "started")]
        assert app.command_log.acts[-1].line.endswith("scale --replicas 4 deployment.v1.apps/front -n web-prod")
