"""Moving a state to another backend with the real terraform: nothing that is there already is written over."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from runtimes.base import Misconfigured, PlannedAction, RuntimeFailure, StateKeeper, WorkspacePlanRequest
from runtimes.terraform.runtime import TerraformRuntime
from tests.runtimes.terraform.http_backend import Store, runtime
from tests.runtimes.terraform.practice import Place, actions, bucket

pytestmark = pytest.mark.slow

REQUEST = WorkspacePlanRequest((bucket("invoices"),))


def local(place: Place) -> TerraformRuntime:
    return place.another()


async def all_is_there(workspace: TerraformRuntime) -> None:
    assert set(actions(await workspace.survey(REQUEST)).values()) == {PlannedAction.NONE}


async def test_a_state_moves_there_and_back_whole(place: Place, store: Store) -> None:
    await place.apply(bucket("invoices"))
    before = json.loads(place.folder.state.read_bytes())
    remote = runtime(place, store)
    assert isinstance(remote, StateKeeper)
    moved = await remote.move_state(REQUEST)
    assert not moved.was_there and moved.record.where == "backend http"
    assert [each.live.identity.uid for each in moved.record.entries] == ["invoices"]
    assert json.loads(store.state)["resources"] == before["resources"] and not store.lock
    assert moved.backup is not None and json.loads(moved.backup.read_bytes())["resources"] == before["resources"]
    assert (await remote.move_state(REQUEST)).was_there, "a second time there is nothing to do"
    await all_is_there(remote)

    back = await local(place).move_state(REQUEST)
    assert not back.was_there and place.recorded() == {"sandbox_bucket.invoices"}
    await all_is_there(local(place))


async def test_what_is_there_already_is_not_written_over(place: Place, store: Store) -> None:
    await place.apply(bucket("invoices"))
    own = json.loads(place.folder.state.read_bytes())
    for there in (
        {**own, "lineage": "8a1f0000-0000-0000-0000-000000000000", "serial": 99, "resources": []},
        {**json.loads(json.dumps(own).replace('"invoices"', '"others"')), "lineage": "8a1f"},
        {**own, "serial": own["serial"] - 1},
    ):
        store.state = json.dumps(there).encode()
        with pytest.raises(Misconfigured, match="has a state already") as refused:
            await runtime(place, store).move_state(REQUEST)
        assert "not written over" in refused.value.message
        assert json.loads(store.state) == there and place.recorded() == {"sandbox_bucket.invoices"}
        await all_is_there(local(place))


@pytest.mark.parametrize("lineage", ["", "8a1f0000-0000-0000-0000-000000000000"], ids=["same", "given anew"])
async def test_a_state_that_a_colleague_moved_is_taken_as_it_is(place: Place, store: Store, lineage: str) -> None:
    await place.apply(bucket("invoices"))
    own = json.loads(place.folder.state.read_bytes())
    store.state = json.dumps({**own, "serial": own["serial"] + 4, "lineage": lineage or own["lineage"]}).encode()
    asked = len(store.asked)
    moved = await runtime(place, store).move_state(REQUEST)
    assert moved.was_there and moved.record.serial == own["serial"] + 4
    assert "POST" not in store.asked[asked:], "nothing was written"
    await all_is_there(runtime(place, store))


async def test_what_was_applied_here_after_a_move_that_a_kill_left_in_both_places_is_not_created_again(
    place: Place, store: Store
) -> None:
    """Each of the two states went on by itself: the one that is taken lacks what only the other one has."""
    await place.apply(bucket("invoices"))
    half = json.loads(place.folder.state.read_bytes())
    await place.apply(bucket("invoices"), bucket("reports"))
    store.state = json.dumps({**half, "serial": half["serial"] + 9}).encode()  # as a colleague goes on with the copy
    remote, both = runtime(place, store), WorkspacePlanRequest((bucket("invoices"), bucket("reports")))
    with pytest.raises(RuntimeFailure, match=r"lacks 1 of 2 resources \(.*reports"):
        await remote.move_state(both)
    with pytest.raises(RuntimeFailure, match="lacks 1 of 2"):
        await remote.move_state(both)  # it is not well for having been tried once
    with pytest.raises(RuntimeFailure, match="another copy than the one that was read last"):
        await remote.record(both)
    assert actions(await remote.survey(both))["reports"] is PlannedAction.IMPORT, "it exists already"


async def test_a_move_that_was_killed_is_told_in_both_places_until_it_is_settled(place: Place, store: Store) -> None:
    await place.apply(bucket("invoices"))
    store.keeps_waiting = threading.Event()
    remote = runtime(place, store)
    moving = asyncio.create_task(remote.move_state(REQUEST))
    while "POST" not in store.asked:  # noqa: ASYNC110 - it is another thread that asks
        await asyncio.sleep(0.02)
    os.kill(working_in(place), signal.SIGKILL)
    store.keeps_waiting.set()
    with pytest.raises(RuntimeFailure) as killed:
        await moving
    assert "did not end: it may be in both" in killed.value.hint and "wb state migrate" in killed.value.hint
    store.keeps_waiting = None
    assert store.state and place.recorded() == {"sandbox_bucket.invoices"}
    assert "to backend http was begun and did not end" in (await local(place).record(REQUEST)).elsewhere
    (caution,) = (await local(place).survey(REQUEST)).cautions
    assert "did not end" in caution, "who goes on here has to know that somebody may go on there"
    await remote.unlock_state(REQUEST, json.loads(store.lock)["ID"])
    assert (await remote.move_state(REQUEST)).was_there
    assert not (await remote.record(REQUEST)).elsewhere and not (await remote.survey(REQUEST)).cautions
    await all_is_there(remote)


def working_in(place: Place) -> int:
    """The terraform that works in the folder of a place."""
    for each in os.listdir("/proc"):
        with suppress(OSError):
            if each.isdigit() and os.readlink(f"/proc/{each}/cwd") == str(place.folder.path):
                return int(each)
    raise AssertionError("nothing works there")


async def test_a_place_that_fails_or_is_torn_leaves_the_state_where_it_is(place: Place, store: Store) -> None:
    await place.apply(bucket("invoices"))
    store.state = b'{"version": 4, "serial"'
    with pytest.raises(RuntimeFailure):
        await runtime(place, store).move_state(REQUEST)
    store.state, store.refuses = b"", True
    with pytest.raises(RuntimeFailure):
        await runtime(place, store).move_state(REQUEST)
    assert place.recorded() == {"sandbox_bucket.invoices"} and not store.state
    await all_is_there(local(place))
    assert not list(place.folder.path.glob("looking-*")), "nothing is left behind"


async def test_a_state_elsewhere_is_read_from_a_machine_that_never_was_there(place: Place, store: Store) -> None:
    await place.apply(bucket("invoices"))
    store.state = place.folder.state.read_bytes()
    fresh = runtime(place, store, folder=place.folder.path.with_name("another machine"))
    found = await fresh.record(REQUEST)
    assert [each.address for each in found.entries] == ["sandbox_bucket.invoices"], "not: nothing is there"


async def test_a_lock_is_taken_away_by_its_id(place: Place, store: Store) -> None:
    remote = runtime(place, store, lock_timeout_seconds=0.1)
    await remote.survey(REQUEST)
    store.lock = json.dumps({"ID": "8f3c", "Who": "ana@laptop", "Created": "2026-11-21T10:00:00Z"}).encode()
    await remote.unlock_state(REQUEST, "8f3c")
    assert not store.lock
    with pytest.raises(RuntimeFailure, match="there is no lock to take away"):
        await local(place).unlock_state(REQUEST, "8f3c")


async def test_a_plan_with_another_file_as_backend_moves_nothing_and_says_what_does(place: Place) -> None:
    def at(name: str) -> TerraformRuntime:
        path = str(place.folder.path.with_name(name))
        return place.another(backend={"type": "local", "config": {"path": path}})

    await place.apply(bucket("invoices"))
    former = str(place.folder.state)
    for name in ("one.tfstate", "two.tfstate"):
        new, file = at(name), place.folder.path.with_name(name)
        for look in (new.survey(REQUEST), new.record(REQUEST), new.survey(replace(REQUEST, accepts_lost=True))):
            with pytest.raises(Misconfigured, match="the backend has changed: the state is in") as refused:
                await look
            assert former in refused.value.message and str(file) in refused.value.message
            assert "wb state migrate" in refused.value.hint
        assert not file.exists(), "a plan writes nothing"
        assert not (await new.move_state(REQUEST)).was_there
        await all_is_there(new)
        former = str(file)
    file.rename(file.with_name("three.tfstate"))  # as somebody does it by hand
    with pytest.raises(Misconfigured, match="Backend configuration changed"):
        await at("three.tfstate").survey(REQUEST)  # as terraform says by itself
    assert (await at("three.tfstate").move_state(REQUEST)).was_there
    await all_is_there(at("three.tfstate"))


async def test_a_file_that_older_versions_saw_is_known_by_what_terraform_noted(place: Place) -> None:
    await place.apply(bucket("invoices"))
    seen = json.loads(place.folder.seen.read_bytes())
    place.folder.seen.write_text(json.dumps({name: each for name, each in seen.items() if name != "place"}))
    new = place.folder.path.with_name("new.tfstate")
    with pytest.raises(Misconfigured, match="the backend has changed"):
        await place.another(backend={"type": "local", "config": {"path": str(new)}}).survey(REQUEST)
    assert not new.exists()
