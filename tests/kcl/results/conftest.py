from __future__ import annotations

from pathlib import Path

import pytest

from kcl.cache.store import Store
from tests.kcl.clocks import let_tick
from tests.kcl.results.program import MAIN, MODELS, SETTINGS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    (folder / "models").mkdir(parents=True)
    (folder / "kcl.mod").write_text('[package]\nname = "p"\nedition = "v0.11.0"\nversion = "0.0.1"\n')
    (folder / "main.k").write_text(MAIN)
    (folder / "models" / "thing.k").write_text(MODELS)
    (folder / "single.k").write_text("one = 1\n")
    (folder / "settings.yaml").write_text(SETTINGS)
    let_tick(tmp_path)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "kept"))
