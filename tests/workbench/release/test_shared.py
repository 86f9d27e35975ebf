"""An apply that holds its stack in a cluster: what it may write, and when it may not any more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio.to_thread
import pytest

from runtimes.base import Runtime
from tests.workbench.engine.fake_cluster import EPOCH
from tests.workbench.engine.world import STACK
from tests.workbench.release.places import AT, NAMESPACE, REPOSITORY, Opened, Ticking, in_sandbox, released
from tests.workbench.release.test_history import at
from workbench.engine.errors import ReleaseFailure
from workbench.engine.events import Action, ApplyFinished, Event, Outcome, StepFinished, StepStarted
from workbench.engine.release import Phase, StepState
from workbench.release import ReleaseStore
from workbench.release.lease import Timing
from workbench.release.packing import stack_name
from workbench.release.shared import ReleasePlaces, Releases

GOES = ReleasePlaces(STACK, ("hz",))
INTENT = replace(at("hz"), state=StepState.INTENDED, uid="")
BEGUN = StepStarted(EPOCH, INTENT.address, Action.CREATE)
DONE = StepFinished(EPOCH, INTENT.address, Action.CREATE, 1.0, "uid")
END = ApplyFinished(EPOCH, Outcome.SUCCEEDED, 1, 1.0, 1, 0, 0)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Opened]:
    async with in_sandbox(tmp_path) as found:
        yield found


def releases(cluster: Opened, state: Path, clock: Ticking | None = None) -> Releases:
    async def connect(name: str) -> Runtime:
        assert cluster.runtime is not None and name == "hz"
        return cluster.runtime

    timing = Timing(look_seconds=0.001, check_seconds=0.0, clock=clock or Ticking(step=0.0))
    return Releases(ReleaseStore(state, Path("/repo")), connect, REPOSITORY, NAMESPACE, timing)


async def phases(cluster: Opened) -> list[Phase]:
    return [each.load().phase for each in await cluster.cluster(AT).entries()]


async def test_the_intent_is_there_before_a_step_and_the_end_after_all(cluster: Opened, tmp_path: Path) -> None:
    async with releases(cluster, tmp_path).working(GOES, user="ann", host="box", clusters={}) as work:
        assert await phases(cluster) == []
        journal = await work.begin(released(1, Phase.APPLYING, [INTENT]))
        for event in (BEGUN, DONE):
            await anyio.to_thread.run_sync(journal.record, event)
            assert await phases(cluster) == [Phase.APPLYING]
        await anyio.to_thread.run_sync(journal.record, END)
        assert await phases(cluster) == [Phase.SUCCEEDED]
    (entry,) = await cluster.cluster(AT).entries()
    assert entry.load().resources[INTENT.address].uid == "uid"


@pytest.mark.parametrize("event", [BEGUN, END], ids=["a step", "the end"])
async def test_who_lost_the_lock_begins_no_step_and_writes_no_end(
    cluster: Opened, tmp_path: Path, event: Event
) -> None:
    assert cluster.sandbox is not None
    async with releases(cluster, tmp_path).working(GOES, user="ann", host="box", clusters={}) as work:
        journal = await work.begin(released(1, Phase.APPLYING, [INTENT]))
        patch = {"spec": {"holderIdentity": "ben@ci/8/token-of-ben"}}
        cluster.sandbox.clusters[0].patch("leases.coordination.k8s.io", NAMESPACE, stack_name(STACK), patch, "merge")
        with pytest.raises(ReleaseFailure, match="ben@ci pid 8"):
            await anyio.to_thread.run_sync(journal.record, event)
    assert await phases(cluster) == [Phase.APPLYING]
    lease = cluster.sandbox.clusters[0].get("leases.coordination.k8s.io", NAMESPACE, stack_name(STACK))
    assert lease["spec"]["holderIdentity"] == "ben@ci/8/token-of-ben", "another's lock is left alone"


async def test_who_slept_records_nothing_of_what_it_did_not_know_to_be_its_own(cluster: Opened, tmp_path: Path) -> None:
    clock = Ticking(step=0.0)
    async with releases(cluster, tmp_path, clock).working(GOES, user="ann", host="box", clusters={}) as work:
        journal = await work.begin(released(1, Phase.APPLYING, [INTENT]))
        clock.seconds += 31
        for event in (BEGUN, DONE, END):
            with pytest.raises(ReleaseFailure, match="could not be renewed"):
                await anyio.to_thread.run_sync(journal.record, event)
    assert await phases(cluster) == [Phase.APPLYING]


async def test_a_cluster_that_is_written_by_another_meanwhile_is_not_written_over(
    cluster: Opened, tmp_path: Path
) -> None:
    async with releases(cluster, tmp_path).working(GOES, user="ann", host="box", clusters={}) as work:
        journal = await work.begin(released(1, Phase.APPLYING, [INTENT]))
        (entry,) = await cluster.cluster(AT).entries()
        await cluster.cluster(AT).replace(released(1, Phase.FAILED), entry.version)
        with pytest.raises(ReleaseFailure, match="somebody else"):
            await anyio.to_thread.run_sync(journal.record, END)
    assert await phases(cluster) == [Phase.FAILED]
