"""A state that is not a file in the folder: over HTTP, on this machine, as terraform's `http` backend has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtimes.base import (
    Contact,
    Observation,
    Overloaded,
    PlannedAction,
    ReadRequest,
    ResourceFailed,
    RuntimeFailure,
    Status,
    WatchRequest,
    WorkspacePlanRequest,
)
from tests.runtimes.terraform.http_backend import Store, runtime
from tests.runtimes.terraform.practice import Place, actions, anything, bucket

pytestmark = pytest.mark.slow


async def test_a_state_elsewhere_is_planned_applied_and_read(place: Place, store: Store) -> None:
    remote, request = runtime(place, store), WorkspacePlanRequest((bucket("invoices"), bucket("receipts")))
    assert set(actions(await remote.survey(request)).values()) == {PlannedAction.CREATE}
    async with remote.apply_all(request, anything) as run:
        assert len([report async for report in run]) == 4
        assert set(await run.outcome()) == {each.id for each in request.resources}
    assert not place.folder.state.exists() and not store.lock
    assert len(json.loads(store.state)["resources"]) == 2
    assert set(actions(await remote.survey(request)).values()) == {PlannedAction.NONE}
    assert await remote.read(ReadRequest(bucket("invoices").id)) is not None
    async with remote.watch(WatchRequest((bucket("invoices").id,))) as reports:
        contact, seen = await anext(reports), await anext(reports)
        assert isinstance(contact, Contact) and contact.lost is None and contact.answered_at is not None
        assert isinstance(seen, Observation) and seen.health.status is Status.CURRENT


async def test_a_lock_that_another_machine_holds_is_waited_for_and_told(place: Place, store: Store) -> None:
    """Of this backend, terraform tells itself instead of the holder, and of that the id alone."""
    remote, request = runtime(place, store, lock_timeout_seconds=0.1), WorkspacePlanRequest((bucket("invoices"),))
    await remote.survey(request)
    store.lock = json.dumps({"ID": "8f3c", "Who": "ana@laptop", "Created": "2026-11-21T10:00:00Z"}).encode()
    with pytest.raises(
        Overloaded, match=r"the state is locked by somebody: .* the id of the lock alone, 8f3c"
    ) as raised:
        await remote.survey(request)
    assert "@" not in raised.value.message and raised.value.hint.endswith("wb state unlock STACK 8f3c")
    assert json.loads(store.lock)["ID"] == "8f3c"


async def test_a_backend_that_fails_is_told(place: Place, store: Store) -> None:
    remote, request = runtime(place, store), WorkspacePlanRequest((bucket("invoices"),))
    await remote.survey(request)
    store.refuses = True
    with pytest.raises(RuntimeFailure, match="asked to read its state and ended with code 1: Failed to refresh state"):
        await remote.survey(request)


@pytest.mark.parametrize(
    "says",
    [
        (200, b"<html>please log in</html>"),
        (200, b'{"version": 4, "serial": 1, "resour'),
        (200, b'{"version": 5, "serial": 1, "lineage": "x"}'),
        (401, b"who are you"),
        (503, b""),
    ],
    ids=["a page", "half a state", "a newer state", "401", "503"],
)
async def test_what_a_backend_answers_instead_of_a_state_is_no_state_of_nothing(
    place: Place, store: Store, says: tuple[int, bytes]
) -> None:
    remote, request = runtime(place, store), WorkspacePlanRequest((bucket("invoices"),))
    async with remote.apply_all(request, anything) as run:
        assert len(await run.outcome()) == 1
    store.says = says
    for asked in (remote.survey(request), remote.record(request), remote.owned({})):
        with pytest.raises(RuntimeFailure, match="state") as raised:
            await asked
        assert raised.value.hint
    assert place.has("bucket") == {"invoices"}


@pytest.mark.parametrize("takes", ["nothing", "in vain"])
async def test_what_was_done_and_is_in_no_state_is_not_told_as_done(place: Place, store: Store, takes: str) -> None:
    remote, request = runtime(place, store), WorkspacePlanRequest((bucket("invoices"),))
    store.takes = takes
    async with remote.apply_all(request, anything) as run:
        reports = [report async for report in run]
    assert place.has("bucket") == {"invoices"} and store.state == b""
    last = reports[-1]
    assert isinstance(last, ResourceFailed) and "it was done, and the state does not say so" in last.error.message
    assert ("HTTP error: 403" in last.error.message) == (takes == "nothing")

    if takes == "nothing":
        with pytest.raises(RuntimeFailure, match="take back the state it could not write"):
            await remote.survey(request)
    store.takes = "all"
    again = await remote.survey(request)
    found = PlannedAction.NONE if takes == "nothing" else PlannedAction.IMPORT
    assert actions(again) == {"invoices": found}
    assert len(again.findings) == (0 if takes == "nothing" else 1), "what is in the state again is no doubt any more"
    async with remote.apply_all(request, anything) as run:
        assert not [report async for report in run if isinstance(report, ResourceFailed)]
    assert len(json.loads(store.state)["resources"]) == 1 and place.has("bucket") == {"invoices"}


async def test_a_change_that_could_not_be_written_down_is_not_told_as_done(place: Place, store: Store) -> None:
    remote = runtime(place, store)
    async with remote.apply_all(WorkspacePlanRequest((bucket("invoices"),)), anything) as run:
        assert len(await run.outcome()) == 1
    store.takes = "nothing"
    async with remote.apply_all(WorkspacePlanRequest((bucket("invoices", versioning=True),)), anything) as run:
        reports = [report async for report in run]
    assert isinstance(reports[-1], ResourceFailed) and "HTTP error: 403" in reports[-1].error.message
    # the state has the same resources, and not what was done to them: what was left of that is all that says it
    with pytest.raises(RuntimeFailure, match="take back the state it could not write"):
        await remote.survey(WorkspacePlanRequest((bucket("invoices", versioning=True),)))
    assert place.folder.rescued_state.exists()
    store.takes = "all"
    again = await remote.survey(WorkspacePlanRequest((bucket("invoices", versioning=True),)))
    assert actions(again) == {"invoices": PlannedAction.NONE} and not place.folder.rescued_state.exists()


async def test_a_state_that_is_gone_is_lost_also_after_a_plan_has_looked_for_what_it_had(
    place: Place, store: Store
) -> None:
    remote, request = runtime(place, store), WorkspacePlanRequest((bucket("invoices"),))
    async with remote.apply_all(request, anything) as run:
        assert len(await run.outcome()) == 1
    store.state = b""
    with pytest.raises(RuntimeFailure, match="the state is nothing, and had 1 resources"):
        await remote.record(request)
    assert actions(await remote.survey(request)) == {"invoices": PlannedAction.IMPORT}
    for asked in (remote.record(request), remote.owned({}), remote.read(ReadRequest(bucket("invoices").id))):
        with pytest.raises(RuntimeFailure, match=r"the state has lost 1 resources \(sandbox:sandbox:sandbox_bucket"):
            await asked


async def test_a_state_does_not_move_to_another_backend_by_itself(place: Place, store: Store) -> None:
    await place.apply(bucket("invoices"))
    with pytest.raises(RuntimeFailure) as raised:
        await runtime(place, store).survey(WorkspacePlanRequest((bucket("invoices"),)))
    assert "wb state migrate" in raised.value.hint
    assert store.state == b"" and place.recorded() == {"sandbox_bucket.invoices"}


async def test_a_state_file_of_another_name_stays_in_the_folder(place: Place, tmp_path: Path) -> None:
    named = place.another(backend={"type": "local", "config": {"path": "shop.tfstate"}})
    request = WorkspacePlanRequest((bucket("invoices"),))
    async with named.apply_all(request, anything) as run:
        assert len(await run.outcome()) == 1
    assert (place.folder.path / "shop.tfstate").exists() and not place.folder.state.exists()
    assert set(actions(await named.survey(request)).values()) == {PlannedAction.NONE}
