"""The practice clusters of the demo, running yesterday's version, and notebooks' own way to reach them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

pytest.importorskip("pandas", reason="the notebook face is not installed: pip install 'konfig-workbench[notebook]'")
pytest.importorskip("anywidget", reason="the notebook face is not installed: pip install 'konfig-workbench[notebook]'")

import workbench as wb
from tests.workbench.notebook.papermill import Papermill, started
from workbench.cli import practice
from workbench.notebook import Workspace
from workbench.session import Session
from workbench.settings import Settings

ROOT = Path(__file__).parents[3]


@dataclass
class Place:
    """Where a notebook works: a copy of the sample, and the environment that leads to the clusters."""

    root: Path
    environment: dict[str, str]
    opened: list[Workspace]

    def open(self) -> Workspace:
        self.opened.append(wb.open(self.root))
        return self.opened[-1]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("notebook")
    root = home / "konfig"
    shutil.copytree(ROOT / "sample-konfig", root)

    async def prepare(running: practice.Practice) -> None:
        async with Session.open(root, settings=running.settings) as session:
            await practice.seed(session)
            await practice.change_by_hand(running)

    with start_blocking_portal() as portal:
        running = practice.practise(Settings.load({"USER": "sre"}), home)
        with portal.wrap_async_context_manager(running) as clusters:
            portal.call(prepare, clusters)
            environment = {
                "KUBECONFIG": clusters.settings.kubeconfig,
                "WB_STATE_DIR": str(clusters.settings.state_dir),
                "USER": "sre",
            }
            found = Place(root, environment, [])
            yield found
            for each in found.opened:
                each.close()


@pytest.fixture(scope="module")
def papermill() -> Iterator[Papermill]:
    with started(ROOT) as running:
        yield running


@pytest.fixture
def workspace(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    for name, value in place.environment.items():
        monkeypatch.setenv(name, value)
    with wb.open(place.root) as opened:
        yield opened
