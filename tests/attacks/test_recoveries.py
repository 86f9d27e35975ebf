"""What an incident did on one cluster is not done on another that got its name, or its records.

A name leads elsewhere (clusters.yaml, a kubeconfig, a cluster made again), or a backup brings a cluster's record into
another one. A host of it would be said to be recovered although nothing was done to it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import ClusterIdentity
from tests.workbench.engine.recovery.fake_cluster import NAMESPACE, FakeCluster
from workbench.engine.errors import Locked, OtherCluster
from workbench.engine.recovery import execute
from workbench.engine.recovery.document import Host, Limits, Operation, RecoveryDocument
from workbench.engine.recovery.events import RecoveryFinished, RecoveryStepDone
from workbench.engine.recovery.values import HostState, Recovery, RecoveryReport, StepState
from workbench.session import Session
from workbench.settings import Settings

LIMITS = Limits(max_pods=6, max_fraction=1.0, timeout_seconds=0.02, answer_seconds=10)
SERVER = "https://10.0.0.1:6443"
HZ = ClusterIdentity("hz-admin", SERVER, uid="1b4e28ba-2fa1", authority="sha256:aa")


@dataclass
class Ground:
    home: Path
    ways: dict[str, FakeCluster] = field(default_factory=dict)
    now: datetime = datetime(2026, 1, 2, tzinfo=UTC)

    def session(self, machine: str = "one") -> Session:
        async def connect(name: str) -> Any:
            return self.ways[name]

        root, state = self.home / "konfig", self.home / machine
        root.mkdir(exist_ok=True)
        settings = Settings(state, state, user="sre", host=machine)
        return Session(root, settings, connect=connect, now=lambda: self.now)


def cluster(name: str, identity: ClusterIdentity, pods: int = 2) -> FakeCluster:
    return FakeCluster(name, {"web": pods}, identity=identity)


def document(*places: tuple[str, FakeCluster]) -> RecoveryDocument:
    """Hosts h-1, h-2, ... are the pods of these clusters, one after the other."""
    hosts = [
        Host(f"h-{number}", name, NAMESPACE, pod.name)
        for name, place in places
        for number, pod in enumerate(place.pods_by_uid.values(), 1)
    ]
    return RecoveryDocument("app-recovery", Operation.RESTART, tuple(hosts), (), LIMITS, "INC-1")


async def run(session: Session, recovery: Recovery) -> RecoveryReport:
    async with session.recover(recovery, confirm=recovery.phrase, dry_run=False) as events:
        found = [each async for each in events]
    assert isinstance(found[-1], RecoveryFinished)
    return found[-1].report


async def recovered(ground: Ground, name: str, machine: str = "one") -> None:
    async with ground.session(machine) as session:
        report = await run(session, await session.recovery(document((name, ground.ways[name]))))
    assert report.count(HostState.RECOVERED) == 2


def states(recovery: Recovery) -> list[HostState]:
    return [each.state for each in recovery.hosts]


OTHERS = {
    "made again at the same address": replace(HZ, uid="99999999-0000"),
    "another one at another address": ClusterIdentity("sh", "https://10.0.0.2:6443", uid="99999999-0000"),
    "another one with the same authority": replace(HZ, server="https://10.0.0.9:6443", uid="99999999-0000"),
}
UNSURE = {
    "it may not be asked who it is": replace(HZ, uid="", server="https://10.0.0.2:6443", unknown="its user may not"),
    "nothing vouches for it": replace(HZ, uid="", authority="", unknown="its namespace kube-system has no uid"),
}


@pytest.mark.parametrize("machine", ["one", "another"])
@pytest.mark.parametrize("name", OTHERS)
async def test_what_another_cluster_of_the_name_has_seen_is_not_done_here(
    name: str, machine: str, tmp_path: Path
) -> None:
    """By the file of this machine, and by a record that a backup brought along."""
    ground = Ground(tmp_path, {"hz": cluster("hz", HZ)})
    before = ground.ways["hz"]
    await recovered(ground, "hz")
    ground.ways["hz"] = cluster("other", OTHERS[name])
    ground.ways["hz"].records = before.records
    async with ground.session(machine) as session:
        again = await session.recovery(document(("hz", ground.ways["hz"])))
        assert states(again) == [HostState.TO_DO] * 2
        assert len(again.previous) == 2, "the incident's limits count them"
        (warning,) = again.warnings
        assert warning.startswith("hz: a record of the incident is of another cluster, context hz-admin, ")
        report = await run(session, again)
    assert report.count(HostState.RECOVERED) == 2
    assert len(ground.ways["hz"].deleted) == 2
    async with ground.session(machine) as session:
        assert states(await session.recovery(again.document)) == [HostState.DONE_BEFORE] * 2


@pytest.mark.parametrize("name", UNSURE)
async def test_where_it_cannot_be_told_it_is_neither_done_again_nor_well(name: str, tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"hz": cluster("hz", HZ)})
    await recovered(ground, "hz")
    ground.ways["hz"].identity = UNSURE[name]
    async with ground.session() as session:
        again = await session.recovery(document(("hz", ground.ways["hz"])))
    assert states(again) == [HostState.UNVERIFIED] * 2 and again.is_empty
    assert "whether hz is the cluster it was done on can't be told: its " in again.hosts[0].why


async def test_a_record_that_does_not_say_where_is_no_proof(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"hz": cluster("hz", HZ)})
    await recovered(ground, "hz")
    (file,) = (tmp_path / "one" / "recoveries").rglob("*.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for each in lines:
        each.get("step", each.get("run")).pop("identity", None)
    file.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    ground.ways["hz"].records.clear()
    async with ground.session() as session:
        again = await session.recovery(document(("hz", ground.ways["hz"])))
    assert states(again) == [HostState.UNVERIFIED] * 2 and again.is_empty
    assert "its record does not say on which cluster it was done" in again.hosts[0].why


async def test_the_same_cluster_stays_the_same_whatever_it_is_called(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"hz": cluster("hz", HZ)})
    await recovered(ground, "hz")
    place = ground.ways.pop("hz")
    place.identity = replace(HZ, context="from-ci", user="ci", server="https://gate:443", authority="")
    ground.ways |= {"hangzhou": place, "hz": cluster("new", OTHERS["another one at another address"])}
    async with ground.session() as session:
        moved = await session.recovery(document(("hangzhou", place)))
        assert states(moved) == [HostState.DONE_BEFORE] * 2
        both = await session.recovery(document(("hz", ground.ways["hz"]), ("hangzhou", place)))
    # a host is done once, wherever the inventory says it is today
    assert states(both) == [HostState.DONE_BEFORE] * 2


async def test_a_run_at_work_on_another_cluster_does_not_hold_this_one(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"hz": cluster("hz", HZ)})
    before = ground.ways["hz"]
    async with ground.session() as session:
        recovery = await session.recovery(document(("hz", before)))
        async with session.recover(recovery, confirm=recovery.phrase, dry_run=False) as events:
            copied = dict(before.records)
            async for _ in events:
                pass
    ground.ways["hz"] = cluster("other", OTHERS["made again at the same address"])
    ground.ways["hz"].records = copied
    async with ground.session("another") as session:
        recovery = await session.recovery(document(("hz", ground.ways["hz"])))
        report = await run(session, recovery)
    assert report.count(HostState.RECOVERED) == 2


@pytest.mark.parametrize(("behind", "said"), [(0, "for 2 minutes"), (3, "the clock of that machine is ahead")])
async def test_who_holds_an_incident_by_another_clock_is_said_to(behind: int, said: str, tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"hz": cluster("hz", HZ)})
    async with ground.session() as session:
        recovery = await session.recovery(document(("hz", ground.ways["hz"])))
        async with session.recover(recovery, confirm=recovery.phrase, dry_run=False) as events:
            ground.now -= timedelta(hours=behind)
            async with ground.session("another") as other:
                theirs = await other.recovery(document(("hz", ground.ways["hz"])))
                with pytest.raises(Locked) as held:
                    async with other.recover(theirs, confirm=theirs.phrase, dry_run=False):
                        pass
            assert said in held.value.hint and ("which holds it until" in held.value.message) == (behind > 0)
            async for _ in events:
                pass


async def test_who_slept_for_an_hour_restarts_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock that stands still while a machine sleeps says that hardly any time has passed."""
    ground = Ground(tmp_path, {"hz": cluster("hz", HZ, pods=3)})
    slept = 0.0
    monkeypatch.setattr(execute, "clock", lambda: slept)
    asked = replace(document(("hz", ground.ways["hz"])), limits=replace(LIMITS, batch=1, deadline_seconds=600))
    async with ground.session() as session:
        recovery = await session.recovery(asked)
        async with session.recover(recovery, confirm=recovery.phrase, dry_run=False) as events:
            async for event in events:
                if isinstance(event, RecoveryStepDone):
                    slept = 3600.0
                if isinstance(event, RecoveryFinished):
                    report = event.report
    assert [each.state for each in report.steps] == [StepState.RECOVERED, StepState.NOT_TRIED, StepState.NOT_TRIED]
    assert report.steps[-1].error == "the time was up (600 s)"


@pytest.mark.parametrize("name", OTHERS)
async def test_a_preview_of_one_cluster_is_not_run_on_another(name: str, tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"hz": cluster("hz", HZ)})
    async with ground.session() as session:
        recovery = await session.recovery(document(("hz", ground.ways["hz"])))
    ground.ways["hz"].identity = OTHERS[name]
    async with ground.session() as session:
        with pytest.raises(OtherCluster, match="hz is another cluster"):
            async with session.recover(recovery, confirm=recovery.phrase, dry_run=False):
                pass
    assert ground.ways["hz"].deleted == []
