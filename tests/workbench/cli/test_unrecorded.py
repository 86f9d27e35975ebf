"""Who was killed between the last write and its record left nothing to do, and a record that speaks of work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.workbench.cli.conftest import Place
from workbench.engine.release import Phase, StepState
from workbench.release import encoding

STACK = "web/dev"


@pytest.fixture(autouse=True)
def _on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WB_RELEASES", "local")


def _records(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "state").rglob(f"{STACK}/*.json"), key=lambda each: int(each.stem))


def _cut_off(record: Path) -> None:
    """As it is where nobody came to write what became of the last step."""
    release = encoding.decode(record.read_bytes())
    last = list(release.resources)[-1]
    resources = {**release.resources, last: replace(release.resources[last], state=StepState.INTENDED)}
    record.write_bytes(encoding.encode(replace(release, phase=Phase.APPLYING, finished=None, resources=resources)))


def _phases(tmp_path: Path) -> list[tuple[Phase, int]]:
    found = [encoding.decode(each.read_bytes()) for each in _records(tmp_path)]
    return [(each.phase, sum(step.state is StepState.INTENDED for step in each.resources.values())) for each in found]


async def test_the_next_apply_records_what_the_killed_one_left(place: Place, tmp_path: Path) -> None:
    await place.released()
    (record,) = _records(tmp_path)
    whole = encoding.decode(record.read_bytes())
    _cut_off(record)
    before = place.live("configmaps", "web-dev", "front")
    ended = await place("apply", STACK, "--yes", "--no-watch")
    assert ended.code == 0, ended.text
    assert "release #1 did not end; what it left is as configured, and is recorded" in ended.text
    assert "release #2 succeeded: 0 done" in ended.text
    assert _phases(tmp_path) == [(Phase.APPLYING, 1), (Phase.SUCCEEDED, 0)]
    told = encoding.decode(_records(tmp_path)[-1].read_bytes())
    assert {at: each.uid for at, each in told.resources.items()} == {
        at: each.uid for at, each in whole.resources.items()
    }
    assert place.live("configmaps", "web-dev", "front") == before, "nothing is written but the record"
    again = await place("apply", STACK, "--yes", "--no-watch")
    assert again.code == 0 and "did not end" not in again.text
    assert len(_records(tmp_path)) == 2


async def test_a_destroy_that_was_killed_at_its_end_is_recorded_by_the_next(place: Place, tmp_path: Path) -> None:
    await place.released()
    ended = await place("destroy", STACK, "--confirm", STACK)
    assert ended.code == 0, ended.text
    record = _records(tmp_path)[-1]
    release = encoding.decode(record.read_bytes())
    record.write_bytes(encoding.encode(replace(release, phase=Phase.APPLYING, finished=None)))
    ended = await place("destroy", STACK, "--confirm", STACK)
    assert ended.code == 0, ended.text
    assert "did not end" in ended.text
    assert _phases(tmp_path)[-1][0] is Phase.SUCCEEDED


async def test_a_part_of_a_stack_does_not_speak_for_the_rest(place: Place, tmp_path: Path) -> None:
    await place.released()
    (record,) = _records(tmp_path)
    _cut_off(record)
    ended = await place("apply", STACK, "--yes", "--no-watch", "--only", "ConfigMap/front")
    assert ended.code == 0 and "did not end" not in ended.text
    assert [phase for phase, _ in _phases(tmp_path)] == [Phase.APPLYING]
