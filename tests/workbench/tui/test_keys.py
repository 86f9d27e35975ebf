"""What is typed: whole, in order, whoever has the focus when it arrives; and nothing typed ends the process."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.app import App
from textual.keys import _character_to_key
from textual.pilot import Pilot

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import SMALL, opened, shown, until, workbench
from workbench.present.rows import Row
from workbench.present.text import line
from workbench.tui import filters
from workbench.tui.screens.browse import BrowseScreen
from workbench.tui.screens.diff import DiffScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.resource_table import ResourceTable

SEEDS = int(os.environ.get("KONFIG_WORKBENCH_MONKEYS", "3"))
NAMED = ("enter", "escape", "tab", "up", "down", "left", "right", "space", "backspace", "pagedown", "home", "end")
TYPED = (
    "/-f",
    "/-f  ",
    "/[",
    "/-l",
    "/!",
    ":diff",
    ":stack web/",
    ":diff [/]x",
    ":nonsense",
    ":recover a=b c d",
    "gg",
    ":drift",
    ":rollouts",
    ":releases web/prod",
)


def burst(app: App[Any], keys: list[str]) -> None:
    """Hands all keys to the app before it can act on the first, as a paste or a slow line does."""
    assert app._driver is not None
    for key in keys:
        name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
        event = events.Key(name, {"enter": "\r", "tab": "\t"}.get(key, key if len(key) == 1 else None))
        event.set_sender(app)
        app._driver.send_message(event)


def where(app: Any) -> tuple[object, ...]:
    """What a key decides: the screens that are open, what has the focus, what is typed, under the cursor, filtered."""
    prompt = app.screen.query_one(Prompt)
    tables = [(each.id, each.current, each.is_filtered) for each in app.screen.query(ResourceTable)]
    screens = [type(each).__name__ for each in app.screen_stack]
    return screens, prompt.value if prompt.display else None, getattr(app.focused, "id", None), tables


async def settled(pilot: Pilot[Any]) -> None:
    app: Any = pilot.app
    await until(pilot, lambda: app._typed.is_idle)
    await pilot.pause()


@given(st.one_of(st.text(), st.text(alphabet="-fl!([)*+?\\ aİ").map(lambda text: f"-f{text}")), st.text())
def test_no_filter_ends_anything(typed: str, name: str) -> None:
    try:
        wanted = filters.parse(typed)
    except filters.BadFilter:
        return
    assert wanted is None or wanted(Row("x", (line(name),))) in (True, False)


def test_a_set_in_a_set_is_a_filter_and_no_warning() -> None:
    wanted = filters.parse("[[a]")
    assert wanted is not None and wanted(Row("x", (line("a"),))) and not wanted(Row("x", (line("b"),)))


async def test_a_command_that_arrives_in_one_burst_is_one_command(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        burst(app, [*":diff web/dev", "enter"])
        await until(pilot, lambda: isinstance(app.screen, DiffScreen))
        await settled(pilot)
        assert [type(each) for each in app.screen_stack[1:]] == [BrowseScreen, DiffScreen]
        assert app.screen.shown_state.stack.name == "web/dev"  # type: ignore[attr-defined]
        burst(app, ["escape", *"/dev", "enter", "j"])
        await settled(pilot)
        tree = app.screen.query_one("#tree", ResourceTable)
        assert [str(row.cells[0]) for row in tree.shown] == ["web", "dev"]


async def test_one_q_does_not_quit(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("q")
        assert app.is_running
        burst(app, ["q", "q", "j"])  # at once: on a slow machine two presses take longer than the two seconds
        await settled(pilot)
    assert app.return_code == 0


KEYS = [":", "/", "j", "k", "d", "c", "w", "enter", "escape", "tab", "space", "?", "q", "G", "-", "f"]


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_keys_do_the_same_in_one_burst_as_one_by_one(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    keys = [rng.choice(KEYS) for _ in range(12)]
    ends = []
    for number, at_once in enumerate((True, False)):
        app = workbench(tmp_path / str(number), Clusters("hz", "sh"))
        async with app.run_test(size=SMALL) as pilot:
            await opened(pilot)
            if at_once:
                burst(app, keys)
            else:
                for key in keys:
                    burst(app, [key])
                    await settled(pilot)
            await settled(pilot)
            await until(pilot, lambda app=app: not any(each.busy for each in app.states.values()))  # type: ignore[misc]
            await pilot.pause()
            ends.append(where(app))
    assert ends[0] == ends[1], keys


async def test_tab_completes_commands_and_stacks_and_never_leaves_the_prompt_dead(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        prompt = app.screen.query_one(Prompt)
        await pilot.press("colon", *"dif", "tab")
        assert prompt.value == "diff "
        await pilot.press(*"w", "tab")
        assert prompt.value == "diff web/"
        await pilot.press("tab")
        await until(pilot, lambda: any("web/dev" in text and "web/prod" in text for text in shown(app)))
        await pilot.press(*"nonsense", "tab")
        assert prompt.has_focus and prompt.value == "diff web/nonsense"
        app.screen.query_one("#tree").focus()
        await settled(pilot)
        assert not prompt.display, "a prompt that takes no key must not be seen"


async def test_text_that_looks_like_markup_is_shown_as_it_is(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await opened(pilot)
        for text in (":diff [/]foo", ":[/]x", ":stack [b]", ":recover [/] [b]", "/[/]"):
            await pilot.press(*text, "enter")
            await settled(pilot)
        rng = random.Random(1)
        texts = ["".join(rng.choice("[]/\\ab=@# ") for _ in range(12)) for _ in range(20)]
        for text in ("choose one of: [app sidecar]", *texts):
            app.clear_notifications()
            app.screen.notify(text, timeout=60)
            await until(pilot, lambda: len(app.screen.query("Toast")) > 0)
            assert text in [str(each.render()) for each in app.screen.query("Toast")]


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_no_keys_end_the_process(tmp_path: Path, seed: int) -> None:
    rng = random.Random(1000 + seed)
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=rng.choice([SMALL, (40, 12), (130, 40)])) as pilot:
        await opened(pilot)
        for _ in range(25):
            one = rng.choice((*NAMED, *"jkdcPawiX*erzyxFK?GbsRABp"))
            keys = list(rng.choice(TYPED)) if rng.random() < 0.3 else [one]
            burst(app, keys)
            await pilot.pause(rng.choice((0, 0.02)))
        await settled(pilot)
        assert app.is_running and app._exception is None


async def test_an_editor_that_can_t_be_run_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for editor in ("/no/such/editor", "'unbalanced"):
        monkeypatch.setenv("EDITOR", editor)
        app = workbench(tmp_path / str(len(editor)), Clusters("hz", "sh"))
        async with app.run_test(size=SMALL) as pilot:
            await opened(pilot)
            await pilot.press("e")
            await settled(pilot)
            assert any("can't be run" in each.message for each in app._notifications)


async def test_a_repository_that_can_t_be_read_any_more_stays_as_it_was(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        (tmp_path / "shop" / "clusters.yaml").write_text("clusters: [")
        await pilot.press("r")
        await settled(pilot)
        assert any("clusters.yaml" in text for text in shown(app))
        assert len(app.screen.query_one("#tree", ResourceTable).rows) > 1
