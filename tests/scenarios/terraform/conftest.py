"""The sample's orders over a sandbox cluster, the real terraform and the practice provider's cloud."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtimes.sandbox.provider.mirror import ProviderMissing, install
from runtimes.sandbox.server import Sandbox
from tests.scenarios.terraform.orders import SAMPLE, TERRAFORM, Orders


@pytest.fixture(scope="session")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if TERRAFORM is None:
        pytest.skip("neither terraform nor tofu is on PATH")
    folder = tmp_path_factory.mktemp("mirror")
    try:
        install(folder)
    except ProviderMissing as error:
        pytest.skip(f"{error.message}: {error.hint}")
    return folder


@pytest.fixture
async def orders(tmp_path: Path, mirror: Path) -> AsyncIterator[Orders]:
    root = tmp_path / "konfig"
    shutil.copytree(SAMPLE, root)
    async with Sandbox(clusters=2, seed=1) as sandbox:
        made = Orders(root, tmp_path, mirror, sandbox, tmp_path / "cache")
        yield made
        await made.close()
