"""What writes in the background is said wherever one is, and no more once it has ended."""

from __future__ import annotations

from pathlib import Path

import anyio

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import SMALL, confirm, opened, state, until, workbench
from workbench.tui.app import WorkbenchApp
from workbench.tui.frame import Frame
from workbench.tui.running import in_short
from workbench.tui.screens.fleet import FleetScreen


def banner(app: WorkbenchApp) -> str:
    """What the top line says when it is drawn the next time."""
    assert isinstance(app.screen, Frame)
    return str(app.screen.banner())


async def test_what_writes_in_the_background_is_said_on_every_screen_until_it_ends(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    clusters["sh"].gate = anyio.Event()
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await pilot.press("P")
        await until(pilot, lambda: state(app).plan is not None and not state(app).busy)
        await confirm(pilot)
        await until(pilot, lambda: bool(state(app).events))
        assert "apply web/prod" not in banner(app), "its own screen says more of it"
        app.run_command("fleet", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: isinstance(app.screen, FleetScreen))
        assert "◐ apply web/prod  › Fleet" in banner(app)
        app.rolling_out.is_running = True
        assert "◐ 2 run: apply web/prod ...  › Fleet" in banner(app)
        app.rolling_out.is_running = False
        clusters["sh"].gate.set()
        await until(pilot, lambda: not any(each.is_applying for each in app.states.values()))
        assert "apply" not in banner(app)


def test_nothing_is_said_where_nothing_runs() -> None:
    assert in_short(iter(())) == "" and in_short(iter(("recovery",))) == "recovery"
