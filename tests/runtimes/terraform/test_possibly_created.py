"""What an apply may have made and the state does not have is told by whoever is asked, and not only by a plan."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from pathlib import Path

import pytest

from runtimes.base import (
    Observation,
    Overloaded,
    PlannedAction,
    ReadRequest,
    Resource,
    ResourceFailed,
    RuntimeFailure,
    Status,
    WatchRequest,
    WorkspacePlanRequest,
)
from runtimes.terraform import process, record
from runtimes.terraform.runtime import TerraformRuntime
from tests.runtimes.terraform.http_backend import Store, runtime
from tests.runtimes.terraform.practice import TERRAFORM, Place, actions, anything, bucket, needs_terraform, until

pytestmark = [pytest.mark.slow, needs_terraform]

INVOICES = bucket("invoices")


async def seen_by(runtime: TerraformRuntime, resource: Resource) -> Observation:
    async with asyncio.timeout(30), runtime.watch(WatchRequest((resource.id,))) as reports:
        async for each in reports:
            if isinstance(each, Observation):
                return each
    raise AssertionError("the watch ended")


async def test_what_a_crashed_provider_may_have_made_is_told_until_it_is_known(place: Place) -> None:
    place.order({"operation": "create", "type": "sandbox_bucket", "crash": "after", "times": 1})
    await place.apply(INVOICES)
    request = WorkspacePlanRequest((INVOICES,))
    (unsure,) = (await place.runtime.record(request)).unsure
    assert (unsure.id, unsure.names) == (INVOICES.id, ("invoices",)) and unsure.since
    health = (await seen_by(place.runtime, INVOICES)).health
    assert (health.status, health.reason) == (Status.UNKNOWN, "PossiblyCreated")
    await place.apply(INVOICES)
    assert (await place.runtime.record(request)).unsure == ()
    assert (await seen_by(place.runtime, INVOICES)).health.status is Status.CURRENT


async def test_what_a_killed_terraform_may_have_made_is_unknown_before_anybody_has_looked(place: Place) -> None:
    place.order({"operation": "create", "latency_seconds": 4, "times": 1})
    task = asyncio.create_task(_begun(place))
    await until(lambda: place.has("bucket"), "the bucket")
    mark = record.load(place.folder).process
    assert mark is not None
    left = place.folder.run.read_bytes(), place.folder.apply_events.read_bytes()
    os.kill(mark.pid, signal.SIGKILL)
    await task
    # as it is where the workbench was killed, too
    place.folder.run.write_bytes(left[0])
    place.folder.apply_events.write_bytes(left[1])
    found = await seen_by(place.another(), INVOICES)
    assert (found.health.status, found.health.reason) == (Status.UNKNOWN, "PossiblyCreated")
    assert (await seen_by(place.another(), bucket("other"))).health.status is Status.NOT_FOUND


async def _begun(place: Place) -> None:
    async with place.runtime.apply_all(WorkspacePlanRequest((INVOICES,)), anything) as run:
        async for _ in run:
            pass


async def test_a_state_that_could_not_be_written_is_not_believed_by_who_only_reads_it(
    place: Place, store: Store
) -> None:
    remote, request = runtime(place, store), WorkspacePlanRequest((INVOICES,))
    store.takes = "nothing"
    async with remote.apply_all(request, anything) as run:
        assert [each async for each in run if isinstance(each, ResourceFailed)]
    for asked in (remote.read(ReadRequest(INVOICES.id)), remote.owned({})):
        with pytest.raises(RuntimeFailure, match=r"the state is not all there is: .*errored\.tfstate") as raised:
            await asked
        assert raised.value.hint == "plan: that takes it back"
    store.takes = "all"
    assert actions(await remote.survey(request)) == {"invoices": PlannedAction.NONE}
    assert await remote.read(ReadRequest(INVOICES.id)) is not None


@pytest.mark.parametrize("takes", ["all", "in vain"])
async def test_terraform_is_killed_while_it_takes_a_state_back(place: Place, store: Store, takes: str) -> None:
    """The lock that it leaves is named with its id, and what the backend had taken by then is not called another's."""
    remote, request = runtime(place, store, lock_timeout_seconds=0.2), WorkspacePlanRequest((INVOICES,))
    store.takes = "nothing"
    async with remote.apply_all(request, anything) as run:
        assert [each async for each in run if isinstance(each, ResourceFailed)]
    store.takes, store.keeps_waiting = takes, threading.Event()
    asked = len(store.asked)
    killed = asyncio.create_task(remote.survey(request))
    await until(lambda: "POST" in store.asked[asked:], "the push")
    working = [each for each, _ in process._working_in(place.folder.path)]
    (pid,) = [each for each in working if "push" in process._arguments(each)]
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(RuntimeFailure, match="ended by signal 9") as raised:
        await killed
    assert "plan again" in raised.value.hint
    store.keeps_waiting.set()
    store.keeps_waiting, store.takes = None, "all"

    lock = json.loads(store.lock)["ID"]
    with pytest.raises(Overloaded, match=rf"the state is locked by somebody: .* {lock}") as busy:
        await remote.survey(request)
    assert busy.value.hint.endswith(f"wb state unlock STACK {lock}")
    assert place.folder.rescued_state.exists() == (takes == "in vain"), "what the state has is not taken back again"
    await remote.unlock_state(request, lock)
    assert actions(await remote.survey(request)) == {"invoices": PlannedAction.NONE}
    assert not place.folder.rescued_state.exists() and len(json.loads(store.state)["resources"]) == 1


FULL = """#!/bin/sh
case "$*" in *apply*) test -e "{folder}/full" && ulimit -f {blocks};; esac
exec {terraform} "$@"
"""


def with_small_disk(place: Place, tmp_path: Path, blocks: int) -> TerraformRuntime:
    """The real terraform, which can write no file of more than so many blocks of 512 bytes while it applies."""
    path = tmp_path / "bin" / "terraform"
    path.parent.mkdir()
    path.write_text(FULL.format(folder=tmp_path, blocks=blocks, terraform=TERRAFORM))
    path.chmod(0o755)
    return place.another(binary=str(path))


@pytest.mark.parametrize("is_first", [True, False], ids=["the first apply", "a later one"])
async def test_a_disk_that_is_full_for_the_state_and_for_its_rescue_loses_nothing(
    place: Place, tmp_path: Path, is_first: bool
) -> None:
    small = with_small_disk(place, tmp_path, blocks=20)
    had = () if is_first else (bucket("receipts", tags={"a": "b" * 100}),)
    if had:
        async with small.apply_all(WorkspacePlanRequest(had), anything) as run:
            await run.outcome()
    (tmp_path / "full").touch()
    request = WorkspacePlanRequest((*had, bucket("invoices", tags={"a": "b" * 40_000})))
    async with small.apply_all(request, anything) as run:
        reports = [each async for each in run]
    last = reports[-1]
    assert isinstance(last, ResourceFailed) and "it was done, and the state does not say so" in last.error.message
    with pytest.raises(RuntimeFailure, match="the state is not all there is"):
        await small.read(ReadRequest(INVOICES.id))
    assert place.has("bucket") == {each.id.name for each in request.resources}
    (tmp_path / "full").unlink()
    planned = await small.survey(request)
    assert actions(planned) == {**{each.id.name: PlannedAction.NONE for each in had}, "invoices": PlannedAction.IMPORT}
    assert any("errored.tfstate.torn" in each for each in planned.cautions), planned.cautions
    async with small.apply_all(request, anything) as run:
        assert not [each async for each in run if isinstance(each, ResourceFailed)]
    created = [each["id"] for each in place.world.content().log if each["operation"] == "create"]
    assert len(created) == len(set(created)) == len(request.resources), "nothing was made twice"
    assert len(json.loads(place.folder.state.read_bytes())["resources"]) == len(request.resources)
    assert not (await small.survey(request)).cautions
