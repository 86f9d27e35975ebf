"""A stack of Terraform resources with the real terraform and the practice provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.runtimes.terraform.practice import lay_initialised

# fixtures of the larger scenarios
from tests.scenarios.terraform.conftest import cache as cache
from tests.scenarios.terraform.conftest import initialised as initialised
from tests.scenarios.terraform.conftest import mirror as mirror
from tests.scenarios.terraform_adopting.shop import Shop
from workbench.project import StackPath
from workbench.release.store import ReleaseStore


@pytest.fixture
async def shop(tmp_path: Path, mirror: Path, cache: Path, initialised: Path) -> AsyncIterator[Shop]:
    made = Shop(tmp_path / "konfig", tmp_path, mirror, cache)
    lay_initialised(
        initialised, ReleaseStore(tmp_path / "state", made.root).workspace_folder(StackPath.parse("shop/dev"))
    )
    yield made
    await made.close()
