"""A small repository, alone or over two sandbox clusters, and `wb` on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.server import Sandbox
from tests.workbench.cli.command import Ended, Wb
from tests.workbench.session.shop import shop

_SETTINGS = ("WB_CONTEXT", "WB_READONLY", "WB_TIMEOUT", "WB_ASCII", "NO_COLOR", "FORCE_COLOR", "KUBECONFIG")


@pytest.fixture
def wb(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wb:
    for name in _SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("WB_CACHE_DIR", str(tmp_path / "cache"))
    return Wb(capsys)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shop, and the folder that the command stands in."""
    root = shop(tmp_path / "repo")
    monkeypatch.chdir(root)
    return root


@dataclass
class Place:
    """The shop over two clusters, `hz` and `sh`, both empty at first."""

    root: Path
    sandbox: Sandbox
    wb: Wb

    async def __call__(self, *arguments: str | Path) -> Ended:
        return await self.wb.meanwhile(*arguments)

    async def released(self, stack: str = "web/dev", *more: str) -> None:
        ended = await self("apply", stack, "--confirm", stack if stack.endswith("prod") else "yes", "--no-watch", *more)
        assert ended.code == 0, ended.text

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.root / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def live(self, resource: str, namespace: str, name: str, cluster: int = 0) -> Any:
        return self.sandbox.clusters[cluster].get(resource, namespace, name)

    def names(self, resource: str, cluster: int = 0) -> set[str]:
        return {each["metadata"]["name"] for each in self.sandbox.clusters[cluster].list(resource).items}


@pytest.fixture
async def place(root: Path, wb: Wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    async with Sandbox(names=("one", "two"), clusters=2, tokens={"admin": "token-of-admin"}, seed=1) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        yield Place(root, sandbox, wb)
