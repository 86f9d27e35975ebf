"""`wb` on a disk that is full: the exit code and the last words say what was not recorded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.workbench.cli.command import Ended
from tests.workbench.cli.conftest import Place
from tests.workbench.faulty_disk import FaultyDisk, faulty_disk
from workbench.exit_codes import ExitCode


async def test_a_disk_that_is_full_at_the_last_write_is_no_success(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.released("web/dev")

    async def changed(fails_at: int) -> tuple[Ended, FaultyDisk]:
        place.edit("web/base/base.k", 'COLOUR = "', 'COLOUR = "very ')
        with faulty_disk(monkeypatch, tmp_path / "state", fails_at, is_for_good=True) as disk:
            return await place("apply", "web/dev", "--confirm", "yes", "--no-watch"), disk

    sound, disk = await changed(sys.maxsize)
    assert sound.code == ExitCode.OK and "release #2 succeeded" in sound.out
    ends = max(number for number, name in enumerate(disk.operations) if name.startswith("open .2.json"))
    ended, _ = await changed(ends)
    assert ended.code == ExitCode.PARTIAL, ended.text
    assert "release #3 unrecorded: 1 done" in ended.out
    assert "succeeded" not in ended.text
    assert "could not be written" in ended.out and "make room" in ended.err
    going_on = await place("apply", "web/dev", "--confirm", "yes", "--no-watch")
    assert going_on.code == ExitCode.OK, going_on.text


@pytest.mark.parametrize("command", [("plan", "web/dev", "--out", "saved"), ("compile", "--all", "--into", "specs")])
async def test_files_that_cannot_be_written_fail_the_command(
    place: Place, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    with faulty_disk(monkeypatch, place.root, 0, is_for_good=True) as disk:
        ended = await place(*command)
    assert disk.has_failed
    assert ended.code == ExitCode.ERROR, ended.text
    assert "space" in ended.err.lower(), ended.text


@pytest.mark.parametrize(
    ("fails_at", "said"),
    [
        ("open .wb-rollout-", ""),
        ("open .wb-release-web-dev-", "it is recorded as begun, so then: wb rollout abort r-"),
        ("open head", "it is begun: wb rollout resume r-"),
        ("fsync r-", ""),
    ],
    ids=["intent", "claim", "audit", "lock"],
)
async def test_a_rollout_that_cannot_be_recorded_says_what_is_left_of_it(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: str, said: str
) -> None:
    (place.root / "rollout.yaml").write_text("stages: [{name: all, stacks: ['web/dev']}]\n")
    assert (await place("plan", "web/dev")).code == ExitCode.OK
    with faulty_disk(monkeypatch, tmp_path / "state", sys.maxsize, is_for_good=True) as disk:
        disk.fails_at_name = fails_at
        ended = await place("rollout", "start", "--yes")
    assert disk.has_failed and ended.code == ExitCode.ERROR, ended.text
    assert "No space left on device" in ended.err and "free some space" in ended.err and said in ended.err, ended.err
    listed = await place("rollout", "list")
    assert ("stopped" in listed.out) == (fails_at != "open .wb-rollout-"), listed.text
    if "stopped" in listed.out:
        assert (await place("rollout", "start", "--yes")).code == ExitCode.REFUSED
        going_on = await place("rollout", "resume")
    else:
        going_on = await place("rollout", "start", "--yes")
    assert going_on.code == ExitCode.OK and "the rollout is finished" in going_on.text, going_on.text
