"""Recovering hosts over two clusters: what would be done, what is done, what is held and why."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runtimes.base import LiveOperations, PodTarget, Unreachable
from runtimes.sandbox.api.disturbances import Disturbance
from tests.scenarios.recovering import NAMES, QUICK, Ground, budget, deployment, document, run, states
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import ConfirmationRequired, Locked, Refused, StalePlan
from workbench.engine.recovery.document import (
    Host,
    InventoryState,
    NodeRecord,
    Operation,
)
from workbench.engine.recovery.events import (
    ClusterLost,
    RecoveryFinished,
    RecoveryStepStarted,
    RecoveryStepVerified,
)
from workbench.engine.recovery.hosts import is_recovered
from workbench.engine.recovery.values import (
    Hold,
    HostState,
    PodKey,
    RecoveryOutcome,
    StepState,
)


async def test_hosts_over_two_clusters_are_restarted_and_verified(ground: Ground) -> None:
    for cluster, replicas in ((0, 6), (1, 5)):
        ground.sandbox.clusters[cluster].create("deployments.apps", "shop", deployment("web", replicas))
        await ground.ready(cluster, replicas)
    before = {pod["metadata"]["uid"] for cluster in (0, 1) for pod in ground.pods(cluster)}
    recovery = await ground.session.recovery(document([*ground.hosts(0), *ground.hosts(1)], reason="INC-1"))
    assert recovery.phrase.startswith("restart 11 pods ") and recovery.clusters == NAMES

    dry, events = await run(ground.session, recovery, dry_run=True)
    assert dry.outcome is RecoveryOutcome.DRY_RUN and len(events) == 2
    assert {pod["metadata"]["uid"] for cluster in (0, 1) for pod in ground.pods(cluster)} == before

    report, events = await run(ground.session, recovery)
    assert report.outcome is RecoveryOutcome.RECOVERED, report
    assert report.counts() == {HostState.RECOVERED: 11}
    assert {each.step.id for each in events if isinstance(each, RecoveryStepStarted)} == {
        each.id for each in recovery.steps
    }
    new = [each.new_pod for each in report.steps]
    assert len({(each.step.cluster, each.new_pod) for each in report.steps}) == 11 and all(new)
    await ground.ready(0, 6)
    assert before.isdisjoint(pod["metadata"]["uid"] for cluster in (0, 1) for pod in ground.pods(cluster))

    again = await ground.session.recovery(recovery.document)
    assert again.id == recovery.id and again.is_empty and again.phrase == ""
    assert {each.state for each in again.hosts} == {HostState.DONE_BEFORE}
    report, _ = await run(ground.session, again)
    assert report.outcome is RecoveryOutcome.NOTHING_TO_DO


async def test_only_the_exact_phrase_starts_it_and_only_once(ground: Ground) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 2))
    await ground.ready(0, 2)
    recovery = await ground.session.recovery(document(ground.hosts(0)))
    with pytest.raises(ConfirmationRequired, match="confirm"):
        async with ground.session.recover(recovery, confirm="restart 3 pods", dry_run=False):
            pass
    async with ground.open(is_read_only=True) as reader:
        with pytest.raises(Refused, match="read-only"):
            async with reader.recover(recovery, confirm=recovery.phrase, dry_run=False):
                pass
    async with ground.session.recover(recovery, confirm=recovery.phrase, dry_run=False) as events:
        async with ground.open() as other:
            with pytest.raises(Locked):
                async with other.recover(recovery, confirm=recovery.phrase, dry_run=False):
                    pass
        assert [each async for each in events]
    with pytest.raises(StalePlan):
        async with ground.session.recover(recovery, confirm=recovery.phrase, dry_run=False):
            pass


async def test_what_the_inventory_got_wrong_is_told_and_left_alone(ground: Ground) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 4))
    await ground.ready(0, 4)
    first, second, third, fourth = ground.hosts(0)
    hosts = [
        first,
        replace(first, hostname="alias"),
        replace(second, uid="0000"),
        replace(third, state=InventoryState.STALE),
        replace(fourth, state=InventoryState.DUPLICATE),
        replace(fourth, state=InventoryState.DUPLICATE, pod="elsewhere"),
        Host("gone", "hangzhou", "shop", "web-gone"),
        Host("nobody", "", "", "", state=InventoryState.UNKNOWN),
    ]
    recovery = await ground.session.recovery(document(hosts, unresolved=("lost",)))
    report, _ = await run(ground.session, recovery)
    assert states(report) == {
        first.hostname: HostState.RECOVERED,
        "alias": HostState.RECOVERED,
        second.hostname: HostState.STALE,
        third.hostname: HostState.STALE,
        fourth.hostname: HostState.HELD,
        "gone": HostState.STALE,
        "nobody": HostState.UNKNOWN,
        "lost": HostState.UNKNOWN,
    }
    assert len(report.steps) == 1
    assert {second.uid, third.uid, fourth.uid} <= {pod["metadata"]["uid"] for pod in ground.pods(0)}


async def test_limits_hold_what_is_too_much(ground: Ground) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 8))
    await ground.ready(0, 8)
    ground.sandbox.clusters[1].create("deployments.apps", "shop", deployment("api", 8))
    await ground.ready(1, 8)
    hosts = [*ground.hosts(0), *ground.hosts(1)]
    recovery = await ground.session.recovery(document(hosts), limits=replace(QUICK, max_fraction=0.5, max_pods=6))
    assert recovery.phrase.startswith("restart 6 pods ")
    holds = [each.hold for each in recovery.held]
    assert (holds.count(Hold.MAX_FRACTION), holds.count(Hold.MAX_PODS)) == (4, 6)
    by_cluster = [sum(step.cluster == name for step in recovery.steps) for name in NAMES]
    assert by_cluster == [4, 2]


async def test_a_budget_is_respected(ground: Ground) -> None:
    for name, spec in (("web", {"minAvailable": 3}), ("api", {"maxUnavailable": 1})):
        ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment(name, 3))
        ground.sandbox.clusters[0].create("poddisruptionbudgets.policy", "shop", budget(name, **spec))
    await ground.ready(0, 6)
    await asyncio.sleep(0.5)
    recovery = await ground.session.recovery(document(ground.hosts(0)))
    assert recovery.phrase.startswith("restart 3 pods ")
    assert {each.hold for each in recovery.held} == {Hold.BUDGET}
    assert {each.verb.value for each in recovery.steps} == {"evict"}
    report, _ = await run(ground.session, recovery)
    # one at a time, as the budget has it: each waits for the one before
    assert [each.state for each in report.steps] == [StepState.RECOVERED] * 3, report.steps


async def test_too_many_failures_stop_the_run(ground: Ground) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 6))
    await ground.ready(0, 6)
    hosts = ground.hosts(0)
    ground.sandbox.faults[0].stop("kube-scheduler")
    limits = replace(QUICK, batch=1, per_owner=1, stop_after=2, timeout_seconds=1.5)
    recovery = await ground.session.recovery(document(hosts, limits=limits))
    report, _ = await run(ground.session, recovery)
    assert report.outcome is RecoveryOutcome.STOPPED
    assert report.counts() == {HostState.UNVERIFIED: 2, HostState.NOT_TRIED: 4}
    assert len({pod["metadata"]["uid"] for pod in ground.pods(0)} & {each.uid for each in hosts}) >= 4


async def test_a_stop_lets_what_is_under_way_end(ground: Ground) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 6))
    await ground.ready(0, 6)
    limits = replace(QUICK, batch=1, per_owner=1)
    recovery = await ground.session.recovery(document(ground.hosts(0), limits=limits))
    async with ground.session.recover(recovery, confirm=recovery.phrase, dry_run=False) as events:
        found = []
        async for each in events:
            found.append(each)
            if isinstance(each, RecoveryStepStarted):
                events.stop()
    report = found[-1].report  # type: ignore[union-attr]
    assert report.counts() == {HostState.RECOVERED: 1, HostState.NOT_TRIED: 5}
    # the rest can be done later
    again = await ground.session.recovery(recovery.document)
    assert again.phrase.startswith("restart 5 pods ")


async def test_a_cluster_that_is_dead_or_silent_holds_up_nobody(ground: Ground) -> None:
    for cluster in (0, 1):
        ground.sandbox.clusters[cluster].create("deployments.apps", "shop", deployment("web", 2))
        await ground.ready(cluster, 2)
    hosts = [*ground.hosts(0), *ground.hosts(1)]
    ground.sandbox._listening[1].close()
    started = asyncio.get_running_loop().time()
    recovery = await ground.session.recovery(document(hosts))
    report, _ = await run(ground.session, recovery)
    assert asyncio.get_running_loop().time() - started < 15
    assert report.counts() == {HostState.RECOVERED: 2, HostState.HELD: 2}
    assert [each.cluster for each in report.problems] == ["shanghai"]


async def test_rollouts_nodes_and_scales(ground: Ground) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 3))
    await ground.ready(0, 3)
    old = {pod["metadata"]["uid"] for pod in ground.pods(0)}
    hosts = ground.hosts(0)
    rollout = await ground.session.recovery(document(hosts, operation=Operation.ROLLOUT_RESTART))
    assert rollout.phrase.startswith("restart 1 rollout ")
    report, _ = await run(ground.session, rollout)
    assert report.counts() == {HostState.RECOVERED: 3}
    await ground.ready(0, 3)
    assert old.isdisjoint(pod["metadata"]["uid"] for pod in ground.pods(0))

    scale = await ground.session.recovery(document(ground.hosts(0), operation=Operation.SCALE, replicas=5))
    assert scale.phrase.startswith("scale 1 workload to 5 ")
    report, _ = await run(ground.session, scale)
    assert report.counts() == {HostState.RECOVERED: 3}
    await ground.ready(0, 5)

    cordon = await ground.session.recovery(document(ground.hosts(0), operation=Operation.CORDON))
    report, _ = await run(ground.session, cordon)
    assert report.counts() == {HostState.RECOVERED: 5}


async def test_nodes_are_given_back_when_no_pod_leads_to_them(ground: Ground) -> None:
    """By their names, or by what the incident remembers of the hosts that were there; what a node is, is looked at."""
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 2))
    await ground.ready(0, 2)
    live = sorted(each["metadata"]["name"] for _, each in ground.sandbox.clusters[0].store.items(("", "nodes"), None))

    def is_cordoned(name: str) -> bool:
        return bool(ground.sandbox.clusters[0].get("nodes", None, name)["spec"].get("unschedulable"))

    first, other = (
        ground.pods(0)[0]["spec"]["nodeName"],
        next(n for n in live if n != ground.pods(0)[0]["spec"]["nodeName"]),
    )
    host = next(h for h in ground.hosts(0) if h.pod == ground.pods(0)[0]["metadata"]["name"])
    named: tuple[NodeRecord, ...] = (NodeRecord(NAMES[0], first), NodeRecord(NAMES[0], other))
    cordon = await ground.session.recovery(document([host], reason="CHG-1", operation=Operation.CORDON, nodes=named))
    assert cordon.phrase.startswith("cordon 2 nodes ") and {each.key.namespace for each in cordon.targets} == {
        "shop",
        "",
    }
    report, _ = await run(ground.session, cordon)
    assert states(report) == dict.fromkeys(("h-001", f"{first}@hangzhou", f"{other}@hangzhou"), HostState.RECOVERED)
    assert is_cordoned(first) and is_cordoned(other)
    again = await ground.session.recovery(document([host], reason="CHG-1", operation=Operation.CORDON, nodes=named))
    assert again.is_empty and {each.hold for each in again.targets} == {Hold.CORDONED, Hold.DONE_BEFORE}

    # the pod is gone from the node, and so is the inventory's record of it
    ground.sandbox.clusters[0].delete("pods", "shop", host.pod)
    gone = replace(host, cluster="", namespace="", pod="", uid="", state=InventoryState.UNKNOWN)
    lost = document([gone, Host("h-9", "", "", "", state=InventoryState.UNKNOWN)], operation=Operation.UNCORDON)
    back = await ground.session.recovery(replace(lost, reason="CHG-1"))
    assert [each.subject for each in back.steps] == [f"Node/{first}"] and back.phrase.startswith("uncordon 1 node ")
    assert {each.hostname: each.state for each in back.hosts} == {"h-001": HostState.TO_DO, "h-9": HostState.UNKNOWN}
    assert "name the node itself" in back.hosts[1].why
    report, _ = await run(ground.session, back)
    assert states(report) == {"h-001": HostState.RECOVERED, "h-9": HostState.UNKNOWN}
    assert not is_cordoned(first) and is_cordoned(other)
    elsewhere = await ground.session.recovery(replace(lost, reason="CHG-2"))
    assert elsewhere.is_empty and not elsewhere.targets, "another incident remembers no cordon"

    # another machine, which remembers nothing, is told the names
    named = (*named, NodeRecord(NAMES[0], "n-lost"), NodeRecord(NAMES[0], other, uid="of-before"))
    async with ground.open(state_dir=ground.home / "other") as machine:
        rest = await machine.recovery(document([], operation=Operation.UNCORDON, nodes=named, reason="CHG-1"))
        holds = {(each.key.name, each.hold) for each in rest.targets}
        assert holds == {(first, Hold.UNCORDONED), (other, None), ("n-lost", Hold.NOT_FOUND), (other, Hold.REPLACED)}
        report, _ = await run(machine, rest)
    assert not is_cordoned(other)
    assert states(report)[f"{first}@hangzhou"] is HostState.HELD and is_recovered(report.hosts[0])

    # what was cordoned, given back and is wanted once more is done once more, whatever is remembered
    once_more = await ground.session.recovery(document([], operation=Operation.CORDON, nodes=named[:1], reason="CHG-1"))
    report, _ = await run(ground.session, once_more)
    assert is_cordoned(first) and states(report) == {f"{first}@hangzhou": HostState.RECOVERED}
    ground.sandbox._listening[0].close()
    async with ground.open(state_dir=ground.home / "third") as machine:
        lost = document([host], operation=Operation.UNCORDON, nodes=named[:1], reason="CHG-1")
        dead = await machine.recovery(lost)
    assert [(each.key, each.hold) for each in dead.targets] == [
        (PodKey(NAMES[0], "", first), Hold.UNREACHABLE),
        (PodKey(NAMES[0], "shop", host.pod), Hold.UNREACHABLE),
    ]


async def test_a_recovery_is_a_program(ground: Ground) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 2))
    await ground.ready(0, 2)
    (ground.root / "ops").mkdir()
    (ground.root / "ops" / "AppRecovery.k").write_text(
        """import manifests

_hosts = option("hostnames").split(",")
manifests.yaml_stream([{
    kind = "Recovery"
    name = "app-recovery"
    operation = "restart"
    hosts = [{hostname = "h-${i}", cluster = "hangzhou", namespace = "shop", pod = each} for i, each in _hosts]
    limits = {maxPods = 5, maxFraction = 1.0, timeoutSeconds = 20}
    reason = option("incident", default="")
}])
"""
    )
    names = ",".join(each.pod for each in ground.hosts(0))
    inputs = CompileInputs(options={"hostnames": names, "incident": "INC-7"})
    recovery = await ground.session.recovery("ops/AppRecovery.k", inputs)
    assert recovery.phrase.startswith("restart 2 pods ") and recovery.document.reason == "INC-7"


async def test_a_lost_answer_is_looked_after_and_never_sent_again(ground: Ground) -> None:
    """The connection breaks: before the write for one pod, after it for another, which nobody can tell apart."""
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 3))
    await ground.ready(0, 3)
    hosts = ground.hosts(0)
    real = await ground.session._connections.operations("hangzhou")
    asked: list[str] = []

    class Breaking:
        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        async def delete_pod(self, target: PodTarget) -> None:
            asked.append(target.uid)
            if target.uid == hosts[0].uid:
                await real.delete_pod(target)
            if target.uid in (hosts[0].uid, hosts[1].uid):
                raise Unreachable("the connection was lost", target="hangzhou", is_uncertain=True)
            await real.delete_pod(target)

    async def reach(cluster: str) -> LiveOperations:
        return Breaking()

    ground.session._connections.operations = reach  # type: ignore[method-assign]
    limits = replace(QUICK, batch=3, per_owner=3)
    recovery = await ground.session.recovery(document(hosts, limits=limits))
    report, events = await run(ground.session, recovery)
    assert sorted(asked) == sorted(set(asked)), "a write was sent twice"
    by_uid = {each.step.uid: each for each in report.steps}
    assert by_uid[hosts[0].uid].state is StepState.RECOVERED
    assert (by_uid[hosts[1].uid].state, by_uid[hosts[1].uid].is_uncertain) == (StepState.FAILED, True)
    assert any(isinstance(each, ClusterLost) for each in events)
    # nobody knows whether it will still happen, so it is not begun again
    again = await ground.session.recovery(recovery.document)
    assert hosts[1].uid not in {each.uid for each in again.steps}
    (left,) = [each for each in again.held if each.key.name == hosts[1].pod]
    assert "is not seen to work (the connection was lost)" in left.why


async def test_a_cluster_that_dies_on_the_way_is_lost_and_the_others_go_on(ground: Ground) -> None:
    for cluster in (0, 1):
        ground.sandbox.clusters[cluster].create("deployments.apps", "shop", deployment("web", 4))
        await ground.ready(cluster, 4)
    hosts = [*ground.hosts(0), *ground.hosts(1)]
    limits = replace(QUICK, batch=1, per_owner=1, timeout_seconds=3, answer_seconds=2)
    recovery = await ground.session.recovery(document(hosts, limits=limits))
    gone = False
    async with ground.session.recover(recovery, confirm=recovery.phrase, dry_run=False) as events:
        found = []
        async for each in events:
            found.append(each)
            if not gone and isinstance(each, RecoveryStepVerified) and each.step.cluster == "shanghai":
                gone = True
                ground.sandbox.disturbances[1].add(Disturbance("delay", seconds=30))
    last = found[-1]
    assert isinstance(last, RecoveryFinished)
    states_of = {name: [each.state for each in last.report.steps if each.step.cluster == name] for name in NAMES}
    assert states_of["hangzhou"] == [StepState.RECOVERED] * 4
    assert states_of["shanghai"].count(StepState.RECOVERED) == 1
    assert states_of["shanghai"].count(StepState.NOT_TRIED) >= 2, "nothing is sent that could not be claimed"
    assert [each.cluster for each in last.report.problems] == ["shanghai"]


async def test_the_same_hosts_can_fail_again(ground: Ground) -> None:
    """Another incident is another recovery; without one, an hour makes it another alarm."""
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 2))
    await ground.ready(0, 2)
    first = document(ground.hosts(0), reason="INC-1")
    await run(ground.session, await ground.session.recovery(first))
    await ground.ready(0, 2)
    now = document(ground.hosts(0), reason="INC-1")
    assert (await ground.session.recovery(now)).is_empty
    assert (await ground.session.recovery(replace(now, reason="INC-2"))).phrase.startswith("restart 2 pods ")

    unnamed = replace(now, reason="")
    await run(ground.session, await ground.session.recovery(unnamed))
    await ground.ready(0, 2)
    again = replace(unnamed, hosts=tuple(ground.hosts(0)))
    assert (await ground.session.recovery(again)).is_empty
    later = datetime.now(UTC) + timedelta(hours=2)
    ground.session._now = lambda: later
    assert (await ground.session.recovery(again)).phrase.startswith("restart 2 pods ")
