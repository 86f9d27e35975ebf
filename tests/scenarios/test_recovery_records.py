"""What is known of a recovery after it: in the clusters, on this machine and in the audit trail, whoever looks."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.base import Forbidden, LiveOperations, PodTarget
from tests.scenarios.recovering import QUICK, Ground, deployment, document, run
from workbench.engine.errors import Locked, StalePlan
from workbench.engine.recovery.document import (
    Host,
    RecoveryDocument,
)
from workbench.engine.recovery.events import (
    RecoveryFinished,
    RecoveryStepStarted,
    RecoveryStepVerified,
)
from workbench.engine.recovery.ledger import RunBegan
from workbench.engine.recovery.values import (
    Hold,
    HostState,
    RecoveryOutcome,
    StepResult,
    StepState,
)
from workbench.release.recoveries import RecoveryStore


async def test_every_write_is_in_the_audit_trail(ground: Ground) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 2))
    await ground.ready(0, 2)
    recovery = await ground.session.recovery(document(ground.hosts(0), reason="INC-9"))
    await run(ground.session, recovery)
    trail = ground.session.audit()
    entries = list(reversed(trail.entries()))
    assert [(each.action, each.result) for each in (entries[0], entries[-1])] == [
        ("recovery", "begun"),
        ("recovery", "recovered"),
    ]
    assert entries[0].confirm == recovery.phrase and {each.reason for each in entries} == {"INC-9"}
    deleted = {each.target for each in entries if each.action == "delete" and each.result == "recovered"}
    assert deleted == {f"shop/Pod/{each.name}" for each in recovery.steps}
    assert trail.verify().is_intact


async def test_however_a_run_ends_the_trail_says_how(ground: Ground) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 6))
    await ground.ready(0, 6)
    session, limits = ground.session, replace(QUICK, batch=1, per_owner=1)

    async def ended() -> str:
        (last,) = session.audit().entries(limit=1)
        assert last.action == "recovery" and last.detail, last
        return last.result

    recovery = await session.recovery(document(ground.hosts(0), limits=limits, reason="INC-3"))
    await run(session, recovery, dry_run=True)
    assert await ended() == "dry run"
    async with session.recover(recovery, confirm=recovery.phrase, dry_run=False) as events:
        async for each in events:
            if isinstance(each, RecoveryStepStarted):
                events.stop()
    assert await ended() == "stopped"
    rest = await session.recovery(recovery.document)
    async with session.recover(rest, confirm=rest.phrase, dry_run=False) as events:
        async for each in events:
            if isinstance(each, RecoveryStepVerified):
                break  # nobody listens any more
    assert await ended() == "partial"
    rest = await session.recovery(recovery.document)
    with pytest.raises(RuntimeError, match="the caller breaks"):
        async with session.recover(rest, confirm=rest.phrase, dry_run=False):
            raise RuntimeError("the caller breaks")
    assert await ended() in ("partial", "failed")
    assert session.audit().verify().is_intact


async def test_another_machine_knows_what_was_done_and_waits_for_who_is_at_it(ground: Ground) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 6))
    await ground.ready(0, 6)
    hosts = ground.hosts(0)
    limits = replace(QUICK, max_fraction=0.5, batch=1, per_owner=1)

    def of(some: list[Host]) -> RecoveryDocument:
        return document(some, limits=limits, reason="INC-8")

    mine = await ground.session.recovery(of(hosts[:2]))
    async with ground.open(state_dir=ground.home / "elsewhere") as other:
        theirs = await other.recovery(of(hosts[:3]))
        async with ground.session.recover(mine, confirm=mine.phrase, dry_run=False) as events:
            with pytest.raises(Locked, match="ann@box"):
                async with other.recover(theirs, confirm=theirs.phrase, dry_run=False):
                    pass
            assert [each async for each in events]
        with pytest.raises(StalePlan):
            async with other.recover(theirs, confirm=theirs.phrase, dry_run=False):
                pass
        await ground.ready(0, 6)
        # the inventory learned where the first two are now, and the alarm names two more
        now = {each.pod: each for each in ground.hosts(0)}
        moved = [replace(each, hostname=host.hostname) for host, each in zip(hosts[:2], now.values(), strict=False)]
        again = await other.recovery(of([*moved, *hosts[2:]]))
        assert [each.state for each in again.hosts[:2]] == [HostState.DONE_BEFORE] * 2
        assert len(again.steps) == 1, "half of the workload is three pods, over both machines"
        report, _ = await run(other, again)
        assert report.count(HostState.RECOVERED) == 1


@pytest.mark.parametrize("is_emptied", [False, True], ids=["deleted", "emptied"])
async def test_a_record_that_is_taken_away_during_a_run_is_put_back_whole(ground: Ground, is_emptied: bool) -> None:
    cluster = ground.sandbox.clusters[0]
    cluster.create("deployments.apps", "shop", deployment("web", 3))
    await ground.ready(0, 3)
    limits = replace(QUICK, batch=1, per_owner=1)
    found = await ground.session.recovery(document(ground.hosts(0)[:2], limits=limits, reason="INC-9"))
    name = f"workbench-recovery-{found.id}"
    verified = 0
    async with ground.session.recover(found, confirm=found.phrase, dry_run=False) as events:
        async for event in events:
            if isinstance(event, RecoveryStepVerified):
                verified += 1
                if verified == 1:
                    if is_emptied:
                        cluster.update(
                            "configmaps", "shop", name, {**cluster.get("configmaps", "shop", name), "data": {}}
                        )
                    else:
                        cluster.delete("configmaps", "shop", name)
    assert verified == 2
    kept = cluster.get("configmaps", "shop", name)["data"]
    assert sorted(each.partition("-")[0] for each in kept) == ["run", "step", "step"]


async def test_a_record_that_names_no_run_any_more_is_not_a_record_of_nothing(ground: Ground) -> None:
    cluster = ground.sandbox.clusters[0]
    cluster.create("deployments.apps", "shop", deployment("web", 2))
    await ground.ready(0, 2)
    asked = document(ground.hosts(0), reason="INC-10")
    name = f"workbench-recovery-{(await ground.session.recovery(asked)).id}"
    cluster.create("configmaps", "shop", {"metadata": {"name": name, "namespace": "shop"}, "data": {"note": "mine"}})
    found = await ground.session.recovery(asked)
    assert found.is_empty and "names no run: what was done is not known" in found.problems[0].message
    assert f"delete configmap {name}" in found.problems[0].hint


@pytest.mark.parametrize("is_emptied", [False, True], ids=["deleted", "emptied"])
async def test_a_ledger_that_is_taken_away_during_a_run_stops_it(ground: Ground, is_emptied: bool) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 3))
    await ground.ready(0, 3)
    limits = replace(QUICK, batch=1, per_owner=1)
    found = await ground.session.recovery(document(ground.hosts(0)[:2], limits=limits, reason="INC-11"))
    begun, said = 0, ""
    async with ground.session.recover(found, confirm=found.phrase, dry_run=False) as events:
        async for event in events:
            begun += isinstance(event, RecoveryStepStarted)
            if isinstance(event, RecoveryStepStarted):
                (file,) = (ground.home / "state").glob("recoveries/*/*.jsonl")
                file.write_bytes(b"") if is_emptied else file.unlink()
            if isinstance(event, RecoveryFinished):
                said = f"{event.report.outcome} {[each.message for each in event.report.problems]}"
    assert begun == 1, said


async def test_where_no_record_may_be_kept_it_says_so_and_goes_on(ground: Ground) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 1))
    await ground.ready(0, 1)
    real = await ground.session._connections.operations("hangzhou")

    class Narrow:
        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        async def record(self, namespace: str, name: str) -> None:
            raise Forbidden('configmaps is forbidden: User "ann" cannot get', target="hangzhou")

    async def reach(cluster: str) -> LiveOperations:
        return Narrow()

    ground.session._connections.operations = reach  # type: ignore[method-assign]
    recovery = await ground.session.recovery(document(ground.hosts(0), reason="INC-4"))
    assert "what other machines did about it cannot be read" in recovery.warnings[0]
    report, _ = await run(ground.session, recovery)
    assert report.outcome is RecoveryOutcome.RECOVERED
    assert "another machine will not know" in report.problems[0].message


async def test_what_a_killed_run_took_away_is_still_under_way(ground: Ground) -> None:
    """Until something is ready in its place, it takes the turn of the next one."""
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 3))
    await ground.ready(0, 3)
    limits = replace(QUICK, per_owner=1, batch=2)
    recovery = await ground.session.recovery(document(ground.hosts(0), limits=limits, reason="INC-11"))
    first = recovery.steps[0]
    store = RecoveryStore(ground.home / "state", ground.root)
    ground.sandbox.faults[0].stop("kube-scheduler")
    with store.log(recovery.id) as log:
        log.begin(RunBegan("1", "ann@box", datetime.now(UTC), recovery.phrase, recovery.originals))
        log.record(StepResult(first, StepState.STARTED, started=datetime.now(UTC)))
    real = await ground.session._connections.operations("hangzhou")
    await real.delete_pod(PodTarget("shop", first.name, first.uid))
    async with asyncio.timeout(30):
        while True:
            if first.uid not in {each.uid for each in await real.pods("shop")}:
                break
            await asyncio.sleep(0.05)
    again = await ground.session.recovery(recovery.document)
    assert again.is_empty and {each.hold for each in again.held} == {Hold.DONE_BEFORE, Hold.IN_FLIGHT}
    assert {each.state for each in again.hosts} == {HostState.UNVERIFIED, HostState.HELD}

    ground.sandbox.faults[0].start("kube-scheduler")
    await ground.ready(0, 3)
    again = await ground.session.recovery(recovery.document)
    assert again.hosts[0].state is HostState.DONE_BEFORE, "what became ready after the kill counts"
    assert len(again.steps) == 2 and not again.in_flight


async def test_what_a_killed_run_began_is_not_begun_again(ground: Ground) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 4))
    await ground.ready(0, 4)
    recovery = await ground.session.recovery(document(ground.hosts(0)))
    store = RecoveryStore(ground.home / "state", ground.root)
    with store.log(recovery.id) as log:
        log.record(StepResult(recovery.steps[0], StepState.STARTED))
        log.record(StepResult(recovery.steps[1], StepState.BLOCKED, error="a budget"))
    (file,) = (ground.home / "state" / "recoveries").rglob("*.jsonl")
    with file.open("ab") as torn:
        torn.write(b'{"step":{"id":"half a li')
    again = await ground.session.recovery(recovery.document)
    assert {each.id for each in again.steps} == {each.id for each in recovery.steps[1:]}
    report, _ = await run(ground.session, again)
    # the one of the killed run was begun, and nobody saw it to its end
    assert report.counts() == {HostState.RECOVERED: 3, HostState.UNVERIFIED: 1}
    assert len(store.ledger(recovery.id).steps) == 4
