"""Webhooks of a cluster that change what is applied, refuse with whatever code they like, or can't be asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Basis, FieldConflict, KubernetesId, Prediction, Rejected
from runtimes.kubernetes.failures import failure
from runtimes.kubernetes.kubeconfig import Connection, Endpoint
from runtimes.kubernetes.transport import Transport
from tests.workbench.engine.fake_cluster import FakeCluster, Stored
from tests.workbench.session.machines import apply
from tests.workbench.session.shop import Clusters, session, shop
from workbench.engine.overruled import overruled


class Mutating(FakeCluster):
    """Makes seven replicas of any number."""

    def _applied(
        self, id_: KubernetesId, stored: Stored | None, body: Mapping[str, Any]
    ) -> tuple[Stored, tuple[FieldConflict, ...]]:
        after, conflicts = super()._applied(id_, stored, body)
        if id_.kind == "Deployment":
            after.leaves["spec", "replicas"] = 7
        return after, conflicts


@pytest.mark.parametrize("cluster", [FakeCluster, Mutating])
async def test_what_a_webhook_makes_of_it_is_not_said_to_be_as_configured(
    cluster: type[FakeCluster], tmp_path: Path
) -> None:
    clusters = Clusters()
    clusters.by_name["hz"] = cluster("hz")
    async with session(shop(tmp_path / "repo"), clusters) as opened:
        stack = opened.select("web/dev")
        plan = await opened.plan(stack)
        await apply(opened, plan)
        found = await opened.diff(stack)
    assert not found.is_different, "nothing that an apply would change"
    is_told = any("spec.replicas is not as configured" in each for each in found.notes)
    assert is_told is (cluster is Mutating)
    assert len(found.notes) == is_told, "and nothing is said that is only written in another form"


def of(applied: Any, after: Any, basis: Basis = Basis.DRY_RUN) -> list[tuple[Any, ...]]:
    id_ = KubernetesId("v1", "Thing", "shop", "web")
    keys: dict[tuple[str, ...], tuple[str, ...]] = {("spec", "ports"): ("port", "protocol")}
    return [tuple(path) for path in overruled(applied, Prediction(id_, None, after, list_keys=keys, basis=basis))]


@pytest.mark.parametrize(
    ("applied", "after"),
    [
        ({"spec": {"cpu": "1000m"}}, {"spec": {"cpu": "1"}}),
        ({"spec": {"memory": "1024Mi", "size": 1.0}}, {"spec": {"memory": "1Gi", "size": 1}}),
        ({"spec": {"host": False, "empty": {}, "none": None, "list": []}}, {"spec": {}}),
        ({"spec": {"nodePort": 0, "clusterIP": ""}}, {"spec": {"nodePort": 30123, "clusterIP": "10.0.0.7"}}),
        (
            {"spec": {"ports": [{"port": 80, "name": "a"}]}},
            {"spec": {"ports": [{"port": 443, "protocol": "TCP"}, {"port": 80, "protocol": "TCP", "name": "a"}]}},
        ),
        ({"data": {"a": "YWJj\n  ZGVm\n"}}, {"data": {"a": "YWJjZGVm"}}),
        ({"metadata": {"name": "a", "generation": 1}, "status": {"a": 1}}, {"metadata": {"name": "b"}}),
    ],
)
def test_another_way_to_write_it_is_as_configured(applied: Any, after: Any) -> None:
    assert of(applied, after) == []


def test_what_is_changed_added_to_or_dropped_is_named() -> None:
    applied = {"metadata": {"labels": {"a": "1"}}, "spec": {"image": "a:1", "args": ["x"], "on": True, "gone": "y"}}
    after = {"metadata": {"labels": {"a": "2"}}, "spec": {"image": "b:1", "args": ["x", "y"], "on": False, "more": 1}}
    named = [("metadata", "labels", "a"), ("spec", "image"), ("spec", "args"), ("spec", "on"), ("spec", "gone")]
    assert of(applied, after) == named
    assert of(applied, after, Basis.RESOURCE) == []


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 410, 422, 429, 500])
def test_a_webhook_that_says_no_is_no_lack_of_rights_and_no_lost_login(code: int) -> None:
    message = 'admission webhook "policy.example.org" denied the request: you cannot do that today'
    found = failure(code, {"kind": "Status", "message": message, "reason": "Forbidden"}, target="hz")
    assert type(found) is Rejected and "webhook" in found.hint and message in found.message


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        (400, 'admission webhook "a.example.org" does not support dry run', "sideEffects"),
        (403, "create not allowed while custom resource definition is terminating", "being deleted"),
        (403, "unable to create new content in namespace a because it is being terminated", "being deleted"),
        (500, "etcdserver: request is too large", "1.5 MB"),
        (500, 'failed calling webhook "a.example.org": context deadline exceeded', "webhook"),
    ],
)
def test_what_a_server_refuses_for_reasons_of_its_own_says_what_to_do(code: int, message: str, hint: str) -> None:
    found = failure(code, {"kind": "Status", "message": message}, target="hz")
    assert type(found) is Rejected and hint in found.hint


async def test_a_kind_that_cannot_be_converted_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server says of it that it is about to be able to; it never is while its webhook is away."""
    said = "storage is (re)initializing: failed to list x/v1, Kind=Tool: conversion webhook for x/v1, Kind=Tool failed"
    body = json.dumps({"kind": "Status", "message": said, "reason": "TooManyRequests", "code": 429}).encode()
    asked: list[str] = []

    async def answered(self: Transport, method: str, path: str, *rest: Any) -> tuple[int, dict[str, str], bytes]:
        asked.append(path)
        return 429, {"Retry-After": "1"}, body

    monkeypatch.setattr(Transport, "_exchange", answered)
    connection = Connection("a", "default", Endpoint("http://127.0.0.1:9"))
    transport = Transport(connection, place="hz")
    try:
        with pytest.raises(Rejected, match="conversion webhook") as told:
            await transport.call("GET", "/apis/x/v1/tools")
    finally:
        await transport.close()
    assert asked == ["/apis/x/v1/tools"] and "converts" in told.value.hint
