"""SIGKILL at random moments, states torn, emptied, older and gone: nothing twice, nothing lost, nothing left running.

`KONFIG_WORKBENCH_KILLS` says how many kills; none by default, as `test_killed` ends an apply at moments that are known
to matter. The published provider is taken from the mirror in
`KONFIG_WORKBENCH_PUBLISHED_PROVIDERS`, or is built where go is and many kills are asked for; else it is left out.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.scenarios.terraform.kills import LOCAL, STACK, Stack, build_published, with_published

SEED = int(os.environ.get("KONFIG_WORKBENCH_KILLS_SEED", "20261122"))
PUBLISHED = "KONFIG_WORKBENCH_PUBLISHED_PROVIDERS"
KILLS = int(os.environ.get("KONFIG_WORKBENCH_KILLS", "0"))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not KILLS, reason="KONFIG_WORKBENCH_KILLS asks for no kills")]
_CHECKED_AGAIN = 20  # each so many kills, a plan has to find nothing to do


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mirror with hashicorp/local."""
    if given := os.environ.get(PUBLISHED):
        if not Path(given, LOCAL).is_dir():
            pytest.skip(f"{PUBLISHED}={given} has no {LOCAL}")
        return Path(given)
    if shutil.which("go") is None:
        pytest.skip(f"{PUBLISHED} names no mirror with hashicorp/local, and there is no go to build it")
    folder = tmp_path_factory.mktemp("published")
    try:
        build_published(folder)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"hashicorp/local can't be built here: {error}")
    return folder


def test_random_kills_of_what_applies_three_providers(tmp_path: Path, mirror: Path, published: Path) -> None:
    own = tmp_path / "mirror"
    shutil.copytree(mirror, own)
    with_published(own, published)
    _killed(Stack(tmp_path / "home", own, random.Random(SEED), has_local=True), KILLS)


def test_random_kills_of_what_applies_the_two_that_are_always_here(tmp_path: Path, mirror: Path) -> None:
    if os.environ.get(PUBLISHED):
        pytest.skip("three providers are killed")
    _killed(Stack(tmp_path / "home", mirror, random.Random(SEED), has_local=False), KILLS)


def _killed(stack: Stack, kills: int) -> None:
    stack.change()
    stack.apply()
    stack.check()
    done = 0
    while done < kills:
        before = stack.data_ids()
        at = f"kill {done} of {kills}, seed {SEED}: {dict(stack.counts)}"
        try:
            stack.change()
            for _ in range(stack.rng.choice((1, 2, 3, 4))):
                done += stack.kill()
                if stack.rng.random() < 0.4:
                    stack.damage()
            stack.apply()
            stack.check()
            _same(before, stack.data_ids())
            if done % _CHECKED_AGAIN == 0:
                stack.wb("plan", STACK, "--detailed-exitcode")
        except AssertionError as error:
            raise AssertionError(f"{at}: {error}") from error
        print(f"{done} kills, seed {SEED}: {dict(stack.counts)}", flush=True)  # noqa: T201  # figures, shown with -s


def _same(before: Mapping[str, tuple[str, str]], after: Mapping[str, tuple[str, str]]) -> None:
    """Terraform's own resources are in the state alone: what was there is still the same where nothing replaced it."""
    for address, (id_, trigger) in before.items():
        if address in after and after[address][1] == trigger:
            assert after[address][0] == id_, f"{address} was lost and made again"
