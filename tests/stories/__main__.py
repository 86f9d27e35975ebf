"""Records the stories of the README on the practice clusters of the demo, by the keys that a person would press.

python -m tests.stories docs/stories
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from tests.stories.recording import Recording
from workbench.cli import practice
from workbench.session import Session
from workbench.settings import Settings
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.live import LiveScreen
from workbench.tui.screens.live_object import LiveObjectScreen
from workbench.tui.screens.logs import LogsScreen
from workbench.tui.screens.releases import ReleasesScreen
from workbench.tui.screens.whatif import WhatIfScreen
from workbench.tui.state import StackState
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.resource_table import ResourceTable

SIZE = (110, 30)
PATIENCE_SECONDS = 20.0


@dataclass
class Told:
    """A story while it is told."""

    app: WorkbenchApp
    pilot: Pilot[Any]
    recording: Recording

    @property
    def state(self) -> StackState:
        state: StackState = self.app.screen.shown_state  # type: ignore[attr-defined]
        return state

    def take(self, caption: str, seconds: float = 3.0) -> None:
        self.recording.take(self.app, caption, seconds)
        sys.stderr.write(f"  {caption}\n")

    async def until(self, reached: Callable[[], bool]) -> None:
        for _ in range(int(PATIENCE_SECONDS / 0.05)):
            await self.pilot.pause(0.05)
            if reached():
                return
        raise TimeoutError("\n".join(["the screen did not come to it", *self.shown()]))

    def shown(self) -> list[str]:
        seen = Recording("", *SIZE)
        seen.take(self.app, "")
        return seen.texts()

    def says(self, text: str) -> bool:
        return any(text in each for each in self.shown())

    async def command(self, text: str) -> None:
        await self.pilot.press("colon")
        self.app.screen.query_one(Prompt).value = text
        await self.pilot.press("enter")
        await self.pilot.pause()

    async def planned(self) -> None:
        await self.until(lambda: self.state.plan is not None and not self.state.busy)

    async def apply(self, caption: str) -> None:
        """Types the phrase and waits for the end."""
        await self.pilot.press("a")
        plan = self.state.plan
        assert plan is not None, "it is planned"
        self.app.screen.query_one("#phrase", Input).value = plan.confirmation.phrase
        await self.pilot.pause()
        self.take(caption)
        await self.pilot.press("enter")
        await self.until(lambda: bool(self.state.events) and not self.state.is_applying)
        self.take("Each step as the cluster takes it; the release is recorded.")


async def newcomer(told: Told) -> None:
    pilot = told.pilot
    await told.until(lambda: told.says("checkout"))
    told.take("A repository that you do not know: its projects and stacks.", 3.5)
    await pilot.press("c")
    await told.until(lambda: bool(told.app.screen.query("#yaml")) and told.says("apiVersion"))
    await pilot.press("tab", *"jjjjj")
    await pilot.pause()
    told.take("c: what the stack is made of. Every value names the KCL line that set it.", 4)
    await pilot.press("d")
    await told.until(lambda: told.state.diff is not None and not told.state.busy)
    await pilot.pause()
    told.take("d: what an apply would change live, as the cluster itself answers.", 4)
    await pilot.press("P")
    await told.planned()
    told.take("P: the steps in their order, and what guards them. Nothing is done yet.")
    await told.apply("a: the phrase names the stack. No key alone writes anything.")
    await pilot.press("w")
    await told.until(lambda: (tree := told.state.tree) is not None and tree.ready >= tree.total - 3)
    for _ in range(30):
        await pilot.pause(0.1)
    told.take("w: everything becomes ready, or one line says WHY not.", 5)


async def on_call(told: Told) -> None:
    pilot = told.pilot
    await told.command("fleet")
    await told.until(lambda: told.says("WHY") or told.says("Degraded") or told.says("BackOff"))
    for _ in range(40):
        await pilot.pause(0.1)
    told.take("An alert. :fleet answers what is wrong right now, over all stacks, with the reason.", 4.5)
    await told.command(f"watch {practice.STACK}")
    await told.until(lambda: told.state.tree is not None and told.says("WHY"))
    for _ in range(20):
        await pilot.pause(0.1)
    told.take("w: the WHY line names the one object to look at.", 4)
    await told.command(f"pods@{told.state.stack.clusters[0]}")
    await told.until(lambda: isinstance(told.app.screen, LiveScreen) and told.says("Running"))
    await told.until(lambda: told.says("BackOff") or told.says("Error") or told.says("ErrImagePull"))
    table = told.app.screen.query_one("#objects", ResourceTable)
    broken = [n for n, row in enumerate(table.shown) if any("Back" in str(c) or "Err" in str(c) for c in row.cells)]
    table.cursor = broken[0]
    await pilot.pause()
    told.take(":pods, as the server prints them.", 3)
    await pilot.press("l")
    await told.until(lambda: isinstance(told.app.screen, LogsScreen))
    await pilot.pause(1.0)
    told.take("l: its logs.", 3)
    await pilot.press("escape", "enter")
    await told.until(lambda: isinstance(told.app.screen, LiveObjectScreen) and told.says("image"))
    await pilot.press("d")
    await told.until(lambda: told.says("Events") or told.says("State"))
    told.take("enter, d: the object described, as kubectl does it.", 3)
    await _mend(told)
    await _go_back(told)


async def _mend(told: Told) -> None:
    pilot = told.pilot
    await told.command(f"whatif {practice.STACK}")
    await told.until(lambda: isinstance(told.app.screen, WhatIfScreen))
    editor = told.app.screen.query_one(TextArea)
    wrong, right = (each.rpartition(":")[2] for each in (practice.MISSING_IMAGE, practice.FIXED_IMAGE))
    for _ in range(9):
        if wrong in editor.text:
            break
        if editor.has_focus:
            await pilot.press("escape")
        await pilot.press("f")
        await pilot.pause()
    row = next(n for n, each in enumerate(editor.text.split("\n")) if wrong in each)
    editor.move_cursor((row, 0), center=True)
    before = told.state.diff
    editor.load_text(editor.text.replace(wrong, right))
    editor.move_cursor((row, 0), center=True)
    await told.until(lambda: bool(told.state.edits) and told.state.diff not in (None, before) and not told.state.busy)
    await told.until(lambda: "working it out" not in "".join(told.shown()))
    told.take("i: the line that set it, mended in a What-if. What it would change live stands beside it.", 4.5)
    if editor.has_focus:
        await pilot.press("escape")
    await pilot.press("P")
    await told.planned()
    told.take("P: the plan of the edit, with how far it reaches.", 3)
    await told.apply("a: typed, confirmed, on record.")
    await pilot.press("w")
    await told.until(lambda: (tree := told.state.tree) is not None and tree.ready == tree.total)
    told.take("Ready again.", 3)


async def _go_back(told: Told) -> None:
    pilot = told.pilot
    await told.command(f"releases {practice.STACK}")
    await told.until(lambda: isinstance(told.app.screen, ReleasesScreen) and told.says("succeeded"))
    await pilot.pause()
    told.take("Should it have been the wrong fix: every release is there ...", 3)
    await pilot.press("j", "B")
    await told.planned()
    told.take("... and B makes the plan that goes back to one.", 4)


STORIES = {
    "newcomer": (newcomer, "A newcomer's first look"),
    "on-call": (on_call, "On call: from the alert to the fix"),
}


async def break_it(session: Session) -> None:
    """Somebody applied what the repository says, in which an image is missing."""
    plan = await session.plan(session.select(practice.STACK))
    async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
        async for _ in events:
            pass


async def tell(name: str) -> Recording:
    """Tells a story on practice clusters of its own."""
    story, title = STORIES[name]
    here = Path(__file__).parents[2]
    async with (
        practice.practise(Settings.load({}), here) as place,
        Session.open(place.root, settings=place.settings) as session,
    ):
        await practice.seed(session)
        if name == "on-call":
            await break_it(session)
        app = WorkbenchApp(session, open_at=practice.STACK)
        async with app.run_test(size=SIZE) as pilot:
            told = Told(app, pilot, Recording(title, *SIZE))
            await told.until(lambda: getattr(app.screen, "shown_state", None) is not None)
            await story(told)
            return told.recording


async def main(folder: Path, names: list[str]) -> None:
    for name in names or [*STORIES]:
        (await tell(name)).save(folder, name)
        sys.stderr.write(f"{folder / name}.svg\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/stories"), sys.argv[2:]))
