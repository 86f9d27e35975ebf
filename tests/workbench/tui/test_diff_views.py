"""Live diff: in two columns, from change to change, and as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from runtimes.base import Unreachable
from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import (
    FRONT,
    LARGE,
    SIZES,
    SMALL,
    opened,
    released,
    says,
    shown,
    state,
    until,
    workbench,
)
from workbench.engine.changes import ChangeClass, FieldChange, Op
from workbench.engine.errors import Refused
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.diff import REVEALED_SECONDS, DiffScreen
from workbench.tui.screens.ignore import IgnoreScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.resource_table import ResourceTable


def changed(app: WorkbenchApp) -> None:
    base = app.konfig.root / "web/base/base.k"
    base.write_text(base.read_text().replace("front:1", "front:2").replace("canary-4f1d", "canary-77aa"))


def fields(app: WorkbenchApp) -> ResourceTable:
    return app.screen.query_one("#fields", ResourceTable)


@SIZES
async def test_both_sides_of_a_change_stand_beside_each_other(tmp_path: Path, size: tuple[int, int]) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=size) as pilot:
        await released(pilot)
        changed(app)
        await pilot.press("d")
        await until(pilot, lambda: says(app, "~4 update"))
        await pilot.press("vertical_line")
        for _ in range(4):
            if says(app, "front:2"):
                break
            await pilot.press("n")
        row = next(each for each in fields(app).shown if "front:2" in str(each.cells[-1]))
        assert "front:1" in str(row.cells[0]) and "front:2" not in str(row.cells[0])
        title = fields(app).shown[0].cells
        assert "image" in str(title[0]) and "base.k:" in str(title[0])
        while state(app).diff is None or "Secret" not in str(app.screen.query_one("#changes", ResourceTable).current):
            await pilot.press("N")
        masks = [cell for each in fields(app).shown if len(each.cells) == 2 for cell in map(str, each.cells)]
        assert any("masked#" in each for each in masks) and len(set(masks)) > 1, "masked, and yet different"
        assert not any("canary" in each for each in shown(app))
        await pilot.press("vertical_line")
        assert any("→" in each for each in shown(app))


async def test_changes_are_gone_through_over_the_resources(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        changed(app)
        await pilot.press("d")
        await until(pilot, lambda: says(app, "~4 update"))
        changes = app.screen.query_one("#changes", ResourceTable)
        seen = [(changes.cursor, fields(app).current)]
        for _ in range(12):
            await pilot.press("right_curly_bracket")
            await pilot.pause()
            if (changes.cursor, fields(app).current) == seen[-1]:
                break
            seen.append((changes.cursor, fields(app).current))
        assert [at for at, _ in seen] == [0, 1, 2, 3], "one field in each of four resources"
        await pilot.press("left_curly_bracket")
        await pilot.pause()
        assert changes.cursor == 2


async def test_a_file_has_what_changes_masked_and_what_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        changed(app)
        clusters["sh"].fail["plan"] = Unreachable("connection refused", target="sh")
        await pilot.press("d")
        await until(pilot, lambda: says(app, "connection refused") and not state(app).busy)
        for form in ("patch", "md", "html"):
            await pilot.press("E")
            assert app.screen.query_one(Prompt).value == "export "
            await pilot.press(*form, "enter")
            await pilot.pause()
    for form in ("patch", "md", "html"):
        check_file(tmp_path, form)


def check_file(folder: Path, form: str) -> None:
    (path,) = folder.glob(f"*.{form}")
    text = path.read_text()
    assert path.stat().st_mode & 0o077 == 0 and "canary" not in text
    assert "front:1" in text and "front:2" in text and "base.k:" in text
    assert "masked#" in text and "update Secret" in text
    assert "connection refused" in text and "not everything could be compared" in text


async def test_what_was_not_compared_is_not_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("colon", *"export md", "enter")
        await pilot.pause()
    assert not list(tmp_path.glob("*.md"))  # noqa: ASYNC240  # nothing waits for it


@SIZES
async def test_what_is_left_out_in_the_diff_is_left_out_of_the_plan(tmp_path: Path, size: tuple[int, int]) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("d")
        await until(pilot, lambda: says(app, "+8 create"))
        await pilot.press("G", "space", "k", "space")
        assert says(app, "the plan leaves 2 out")
        assert (
            sum("left out" in str(each.cells[2]) for each in app.screen.query_one("#changes", ResourceTable).shown) == 2
        )
        await pilot.press("space")
        assert says(app, "the plan leaves 1 out")
        await pilot.press("P")
        await until(pilot, lambda: state(app).plan is not None and not state(app).busy)
        plan = state(app).plan
        assert plan is not None
        assert [str(each.address) for each in plan.left_out] == ["apps/v1:Deployment:web-prod:front@sh"]
        line = app.command_log.acts[-1].line
        assert line == "wb plan web/prod --skip apps/v1:Deployment:web-prod:front@sh"
        await pilot.press("d")
        await until(pilot, lambda: says(app, "the plan leaves 1 out"))


@SIZES
async def test_what_is_around_a_field_is_folded_and_unfolded(tmp_path: Path, size: tuple[int, int]) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=size) as pilot:
        await released(pilot)
        changed(app)
        await pilot.press("d")
        await until(pilot, lambda: says(app, "~4 update"))
        await pilot.press("u")
        for _ in range(4):
            if says(app, "front:2"):
                break
            await pilot.press("n")
        assert says(app, "front:2") and says(app, "envFrom:") and says(app, "unchanged lines")
        assert says(app, "  ← main.k:4") or not says(app, "replicas: 3"), "each line names its source"
        few = len(fields(app).shown)
        await pilot.press("plus", "plus")
        assert not says(app, "unchanged lines") and says(app, "kind: Deployment") and len(fields(app).shown) > few
        await pilot.press("minus", "minus", "minus")
        assert len(fields(app).shown) < few
        await pilot.press("plus", "plus", "plus")
        while "Secret" not in str(app.screen.query_one("#changes", ResourceTable).current):
            await pilot.press("N")
        assert says(app, "masked#") and says(app, "kind: Secret") and not any("canary" in each for each in shown(app))
        await pilot.press("u")
        assert not says(app, "kind: Secret")
        await pilot.press("D", "u")
        assert not says(app, "kind: Secret"), "what is intended must not look unchanged"


@SIZES
async def test_a_field_is_left_to_others_by_a_rule_that_is_shown_before_it_is_written(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    project = app.konfig.root / "web/project.yaml"
    project.write_text("# the web\nname: web  # its name\n")
    async with app.run_test(size=size) as pilot:
        await released(pilot)
        for each in ("hz", "sh"):
            clusters[each].edit(FRONT, ("spec", "replicas"), 7)
        await pilot.press("d")
        await until(pilot, lambda: says(app, "replicas") and not state(app).busy)
        await pilot.press("tab", "I", *"load decides", "enter")
        await until(pilot, lambda: isinstance(app.screen, IgnoreScreen))
        assert says(app, "+    path: spec.replicas") and says(app, "+    manager: kubectl-edit")
        assert says(app, " name: web  # its name")
        await pilot.press("o")
        assert not says(app, "manager: kubectl-edit") and says(app, "anybody may own it")
        await pilot.press("t")
        assert says(app, "web/prod/stack.yaml") and says(app, "the stack web/prod alone")
        await pilot.press("t", "W", "W", "enter")
        assert "ignore" not in project.read_text()
        app.screen.query_one("#phrase", Input).value = "write"
        await pilot.press("enter", "escape")
        await until(pilot, lambda: says(app, "stays") and not state(app).busy)
        assert says(app, "load decides"), "what is left to others goes on being told"
        found = state(app).diff
        assert found is not None
        assert {field.op for each in found.changes for field in each.fields} == {Op.KEPT}
    assert project.read_text() == (
        "# the web\nname: web  # its name\nignore:\n  - kind: apps/Deployment\n    name: front\n"
        "    path: spec.replicas\n    reason: load decides\n"
    )


async def at_the_secret(app: WorkbenchApp, pilot: Pilot[Any]) -> None:
    await pilot.press("d")
    await until(pilot, lambda: says(app, "~4 update") and not state(app).busy)
    while "Secret" not in str(app.screen.query_one("#changes", ResourceTable).current):
        await pilot.press("n")


def revealed(app: WorkbenchApp) -> list[str]:
    return [each for each in shown(app) if "canary" in each]


def hidings(screen: Any) -> int:
    """How many timers will take away what is revealed."""
    return sum(each._interval == REVEALED_SECONDS and each._task is not None for each in screen._timers)


@SIZES
async def test_a_secret_is_shown_after_its_word_on_record_and_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.chdir(tmp_path)
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=size) as pilot:
        await released(pilot)
        changed(app)
        await at_the_secret(app, pilot)
        entries = len(app.session.audit().entries())
        await pilot.press("R", "R", "enter", *"yes", "enter", "escape")
        assert not revealed(app) and len(app.session.audit().entries()) == entries
        for away in ("escape", "n", "c", "ctrl+p", "colon"):
            await pilot.press("R", *"reveal", "enter")
            await until(pilot, lambda: len(revealed(app)) == 2)
            assert any("canary-4f1d" in each for each in revealed(app)), "what is live"
            assert any("canary-77aa" in each for each in revealed(app)), "what is configured"
            screen = app.screen
            assert hidings(screen) == 1
            if away == "colon":
                await check_that_nothing_has_it(app, pilot)
                break
            await pilot.press(away)
            assert not revealed(app)
            assert hidings(screen) == 0, "it would take the next one away too early"
            if away == "n":
                await pilot.press("N")
            if away in ("c", "ctrl+p"):
                await pilot.press("escape")
                if away == "c":
                    await at_the_secret(app, pilot)
                await until(pilot, lambda: isinstance(app.screen, DiffScreen))
                assert not revealed(app)
        trail = app.session.audit().entries()
        assert trail[0].action == "reveal secret" and "data.token" in trail[0].detail
        assert len(trail) == entries + 5 and "canary" not in repr(trail)
    app.leave()
    assert not [each for each in (tmp_path / "state").rglob("*") if each.is_file() and b"canary" in each.read_bytes()]


async def check_that_nothing_has_it(app: WorkbenchApp, pilot: Pilot[Any]) -> None:
    await pilot.press("y", "S")
    assert "canary" not in app.clipboard and not list(Path.cwd().glob("*.svg"))
    app.run_command("export md", app.screen)  # type: ignore[arg-type]
    await pilot.pause()
    (written,) = Path.cwd().glob("*.md")
    assert "canary" not in written.read_text()
    assert not any("canary" in repr(each) for each in app.command_log.acts)


async def test_a_read_only_session_reveals_nothing(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"), is_read_only=True)
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        await pilot.press("d")
        await until(pilot, lambda: says(app, "+8 create") and not state(app).busy)
        change = next(each for each in state(app).diff.changes if "Secret" in str(each.address))  # type: ignore[union-attr]
        field = FieldChange(("stringData", "token"), Op.ADD, ChangeClass.INTENDED, is_masked=True)
        with pytest.raises(Refused):
            await app.session.reveal(change, field, confirm="reveal")
        assert not app.session.audit().entries()
