"""What if: the files as tabs, and edits that leave it as a patch or a commit."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import LARGE, SIZES, SMALL, opened, released, says, state, until, workbench
from workbench.engine.errors import Refused
from workbench.session import Session
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.whatif import WhatIfScreen
from workbench.tui.widgets.key_line import KeyLine
from workbench.tui.widgets.resource_table import ResourceTable

GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


async def edited(pilot: Pilot[Any]) -> None:
    """Edits `replicas` in the stack's own file, as a What-if that is compared."""
    app: Any = pilot.app
    await opened(pilot)
    await pilot.press("i")
    await until(pilot, lambda: isinstance(app.screen, WhatIfScreen))
    editor = app.screen.query_one(TextArea)
    editor.load_text(editor.text.replace("replicas = 3", "replicas = 5"))
    await until(pilot, lambda: bool(state(app).edits) and state(app).diff is not None)
    await pilot.press("escape")


def said(app: Any) -> str:
    return "\n".join(each.message for each in app._notifications)


def git(root: Path, *arguments: str) -> str:
    who = ("-c", "user.name=ann", "-c", "user.email=ann@box.test")
    return subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


@SIZES
async def test_files_stand_above_and_a_star_says_which_are_edited(tmp_path: Path, size: tuple[int, int]) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=size) as pilot:
        await edited(pilot)
        await until(pilot, lambda: says(app, "[prod/main.k]*  base/base.k"))
        await pilot.press("f")
        await until(pilot, lambda: says(app, "prod/main.k*  [base/base.k]"))
        assert "front:1" in app.screen.query_one(TextArea).text
        await pilot.press("F")
        assert "replicas = 5" in app.screen.query_one(TextArea).text


async def test_a_text_is_found_one_place_after_the_other_and_replaced_in_all(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=SMALL) as pilot:
        await edited(pilot)
        screen: Any = app.screen
        editor = screen.query_one(TextArea)
        before = editor.text
        word = "front"
        total = before.count(word)
        assert total > 0
        found = []
        for _ in range(total + 1):
            app.run_command(f"find {word}", screen)
            found.append(editor.selection)
            assert editor.selected_text == word
        assert len(set(found[:total])) == total and found[total] == found[0]
        await until(pilot, lambda: bool(editor.has_focus))
        app.run_command("find nowhere", screen)
        app.run_command("replace /replicas", screen)
        app.run_command("replace /a[b/c/", screen)
        await until(pilot, lambda: "'nowhere' is not in this file" in said(app) and "replace /OLD/NEW/" in said(app))
        assert editor.text == before
        app.run_command("replace ,replicas = 5,replicas = 2 / 1,", screen)
        assert "replicas = 2 / 1" in editor.text
        await until(pilot, lambda: "replicas = 2 / 1" in (state(app).whatif.text("web/prod/main.k")))  # type: ignore[union-attr]
        editor.undo()
        assert editor.text == before


@GIT
async def test_a_patch_that_is_saved_is_one_that_git_applies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    monkeypatch.chdir(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await edited(pilot)
        await pilot.press("E")
        await until(pilot, lambda: "git apply takes it" in said(app))
    (patch,) = (tmp_path / each for each in os.listdir(tmp_path) if each.endswith(".patch"))
    assert patch.stat().st_mode & 0o777 == 0o600
    root = tmp_path / "shop"
    assert "replicas = 3" in (root / "web/prod/main.k").read_text()
    git(root, "init", "-q")
    git(root, "apply", str(patch))
    assert "replicas = 5" in (root / "web/prod/main.k").read_text()


@GIT
async def test_a_commit_holds_the_edited_files_and_nothing_else(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    root = tmp_path / "shop"
    git(root, "init", "-q")
    git(root, "config", "user.name", "ann")
    git(root, "config", "user.email", "ann@box.test")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    (root / "notes.txt").write_text("not mine\n")
    git(root, "add", "notes.txt")
    async with app.run_test(size=SMALL) as pilot:
        await edited(pilot)
        app.run_command("commit", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: "say what the edit is for" in said(app))
        await pilot.press("C", *"five 'of' them", "enter")
        await until(pilot, lambda: "commit " in said(app) and "web/prod/main.k" in said(app))
        assert not state(app).edits
        act = app.command_log.acts[-1]
        assert act.line.startswith("git commit --only -m ") and act.line.endswith(" -- web/prod/main.k")
    assert git(root, "show", "--format=%s", "--name-only").split("\n")[:3] == ["five 'of' them", "", "web/prod/main.k"]
    assert git(root, "status", "--porcelain").split() == ["A", "notes.txt"]


@GIT
async def test_a_branch_has_the_edits_and_nothing_else_moves(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    root = tmp_path / "shop"
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "ann")
    git(root, "config", "user.email", "ann@box.test")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    (root / "notes.txt").write_text("not mine\n")
    git(root, "add", "notes.txt")
    before = git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain"), git(root, "ls-files", "-s")
    async with app.run_test(size=SMALL) as pilot:
        await edited(pilot)
        for wrong, why in (
            ("branch five", "say its name and what"),
            ("branch a..b no name", "is no name of a branch"),
            ("branch main taken", "is there already"),
        ):
            app.run_command(wrong, app.screen)  # type: ignore[arg-type]
            await until(pilot, lambda why=why: why in said(app))  # type: ignore[misc]
        await pilot.press("B", *"ann/five five 'of' them", "enter")
        await until(pilot, lambda: "branch ann/five has it" in said(app))
        assert state(app).edits, "they are written nowhere yet"
    now = git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain"), git(root, "ls-files", "-s")
    assert now == before and git(root, "branch", "--show-current").strip() == "main"
    assert "replicas = 3" in (root / "web/prod/main.k").read_text()
    shown = git(root, "show", "--format=%an %s%n%P", "--name-only", "ann/five").split("\n")
    assert shown[:4] == ["ann five 'of' them", before[0].strip(), "", "web/prod/main.k"]
    assert "replicas = 5" in git(root, "show", "ann/five:web/prod/main.k")
    assert not git(root, "for-each-ref", "refs/workbench")
    git(root, "fsck", "--strict")


@GIT
async def test_a_file_with_other_changes_is_not_committed_and_nothing_is_written(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    root = tmp_path / "shop"
    git(root, "init", "-q")
    async with app.run_test(size=SMALL) as pilot:
        await edited(pilot)
        app.run_command("commit x", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: "Nothing was written" in said(app))
        assert state(app).edits and "replicas = 3" in (root / "web/prod/main.k").read_text()
    app = workbench(tmp_path / "other", Clusters("hz", "sh"))
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        app.run_command("commit x", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: "go there first" in said(app))


def keys(app: WorkbenchApp) -> str:
    return str(app.screen.query_one(KeyLine).render())


@SIZES
async def test_what_can_be_written_is_offered_and_what_is_wrong_is_said(tmp_path: Path, size: tuple[int, int]) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, WhatIfScreen))
        await until(pilot, lambda: "esc Leave the editor" in keys(app))
        assert "/ Filter" not in keys(app), "that would be typed here"
        editor = app.screen.query_one(TextArea)
        editor.load_text("import models.server\n\nfront: server.Server {\n    rep\n}\n")
        editor.move_cursor((3, 7))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "    replicas = \n" in editor.text)
        assert editor.cursor_location == (3, 15)
        await pilot.press(*"'two'")
        await until(pilot, lambda: says(app, "expected int, got str"))
        assert says(app, "main.k:4: ")
        await pilot.press("escape", "n")
        assert editor.has_focus and editor.cursor_location == (3, 4)
        editor.load_text("import models.server\n\nfront: server.Server {\n    \n}\n")
        editor.move_cursor((3, 4))
        await pilot.press("ctrl+n")
        choices = app.screen.query_one("#choices", ResourceTable)
        await until(pilot, lambda: bool(choices.has_focus))
        assert editor.size.height > 2, "what is written is seen beside what can be, whatever is wrong"
        assert {"image", "replicas", "settings", "token"} <= {str(each.cells[0]) for each in choices.shown}
        await pilot.press("escape")
        assert editor.has_focus and not choices.display
        await pilot.press("ctrl+n")
        await until(pilot, lambda: bool(choices.has_focus))
        await pilot.press("enter")
        assert editor.has_focus and " = " in editor.text.split("\n")[3]


async def test_what_was_compared_before_an_edit_is_not_said_of_it(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        await pilot.press("i")
        await until(pilot, lambda: says(app, "no difference: what is there is what this says"))
        diff_stack, began = app.diff_stack, list[Any]()
        app.diff_stack = began.append  # type: ignore[method-assign, assignment]  # it takes as long as we like
        editor = app.screen.query_one(TextArea)
        editor.load_text(editor.text.replace("replicas = 3", "replicas = 5"))
        await until(pilot, lambda: bool(began))
        assert says(app, "before this edit: ") and says(app, "comparing ...") and not says(app, "no difference")
        diff_stack(state(app))
        await until(pilot, lambda: says(app, "~2 update"))
        assert not says(app, "before this edit: ")


@pytest.mark.parametrize("by_flag", [True, False], ids=["flag", "repository"])
async def test_no_file_is_written_where_nothing_may_be(tmp_path: Path, by_flag: bool) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"), is_read_only=by_flag)
    if not by_flag:
        clusters = tmp_path / "shop/clusters.yaml"
        clusters.write_text(clusters.read_text().replace("protected: true", "protected: true, read_only: true"))
        session = Session(tmp_path / "shop", app.session.settings, connect=Clusters("hz", "sh"))
        app = WorkbenchApp(session, open_at="web/prod")
    main = tmp_path / "shop/web/prod/main.k"
    before = main.read_text()
    async with app.run_test(size=LARGE) as pilot:
        await edited(pilot)
        await pilot.press("W")
        await until(pilot, lambda: "no file is written: " in said(app))
        assert not app.screen.query_one("#confirm").has_class("asked")
        for command in ("commit x", "branch edits x"):
            app.run_command(command, app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: said(app).count("no file is written: ") == 3)
        assert main.read_text() == before
        with pytest.raises(Refused):
            app.session.write_files(state(app).stack, state(app).whatif)  # type: ignore[arg-type]
