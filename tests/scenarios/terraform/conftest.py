"""The sample's orders over a sandbox cluster, the real terraform and the practice provider's cloud."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from runtimes.sandbox.provider.mirror import ProviderMissing
from runtimes.sandbox.server import Sandbox
from tests.runtimes.terraform.forked import forking
from tests.scenarios.terraform.orders import SAMPLE, STACK, TERRAFORM, Orders


@pytest.fixture(scope="session")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if TERRAFORM is None:
        pytest.skip("neither terraform nor tofu is on PATH")
    folder = tmp_path_factory.mktemp("mirror")
    try:
        with forking(folder):
            yield folder
    except ProviderMissing as error:
        pytest.skip(f"{error.message}: {error.hint}")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What may be kept on a machine: Terraform is initialised for providers in a folder of it."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def initialised(mirror: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working folder of the stack as `terraform init` leaves it, with the provider's schemas."""
    home = tmp_path_factory.mktemp("initialised")

    async def planned() -> Path:
        async with Sandbox(clusters=2, seed=1) as sandbox:
            made = Orders(SAMPLE, home, mirror, sandbox, cache)
            await made.session().plan(made.session().select(STACK))
            await made.close()
            return made.folder.path

    return asyncio.run(planned())


@pytest.fixture
async def fresh_orders(sample_konfig: Path, tmp_path: Path, mirror: Path) -> AsyncIterator[Orders]:
    """Where Terraform never was, and nothing is kept."""
    async with Sandbox(clusters=2, seed=1) as sandbox:
        made = Orders(sample_konfig, tmp_path, mirror, sandbox, tmp_path / "cache")
        yield made
        await made.close()


@pytest.fixture
def orders(fresh_orders: Orders, cache: Path, initialised: Path) -> Orders:
    """Where Terraform is initialised, and nothing was planned yet."""
    fresh_orders.cache = cache
    fresh_orders.initialise(initialised)
    return fresh_orders
