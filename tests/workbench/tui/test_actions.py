"""The menu of all actions: each with its key, what does nothing now with why, and choosing one does it."""

from __future__ import annotations

from pathlib import Path

from textual.command import CommandPalette
from textual.widgets import OptionList

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import LARGE, opened, says, state, until, workbench
from workbench.tui import command_line
from workbench.tui.actions import Choice, choices
from workbench.tui.frame import Frame
from workbench.tui.key_names import is_ours
from workbench.tui.screens.plan import PlanScreen


def menu(screen: object) -> dict[str, Choice]:
    assert isinstance(screen, Frame)
    return {each.title: each for each in choices(screen)}


async def test_every_key_and_command_is_in_the_menu_with_why_it_does_nothing_now(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"), is_read_only=True)
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        found = menu(app.screen)
        described = {
            each.binding.description for each in app.screen.active_bindings.values() if is_ours(each.binding.id or "")
        }
        assert described - {"All actions"} <= found.keys()
        assert {f":{each}" for each in command_line.WORDS} <= found.keys()
        assert found["Diff"].about == "d" and found["Filter"].about == "/"
        assert found["Stop waiting"].about == "K   not now: nothing is awaited here"
        assert "not now: open or list live objects first" in found[":delete"].about
        await pilot.press("P")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen) and state(app).plan is not None)
        await until(pilot, lambda: not state(app).busy)
        (asking,) = [each for each in choices(app.screen) if each.about.startswith("a  ")]  # type: ignore[arg-type]
        assert asking.about == "a   not now: this session is read-only"
        asking.run()
        await until(pilot, lambda: "this session is read-only" in [each.message for each in app._notifications])


async def test_what_is_chosen_is_done(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count > 20)
        await pilot.press(*"Spec")
        await until(pilot, lambda: 0 < app.screen.query_one(OptionList).option_count < 10)
        await pilot.press("down", "enter")
        await until(pilot, lambda: says(app, "Deployment"))
