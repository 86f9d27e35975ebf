"""What a survey planned is what is applied right after it: the providers are asked once for both, unless it differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtimes.base import WorkspacePlanRequest
from runtimes.terraform import workspace
from runtimes.terraform.folder import Folder
from runtimes.terraform.runtime import TerraformRuntime
from tests.runtimes.terraform.direct import data
from tests.runtimes.terraform.practice import TERRAFORM, anything, needs_terraform

pytestmark = needs_terraform

ONE, TWO = data("one", input="1"), data("two", input="2")
REQUEST = WorkspacePlanRequest((ONE, TWO))
APPLIED = ["apply"]
PLANNED_AGAIN = ["plan", "show", "apply"]


class Place:
    """A workspace whose terraform notes with which verbs it is started."""

    def __init__(self, root: Path) -> None:
        self._calls = root / "calls"
        binary = root / "terraform"
        binary.write_text(f'#!/bin/sh\necho "$1" >> {self._calls}\nexec {TERRAFORM} "$@"\n')
        binary.chmod(0o755)
        self.folder = Folder(root / "folder")
        self.binary = str(binary)
        self.runtime = TerraformRuntime.connect(folder=self.folder.path, binary=self.binary)

    async def apply(self, request: WorkspacePlanRequest = REQUEST) -> list[str]:
        """Returns the verbs it took."""
        self._calls.write_text("")
        async with self.runtime.apply_all(request, anything) as run:
            await run.outcome()
        return self._calls.read_text().split()


@pytest.fixture
async def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    await made.runtime.survey(REQUEST)
    return made


async def test_the_survey_right_before_is_what_is_applied_and_only_once(place: Place) -> None:
    assert not place.folder.plan.exists(), "it holds secrets"
    assert await place.apply() == APPLIED
    assert await place.apply() == PLANNED_AGAIN
    assert len(json.loads(place.folder.state.read_bytes())["resources"]) == 2


@pytest.mark.parametrize(
    "other", [WorkspacePlanRequest((ONE,)), WorkspacePlanRequest((ONE, TWO), only=frozenset([ONE.id]))]
)
async def test_what_is_not_the_same_is_planned_again(place: Place, other: WorkspacePlanRequest) -> None:
    assert await place.apply(other) == PLANNED_AGAIN


async def test_a_state_that_was_written_since_is_planned_over_again(place: Place) -> None:
    elsewhere = TerraformRuntime.connect(folder=place.folder.path, binary=place.binary)
    async with elsewhere.apply_all(WorkspacePlanRequest((ONE,)), anything) as run:
        await run.outcome()
    assert await place.apply() == PLANNED_AGAIN


async def test_what_was_planned_a_while_ago_is_planned_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "_SAVED_SECONDS", 0.0)
    assert await place.apply() == PLANNED_AGAIN
