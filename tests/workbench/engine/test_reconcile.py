"""Watching until ready: what the picture says, and when it ends."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
import pytest

from runtimes.base import Address, Blocking, KubernetesId, ObjectRef, Runtime, Status, Unreachable
from tests.workbench.engine.fake_cluster import FakeCluster
from tests.workbench.engine.world import deployment, namespace, spec_of
from workbench.engine import reconcile
from workbench.engine.reconcile import addresses, watch
from workbench.engine.status import StatusTree, Verdict

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WEB = KubernetesId("apps/v1", "Deployment", "shop", "web")
POD = Blocking(ObjectRef("Pod", "shop", "web-1"), "ImagePullBackOff", "cannot pull web:2")


def clusters(*names: str) -> dict[str, FakeCluster]:
    found = {name: FakeCluster(name) for name in names}
    for each in found.values():
        for body in (namespace(), deployment("web")):
            each.put(body)
    return found


def connecting(found: dict[str, FakeCluster]) -> object:
    async def connect(cluster: str) -> Runtime:
        return found[cluster]

    return connect


WATCHED = spec_of(deployment("web"), namespace())


async def pictures(found: dict[str, FakeCluster], timeout: float | None = 5.0) -> list[StatusTree]:
    watched = addresses(WATCHED, list(found))
    async with watch(watched, connecting(found), until_settled=True, timeout_seconds=timeout) as trees:  # type: ignore[arg-type]
        return [tree async for tree in trees]


async def test_all_current_in_all_clusters_is_ready() -> None:
    (tree,) = await pictures(clusters("hz", "sh"))
    assert (tree.verdict, tree.ready, tree.total, tree.why) == (Verdict.READY, 4, 4, None)
    assert [each.address for each in tree.resources][:2] == [
        Address("hz", KubernetesId("v1", "Namespace", "", "shop")),
        Address("sh", KubernetesId("v1", "Namespace", "", "shop")),
    ], "in the order of applying"


async def test_a_failure_ends_the_wait_and_says_why() -> None:
    found = clusters("hz")
    found["hz"].become(WEB, Status.IN_PROGRESS)
    async with watch(addresses(WATCHED, ["hz"]), connecting(found), until_settled=True) as trees:  # type: ignore[arg-type]
        seen = []
        async for tree in trees:
            seen.append(tree.verdict)
            if tree.verdict is Verdict.PROGRESSING:
                found["hz"].become(WEB, Status.FAILED, POD)
    assert list(dict.fromkeys(seen)) == [Verdict.PROGRESSING, Verdict.FAILED]
    assert tree.why is not None and tree.why.blocking == POD


async def test_time_that_is_up_is_never_success() -> None:
    found = clusters("hz")
    found["hz"].become(WEB, Status.IN_PROGRESS, POD)
    trees = await pictures(found, timeout=0.05)
    assert trees[-1].verdict is Verdict.TIMED_OUT
    assert trees[-1].why is not None


async def test_what_is_not_there_is_not_ready() -> None:
    found = clusters("hz")
    del found["hz"].objects[WEB]
    trees = await pictures(found, timeout=0.05)
    assert trees[-1].verdict is Verdict.TIMED_OUT
    assert trees[-1].resources[1].health.status is Status.NOT_FOUND


async def test_a_cluster_that_is_away_is_shown_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile, "_FIRST_PAUSE_SECONDS", 0.01)
    found = clusters("hz", "sh")
    found["sh"].fail["watch"] = Unreachable("connection refused", hint="is it up?")
    async with watch(addresses(WATCHED, list(found)), connecting(found), until_settled=True) as trees:  # type: ignore[arg-type]
        seen = []
        async for tree in trees:
            seen.append(tree)
            found["sh"].fail.clear()
    first, last = seen[0], seen[-1]
    assert first.verdict is Verdict.UNKNOWN and first.ready == 2
    assert [(each.place, each.lost and each.lost.message) for each in first.silent] == [("sh", "connection refused")]
    assert {each.health.status for each in first.resources if each.address.cluster == "sh"} == {Status.UNKNOWN}
    assert last.verdict is Verdict.READY and last.silent == ()


async def test_a_slow_reader_gets_the_latest_picture_not_all() -> None:
    found = clusters("hz")
    async with watch(addresses(WATCHED, ["hz"]), connecting(found)) as trees:  # type: ignore[arg-type]
        await anext(trees)
        for status in [Status.IN_PROGRESS, Status.FAILED] * 20:
            found["hz"].become(WEB, status)
            await anyio.lowlevel.checkpoint()
        await anyio.sleep(0.02)
        tree = await anext(trees)
    assert tree.resources[1].health.status is Status.FAILED


def test_the_why_line_prefers_the_failure_of_a_pod() -> None:
    from runtimes.base import Health
    from workbench.engine.status import ResourceStatus

    def status(name: str, state: Status, blocking: Blocking | None) -> ResourceStatus:
        return ResourceStatus(Address("hz", KubernetesId("v1", "X", "shop", name)), Health(state), None, blocking)

    waiting = Blocking(ObjectRef("Ingress", "shop", "i"), "NoAddress", "waits")
    tree = StatusTree(
        (
            status("done", Status.CURRENT, None),
            status("unexplained", Status.FAILED, None),
            status("ingress", Status.IN_PROGRESS, waiting),
            status("slow", Status.IN_PROGRESS, POD),
            status("broken", Status.FAILED, POD),
        ),
        (),
        NOW,
    )
    order = []
    resources = list(tree.resources)
    while (why := StatusTree(tuple(resources), (), NOW).why) is not None:
        order.append(getattr(why.address.id, "name", ""))
        resources.remove(why)
    assert order == ["broken", "slow", "ingress", "unexplained"]
    assert tree.verdict is Verdict.FAILED


async def test_refused_credentials_are_not_waited_for() -> None:
    found = clusters("hz")
    for id_ in (KubernetesId("v1", "Namespace", "", "shop"), WEB):
        found["hz"].become(id_, Status.UNKNOWN, reason="Unauthenticated")
    trees = await pictures(found, timeout=60.0)
    assert trees[-1].verdict is Verdict.PROGRESSING, "not ready, and not timed out either"
    assert trees[-1].seconds < 30
