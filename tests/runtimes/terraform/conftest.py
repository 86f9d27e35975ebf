"""Fixtures: a mirror with the practice provider for all tests, a workspace and a world for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runtimes.sandbox.provider.mirror import ProviderMissing, install
from tests.runtimes.terraform.http_backend import Store, serving
from tests.runtimes.terraform.practice import TERRAFORM, Place
from tests.runtimes.terraform.practice import place as made


@pytest.fixture(scope="session")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mirror")
    try:
        install(folder)
    except ProviderMissing as error:
        pytest.skip(f"{error.message}: {error.hint}")
    return folder


@pytest.fixture
def place(tmp_path: Path, mirror: Path) -> Iterator[Place]:
    if TERRAFORM is None:
        pytest.skip("neither terraform nor tofu is on PATH")
    yield made(tmp_path, mirror)


@pytest.fixture
def store() -> Iterator[Store]:
    with serving() as found:
        yield found
