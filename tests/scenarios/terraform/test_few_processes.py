"""Fifty Terraform resources in a stack cost one init and one plan, however often they are looked at."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.benchmarks.terraform import bench
from tests.scenarios.terraform.orders import TERRAFORM

pytestmark = pytest.mark.slow


def test_a_plan_without_changes_is_one_process_and_an_init_comes_once(tmp_path: Path, mirror: Path) -> None:
    assert TERRAFORM is not None and mirror.is_dir()
    with bench(tmp_path / "bench", TERRAFORM) as made:
        made.ours()
        assert [_verb(each) for each in made.calls()] == ["plan"]

        shutil.rmtree(made.folder / ".terraform")
        made.ours()
        assert [_verb(each) for each in made.calls()] == ["init", "plan"], "a folder that has to be initialised again"


def _verb(arguments: list[str]) -> str:
    return next(each for each in arguments if not each.startswith("-"))
