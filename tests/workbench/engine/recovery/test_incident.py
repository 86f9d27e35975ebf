"""One incident over any sequence of runs: hosts are added, the inventory changes its mind, runs are killed, another
machine takes over without a ledger of its own. No pod is restarted twice, limits hold for the incident as a whole, and
nothing is touched that the confirmed preview did not show.

KONFIG_WORKBENCH_INCIDENTS sets how many sequences are tried.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workbench.engine.recovery.fake_cluster import NAMESPACE, FakeCluster, Killed, Mood
from workbench.engine.errors import EngineError
from workbench.engine.recovery.document import Host, InventoryState, Limits, Operation, RecoveryDocument
from workbench.engine.recovery.events import RecoveryFinished
from workbench.engine.recovery.values import HostState, Recovery, RecoveryReport
from workbench.session import Session
from workbench.settings import Settings

MANY = int(os.environ.get("KONFIG_WORKBENCH_INCIDENTS", "12"))
REPLICAS = {"web": 6, "api": 4}
SHARES = {"web": 3, "api": 2}
LIMITS = Limits(
    max_pods=6, max_fraction=0.5, batch=3, per_owner=2, stop_after=2, timeout_seconds=0.02, answer_seconds=10
)
NAMES = ("hangzhou", "shanghai")


@dataclass(frozen=True)
class Named:
    """A host of the alarm, and which pod of those that live at the time the inventory says it is."""

    hostname: int
    cluster: int
    pod: int


@dataclass(frozen=True)
class Run:
    machine: int
    hosts: tuple[Named, ...]
    mood: Mood
    with_uid: bool
    with_evict: bool
    changes_its_mind: bool
    kill_in: int | None
    kill_before: bool


def runs() -> st.SearchStrategy[list[Run]]:
    named = st.builds(Named, st.integers(0, 9), st.integers(0, 1), st.integers(0, 9))
    run = st.builds(
        Run,
        machine=st.integers(0, 1),
        hosts=st.lists(named, min_size=1, max_size=7, unique_by=lambda each: each.hostname).map(tuple),
        mood=st.sampled_from(Mood),
        with_uid=st.booleans(),
        with_evict=st.booleans(),
        changes_its_mind=st.booleans(),
        kill_in=st.none() | st.integers(0, 3),
        kill_before=st.booleans(),
    )
    return st.lists(run, min_size=2, max_size=6)


@dataclass
class Incident:
    """Two clusters, two machines, one incident; and what happened, by what the clusters saw."""

    home: Path
    clusters: list[FakeCluster] = field(default_factory=lambda: [FakeCluster(name, REPLICAS) for name in NAMES])
    now: datetime = datetime(2026, 1, 2, tzinfo=UTC)
    restarts_of_hosts: Counter[str] = field(default_factory=Counter)

    def session(self, machine: int) -> Session:
        async def connect(name: str) -> Any:
            return self.clusters[NAMES.index(name)]

        state = self.home / f"machine-{machine}"
        settings = Settings(state, state, user="sre", host=f"machine-{machine}")
        root = self.home / "konfig"
        root.mkdir(exist_ok=True)
        return Session(root, settings, connect=connect, now=lambda: self.now)

    def document(self, run: Run, *, shift: int = 0) -> RecoveryDocument:
        hosts = []
        for named in run.hosts:
            live = list(self.clusters[named.cluster].pods_by_uid.values())
            pod = live[(named.pod + shift) % len(live)]
            uid = pod.uid if run.with_uid else ""
            hosts.append(Host(f"h-{named.hostname}", NAMES[named.cluster], NAMESPACE, pod.name, uid))
        # every machine looks at both clusters: of places it does not look at, it can know nothing
        seen = [Host(f"old-{name}", name, NAMESPACE, "of-last-week", state=InventoryState.STALE) for name in NAMES]
        operation = Operation.EVICT if run.with_evict else Operation.RESTART
        return RecoveryDocument("app-recovery", operation, (*hosts, *seen), (), LIMITS, "INC-1")

    @contextmanager
    def killed(self, run: Run) -> Iterator[None]:
        """Nothing that the machine does after the kill has happened: neither in clusters nor on its disk."""
        state, at_kill = self.home / f"machine-{run.machine}", self.home / "at-kill"
        if run.kill_in is None:
            yield
            return
        killed = Killed(run.kill_in, run.kill_before, lambda: shutil.copytree(state, at_kill))
        for each in self.clusters:
            each.killed = killed
        try:
            yield
        finally:
            for each in self.clusters:
                each.killed = None
            if at_kill.exists():
                shutil.rmtree(state)
                at_kill.rename(state)


async def play(run: Run, incident: Incident) -> None:
    """Previews, then resolves again as `wb run --confirm` does, and runs with the phrase of the first preview."""
    for cluster in incident.clusters:
        cluster.mood = run.mood
    async with incident.session(run.machine) as session:
        shown = await session.recovery(incident.document(run))
        again = await session.recovery(incident.document(run, shift=1 if run.changes_its_mind else 0))
        before = {each.uid for each in deleted(incident)}
        report = None
        with incident.killed(run):
            try:
                async with session.recover(again, confirm=shown.phrase, dry_run=False) as events:
                    async for event in events:
                        report = event.report if isinstance(event, RecoveryFinished) else report
            except EngineError:
                assert run.changes_its_mind, "a preview that still holds was refused"
        touched = {each.uid for each in deleted(incident)} - before
        assert touched <= {each.uid for each in shown.steps}, "touched what was not shown"
        for step in again.steps:
            incident.restarts_of_hosts.update(step.hostnames if step.uid in touched else ())
        if report is not None and run.kill_in is None:
            judge(report, again, incident)
    for cluster in incident.clusters:
        cluster.tick()
    incident.now += timedelta(minutes=5)


def deleted(incident: Incident) -> list[Any]:
    return [pod for cluster in incident.clusters for pod in cluster.deleted]


def judge(report: RecoveryReport, recovery: Recovery, incident: Incident) -> None:
    """Who is said to be recovered was restarted, by this run or an earlier one."""
    for host in report.hosts:
        if host.state in (HostState.RECOVERED, HostState.DONE_BEFORE):
            assert incident.restarts_of_hosts[host.hostname], f"{host} was never restarted ({recovery.name})"


def check(incident: Incident) -> None:
    gone = deleted(incident)
    made = {uid for cluster in incident.clusters for uid in cluster.made}
    assert not made & {each.uid for each in gone}, "a replacement was restarted"
    assert max(incident.restarts_of_hosts.values(), default=0) <= 1, "a host was restarted twice"
    assert len(gone) <= LIMITS.max_pods
    for cluster in incident.clusters:
        of_workloads = Counter(each.workload.name for each in cluster.deleted if each.workload)
        assert all(count <= SHARES[name] for name, count in of_workloads.items()), of_workloads


@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@given(sequence=runs())
def test_over_any_sequence_of_runs_nothing_is_done_twice_and_limits_hold(sequence: list[Run]) -> None:
    with TemporaryDirectory() as home:
        incident = Incident(Path(home))
        for run in sequence:
            anyio.run(play, run, incident)
            check(incident)
