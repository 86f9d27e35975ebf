"""What writes or destroys asks for something that no repeated key types: every key of every screen is held to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.stories.recording import Recording
from tests.workbench.canaries.recovery import GIVEN, RecoveringVault
from tests.workbench.canaries.repository import WEB
from tests.workbench.canaries.test_faces import IMAGE, vault
from tests.workbench.tui.test_screens import LARGE, opened, says, state, until
from workbench.tui.app import WorkbenchApp
from workbench.tui.keymap import KeyEntry, entries
from workbench.tui.screens.adopt import AdoptScreen
from workbench.tui.screens.bookmarks import BookmarksScreen
from workbench.tui.screens.drift import DriftScreen
from workbench.tui.screens.ignore import IgnoreScreen
from workbench.tui.screens.reconcile import ReconcileScreen
from workbench.tui.screens.releases import ReleasesScreen
from workbench.tui.screens.rollouts import RolloutsScreen
from workbench.tui.screens.whatif import Editor, WhatIfScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

__all__ = ["vault"]

LOOKS = """
filter command toggle_help back focus_next reload zoom room copy bookmark go command_palette cursor page edge choose
jump fold close recall leave edit mark mark_all next next_field sides leave_out drift source adopt trouble order
reverse group describe logs events relations whatif everywhere wide follow container previous range wrap times skip
reach faults why compare configured patch export commit branch complete finding around more ignore file owner  replay
play step failure  mark_to timeline new pause match
"""
"""Actions that show something, go somewhere, or begin a command that is typed on."""
SAVES = {"picture", "save"}
"""What makes a file of a new name in the working folder."""
STOPS = {"stop", "call_off", "quit", "ask_to_quit"}
"""What ends something of this session: it writes nothing, and each says what it leaves behind."""
Scene = Callable[["Hands"], Awaitable[None]]


def painted(app: WorkbenchApp) -> list[str]:
    """What is on the screen, cell by cell."""
    seen = Recording("", *LARGE)
    seen.take(app, "")
    return seen.texts()


def name_of(entry: KeyEntry) -> str:
    return entry.action.rpartition("app.")[2].partition("(")[0]


class Hands:
    """The screens over clusters in memory, in scenes where there is something to write or to lose."""

    def __init__(self, vault: RecoveringVault, app: WorkbenchApp, pilot: Pilot[Any]) -> None:
        self.vault, self.app, self.pilot = vault, app, pilot

    async def typed(self, command: str) -> None:
        self.app.run_command(command, self.app.screen)  # type: ignore[arg-type]
        await self.pilot.pause()

    async def planned(self, command: str = "plan") -> None:
        await self.typed(f"{command} vault/dev")
        await until(self.pilot, lambda: state(self.app).plan is not None and not state(self.app).busy)

    async def watched(self) -> None:
        await self.typed("watch vault/dev")
        await until(
            self.pilot, lambda: isinstance(self.app.screen, ReconcileScreen) and state(self.app).tree is not None
        )

    async def destruction(self) -> None:
        await self.planned("destroy")

    async def rollout(self) -> None:
        root = self.app.konfig.root
        (root / "rollout.yaml").write_text("stages: [{name: all, stacks: [vault/dev], approval: true}]\n")
        session = self.app.session
        if not (await session.rollouts()).known:
            made = await session.plan_rollout()
            await session.begin_rollout(made, confirm=made.confirmation.phrase)
        await self.typed("rollouts")
        await until(self.pilot, lambda: isinstance(self.app.screen, RolloutsScreen) and says(self.app, "1 rollout"))

    async def new_rollout(self) -> None:
        await self.rollout()
        await self.typed("rollout")
        await until(self.pilot, lambda: says(self.app, "asks for the phrase"))

    async def recovery(self) -> None:
        await self.typed("recover " + " ".join(f"{name}={value}" for name, value in GIVEN.items()))
        await until(self.pilot, lambda: bool(self.app.recovering.job and self.app.recovering.job.found))
        await self.pilot.pause()

    async def releases(self) -> None:
        await self.typed("releases vault/dev")
        await until(self.pilot, lambda: isinstance(self.app.screen, ReleasesScreen) and says(self.app, "ann"))

    async def drift(self) -> None:
        await self.typed("drift")
        await until(self.pilot, lambda: isinstance(self.app.screen, DriftScreen) and says(self.app, "drift"))
        await until(self.pilot, lambda: not says(self.app, "comparing"))

    async def adoption(self) -> None:
        await self.drift()
        await self.pilot.press("A")
        await until(self.pilot, lambda: isinstance(self.app.screen, AdoptScreen) and says(self.app, "an apply then"))

    async def secret(self) -> None:
        await self.typed("diff vault/dev")
        await until(self.pilot, lambda: says(self.app, "drift") and not state(self.app).busy)
        for _ in range(9):
            await self.pilot.press("R")
            if self.is_asking():
                await self.pilot.press("escape")
                return
            await self.pilot.press("right_curly_bracket")

    async def ignoring(self) -> None:
        await self.typed("diff vault/dev")
        await until(self.pilot, lambda: says(self.app, "drift") and not state(self.app).busy)
        while not isinstance(self.app.screen, IgnoreScreen):
            await self.pilot.press("right_curly_bracket")
            await self.typed("ignore they may")

    async def bookmarks(self) -> None:
        await self.typed("bookmark here")
        await self.typed("bookmarks")
        await until(self.pilot, lambda: isinstance(self.app.screen, BookmarksScreen) and says(self.app, "here"))

    async def whatif(self) -> None:
        await self.typed("whatif vault/dev")
        await until(self.pilot, lambda: isinstance(self.app.screen, WhatIfScreen))
        editor = self.app.screen.query_one(Editor)
        if not state(self.app).edits:
            editor.load_text(editor.text + "# edited\n")
            await until(self.pilot, lambda: bool(state(self.app).edits) and not state(self.app).busy)
        await self.pilot.press("escape")

    async def browse(self) -> None:
        await opened(self.pilot)

    async def settled(self) -> None:
        app: Any = self.app
        await until(self.pilot, lambda: app._typed.is_idle)
        await until(self.pilot, lambda: not any(each.busy for each in app.states.values()))

    async def home(self) -> None:
        while len(self.app.screen_stack) > 2:
            await self.app.pop_screen()
        await self.pilot.pause()

    def world(self) -> dict[str, object]:
        """All that a person could lose or would not want written: files, clusters, records, edits, bookmarks."""
        home = self.vault.home
        files = [each for place in (home / "repository", self.vault.state) for each in place.rglob("*")]
        found: dict[str, object] = {str(each): each.read_bytes() for each in files if each.is_file()}
        found["clusters"] = [*self.vault.cluster.calls], self.vault.records
        found["edits"] = [each.edits for each in self.app.states.values()]
        found["runs"] = self.app.rolling_out.is_running, self.app.recovering.is_running
        return found

    def is_asking(self) -> bool:
        """Whether the screen waits for something that is typed: a phrase, or a command that is begun."""
        asked = self.app.screen.query(TypedConfirmation)
        prompt = self.app.screen.query_one(Prompt)
        return bool(asked and asked.first().is_asked) or bool(prompt.display)


ASKS: dict[str, Scene] = {
    "adopt.write": Hands.adoption,
    "ignore.write": Hands.ignoring,
    "diff.reveal-a-secret": Hands.secret,
    "bookmarks.take-away": Hands.bookmarks,
    "plan.apply": Hands.destruction,
    "recovery.run": Hands.recovery,
    "rollouts.resume": Hands.rollout,
    "rollouts.pause": Hands.rollout,
    "rollouts.approve": Hands.rollout,
    "rollouts.abort": Hands.rollout,
    "what-if.drop-edits": Hands.whatif,
    "what-if.write-to-files": Hands.whatif,
}
"""What asks for a phrase, or begins a command, where there is something to do."""
FIRST: dict[str, Scene] = {"rollout-plan.roll-out": Hands.new_rollout}
"""As `ASKS`, as long as nothing was applied."""
PLANS: dict[str, Scene] = {
    "browse.destroy": Hands.browse,
    "drift.revert": Hands.drift,
    "plan.destroy": Hands.planned,
    "plan.force": Hands.planned,
    "plan.undo-the-last-release": Hands.planned,
    "reconcile.undo-the-last-release": Hands.watched,
    "releases.roll-back": Hands.releases,
}
"""What makes another plan, which asks for its own phrase."""


def test_of_every_key_it_is_known_whether_it_writes() -> None:
    changing = {each.name for each in entries() if each.is_changing and name_of(each) not in STOPS}
    plans = {each.name for each in entries() if "destroy" in each.action}
    known = {*FIRST, *ASKS, *PLANS}
    assert changing | plans == known
    opens = {"open", "switch_to"}
    others = {name_of(each) for each in entries() if each.name not in known}
    assert others == {*LOOKS.split()} | SAVES | STOPS | opens, "say of a new key what it does"


async def test_no_key_however_often_it_is_pressed_writes_anything_and_ascii_is_all_that_is_seen(
    tmp_path: Path,
    vault: RecoveringVault,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    app = WorkbenchApp(vault.session(is_ascii=True), open_at="vault/dev")
    async with app.run_test(size=LARGE) as pilot:
        hands = Hands(vault, app, pilot)
        await hold(hands, FIRST)
        await hands.rollout()
        await hands.home()
        await hands.planned()
        await pilot.press("a")
        app.screen.query_one("#phrase", Input).value = state(app).plan.confirmation.phrase  # type: ignore[union-attr]
        await pilot.press("enter")
        await until(pilot, lambda: bool(state(app).events) and not state(app).is_applying)
        vault.change_by_hand()
        vault.cluster.edit(WEB, IMAGE, "web:2")
        await hands.home()
        await hold(hands, {**ASKS, **PLANS})


async def hold(hands: Hands, scenes: Mapping[str, Scene]) -> None:
    """Presses the key of each where there is something to do: it asks, or plans, and however often, nothing is done."""
    keys = {each.name: each.keys[0] for each in entries()}
    for name, scene in scenes.items():
        await scene(hands)
        await hands.settled()
        before = hands.world()
        await hands.pilot.press(keys[name])
        await hands.settled()
        assert hands.is_asking() == (name not in PLANS), name
        assert "".join(painted(hands.app)).isascii(), painted(hands.app)
        await hands.pilot.press(keys[name], keys[name], "enter", "enter")
        await hands.settled()
        await asyncio.sleep(0)
        assert hands.world() == before, name
        if hands.is_asking():
            await hands.pilot.press("escape")
        await hands.home()
