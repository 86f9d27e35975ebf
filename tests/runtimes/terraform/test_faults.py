"""What goes wrong around an apply: others at work, signals, crashes, and the end of the workbench itself."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import (
    Moved,
    Overloaded,
    PlannedAction,
    ResourceFailed,
    ResourceFinished,
    ResourceStarted,
    RuntimeFailure,
    Unreachable,
    WorkspacePlan,
    WorkspacePlanRequest,
)
from runtimes.terraform import record
from runtimes.terraform.process import ProcessMark
from tests.runtimes.terraform.practice import (
    TERRAFORM,
    Place,
    actions,
    anything,
    bucket,
    database,
    network,
    texts_in,
    until,
)

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]

WORKBENCH = """
import asyncio, json, sys
from pathlib import Path
from runtimes.base import WorkspacePlanRequest
from runtimes.terraform.runtime import TerraformRuntime
from tests.runtimes.terraform.practice import anything, bucket

async def main():
    settings = json.loads(sys.argv[1])
    request = WorkspacePlanRequest(tuple(bucket(name) for name in sys.argv[2:]))
    async with TerraformRuntime.connect(**settings).apply_all(request, anything) as run:
        async for report in run:
            print(type(report).__name__, report.id.name, flush=True)

asyncio.run(main())
"""


async def workbench(place: Place, *names: str) -> asyncio.subprocess.Process:
    """Starts another workbench that applies buckets, and waits until it has begun with one."""
    settings = {**place.settings, "folder": str(place.settings["folder"])}
    settings["mirrors"] = [str(each) for each in place.settings["mirrors"]]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        WORKBENCH,
        json.dumps(settings),
        *names,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        assert (await process.stdout.readline()).startswith(b"ResourceStarted")
    return process


async def ended(process: asyncio.subprocess.Process) -> int:
    async with asyncio.timeout(30):
        await process.communicate()
    assert process.returncode is not None
    return process.returncode


def slow(seconds: float, **more: Any) -> dict[str, Any]:
    return {"operation": "create", "latency_seconds": seconds, **more}


def running(place: Place) -> ProcessMark:
    mark = record.load(place.folder).process
    assert mark is not None
    return mark


async def test_a_workspace_that_another_works_in_is_busy(place: Place) -> None:
    place.order(slow(3))
    other = await workbench(place, "invoices")
    with pytest.raises(Overloaded, match=rf"process {other.pid}, which applies since"):
        await place.another(lock_timeout_seconds=0.2).survey(WorkspacePlanRequest((bucket("invoices"),)))
    assert await ended(other) == 0
    assert actions(await place.plan(bucket("invoices"))) == {"invoices": PlannedAction.NONE}


async def test_a_state_that_another_terraform_has_locked_says_who(place: Place) -> None:
    await place.plan(bucket("invoices"))
    place.order(slow(3))
    environment = {**os.environ, **place.settings["environment"], "TF_CLI_CONFIG_FILE": str(place.folder.cli_config)}
    by_hand = await asyncio.create_subprocess_exec(
        TERRAFORM or "terraform",
        "apply",
        "-auto-approve",
        cwd=place.folder.path,
        env=environment,
        stdout=asyncio.subprocess.DEVNULL,
    )
    await until((place.folder.path / ".terraform.tfstate.lock.info").exists, "the lock")
    with pytest.raises(Overloaded) as raised:
        await place.another(lock_timeout_seconds=0.1).survey(WorkspacePlanRequest((bucket("invoices"),)))
    assert "@" in str(raised.value) and "20" in str(raised.value), "who and since when"
    assert await by_hand.wait() == 0
    assert actions(await place.plan(bucket("invoices"))) == {"invoices": PlannedAction.NONE}


async def test_a_plan_that_the_state_has_left_behind_is_not_applied(place: Place) -> None:
    await place.apply(bucket("invoices"))

    def accept(plan: WorkspacePlan) -> None:
        document = json.loads(place.folder.state.read_bytes())
        place.folder.state.write_text(json.dumps({**document, "serial": document["serial"] + 1}))

    with pytest.raises(Moved):
        async with place.runtime.apply_all(WorkspacePlanRequest((bucket("receipts"),)), accept):
            raise AssertionError("it was begun")
    assert place.has("bucket") == {"invoices"}
    assert not place.folder.plan.exists() and not record.load(place.folder).is_open


async def test_one_interrupt_finishes_what_was_begun(place: Place) -> None:
    place.order(slow(1.5, id="a-*"))
    stack = (bucket("a-1"), bucket("a-2"), network("main"), database("orders", "main"))
    place.order(slow(1.5))
    async with place.runtime.apply_all(WorkspacePlanRequest(stack), anything) as run:
        started, reports = 0, []
        async for report in run:
            reports.append(report)
            started += isinstance(report, ResourceStarted)
            if started == 3:
                started = -99
                await run.interrupt()
        live = await run.outcome()
    finished = {report.id for report in reports if isinstance(report, ResourceFinished)}
    assert finished == set(live) == {each.id for each in stack[:3]}
    assert place.has("bucket") == {"a-1", "a-2"} and not place.has("database")
    assert not record.load(place.folder).doubts
    await place.apply(*stack)
    assert place.has("database") == {"orders"}


async def test_leaving_early_interrupts_and_waits(place: Place) -> None:
    place.order(slow(1))
    async with place.runtime.apply_all(WorkspacePlanRequest((bucket("invoices"),)), anything):
        mark = running(place)
    assert not mark.is_running()
    assert place.recorded() == {"sandbox_bucket.invoices"}


async def test_cancelling_interrupts_and_waits(place: Place) -> None:
    place.order(slow(1))

    async def apply() -> None:
        async with place.runtime.apply_all(WorkspacePlanRequest((bucket("invoices"),)), anything) as run:
            async for _ in run:
                pass

    task = asyncio.create_task(apply())
    await until(lambda: place.folder.apply_events.exists() and b"apply_start" in place.folder.apply_events.read_bytes())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # terraform tells of a start before it asks the provider: interrupted in between it makes nothing
    assert place.recorded() == {f"sandbox_bucket.{name}" for name in place.has("bucket")}
    assert not record.load(place.folder).is_open


@pytest.mark.parametrize("is_made", [False, True], ids=["before it was made", "after it was made"])
async def test_two_interrupts_stop_at_once_and_what_was_made_is_found(place: Place, is_made: bool) -> None:
    place.order(slow(4, times=2))
    stack = (bucket("invoices"), network("main"))
    async with place.runtime.apply_all(WorkspacePlanRequest(stack), anything) as run:
        reports = []
        async for report in run:
            reports.append(report)
            if len(reports) == 2:
                await _until_under_way(place, is_made=is_made)
                await run.interrupt(at_once=True)
    failed = [report for report in reports if isinstance(report, ResourceFailed)]
    assert {each.id for each in failed} == {each.id for each in stack}
    await nothing_exists_twice(place, *stack)


@pytest.mark.parametrize("is_made", [False, True], ids=["before it was made", "after it was made"])
async def test_terraform_is_killed(place: Place, is_made: bool) -> None:
    place.order(slow(4, times=2))
    stack = (bucket("invoices"), network("main"))
    async with place.runtime.apply_all(WorkspacePlanRequest(stack), anything) as run:
        reports = []
        async for report in run:
            reports.append(report)
            if len(reports) == 2:
                await _until_under_way(place, is_made=is_made)
                os.kill(running(place).pid, signal.SIGKILL)
        assert await run.outcome() == {}
    failed = [report for report in reports if isinstance(report, ResourceFailed)]
    assert {each.id for each in failed} == {each.id for each in stack}
    for each in failed:
        assert isinstance(each.error, Unreachable) and each.error.is_uncertain
        assert "ended by signal 9" in str(each.error)
    assert {each.id for each in record.load(place.folder).doubts} == {each.id for each in stack}
    assert not place.folder.plan.exists() and not place.folder.apply_events.exists()
    plan = await nothing_exists_twice(place, *stack)
    assert {each.action for each in plan.resources} == {PlannedAction.IMPORT if is_made else PlannedAction.CREATE}
    assert bool(plan.findings) == is_made


async def _until_under_way(place: Place, *, is_made: bool) -> None:
    """Waits until the provider has begun both acts of a fault with `times: 2`, or has made both and not yet said so."""

    def has_come() -> bool:
        content = place.world.content()
        return content.faults[0]["times"] == 0 and (not is_made or sum(map(len, content.objects.values())) == 2)

    await until(has_come, "both acts")


async def nothing_exists_twice(place: Place, *stack: Any) -> WorkspacePlan:
    """Plans and applies again; the world is then as it should be, and terraform knows all of it."""
    plan = await place.plan(*stack)
    reports, live = await place.apply(*stack)
    assert not [report for report in reports if isinstance(report, ResourceFailed)]
    assert set(live) == {each.id for each in stack}
    assert not record.load(place.folder).doubts
    content = place.world.content()
    assert sum(len(objects) for objects in content.objects.values()) == len(stack)
    assert set(actions(await place.plan(*stack)).values()) == {PlannedAction.NONE}
    return plan


async def test_a_killed_workbench_leaves_terraform_to_finish(place: Place) -> None:
    place.order(slow(2))
    other = await workbench(place, "invoices", "receipts")
    mark = running(place)
    other.kill()
    assert await ended(other) == -signal.SIGKILL
    assert mark.is_running()
    with pytest.raises(Overloaded, match=rf"still applying .*process {mark.pid}.* 0 of 2 steps"):
        await place.another(lock_timeout_seconds=0.1).survey(WorkspacePlanRequest((bucket("invoices"),)))
    plan = await place.another(lock_timeout_seconds=20).survey(
        WorkspacePlanRequest((bucket("invoices"), bucket("receipts")))
    )
    assert set(actions(plan).values()) == {PlannedAction.NONE}
    assert not plan.findings and not record.load(place.folder).is_open


async def test_both_are_killed(place: Place) -> None:
    place.order(slow(4, times=2))
    other = await workbench(place, "invoices", "receipts")
    mark = running(place)
    other.kill()
    await ended(other)
    await _until_under_way(place, is_made=True)
    os.kill(mark.pid, signal.SIGKILL)
    await until(lambda: not mark.is_running())
    assert texts_in(place.folder.path, ["apply_start"]) == ["apply.jsonl"]
    await nothing_exists_twice(place, bucket("invoices"), bucket("receipts"))
    await until(lambda: not _has_members(mark.pid))  # one that was killed is there until the system has seen to it


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("when", ["before", "after"])
async def test_the_provider_crashes(place: Place, when: str) -> None:
    place.order({"operation": "create", "type": "sandbox_bucket", "crash": when, "times": 1})
    stack = (bucket("invoices"),)
    reports, live = await place.apply(*stack)
    failed = [report for report in reports if isinstance(report, ResourceFailed)]
    assert [each.id for each in failed] == [stack[0].id] and live == {}
    plan = await nothing_exists_twice(place, *stack)
    assert actions(plan) == {"invoices": PlannedAction.IMPORT if when == "after" else PlannedAction.CREATE}


async def test_what_was_left_by_a_plan_that_was_killed_is_swept(place: Place) -> None:
    await place.plan(bucket("invoices"))
    place.folder.plan.write_text("holds secrets")
    place.folder.plan_events.write_text("{}")
    await place.plan(bucket("invoices"))
    assert not place.folder.plan.exists() and not place.folder.plan_events.exists()


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", "{}", '{"process": {"pid": 1}, "creations": [{}], "ids": {}, "doubts": []}']
)
async def test_a_record_of_an_apply_that_is_none_is_told(place: Place, damage: str) -> None:
    await place.apply(bucket("invoices"))
    place.folder.run.write_text(damage)
    with pytest.raises(RuntimeFailure, match="what the last apply did is not known") as raised:
        await place.plan(bucket("invoices"))
    assert raised.value.subject == str(place.folder.run) and "move the file away" in raised.value.hint


async def test_a_state_that_is_not_whole_is_told(place: Place) -> None:
    await place.apply(bucket("invoices"))
    place.folder.state.write_text('{"version": 4, "resources": [')
    place.folder.state_copy.unlink()
    with pytest.raises(RuntimeFailure, match="the state can't be read") as raised:
        await place.plan(bucket("invoices"))
    assert "backup" in raised.value.hint


async def test_a_state_that_terraform_could_not_write_is_taken_back(place: Place) -> None:
    await place.apply(bucket("invoices"))
    document = json.loads(place.folder.state.read_bytes())
    place.folder.rescued_state.write_text(json.dumps({**document, "serial": document["serial"] + 1}))
    place.folder.state.write_text(json.dumps({**document, "resources": []}))
    assert actions(await place.plan(bucket("invoices"))) == {"invoices": PlannedAction.NONE}
    assert not place.folder.rescued_state.exists()
