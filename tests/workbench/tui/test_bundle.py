"""What is saved of a screen for somebody else: all that stands behind it, masked, for its user alone."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import LARGE, opened, released, says, state, until, workbench
from workbench.tui import bundle
from workbench.tui.screens.whatif import Editor, WhatIfScreen


def files_of(folder: Path, pattern: str) -> list[Path]:
    return [*folder.glob(pattern)]


async def saved(pilot: Pilot[Any], folder: Path) -> dict[str, str]:
    app: Any = pilot.app
    app.run_command("export bundle", app.screen)
    await until(pilot, lambda: bool(files_of(folder, "bundle-*.zip")))
    (path,) = files_of(folder, "bundle-*.zip")
    assert path.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(path) as found:
        files = {name: found.read(name).decode() for name in found.namelist()}
    path.unlink()
    return files


async def test_a_bundle_has_what_is_known_masked_and_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        files = await saved(pilot, tmp_path)
        assert "spec.yaml" not in files and "Not there" in files[bundle.ABOUT] and "the plan" in files[bundle.ABOUT]
        await released(pilot)
        await pilot.press("d")
        await until(pilot, lambda: says(app, "nothing to change") and state(app).diff is not None)
        await pilot.press("w")
        await until(pilot, lambda: says(app, "8/8 ready"))
        files = await saved(pilot, tmp_path)
    assert files.keys() == {bundle.ABOUT, *bundle._WHAT} - {"error.txt"}
    assert "8/8 ready" in files["screen.txt"] and files["screen.svg"].startswith("<svg")
    assert json.loads(files["plan.json"])["kind"] == "Plan" and json.loads(files["status.json"])["kind"] == "Status"
    assert "kind: Secret" in files["spec.yaml"] and "masked#" in files["spec.yaml"]
    assert "Deployment front @hz  Current" in files["timeline.txt"] and "wb watch web/prod" in files["commands.txt"]
    assert "`:reconcile web/prod`" in files[bundle.ABOUT] and "sha256" in files[bundle.ABOUT]
    assert not any("canary" in text for text in files.values())
    assert json.loads(files["versions.json"])["terminal"]["size"] == [*LARGE]


async def test_a_source_that_is_edited_is_in_no_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, WhatIfScreen))
        editor = app.screen.query_one(Editor)
        editor.load_text(editor.text + "# hunter2\n")
        await until(pilot, lambda: bool(state(app).edits) and not state(app).busy)
        await pilot.press("escape")
        files = await saved(pilot, tmp_path)
    assert not any("hunter2" in text for text in files.values())
    assert "with edits in a What-if, which are not in here, of main.k" in files[bundle.ABOUT]


async def test_what_cannot_be_exported_here_is_said_and_a_spec_is_saved_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = workbench(tmp_path, Clusters("hz", "sh"))
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        app.run_command("export yaml", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: [each.message for each in app._notifications] == ["say as what: bundle, svg"])
        await pilot.press("c")
        await until(pilot, lambda: says(app, "Secret"))
        assert app.completions("export ") == ("export bundle", "export svg", "export yaml")
        app.run_command("export yaml", app.screen)  # type: ignore[arg-type]
        await pilot.pause()
        (path,) = files_of(tmp_path, "web-prod-spec-*.yaml")
        assert "masked#" in path.read_text() and "canary" not in path.read_text()
        monkeypatch.chdir("/proc")
        app.run_command("export bundle", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: any("not saved" in each.message for each in app._notifications))
