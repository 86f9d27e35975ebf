"""What is waited for can still happen: addresses of controllers that are there, and what the repository asks for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runtimes.base import (
    Contact,
    KubernetesId,
    Observation,
    ReadyByCondition,
    ReadyByField,
    ReadyRule,
    ReadyWhenThere,
    Status,
    WatchRequest,
)
from runtimes.kubernetes import health, tree, why
from runtimes.kubernetes.health.service import TAKEN_UP_SECONDS
from runtimes.kubernetes.objects import Objects
from tests.runtimes.kubernetes.conftest import REAL, Place

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def _object(kind: str, age_seconds: float, *, finalizers: list[str] | None = None, **parts: Any) -> dict[str, Any]:
    created = (NOW - timedelta(seconds=age_seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {"name": "x", "namespace": "n", "uid": "u-1", "creationTimestamp": created, "generation": 2}
    return {
        "apiVersion": "networking.k8s.io/v1" if kind == "Ingress" else "v1",
        "kind": kind,
        "metadata": {**metadata, **({"finalizers": finalizers} if finalizers else {})},
        **({"spec": {"type": "LoadBalancer"}} if kind == "Service" else {}),
        **parts,
    }


def _event(type_: str = "Normal") -> dict[str, Any]:
    about = {"kind": "", "namespace": "n", "name": "x", "uid": "u-1"}
    return {"involvedObject": about, "type": type_, "reason": "Sync", "message": "no subnet is free"}


ADDRESS = {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}


@pytest.mark.parametrize("kind", ["Ingress", "Service"])
@pytest.mark.parametrize(
    ("age", "parts", "events", "status"),
    [
        (1, {}, [], Status.IN_PROGRESS),
        (TAKEN_UP_SECONDS + 1, {}, [], Status.CURRENT),
        (36_000, {}, [], Status.CURRENT),
        (36_000, {"finalizers": ["service.kubernetes.io/load-balancer-cleanup"]}, [], Status.IN_PROGRESS),
        (600, {}, [_event()], Status.IN_PROGRESS),
        (600, {}, [_event("Warning")], Status.IN_PROGRESS),
        (1, {"status": ADDRESS}, [], Status.CURRENT),
        (600, {"status": {"loadBalancer": {"ingress": [{}]}}}, [], Status.CURRENT),
    ],
)
def test_an_address_is_waited_for_where_a_controller_may_give_one(
    kind: str, age: float, parts: dict[str, Any], events: list[dict[str, Any]], status: Status
) -> None:
    live = _object(kind, age, **parts)
    found = health.assess(live, Objects([live], events), NOW).health
    assert found.status is status
    if status is Status.CURRENT and "status" not in parts:
        assert found.is_qualified and "has no address" in found.message, "it is not said to be served"
        assert kind != "Ingress" or tree.details(live, Objects([live])) == ("no address",)


SAID = "readiness.yaml, rule 1"
AVAILABLE = {"status": {"conditions": [{"type": "Available", "status": "True", "reason": "Up", "message": "is up"}]}}
BROKEN = {"status": {"conditions": [{"type": "Broken", "status": "True", "reason": "Disk", "message": "disk died"}]}}
OLDER = {"status": {"observedGeneration": 1, "phase": "Bound", **AVAILABLE["status"]}}
BY_CONDITION = ReadyByCondition(SAID, "Available", ("Broken",))
BY_FIELD = ReadyByField(SAID, ("status", "phase"), ("Bound",), ("Lost",))
ANY = ReadyByField(SAID, ("status", "loadBalancer", "ingress"))


@pytest.mark.parametrize(
    ("rule", "parts", "status", "words"),
    [
        (ReadyWhenThere(SAID), {}, Status.CURRENT, SAID),
        (ReadyWhenThere(SAID), BROKEN, Status.CURRENT, SAID),
        (BY_CONDITION, {}, Status.IN_PROGRESS, "Available"),
        (BY_CONDITION, AVAILABLE, Status.CURRENT, "is up"),
        (BY_CONDITION, BROKEN, Status.FAILED, "disk died"),
        (BY_CONDITION, OLDER, Status.IN_PROGRESS, "not observed"),
        (BY_FIELD, {}, Status.IN_PROGRESS, "Bound"),
        (BY_FIELD, {"status": {"phase": "Pending"}}, Status.IN_PROGRESS, "status.phase is Pending"),
        (BY_FIELD, {"status": {"phase": "Bound"}}, Status.CURRENT, "status.phase is Bound"),
        (BY_FIELD, {"status": {"phase": "Lost"}}, Status.FAILED, "status.phase is Lost"),
        (BY_FIELD, OLDER, Status.IN_PROGRESS, "not observed"),
        (BY_FIELD, {"status": "odd"}, Status.IN_PROGRESS, "not set"),
        (ANY, {}, Status.IN_PROGRESS, SAID),
        (ANY, {"status": {"loadBalancer": {"ingress": []}}}, Status.IN_PROGRESS, SAID),
        (ANY, {"status": ADDRESS}, Status.CURRENT, ""),
        (ReadyByField(SAID, ("status", "ready"), (True,)), {"status": {"ready": 1}}, Status.IN_PROGRESS, "1"),
        (ReadyByField(SAID, ("data", "token")), {"data": {"token": "t-o-k-e-n"}}, Status.CURRENT, "data.token is set"),
    ],
)
def test_a_rule_replaces_that_of_the_kind(rule: ReadyRule, parts: dict[str, Any], status: Status, words: str) -> None:
    live = _object("Ingress", 600, **parts)
    objects = Objects([live])
    root = tree.build(live, objects, NOW, rule)
    assert root.health.status is status
    assert words in root.health.message and "t-o-k-e-n" not in root.health.message
    blocking = why.blocking(live, objects, NOW, rule)
    assert (blocking is None) == (status is Status.CURRENT)
    live["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    assert tree.build(live, objects, NOW, rule).health.status is Status.TERMINATING


def test_times_are_reported_by_the_clock_of_who_shows_their_ages() -> None:
    live = _object("Ingress", 600)
    event = {"type": "Normal", "reason": "Sync", "lastTimestamp": NOW.isoformat(), "involvedObject": {"uid": "u"}}
    live["metadata"]["uid"] = "u"
    node = tree.build(live, Objects([live], [event]), NOW)
    there = tree.by_clock(node, timedelta(hours=2))
    assert node.created is not None and there.created == node.created - timedelta(hours=2)
    assert [each.when for each in there.events] == [NOW - timedelta(hours=2)]
    assert there.health == node.health


def _ingress(namespace: str) -> dict[str, Any]:
    port = {"service": {"name": "web", "port": {"number": 80}}}
    rule = {"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": port}]}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"ingressClassName": "nobody", "rules": [rule]},
    }


async def test_a_rule_reaches_the_watch(place: Place) -> None:
    """With `exists` an Ingress that no controller serves is ready at once."""
    body = _ingress(place.namespace)
    await place.apply(body)
    id_ = KubernetesId.of(body)
    async with place.runtime.watch(WatchRequest((id_,), {id_: ReadyWhenThere(SAID)})) as observations:
        async for seen in observations:
            if isinstance(seen, Observation) and seen.health.status is Status.CURRENT:
                assert SAID in seen.health.message
                break


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="no real cluster")
@pytest.mark.parametrize("place", ["real"], indirect=True)
async def test_an_ingress_that_nobody_serves_is_not_waited_for_long(place: Place) -> None:
    body = _ingress(place.namespace)
    await place.apply(body)
    async with place.runtime.watch(WatchRequest((KubernetesId.of(body),))) as observations:
        states = []
        async for seen in observations:
            if isinstance(seen, Contact):
                continue
            states.append(seen.health.status)
            if seen.health.status is Status.CURRENT:
                assert "no controller took it up" in seen.health.message
                break
    assert states[0] is Status.IN_PROGRESS
