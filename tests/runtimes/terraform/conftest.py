"""Fixtures: a mirror with the practice provider for all tests, a workspace and a world for each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtimes.base.errors import RuntimeFailure
from runtimes.sandbox.provider.mirror import ProviderMissing
from tests.runtimes.terraform.forked import ended_early, forking
from tests.runtimes.terraform.http_backend import Store, serving
from tests.runtimes.terraform.practice import TERRAFORM, Place, bucket, database, lay_initialised, network, record
from tests.runtimes.terraform.practice import place as made


@pytest.fixture(scope="session")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("mirror")
    try:
        with forking(folder):
            yield folder
    except ProviderMissing as error:
        pytest.skip(f"{error.message}: {error.hint}")


@pytest.fixture(scope="session")
def initialised(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `terraform init` leaves it, with the provider's schemas."""
    if TERRAFORM is None:
        pytest.skip("neither terraform nor tofu is on PATH")
    found = made(tmp_path_factory.mktemp("initialised"), mirror)
    try:
        asyncio.run(found.plan(network("any"), database("any", "any"), bucket("any"), record("any")))
    except RuntimeFailure as failure:
        failure.add_note(f"providers that ended early: {ended_early(mirror) or 'none'}")
        raise
    return found.folder.path


@pytest.fixture
def fresh_place(tmp_path: Path, mirror: Path) -> Place:
    """Where Terraform never was."""
    if TERRAFORM is None:
        pytest.skip("neither terraform nor tofu is on PATH")
    return made(tmp_path, mirror)


@pytest.fixture
def place(tmp_path: Path, mirror: Path, initialised: Path) -> Place:
    """Where Terraform is initialised, and nothing was planned yet."""
    found = made(tmp_path, mirror)
    lay_initialised(initialised, found.folder.path)
    return found


@pytest.fixture
def store() -> Iterator[Store]:
    with serving() as found:
        yield found
