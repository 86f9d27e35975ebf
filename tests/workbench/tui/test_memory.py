"""What outlives a session of the screens: where one was, bookmarks, edits; and files that are not to be believed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from tests.workbench.session.shop import Clusters, shop
from tests.workbench.tui.test_screens import LARGE, NOW, SIZES, SMALL, confirmed, opened, says, state, until
from workbench.local import LocalState, LocalStateFailure
from workbench.session import Session
from workbench.settings import Settings
from workbench.tui.app import WorkbenchApp
from workbench.tui.memory import DRAFTS, SCREENS, Memory, Place
from workbench.tui.screens.bookmarks import BookmarksScreen
from workbench.tui.screens.browse import BrowseScreen
from workbench.tui.screens.diff import DiffScreen
from workbench.tui.screens.fleet import FleetScreen
from workbench.tui.screens.whatif import WhatIfScreen


def again(folder: Path, clusters: Clusters | None = None) -> WorkbenchApp:
    """The screens as `wb` opens them, once more on the same repository."""
    if not (folder / "shop").exists():
        shop(folder / "shop")
    settings = Settings(folder / "state", folder / "state", user="ann", host="box")
    session = Session(folder / "shop", settings, connect=clusters or Clusters("hz", "sh"), now=lambda: NOW)
    return WorkbenchApp(session, restores=True, now=lambda: NOW)


def memory(folder: Path) -> Memory:
    return Memory(LocalState(folder / "state", folder / "shop"))


def file(folder: Path, name: str) -> Path:
    (found,) = (folder / "state/local").glob(f"*/{name}")
    return found


async def typed(pilot: Pilot[Any], command: str) -> None:
    app: Any = pilot.app
    app.run_command(command, app.screen)
    await pilot.pause()


def said(app: WorkbenchApp) -> str:
    return "\n".join(each.message for each in app._notifications)


@SIZES
async def test_a_session_begins_where_the_last_one_ended(tmp_path: Path, size: tuple[int, int]) -> None:
    app = again(tmp_path)
    async with app.run_test(size=size) as pilot:
        await typed(pilot, "fleet")
        await until(pilot, lambda: isinstance(app.screen, FleetScreen))
        await pilot.press("o", "O", "slash", *"prod", "enter")
        order = app.screen.order  # type: ignore[attr-defined]
        assert order.startswith("-")
    app.leave()
    assert file(tmp_path, SCREENS).stat().st_mode & 0o777 == 0o600
    app = again(tmp_path)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, FleetScreen))
        await until(pilot, lambda: says(app, "web/prod") and not says(app, "web/dev"))
        assert app.screen.order == order  # type: ignore[attr-defined]
        assert "where you were: fleet" in said(app) and app.command_history == []
        await pilot.press("escape", "escape")
        assert isinstance(app.screen, BrowseScreen)


async def test_the_cursor_of_browse_and_a_screen_of_a_stack_come_back(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = again(tmp_path, clusters)
    async with app.run_test(size=SMALL) as pilot:
        await typed(pilot, "stack web/prod")
        await opened(pilot)
    app.leave()
    app = again(tmp_path, clusters)
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        assert state(app).stack.name == "web/prod" and said(app) == ""
        await typed(pilot, "destroy web/dev")
        await until(pilot, lambda: state(app).plan is not None)
    app.leave()
    app = again(tmp_path, clusters)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: len(app.screen_stack) == 3 and state(app).plan is not None)
        plan = state(app).plan
        assert plan is not None and not plan.destroys, "an act is no place"
    assert not [call for call, _ in clusters["hz"].calls if call in ("apply", "delete")]


@pytest.mark.parametrize(
    "word", ["apply web/prod", "destroy web/prod", "quit", "delete", "allow-writes web/prod", "recover x.k"]
)
async def test_what_was_stored_by_somebody_else_does_nothing(tmp_path: Path, word: str) -> None:
    shop(tmp_path / "shop")
    memory(tmp_path).leave(Place(word))
    app = again(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: "opens nothing that could be gone back to" in said(app))
        assert len(app.screen_stack) == 2 and app.is_running


async def test_a_stack_that_is_gone_is_said(tmp_path: Path) -> None:
    shop(tmp_path / "shop")
    memory(tmp_path).leave(Place("diff web/old"))
    app = again(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: "diff web/old: there is no such stack any more" in said(app))


_BROKEN = {
    "no JSON": "{",
    "a list": "[]",
    "another version": '{"version": 99, "place": null, "bookmarks": {}}',
    "no version": '{"place": null, "bookmarks": {}}',
    "a place that is none": '{"version": 1, "place": {"command": 7}, "bookmarks": {}}',
    "orders to the terminal": json.dumps(
        {"version": 1, "bookmarks": {}, "place": {"command": "fleet\x1b[2J", "filter": "", "order": ""}}
    ),
    "a name that is none": json.dumps(
        {"version": 1, "place": None, "bookmarks": {"a b": {"command": "fleet", "filter": "", "order": ""}}}
    ),
}


@pytest.mark.parametrize("name", _BROKEN)
async def test_a_file_that_is_damaged_is_said_and_stays(tmp_path: Path, name: str) -> None:
    shop(tmp_path / "shop")
    memory(tmp_path).leave(Place("fleet"))
    kept = file(tmp_path, SCREENS)
    kept.write_text(_BROKEN[name])
    app = again(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: "screens.json" in said(app) and "nothing of it is restored" in said(app))
        assert len(app.screen_stack) == 2
        await typed(pilot, "bookmark here")
        await until(pilot, lambda: "move it away" in said(app) or "no way back" in said(app))
    app.leave()
    assert kept.read_text() == _BROKEN[name]


def test_a_file_that_others_may_write_or_that_came_with_the_repository_is_not_believed(tmp_path: Path) -> None:
    shop(tmp_path / "shop")
    memory(tmp_path).leave(Place("fleet"))
    kept = file(tmp_path, SCREENS)
    kept.chmod(0o622)
    found, problem = memory(tmp_path).remembered()
    assert found.place is None and "others may write it" in problem
    kept.unlink()
    kept.symlink_to(tmp_path / "elsewhere")
    assert "it is a link" in memory(tmp_path).remembered()[1]
    inside = Memory(LocalState(tmp_path / "shop/state", tmp_path / "shop"))
    with pytest.raises(LocalStateFailure, match="lies in the repository"):
        inside.leave(Place("fleet"))


@SIZES
async def test_bookmarks_are_set_listed_gone_to_and_taken_away(tmp_path: Path, size: tuple[int, int]) -> None:
    app = again(tmp_path)
    async with app.run_test(size=size) as pilot:
        await typed(pilot, "diff web/prod")
        await until(pilot, lambda: says(app, "+8 create"))
        await pilot.press("slash", *"Secret", "enter", "m", *"secrets", "enter")
        await until(pilot, lambda: "secrets is diff web/prod" in said(app))
        await pilot.press("m", *"a b", "enter")
        assert "without a space" in said(app)
    app = again(tmp_path)
    async with app.run_test(size=size) as pilot:
        await pilot.press("apostrophe", *"se", "tab", "enter")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and says(app, "Secret front @hz"))
        await until(pilot, lambda: not says(app, "Deployment front @hz"))
        await typed(pilot, "bookmarks")
        await until(pilot, lambda: isinstance(app.screen, BookmarksScreen) and says(app, "diff web/prod"))
        assert says(app, "Secret")
        await pilot.press("X", "enter")
        await until(pilot, lambda: says(app, "no bookmarks: m sets one where you are"))
        await typed(pilot, "go nowhere")
        assert "no bookmark 'nowhere'" in said(app)


async def test_a_filter_with_a_secret_in_it_is_not_stored(tmp_path: Path) -> None:
    app = again(tmp_path)
    async with app.run_test(size=LARGE) as pilot:
        await typed(pilot, "diff web/prod")
        await until(pilot, lambda: says(app, "+8 create"))
        await pilot.press("slash", *"canary-4f1d", "enter")
        await pilot.press("m", *"mine", "enter")
        await until(pilot, lambda: "there is a secret in the filter" in said(app))
    app.leave()
    assert not list((tmp_path / "state").rglob(SCREENS))


async def test_two_sessions_do_not_lose_each_other_s_bookmarks(tmp_path: Path) -> None:
    shop(tmp_path / "shop")
    first, second = memory(tmp_path), memory(tmp_path)
    first.bookmark("a", Place("fleet"))
    second.bookmark("b", Place("drift"))
    first.leave(Place("log"))
    found, problem = second.remembered()
    assert (set(found.bookmarks), found.place, problem) == ({"a", "b"}, Place("log"), "")


async def _edit(pilot: Pilot[Any], old: str, new: str) -> None:
    app: Any = pilot.app
    await typed(pilot, "whatif web/prod")
    await until(pilot, lambda: isinstance(app.screen, WhatIfScreen))
    editor = app.screen.query_one(TextArea)
    assert old in editor.text
    editor.load_text(editor.text.replace(old, new))
    await until(pilot, lambda: bool(state(app).edits) and (state(app).diff is not None))


@SIZES
async def test_edits_that_were_not_written_are_taken_up_again(tmp_path: Path, size: tuple[int, int]) -> None:
    app = again(tmp_path)
    async with app.run_test(size=size) as pilot:
        await _edit(pilot, "replicas = 3", "replicas = 5")
    app.leave()
    main = tmp_path / "shop/web/prod/main.k"
    assert "replicas = 3" in main.read_text() and file(tmp_path, DRAFTS).stat().st_mode & 0o777 == 0o600
    app = again(tmp_path)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "edits that were not written: web/prod" in said(app))
        await until(pilot, lambda: isinstance(app.screen, WhatIfScreen))
        await until(pilot, lambda: says(app, "taken up again"))
        assert "replicas = 5" in app.screen.query_one(TextArea).text
        await pilot.press("escape")
        await confirmed(pilot, "W", "write")
        await until(pilot, lambda: "replicas = 5" in main.read_text())
        await until(pilot, lambda: memory(tmp_path).drafts() == ({}, ""))


async def test_a_draft_of_a_file_that_changed_below_says_so_and_is_not_written_over_it(tmp_path: Path) -> None:
    app = again(tmp_path)
    async with app.run_test(size=LARGE) as pilot:
        await _edit(pilot, "replicas = 3", "replicas = 5")
        await until(pilot, lambda: bool(memory(tmp_path).drafts()[0]))
    main = tmp_path / "shop/web/prod/main.k"
    main.write_text(main.read_text() + "# somebody else\n")
    app = again(tmp_path)
    async with app.run_test(size=LARGE) as pilot:
        await typed(pilot, "whatif web/prod")
        await until(pilot, lambda: says(app, "web/prod/main.k changed on disk since"))
        await pilot.press("escape")
        await confirmed(pilot, "W", "write")
        await until(pilot, lambda: "changed on disk meanwhile" in said(app))
        assert main.read_text().endswith("# somebody else\n") and "replicas = 3" in main.read_text()
        assert "+    replicas = 5" in state(app).whatif.patch()  # type: ignore[union-attr]
        await confirmed(pilot, "X", "drop")
        await until(pilot, lambda: memory(tmp_path).drafts() == ({}, ""))


async def test_a_draft_that_leads_out_of_the_repository_is_not_laid_over_it(tmp_path: Path) -> None:
    app = again(tmp_path)
    async with app.run_test(size=LARGE) as pilot:
        await _edit(pilot, "replicas = 3", "replicas = 5")
        await until(pilot, lambda: bool(memory(tmp_path).drafts()[0]))
    kept = file(tmp_path, DRAFTS)
    content = json.loads(kept.read_text())
    content["stacks"]["web/prod"]["files"]["../../out.k"] = {"text": "x = 1", "original": None}
    kept.write_text(json.dumps(content))
    os.chmod(kept, 0o600)
    app = again(tmp_path)
    async with app.run_test(size=LARGE) as pilot:
        await typed(pilot, "whatif web/prod")
        await until(pilot, lambda: says(app, "can't be laid over"))
        assert not state(app).edits
        await pilot.press("escape")
        await typed(pilot, "draft drop web/prod")
        await until(pilot, lambda: memory(tmp_path).drafts() == ({}, ""))


async def test_edits_that_nothing_takes_up_are_saved_as_a_patch_and_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = again(tmp_path)
    async with app.run_test(size=LARGE) as pilot:
        await _edit(pilot, "replicas = 3", "replicas = 5")
        await until(pilot, lambda: bool(memory(tmp_path).drafts()[0]))
        app.drafts.run("drop web/prod")
        await until(pilot, lambda: "are on its What if: E saves, X drops them" in said(app))
        assert memory(tmp_path).drafts()[0]
    (tmp_path / "shop/web/prod/main.k").unlink()
    (tmp_path / "shop/web/prod/stack.yaml").unlink()  # and so the stack itself
    monkeypatch.chdir(tmp_path)
    app = again(tmp_path)
    async with app.run_test(size=LARGE) as pilot:
        await until(pilot, lambda: "web/prod is no stack any more: :draft save or :draft drop" in said(app))
        await typed(pilot, "draft save web/prod")
        await until(pilot, lambda: "git apply takes it; the edits stay stored" in said(app))
        (name,) = (each for each in os.listdir(tmp_path) if each.endswith(".patch"))
        saved = tmp_path / name
        assert "+    replicas = 5" in saved.read_text() and saved.stat().st_mode & 0o777 == 0o600
        await typed(pilot, "draft drop web/dev")
        await until(pilot, lambda: "no edits of web/dev are stored: there are edits of web/prod" in said(app))
        await typed(pilot, "draft drop web/prod")
        await until(pilot, lambda: memory(tmp_path).drafts() == ({}, ""))


async def test_edits_of_before_are_not_written_over_by_others_that_did_not_take_them_up(tmp_path: Path) -> None:
    app = again(tmp_path)
    async with app.run_test(size=LARGE) as pilot:
        await _edit(pilot, "replicas = 3", "replicas = 5")
        await until(pilot, lambda: bool(memory(tmp_path).drafts()[0]))
    app = again(tmp_path)  # Browse: where the first one ended was not stored
    async with app.run_test(size=LARGE) as pilot:
        await until(pilot, lambda: "edits that were not written" in said(app))
        found = next(each for path, each in app.states.items() if str(path) == "web/prod")
        edits = app.session.whatif(found.stack)
        main = tmp_path / "shop/web/prod/main.k"
        app.edit_stack(found, edits.edit(main, edits.text(main) + "# adopted\n"))
        await until(pilot, lambda: "that were not taken up are stored" in said(app))
    app.leave()
    (draft,) = memory(tmp_path).drafts()[0].values()
    assert "replicas = 5" in draft.texts["web/prod/main.k"] and "adopted" not in draft.texts["web/prod/main.k"]
