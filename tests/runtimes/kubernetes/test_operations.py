"""Restarting, cordoning and scaling live objects; against a real cluster as well where one is given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.base import (
    Blocked,
    KubernetesId,
    LiveOperations,
    LivePod,
    Moved,
    NodeOperations,
    NotThere,
    Operable,
    Overloaded,
    PodTarget,
    ReadRequest,
    Rejected,
    Survey,
    SurveyRequest,
    WorkloadRef,
)
from runtimes.kubernetes.operations import has_taken
from runtimes.sandbox.api.disturbances import Disturbance

from .conftest import Place


async def until(look: Callable[[], Awaitable[Any]], good: Callable[[Any], bool], seconds: float = 40) -> Any:
    async with asyncio.timeout(seconds):
        while True:
            if good(found := await look()):
                return found
            await asyncio.sleep(0.1)


async def running(place: Place, operations: LiveOperations, number: int) -> Survey:
    def good(survey: Survey) -> bool:
        return len(survey.pods) == number and all(each.is_ready for each in survey.pods)

    found: Survey = await until(lambda: operations.survey(SurveyRequest((place.namespace,))), good)
    return found


def target(pod: LivePod) -> PodTarget:
    return PodTarget(pod.namespace, pod.name, pod.uid)


def budget(place: Place, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": place.namespace},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


async def test_a_survey_leads_from_pods_to_their_workloads_and_budgets(place: Place) -> None:
    assert isinstance(place.runtime, Operable)
    operations = place.runtime.operations
    await place.apply(place.deployment(replicas=3))
    await place.apply(budget(place, maxUnavailable=1))
    survey = await running(place, operations, 3)
    survey = await until(
        lambda: operations.survey(SurveyRequest((place.namespace,), nodes=True)),
        lambda found: all(each.budgets and each.budgets[0].allowed == 1 for each in found.pods),
    )
    ref = survey.pods[0].workload
    assert ref is not None and (ref.kind, ref.name) == ("Deployment", "web")
    workload = survey.workloads[ref]
    assert (workload.desired, workload.ready, workload.is_settled) == (3, 3, True)
    assert {each.node for each in survey.pods} <= {each.name for each in survey.nodes}
    assert survey.pods[0].controller and survey.pods[0].controller != ref.uid


async def test_an_eviction_is_refused_by_its_budget_and_sent_once(place: Place) -> None:
    operations = place.runtime.operations
    await place.apply(place.deployment(replicas=2))
    await place.apply(budget(place, minAvailable=2))
    survey = await running(place, operations, 2)
    started = asyncio.get_running_loop().time()
    with pytest.raises(Blocked, match="disruption budget"):
        await operations.evict(target(survey.pods[0]))
    assert asyncio.get_running_loop().time() - started < 5
    now = await operations.survey(SurveyRequest((place.namespace,)))
    assert {each.uid for each in now.pods} == {each.uid for each in survey.pods}


async def test_an_evicted_pod_is_replaced(place: Place) -> None:
    operations = place.runtime.operations
    await place.apply(place.deployment(replicas=2))
    survey = await running(place, operations, 2)
    old = survey.pods[0]
    await operations.evict(target(old))
    after = await until(
        lambda: operations.pods(place.namespace),
        lambda pods: len(pods) == 2 and all(each.is_ready and each.uid != old.uid for each in pods),
    )
    assert {each.controller for each in after} == {old.controller}


async def test_another_pod_of_the_name_is_left_alone(place: Place) -> None:
    operations = place.runtime.operations
    await place.apply(place.deployment(replicas=1))
    pod = (await running(place, operations, 1)).pods[0]
    other = PodTarget(pod.namespace, pod.name, "00000000-0000-0000-0000-000000000000")
    with pytest.raises(Moved):
        await operations.delete_pod(other)
    with pytest.raises(Moved):
        await operations.evict(other)
    (now,) = await operations.pods(place.namespace)
    assert now.uid == pod.uid and not now.is_terminating


async def test_a_pod_that_is_gone_is_said_to_be_gone(place: Place) -> None:
    for act in (place.runtime.operations.delete_pod, place.runtime.operations.evict):
        with pytest.raises(NotThere):
            await act(PodTarget(place.namespace, "nobody", "00000000-0000-0000-0000-000000000000"))


async def test_a_rollout_restart_replaces_all_pods(place: Place) -> None:
    operations = place.runtime.operations
    await place.apply(place.deployment(replicas=2))
    before = await running(place, operations, 2)
    ref = before.pods[0].workload
    assert ref is not None
    await operations.restart_rollout(ref, datetime.now(UTC))
    old = {each.uid for each in before.pods}
    await until(
        lambda: operations.pods(place.namespace),
        lambda pods: len(pods) == 2 and all(each.is_ready and each.uid not in old for each in pods),
    )
    workload = await operations.workload(ref)
    assert workload is not None and workload.desired == 2


async def test_scaling_and_restarting_ask_for_the_same_object(place: Place) -> None:
    operations = place.runtime.operations
    await place.apply(place.deployment(replicas=1))
    ref = (await running(place, operations, 1)).pods[0].workload
    assert ref is not None
    other = WorkloadRef(ref.kind, ref.namespace, ref.name, "00000000-0000-0000-0000-000000000000")
    with pytest.raises(Moved):
        await operations.restart_rollout(other, datetime.now(UTC))
    with pytest.raises(Moved):
        await operations.scale(other, 5)
    await operations.scale(ref, 3)
    workload = await operations.workload(ref)
    assert workload is not None and workload.desired == 3
    await operations.scale(ref, 0)
    workload = await operations.workload(ref)
    assert workload is not None and workload.desired == 0
    assert await operations.workload(other) is None
    with pytest.raises(Rejected, match="no scale"):
        await operations.scale(WorkloadRef("DaemonSet", place.namespace, "x"), 1)


async def test_a_cordoned_node_takes_nothing_new(place: Place) -> None:
    operations = place.runtime.operations
    node = (await operations.survey(SurveyRequest((), nodes=True))).nodes[0]
    try:
        await operations.cordon(node)
        nodes = (await operations.survey(SurveyRequest((), nodes=True))).nodes
        assert [each.is_cordoned for each in nodes if each.name == node.name] == [True]
    finally:
        await place.write("PATCH", f"/api/v1/nodes/{node.name}", {"spec": {"unschedulable": None}})


async def test_a_record_is_written_only_on_top_of_what_was_read(place: Place) -> None:
    """Of two that begin at once, one finds out."""
    operations, namespace = place.runtime.operations, place.namespace
    assert await operations.record(namespace, "incident") is None
    assert await operations.record("no-such-namespace", "incident") is None
    first = await operations.write_record(namespace, "incident", {"run-1": "begun"}, "")
    with pytest.raises(Moved):
        await operations.write_record(namespace, "incident", {"run-2": "begun"}, "")
    second = await operations.write_record(namespace, "incident", {"step-1": "started"}, first)
    with pytest.raises(Moved):
        await operations.write_record(namespace, "incident", {"step-2": "started"}, first)
    found = await operations.record(namespace, "incident")
    assert found is not None and found.version == second
    assert found.entries == {"run-1": "begun", "step-1": "started"}
    with pytest.raises(NotThere):
        await operations.write_record("no-such-namespace", "incident", {"run-1": "begun"}, "")


async def test_no_mutation_is_repeated_when_the_server_is_busy(place: Place) -> None:
    if place.sandbox is None:
        pytest.skip("disturbances are the sandbox's")
    operations = place.runtime.operations
    await place.apply(place.deployment(replicas=1))
    pod = (await running(place, operations, 1)).pods[0]
    busy = Disturbance("too-many-requests", ("delete", "create", "patch"), retry_seconds=0)
    for act in (operations.delete_pod, operations.evict):
        met = place.sandbox.disturbances[0].add(Disturbance(busy.effect, busy.verbs, times=5, retry_seconds=0))
        with pytest.raises(Overloaded):
            await act(target(pod))
        assert met.times == 4
        place.sandbox.disturbances[0].clear()
    live = await place.runtime.read(ReadRequest(KubernetesId("v1", "Pod", pod.namespace, pod.name)))
    assert live is not None and live.identity.uid == pod.uid


async def test_a_node_is_cordoned_and_uncordoned_and_its_pods_are_told(place: Place) -> None:
    operations = place.runtime.operations
    assert isinstance(operations, NodeOperations)
    await place.apply(place.deployment(replicas=2))
    await place.apply(budget(place, minAvailable=2))
    survey = await running(place, operations, 2)
    node = next(
        each
        for each in (await operations.survey(SurveyRequest((), nodes=True))).nodes
        if each.name == survey.pods[0].node
    )
    await operations.cordon(node)
    try:
        nodes = (await operations.survey(SurveyRequest((), nodes=True))).nodes
        assert next(each for each in nodes if each.name == node.name).is_cordoned
        found = await operations.pods_on(node.name)
        assert found.budgets_failure is None
        own = {each.target.uid: each for each in found.pods if each.target.namespace == place.namespace}
        assert own.keys() == {each.uid for each in survey.pods if each.node == node.name}
        seen = own[survey.pods[0].uid]
        assert seen.controller.startswith("ReplicaSet/web") and seen.is_ready and not seen.is_static
        assert [each.name for each in seen.budgets] == ["web"] and seen.budgets[0].allowed == 0
    finally:
        await operations.uncordon(node)
    nodes = (await operations.survey(SurveyRequest((), nodes=True))).nodes
    assert not next(each for each in nodes if each.name == node.name).is_cordoned
    with pytest.raises(Moved):
        await operations.uncordon(replace(node, uid="00000000-0000-0000-0000-000000000000"))


@pytest.mark.parametrize(
    ("answer", "change", "expected"),
    [
        ({"spec": {"unschedulable": True, "taints": []}}, {"spec": {"unschedulable": True}}, True),
        ({"spec": {}}, {"spec": {"unschedulable": True}}, False),
        ({"spec": {"unschedulable": True}}, {"spec": {"unschedulable": None}}, False),
        ({"spec": {"unschedulable": False}}, {"spec": {"unschedulable": None}}, True),
        ({"metadata": {}}, {"spec": {"unschedulable": None}}, True),
        ({"spec": {"replicas": 2}}, {"spec": {"replicas": 3}}, False),
        ({"spec": {}}, {"spec": {"replicas": 0}}, True),
        ({"spec": {"replicas": 2}}, {"spec": {"replicas": 0}}, False),
        ({"spec": {"template": None}}, {"spec": {"template": {"metadata": {"a": "b"}}}}, False),
    ],
)  # fmt: skip
def test_what_the_api_took_and_something_put_back_is_not_done(
    answer: dict[str, Any], change: dict[str, Any], expected: bool
) -> None:
    assert has_taken(answer, change) is expected
