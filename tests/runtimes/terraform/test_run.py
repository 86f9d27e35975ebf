"""What is told of an apply: from events to reports, and the patience with what does not end."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from runtimes.base import (
    Finding,
    PlannedAction,
    Prediction,
    Report,
    Resource,
    ResourceFailed,
    ResourceFinished,
    ResourceId,
    ResourcePlan,
    ResourceProgress,
    ResourceStarted,
    RuntimeType,
    TerraformId,
    Unreachable,
    WorkspacePlan,
)
from runtimes.terraform import configuration
from runtimes.terraform.adoption import Adoption, unasked
from runtimes.terraform.events import ApplyHook, Diagnosed, Event, Follower, Phase, Provisioned
from runtimes.terraform.process import Command, start
from runtimes.terraform.record import Creation, Doubt
from runtimes.terraform.run import ApplyRun, Left, Reporter
from tests.runtimes.terraform.practice import bucket, until

ONE, OTHER = bucket("one"), bucket("other")
ADDRESSES = {"one": "sandbox_bucket.one", "other": "sandbox_bucket.other"}


def reporter(**actions: PlannedAction) -> Reporter:
    written = configuration.build([ONE, OTHER], secrets=frozenset(["canary"]))
    plans = [
        ResourcePlan(Prediction(each.id, None, {}), actions.get(str(each.id).rpartition(":")[2], PlannedAction.CREATE))
        for each in (ONE, OTHER)
    ]
    return Reporter(WorkspacePlan(tuple(plans)), written, "terraform")


def hook(phase: Phase, name: str = "one", action: str = "create") -> ApplyHook:
    return ApplyHook(phase, ADDRESSES.get(name, name), action, "2026-11-21T14:04:52Z")


def told(reporter: Reporter, *events: Event) -> list[Report]:
    """Feeds events, one each second."""
    return [report for second, event in enumerate(events) for report in reporter.reports(event, float(second))]


def error(summary: str, address: str = "", detail: str = "") -> Diagnosed:
    content = {"severity": "error", "summary": summary, "detail": detail}
    return Diagnosed({**content, "address": address} if address else content)


def test_a_resource_is_begun_and_done() -> None:
    reports = told(reporter(), hook(Phase.STARTED), hook(Phase.PROGRESS), hook(Phase.COMPLETED))
    assert reports == [ResourceStarted(ONE.id), ResourceFinished(ONE.id, 2.0)]


@pytest.mark.parametrize("order", [("delete", "create"), ("create", "delete")])
def test_a_replacement_is_done_when_both_its_parts_are(order: tuple[str, str]) -> None:
    events = [hook(phase, action=action) for action in order for phase in (Phase.STARTED, Phase.COMPLETED)]
    reports = told(reporter(one=PlannedAction.REPLACE), *events)
    assert [type(each) for each in reports] == [ResourceStarted, ResourceProgress, ResourceFinished]


def test_what_is_not_in_the_plan_is_not_told() -> None:
    assert told(reporter(), hook(Phase.STARTED, "terraform_data.elsewhere"), hook(Phase.COMPLETED, "")) == []


def test_a_long_wait_is_told_now_and_then() -> None:
    found = reporter()
    told(found, hook(Phase.STARTED))
    assert found.progress(1.0) == []
    assert found.progress(2.5) == [ResourceProgress(ONE.id, 2.5)]
    assert found.progress(3.0) == []
    assert found.progress(5.0) == [ResourceProgress(ONE.id, 5.0)]


def test_what_a_provisioner_writes_is_told_without_secrets() -> None:
    events = hook(Phase.STARTED), Provisioned(ADDRESSES["one"], "login with canary done")
    reports = told(reporter(), *events)
    assert isinstance(reports[1], ResourceProgress)
    assert "canary" not in reports[1].message and "login with" in reports[1].message


def test_a_failure_is_told_with_its_reason_when_all_is_over() -> None:
    found = reporter()
    reports = told(found, hook(Phase.STARTED), hook(Phase.ERRORED), error("Quota exceeded", ADDRESSES["one"]))
    assert [type(each) for each in reports] == [ResourceStarted, ResourceProgress]
    failed = found.ending(1, 9.0)
    assert len(failed) == 1 and isinstance(failed[0], ResourceFailed)
    assert (failed[0].id, failed[0].seconds) == (ONE.id, 9.0)
    assert "Quota exceeded" in str(failed[0].error)
    assert found.failure(1) is None


LOST = "while it was at this resource: what became of it is not known"
HALF = {
    "delete": "the old one is deleted, and the new one was not begun",
    "create": "the new one is there, and the old one was not deleted yet",
}


@pytest.mark.parametrize("first", ["delete", "create"])
@pytest.mark.parametrize(
    ("code", "was_interrupted", "is_second_begun", "fails", "said"),
    [
        (1, False, False, "other", "{half}, after sandbox:sandbox:sandbox_bucket:other failed"),
        (1, True, False, "", "{half}, before terraform was stopped"),
        (1, False, False, "", "{half}, before terraform ended with code 1"),
        (1, True, True, "", f"terraform was stopped {LOST}"),
        (1, False, True, "", f"terraform ended with code 1 {LOST}"),
        (-9, False, False, "", f"terraform was ended by signal 9 {LOST}"),
    ],
)  # fmt: skip
def test_of_a_replacement_that_was_not_finished_is_said_what_its_events_say(
    first: str, code: int, was_interrupted: bool, is_second_begun: bool, fails: str, said: str
) -> None:
    found = reporter(one=PlannedAction.REPLACE)
    second = "create" if first == "delete" else "delete"
    told(found, hook(Phase.STARTED, action=first), hook(Phase.COMPLETED, action=first))
    if is_second_begun:
        told(found, hook(Phase.STARTED, action=second))
    if fails:
        told(found, error("Quota exceeded", ADDRESSES[fails]))
    failed = [each for each in found.ending(code, 9.0, was_interrupted=was_interrupted) if each.id == ONE.id]
    (report,) = [each for each in failed if isinstance(each, ResourceFailed)]
    assert report.error.message == said.format(half=HALF[first])
    is_uncertain = isinstance(report.error, Unreachable) and report.error.is_uncertain
    assert is_uncertain is said.endswith(LOST)


def test_an_error_of_what_was_never_begun_is_its_own() -> None:
    found = reporter()
    told(found, error("Invalid value", ADDRESSES["other"]))
    assert [(type(each), each.id) for each in found.ending(1, 0.0)] == [
        (ResourceStarted, OTHER.id),
        (ResourceFailed, OTHER.id),
    ]


def test_what_changes_the_state_alone_is_done_without_terraform_saying_so() -> None:
    found = reporter(one=PlannedAction.IMPORT, other=PlannedAction.NONE)
    assert found.ending(0, 0.0) == [ResourceStarted(ONE.id), ResourceFinished(ONE.id, 0.0)]
    assert reporter(one=PlannedAction.IMPORT).ending(1, 0.0) == []


def test_an_apply_that_could_not_begin_has_a_failure_of_its_own() -> None:
    found = reporter()
    told(found, error("Saved plan is stale", detail="the state was changed"))
    assert found.ending(1, 0.0) == []
    assert found.failure(1) is not None


async def nothing(told: tuple[Event, ...]) -> Left:
    return Left({})


async def test_who_does_not_stop_is_killed_after_a_minute_of_silence(tmp_path: Path) -> None:
    now = [0.0]
    command = Command(("/bin/sh", "-c", "trap '' INT; echo up > up; while :; do sleep 1; done"), os.environ, tmp_path)
    running = await start(command, output=tmp_path / "events", errors=tmp_path / "errors")
    run = ApplyRun(running, Follower(tmp_path / "events"), reporter(), nothing, lambda: now[0])
    async with asyncio.timeout(20):
        await until((tmp_path / "up").exists, "the start")
        await run.interrupt()
        now[0] = 1000.0
        await asyncio.sleep(0.2)
        assert running.code is None, "one interrupt is waited for as long as it takes"
        await run.interrupt(at_once=True)
        now[0] += 59
        await asyncio.sleep(0.2)
        assert running.code is None
        now[0] += 2
        assert await run.outcome() == {}
    assert await running.wait() == -signal.SIGKILL
    await running.mark.end_leftovers()


DOUBT = Doubt(
    Creation(TerraformId("sandbox", "sandbox", "sandbox_bucket", "one"), "sandbox_bucket.one", ("a", "b")), "then"
)


def address(id_: ResourceId) -> str:
    return f"sandbox_bucket.{str(id_).rpartition(':')[2]}"


def absent(name: str) -> Finding:
    detail = f'While attempting to import an existing object to "sandbox_bucket.{name}", the provider found nothing.'
    return Finding(True, "Cannot import non-existent remote object", detail)


def test_one_id_after_the_other_is_tried() -> None:
    first = Adoption.of([DOUBT], [ONE])
    assert first.chosen == {ONE.id: "a"}
    assert first.after([], address) is first
    assert first.after([Finding(True, "too large", id=OTHER.id)], address) is first
    second = first.after([absent("one")], address)
    assert second.chosen == {ONE.id: "b"} and not second.not_there
    assert "it is there as b" in second.findings[0].message
    last = second.after([absent("one")], address)
    assert last.not_there == {ONE.id} and not last.chosen and not last.findings


def test_what_cannot_be_found_out_is_told_and_stays_a_doubt() -> None:
    tried = Adoption.of([DOUBT], [ONE]).after([Finding(True, "Several are called a", id=ONE.id)], address)
    last = tried.after([absent("one")], address)
    assert not last.not_there
    assert "could not be found out whether it exists: Several are called a" in last.findings[0].message
    assert "importId" in last.findings[0].detail


def test_an_error_that_names_nothing_ends_all_looking() -> None:
    given_up = Adoption.of([DOUBT], [ONE]).after([Finding(True, "provider exploded")], address)
    assert (given_up.chosen, given_up.not_there) == ({}, frozenset())
    assert "provider exploded" in given_up.findings[0].message


FILE = TerraformId("hashicorp", "local", "local_file", "a")
ZONE = TerraformId("acme", "dns", "dns_zone", "a")


def doubted(*ids: TerraformId) -> Adoption:
    doubts = [Doubt(Creation(each, f"{each.resource_type}.{each.name}", ("x",)), "then") for each in ids]
    return Adoption.of(doubts, [Resource(each, RuntimeType.TERRAFORM, {}) for each in ids])


def tried(adoption: Adoption, refused: frozenset[str], says: str) -> Adoption:
    """Attempts until nothing is left to try; importing a type that is refused fails with an error that names no id."""
    for _ in range(20):
        types = {each.resource_type for each in adoption.chosen if isinstance(each, TerraformId)} & refused
        errors = [Finding(True, says.format(type=each)) for each in sorted(types)]
        further = adoption.after(errors, lambda id_: f"{id_.resource_type}.{id_.name}")  # type: ignore[union-attr]  # all are
        if further is adoption:
            return adoption
        adoption = further
    raise AssertionError("it does not end")


@pytest.mark.parametrize("says", ["resource {type} doesn't support import", "this can't be imported"])
@pytest.mark.parametrize(
    "refused",
    [(), ("local_file",), ("dns_zone",), ("local_file", "dns_zone"), ("local_file", "sandbox_bucket", "dns_zone")],
)
def test_what_can_be_imported_is_found_beside_what_cannot(refused: tuple[str, ...], says: str) -> None:
    ids = (FILE, DOUBT.creation.id, ZONE)
    found = tried(doubted(*ids), frozenset(refused), says)
    assert found.found == {each for each in ids if each.resource_type not in refused}
    assert found.unsettled == {each for each in ids if each.resource_type in refused}
    assert found.not_there == frozenset()


def test_what_nothing_is_known_of_is_not_looked_for() -> None:
    nameless = Doubt(Creation(DOUBT.creation.id, "sandbox_bucket.one"), "then")
    found = Adoption.of([nameless], [ONE])
    assert (found.chosen, found.not_there) == ({}, frozenset())
    assert "nothing it could be found by is known" in found.findings[0].message


def test_what_has_an_import_id_is_looked_for_by_that_alone() -> None:
    known = bucket("one", extensions={"importId": "x"})
    assert Adoption.of([DOUBT], [known]).doubts == {}


def test_a_doubt_about_what_the_stack_no_longer_has_is_told() -> None:
    assert unasked([DOUBT], [ONE]) == ()
    (finding,) = unasked([DOUBT], [OTHER])
    assert "the stack no longer has it" in finding.message and "as a or b" in finding.detail
