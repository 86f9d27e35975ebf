"""`wb cache`: what KCL keeps on disk, shown and cleared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kcl.api import Store
from workbench.cli.main import wb


def test_cache_is_shown_and_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "kept"
    monkeypatch.setenv("KCL_RUN_CACHE", str(folder))
    Store(str(folder)).write("some", bytes(2_000_000))
    runner = CliRunner()
    shown = runner.invoke(wb, ["cache", "info"])
    assert shown.exit_code == 0, shown.output
    assert "1 entries, 2.0 MB of at most 268.4 MB" in shown.stdout
    assert str(folder) in shown.stdout
    document = json.loads(runner.invoke(wb, ["cache", "info", "-o", "json"]).stdout)
    assert document["status"]["entries"] == 1
    assert document["status"]["folder"] == str(folder)
    cleared = runner.invoke(wb, ["cache", "clear"])
    assert cleared.exit_code == 0
    assert "removed 1 entries, 2.0 MB" in cleared.stderr
    assert not list(folder.iterdir())


def test_nothing_is_kept_when_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCL_RUN_CACHE", "off")
    shown = CliRunner().invoke(wb, ["cache", "info"])
    assert shown.exit_code == 0
    assert "nothing is cached" in shown.stderr
    assert CliRunner().invoke(wb, ["cache", "clear"]).exit_code == 0
