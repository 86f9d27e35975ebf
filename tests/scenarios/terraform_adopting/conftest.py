"""A stack of Terraform resources with the real terraform and the practice provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.scenarios.terraform.conftest import mirror as mirror  # the fixture of the larger scenarios
from tests.scenarios.terraform_adopting.shop import Shop


@pytest.fixture
async def shop(tmp_path: Path, mirror: Path) -> AsyncIterator[Shop]:
    made = Shop(tmp_path / "konfig", tmp_path, mirror)
    yield made
    await made.close()
