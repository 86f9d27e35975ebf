"""A host is recovered as long as what is seen says so: a record of an earlier run is no longer true for ever."""

from __future__ import annotations

import asyncio

from tests.scenarios.recovering import Ground, deployment, document, is_ready, run
from workbench.engine.recovery.document import Operation
from workbench.engine.recovery.hosts import is_accomplished
from workbench.engine.recovery.values import HostState, RecoveryOutcome


async def test_a_host_whose_new_pod_fails_again_is_not_told_as_recovered(ground: Ground) -> None:
    cluster = ground.sandbox.clusters[0]
    cluster.create("deployments.apps", "shop", deployment("web", 2))
    await ground.ready(0, 2)
    first = document(ground.hosts(0), reason="INC-1")
    report, _ = await run(ground.session, await ground.session.recovery(first))
    assert report.outcome is RecoveryOutcome.RECOVERED
    await ground.ready(0, 2)
    now = document(ground.hosts(0), reason="INC-1")
    assert is_accomplished((await ground.session.recovery(now)).hosts)

    ground.sandbox.faults[0].stop("kubelet")  # nobody says otherwise
    for pod in ground.pods(0):
        unready = [{**each, "status": "False"} for each in pod["status"]["conditions"]]
        cluster.patch(
            "pods", "shop", pod["metadata"]["name"], {"status": {"conditions": unready}}, subresource="status"
        )
    assert not any(map(is_ready, ground.pods(0)))
    again = await ground.session.recovery(now)
    assert again.is_empty, "the incident restarts no pod twice"
    assert not is_accomplished(again.hosts)
    names = {each["metadata"]["name"] for each in ground.pods(0)}
    for host in again.hosts:
        assert host.state is HostState.UNVERIFIED
        assert any(f"{each} took its place and is not ready now" in host.why for each in names), host.why
    report, _ = await run(ground.session, again)
    assert report.outcome is RecoveryOutcome.FAILED


async def test_a_scale_that_somebody_took_back_is_not_told_as_done(ground: Ground) -> None:
    cluster = ground.sandbox.clusters[0]
    cluster.create("deployments.apps", "shop", deployment("web", 2))
    await ground.ready(0, 2)
    wanted = document(ground.hosts(0), reason="INC-2", operation=Operation.SCALE, replicas=3)
    report, _ = await run(ground.session, await ground.session.recovery(wanted))
    assert report.outcome is RecoveryOutcome.RECOVERED
    cluster.patch("deployments.apps", "shop", "web", {"spec": {"replicas": 2}})
    await ground.ready(0, 2)
    again = await ground.session.recovery(wanted)
    assert {each.state for each in again.hosts} == {HostState.UNVERIFIED}, again.hosts
    assert "wants 2 replicas now" in again.hosts[0].why and not is_accomplished(again.hosts)


async def test_a_host_of_a_cluster_that_is_not_seen_now_is_not_told_as_recovered(ground: Ground) -> None:
    ground.sandbox.clusters[0].create("deployments.apps", "shop", deployment("web", 2))
    await ground.ready(0, 2)
    incident = document(ground.hosts(0), reason="INC-3")
    report, _ = await run(ground.session, await ground.session.recovery(incident))
    assert report.outcome is RecoveryOutcome.RECOVERED
    await ground.ready(0, 2)
    file = ground.home / "kubeconfig"
    file.write_text(file.read_text().replace(ground.sandbox.urls[0], "https://127.0.0.1:9"))
    async with ground.open() as session:
        again = await session.recovery(incident)
        assert again.is_empty and not is_accomplished(again.hosts)
        assert {each.state for each in again.hosts} == {HostState.UNVERIFIED}, again.hosts
        assert all("hangzhou is not seen now" in each.why for each in again.hosts), again.hosts


async def test_a_host_whose_new_pod_is_gone_stands_as_its_workload_does(ground: Ground) -> None:
    cluster = ground.sandbox.clusters[0]
    cluster.create("deployments.apps", "shop", deployment("web", 2))
    await ground.ready(0, 2)
    incident = document(ground.hosts(0), reason="INC-4")
    await run(ground.session, await ground.session.recovery(incident))
    await ground.ready(0, 2)
    for pod in ground.pods(0):
        cluster.delete("pods", "shop", pod["metadata"]["name"])
    await ground.ready(0, 2)
    async with asyncio.timeout(30):  # others took the place of these, which the workload's controller counts later
        while True:
            if is_accomplished((await ground.session.recovery(incident)).hosts):
                break
            await asyncio.sleep(0.05)
    ground.sandbox.faults[0].stop("kube-scheduler")
    for pod in ground.pods(0):
        cluster.delete("pods", "shop", pod["metadata"]["name"])
    await ground.until(lambda: not any(map(is_ready, ground.pods(0))) and len(ground.pods(0)) == 2)
    again = await ground.session.recovery(incident)
    assert not is_accomplished(again.hosts)
    assert {each.state for each in again.hosts} == {HostState.UNVERIFIED}, again.hosts
    assert all("Deployment/web has 0 of 2 replicas ready now" in each.why for each in again.hosts), again.hosts
