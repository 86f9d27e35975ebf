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
    """Of this backend, terraform tells itself instead of the holder; of others it tells who it is."""
    remote, request = runtime(place, store, lock_timeout_seconds=0.1), WorkspacePlanRequest((bucket("invoices"),))
    await remote.survey(request)
    store.lock = json.dumps({"ID": "8f3c", "Who": "ana@laptop", "Created": "2026-11-21T10:00:00Z"}).encode()
    with pytest.raises(Overloaded, match=r"the state is locked"):
        await remote.survey(request)
    assert json.loads(store.lock)["ID"] == "8f3c"


async def test_a_backend_that_fails_is_told(place: Place, store: Store) -> None:
    remote, request = runtime(place, store), WorkspacePlanRequest((bucket("invoices"),))
    await remote.survey(request)
    store.refuses = True
    with pytest.raises(RuntimeFailure, match="asked to read its state and ended with code 1: Failed to refresh state"):
        await remote.survey(request)


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
