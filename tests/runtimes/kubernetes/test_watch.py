"""Watching: the state of every resource once, then each change, whatever happens to the connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtimes.base import (
    Contact,
    DeleteRequest,
    KubernetesId,
    Observation,
    RuntimeFailure,
    Status,
    StatusNode,
    WatchReport,
    WatchRequest,
)
from runtimes.kubernetes import watch
from runtimes.kubernetes.runtime import KubernetesRuntime
from runtimes.kubernetes.watch import watching
from runtimes.sandbox.api.disturbances import Disturbance
from runtimes.sandbox.server import Sandbox
from tests.runtimes.kubernetes.conftest import Place

SECONDS = 30


async def _observed(reports: AsyncIterator[WatchReport]) -> Observation:
    """Reads up to the next state of a resource."""
    while isinstance(found := await anext(reports), Contact):
        pass
    return found


async def _until(
    observations: AsyncIterator[WatchReport], is_reached: Callable[[Observation], bool]
) -> list[Observation]:
    """Reads up to the first observation for which it holds; returns all of them."""
    seen = []
    async with asyncio.timeout(SECONDS):
        while True:
            each = await _observed(observations)
            seen.append(each)
            if is_reached(each):
                return seen


def _is(status: Status) -> Callable[[Observation], bool]:
    return lambda each: each.health.status is status


def _flat(node: StatusNode | None) -> list[StatusNode]:
    return [] if node is None else [node, *(below for child in node.children for below in _flat(child))]


async def test_every_resource_is_told_once_at_the_start(place: Place) -> None:
    await place.apply(place.config_map(a="1"))
    ids = (
        KubernetesId.of(place.config_map()),
        KubernetesId.of(place.deployment("absent")),
        KubernetesId("v1", "Namespace", "", place.namespace),
        KubernetesId("no.example.com/v1", "Gadget", place.namespace, "one"),
    )
    async with place.runtime.watch(WatchRequest(ids)) as observations, asyncio.timeout(SECONDS):
        told = {each.id: each for each in [await _observed(observations) for _ in ids]}
    assert {id_: each.health.status for id_, each in told.items()} == dict(
        zip(ids, (Status.CURRENT, Status.NOT_FOUND, Status.CURRENT, Status.NOT_FOUND), strict=True)
    )
    assert all(each.lost is None for each in told.values())


async def test_kinds_of_the_whole_cluster_are_found_whoever_defines_them(place: Place) -> None:
    """They were looked for in the namespace of the context, where none is: what is there was never ready."""
    level = {"name": "nowhere"}
    names = {"kind": "Lane", "plural": "lanes", "singular": "lane", "listKind": "LaneList"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    unapproved = {"api-approved.kubernetes.io": "unapproved, for a test"}
    bodies: list[dict[str, Any]] = [
        {"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": {"name": place.namespace},
         "spec": {"matchingPrecedence": 9000, "priorityLevelConfiguration": level}},
        {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": place.namespace},
         "spec": {"attacher": "x.example", "nodeName": "n", "source": {"persistentVolumeName": "v"}}},
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
         "metadata": {"name": "lanes.roads.k8s.io", "annotations": unapproved},
         "spec": {"group": "roads.k8s.io", "scope": "Cluster", "names": names, "versions": [version]}},
    ]  # fmt: skip
    for body in bodies:
        await place.apply(body)
    lane = {"apiVersion": "roads.k8s.io/v1", "kind": "Lane", "metadata": {"name": "a"}}
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                await place.apply(lane)
            except RuntimeFailure:  # a real server takes a moment until it serves a definition
                await asyncio.sleep(0.05)
            else:
                break
    ids = tuple(KubernetesId.of(each) for each in (*bodies, lane))
    async with place.runtime.watch(WatchRequest(ids)) as observations, asyncio.timeout(SECONDS):
        told = {each.id: each for each in [await _observed(observations) for _ in ids]}
    assert not [each.health for each in told.values() if each.health.status in (Status.NOT_FOUND, Status.UNKNOWN)]
    for each in ids:
        await place.runtime.delete(DeleteRequest(each, None))


@pytest.mark.parametrize("keeps_status", [True, False])
async def test_a_new_object_that_no_controller_has_looked_at_is_not_ready(sandboxed: Place, keeps_status: bool) -> None:
    """Where its kind keeps a status: what has none says nothing by it."""
    names = {"kind": "Truck", "plural": "trucks", "singular": "truck", "listKind": "TruckList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    if keeps_status:
        version["subresources"] = {"status": {}}
    spec = {"group": "roads.example", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "trucks.roads.example"},
        "spec": spec,
    }
    await sandboxed.apply(definition)
    truck = {
        "apiVersion": "roads.example/v1",
        "kind": "Truck",
        "metadata": {"name": "a", "namespace": sandboxed.namespace},
    }
    await sandboxed.apply(truck)
    request = WatchRequest((KubernetesId.of(truck),))
    async with sandboxed.runtime.watch(request) as observations, asyncio.timeout(SECONDS):
        seen = await _observed(observations)
    assert seen.health.status is (Status.IN_PROGRESS if keeps_status else Status.CURRENT)


async def test_a_rollout_is_followed_to_its_end_with_all_it_owns(place: Place) -> None:
    id_ = KubernetesId.of(place.deployment())
    async with place.runtime.watch(WatchRequest((id_,))) as observations:
        await _until(observations, _is(Status.NOT_FOUND))
        await place.apply(place.deployment(replicas=2))
        seen = await _until(observations, _is(Status.CURRENT))
        assert all(each.blocking is not None for each in seen[:-1])
        last = seen[-1]
        assert last.blocking is None
        assert [node.ref.kind for node in _flat(last.tree)] == ["Deployment", "ReplicaSet", "Pod", "Pod"]
        assert all(node.health.status is Status.CURRENT for node in _flat(last.tree))
        assert last.tree is not None and last.tree.details[0] == "2/2 ready"
        assert any(event.reason == "ScalingReplicaSet" for event in last.tree.events)

        await place.apply(place.deployment(image="example/app:v2", replicas=3))
        seen = await _until(
            observations, lambda each: each.health.status is Status.CURRENT and "3 of 3" in each.health.message
        )
        await place.runtime.delete(DeleteRequest(id_, None))
        await _until(observations, _is(Status.NOT_FOUND))


async def test_a_pod_that_no_node_takes_is_named_with_the_schedulers_words(place: Place) -> None:
    body = place.deployment(replicas=1, nodeSelector={"disk": "no-such"})
    await place.apply(body)
    async with place.runtime.watch(WatchRequest((KubernetesId.of(body),))) as observations:
        seen = await _until(
            observations, lambda each: each.blocking is not None and each.blocking.reason == "Unschedulable"
        )
    (*_, last) = seen
    assert last.health.status is Status.IN_PROGRESS
    assert last.blocking is not None and last.blocking.ref.kind == "Pod"
    assert "node" in last.blocking.message


async def test_an_image_that_cannot_be_pulled_fails_the_deployment_by_its_pod(sandboxed: Place) -> None:
    body = sandboxed.deployment(image="example/app:v1-missing", replicas=1)
    await sandboxed.apply(body)
    async with sandboxed.runtime.watch(WatchRequest((KubernetesId.of(body),))) as observations:
        (*_, last) = await _until(observations, _is(Status.FAILED))
    assert last.blocking is not None
    assert last.blocking.ref.kind == "Pod"
    assert last.health.reason in ("ErrImagePull", "ImagePullBackOff")
    assert "main" in last.blocking.evidence


async def test_the_last_words_of_a_crashing_container_come_along(sandboxed: Place) -> None:
    body = sandboxed.deployment(image="example/app:v1-crash", replicas=1)
    await sandboxed.apply(body)
    async with sandboxed.runtime.watch(WatchRequest((KubernetesId.of(body),))) as observations:
        (*_, last) = await _until(
            observations,
            lambda each: (
                each.health.reason == "CrashLoopBackOff" and each.blocking is not None and bool(each.blocking.log_tail)
            ),
        )
    assert last.health.status is Status.FAILED
    assert last.blocking is not None and len(last.blocking.log_tail) <= 20


async def test_a_slow_reader_finds_the_latest_state_and_no_queue(sandboxed: Place) -> None:
    id_ = KubernetesId.of(sandboxed.config_map())
    async with sandboxed.runtime.watch(WatchRequest((id_,))) as observations:
        assert (await _observed(observations)).health.status is Status.NOT_FOUND
        for _ in range(5):
            made = await sandboxed.apply(sandboxed.config_map(a="1"))
            await asyncio.sleep(0.12)
            await sandboxed.runtime.delete(DeleteRequest(id_, made.identity))
            await asyncio.sleep(0.12)
        await sandboxed.apply(sandboxed.config_map(a="1"))
        await asyncio.sleep(0.3)
        async with asyncio.timeout(SECONDS):
            assert (await _observed(observations)).health.status is Status.CURRENT


@pytest.mark.parametrize(
    "disturbance",
    [
        Disturbance("drop", verbs=("watch",), seconds=0.1, times=30),
        Disturbance("gone", verbs=("watch",), times=15),
        Disturbance("too-many-requests", verbs=("watch", "list"), times=8, retry_seconds=1),
        Disturbance("internal-error", verbs=("watch", "list"), times=12),
    ],
    ids=["watches-drop", "versions-expire", "overloaded", "errors"],
)
async def test_a_disturbed_watch_still_ends_at_the_truth(sandboxed: Place, disturbance: Disturbance) -> None:
    assert sandboxed.sandbox is not None
    sandboxed.sandbox.disturbances[0].add(disturbance)
    id_ = KubernetesId.of(sandboxed.deployment())
    async with sandboxed.runtime.watch(WatchRequest((id_,))) as observations:
        await sandboxed.apply(sandboxed.deployment(replicas=2))

        def is_whole(told: Observation) -> bool:
            """The Deployment's own status may be heard before its pods are, whose watch is another one."""
            pods = [node.ref.kind for node in _flat(told.tree)].count("Pod")
            return told.health.status is Status.CURRENT and told.lost is None and pods == 2

        await _until(observations, is_whole)
        await sandboxed.runtime.delete(DeleteRequest(id_, None))
        await _until(observations, _is(Status.NOT_FOUND))


def _trust_anyone(kubeconfig: Path) -> None:
    config = yaml.safe_load(kubeconfig.read_text())
    for each in config["clusters"]:
        each["cluster"] = {"server": each["cluster"]["server"], "insecure-skip-tls-verify": True}
    kubeconfig.write_text(yaml.safe_dump(config))


async def test_while_nothing_is_heard_the_state_is_stale_and_comes_back(tmp_path: Path) -> None:
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    async with Sandbox(tokens={"admin": "a-token"}, controllers=False) as first:
        first.write_kubeconfig(tmp_path / "config")
        _trust_anyone(tmp_path / "config")  # the second server has a certificate of its own
        port = int(first.urls[0].rpartition(":")[2])
        runtime = KubernetesRuntime.connect(kubeconfig=tmp_path / "config")
        try:
            async with runtime.watch(WatchRequest((KubernetesId.of(body),))) as observations:
                assert (await _observed(observations)).lost is None
                await first.close()
                (*_, stale) = await _until(observations, lambda each: each.lost is not None)
                assert stale.health.status is Status.UNKNOWN
                assert "cannot be reached" in stale.health.message and "a-token" not in stale.health.message
                async with Sandbox(tokens={"admin": "a-token"}, controllers=False, port=port):
                    await _until(observations, lambda each: each.lost is None)
        finally:
            await runtime.close()


async def test_a_cluster_that_is_down_from_the_start_is_unknown_and_not_an_end(tmp_path: Path) -> None:
    async with Sandbox(controllers=False) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "config")
    runtime = KubernetesRuntime.connect(kubeconfig=tmp_path / "config")
    id_ = KubernetesId("apps/v1", "Deployment", "default", "web")
    try:
        async with runtime.watch(WatchRequest((id_,))) as observations:
            (*_, last) = await _until(observations, _is(Status.UNKNOWN))
            assert last.health.reason == "Unreachable"
            assert last.lost is not None and last.lost.reason == "Unreachable"
    finally:
        await runtime.close()


async def test_what_we_may_not_see_is_unknown_with_the_reason(tmp_path: Path) -> None:
    async with Sandbox(tokens={"admin": "a", "viewer": "v"}, controllers=False) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "config", user="viewer")
        runtime = KubernetesRuntime.connect(kubeconfig=tmp_path / "config")
        try:
            id_ = KubernetesId("apps/v1", "Deployment", "default", "web")
            async with runtime.watch(WatchRequest((id_,))) as observations:
                (*_, last) = await _until(observations, _is(Status.UNKNOWN))
                assert last.health.reason == "Forbidden" and "viewer" in last.health.message
        finally:
            await runtime.close()


async def test_leaving_a_watch_ends_all_of_its_tasks(sandboxed: Place) -> None:
    with pytest.raises(ZeroDivisionError):
        async with sandboxed.runtime.watch(WatchRequest((KubernetesId.of(sandboxed.deployment()),))) as observations:
            await _observed(observations)
            raise ZeroDivisionError
    await asyncio.sleep(0.1)
    ours = ("Informer.", "Observer.", "LogTails.")
    assert not [task for task in asyncio.all_tasks() if any(name in repr(task) for name in ours)]


async def test_of_an_object_with_more_events_than_are_kept_the_rest_is_told(sandboxed: Place) -> None:
    claim: dict[str, Any] = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": sandboxed.namespace},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                 "storageClassName": "", "volumeName": "no-such-volume"},
    }  # fmt: skip
    live = await sandboxed.apply(claim)
    about = {"apiVersion": "v1", "kind": claim["kind"], **claim["metadata"], "uid": live.identity.uid}
    for minute in range(30):
        event = {
            "apiVersion": "v1", "kind": "Event", "involvedObject": about, "type": "Warning", "reason": "Stuck",
            "metadata": {"name": f"data.{minute}", "namespace": sandboxed.namespace},
            "message": f"attempt {minute}", "lastTimestamp": f"2030-01-01T10:{minute:02d}:00Z",
        }  # fmt: skip
        await sandboxed.write("POST", "/api/v1/namespaces/$NS/events", event)
    id_ = KubernetesId.of(claim)
    async with watching(sandboxed.runtime._client, (id_,), most_events=8) as observations, asyncio.timeout(SECONDS):
        seen = await _observed(observations)
    assert seen.tree is not None and seen.blocking is not None
    first, *others = seen.tree.events
    assert [each.message for each in others][-1] == "attempt 29"
    assert first.when is None and first.message == f"{30 - len(others)} older events are not kept"
    assert seen.blocking.message.endswith(f" ({30 - len(others)} older events are not kept)")
    listed = await sandboxed.runtime.events(id_, live.identity.uid)
    assert sorted(each.message for each in listed) == sorted(f"attempt {minute}" for minute in range(30))


async def test_what_happened_is_told_between_looks_at_what_is_on_its_way(
    sandboxed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand on their way are looked at in shares: an event does not wait until all were."""
    for name, value in {"_SHARE_SECONDS": 0.0, "_TICK_SECONDS": 0.0, "_is_moving": lambda _: True}.items():
        monkeypatch.setattr(watch, name, value)
    looks: list[list[str]] = []
    enough = asyncio.Event()
    look, see = watch._Observer._look, watch._Observer._see

    def begin(self: watch._Observer) -> bool:
        looks.append([])
        if len(looks) > 7:
            enough.set()
        return look(self)

    def note(self: watch._Observer, id_: KubernetesId, *rest: Any) -> None:
        looks[-1].append(id_.name)
        see(self, id_, *rest)

    monkeypatch.setattr(watch._Observer, "_look", begin)
    monkeypatch.setattr(watch._Observer, "_see", note)
    bodies = [sandboxed.config_map(f"map-{number}", a="1") for number in range(5)]
    for each in bodies:
        await sandboxed.apply(each)
    ids = tuple(map(KubernetesId.of, bodies))
    async with asyncio.timeout(SECONDS), watching(sandboxed.runtime._client, ids) as reports:
        for _ in ids:
            await _observed(reports)
        looks.clear()
        enough.clear()
        await sandboxed.runtime.delete(DeleteRequest(ids[3], None))
        assert (gone := await _observed(reports)).id == ids[3] and gone.health.status is Status.NOT_FOUND
        await enough.wait()
    assert all(len(each) <= 2 for each in looks), "what happened, and one of those that are on their way"
    assert {name for each in looks for name in each} == {each.name for each in ids}
