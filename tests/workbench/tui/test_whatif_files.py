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
from tests.workbench.tui.test_screens import LARGE, SMALL, opened, says, state, until, workbench
from workbench.tui.screens.whatif import WhatIfScreen

SIZES = pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])
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
