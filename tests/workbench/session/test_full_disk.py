"""Success is said only once it is durably recorded: a disk that fails at any write of an apply, or of a plan file."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from runtimes.base import RuntimeFailure
from tests.workbench.faulty_disk import FaultyDisk, faulty_disk
from tests.workbench.session.shop import Clusters, session, shop
from workbench.audit import AuditTrail
from workbench.engine.events import ApplyFinished, Event, Outcome, RecordFailed
from workbench.engine.release import Phase
from workbench.project import WorkbenchError

EVERY = int(os.environ.get("KONFIG_WORKBENCH_FAULTS_EVERY", "25"))
"""One in so many writes fails in turn, and each of the last; 1 is all of them."""
LAST = 6


async def _applied(root: Path, clusters: Clusters, *, destroys: bool = False) -> list[Event] | WorkbenchError:
    """Plans and applies; the events, or what was raised before anything was written."""
    async with session(root, clusters) as opened:
        stack = opened.select("web/dev")
        try:
            plan = await (opened.plan_destroy(stack) if destroys else opened.plan(stack))
            async with opened.apply(plan, confirm=plan.confirmation.phrase) as events:
                return [each async for each in events]
        except (WorkbenchError, RuntimeFailure) as error:
            assert isinstance(error, WorkbenchError)
            return error


async def _writes(base: Path, monkeypatch: pytest.MonkeyPatch, *, destroys: bool) -> int:
    """Returns how often an apply writes to the state folder when all goes well."""
    root, clusters = shop(base / "repo"), Clusters("hz")
    if destroys:
        await _applied(root, clusters)
    with faulty_disk(monkeypatch, base / "state", sys.maxsize) as disk:
        ended = await _applied(root, clusters, destroys=destroys)
    assert isinstance(ended, list) and isinstance(ended[-1], ApplyFinished)
    assert ended[-1].outcome is Outcome.SUCCEEDED
    return len(disk.operations)


def _faults(writes: int) -> list[int]:
    return sorted({*range(0, writes, EVERY), *range(writes - LAST, writes)})


def _written(clusters: Clusters) -> int:
    return sum(verb in ("apply", "delete") for verb, _ in clusters["hz"].calls)


async def _assert_honest(
    root: Path, clusters: Clusters, ended: list[Event] | WorkbenchError, before: int, disk: FaultyDisk
) -> None:
    where = f"fault {disk.fails_at}: {disk.operations[disk.fails_at]}"
    if isinstance(ended, WorkbenchError):
        assert _written(clusters) == before, f"{where}: {ended} was raised, and something was written"
        assert ended.hint, where
        return
    last = ended[-1]
    assert isinstance(last, ApplyFinished), where
    async with session(root, clusters) as opened:
        releases = opened.releases(opened.select("web/dev"))
    phase = releases[0].phase if releases else None
    trail = [(each.action, each.result) for each in AuditTrail(root.parent / "state").entries()]
    if last.outcome is Outcome.SUCCEEDED:
        assert phase is Phase.SUCCEEDED, where
        assert ("apply", "succeeded") in trail[:1], where
    else:
        assert any(isinstance(each, RecordFailed) for each in ended), f"{where}: nobody said why it is {last.outcome}"


@pytest.mark.parametrize("is_for_good", [False, True], ids=["once", "for-good"])
@pytest.mark.parametrize("destroys", [False, True], ids=["apply", "destroy"])
async def test_an_apply_whose_record_fails_anywhere_never_says_that_it_succeeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_for_good: bool, destroys: bool
) -> None:
    raised = ended_badly = 0
    for number in _faults(await _writes(tmp_path / "sound", monkeypatch, destroys=destroys)):
        base = tmp_path / str(number)
        root, clusters = shop(base / "repo"), Clusters("hz")
        if destroys:
            assert not isinstance(await _applied(root, clusters), WorkbenchError)
        before = _written(clusters)
        with faulty_disk(monkeypatch, base / "state", number, is_for_good=is_for_good) as disk:
            ended = await _applied(root, clusters, destroys=destroys)
        assert disk.has_failed
        await _assert_honest(root, clusters, ended, before, disk)
        raised += isinstance(ended, WorkbenchError)
        ended_badly += not isinstance(ended, WorkbenchError)
        shutil.rmtree(base)
    assert raised and ended_badly


async def test_a_plan_file_is_there_and_whole_or_its_saving_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shop(tmp_path / "repo")
    out = tmp_path / "plans" / "saved"
    out.parent.mkdir()
    async with session(root, Clusters("hz")) as opened:
        plan = await opened.plan(opened.select("web/dev"))
        for number in range(50):
            with faulty_disk(monkeypatch, out.parent, number) as disk:
                try:
                    opened.save_plan(plan, out)
                    said = True
                except WorkbenchError:
                    said = False
            assert said is not disk.has_failed
            if out.exists():
                assert (await opened.load_plan(out)).id == plan.id, "an older or newer file is whole"
            if not disk.has_failed:
                break
        assert number > 2 and out.exists()
        assert [each.name for each in out.parent.iterdir()] == ["saved"], "nothing is left beside it"
