"""What a watch says for somebody who may do little, and where this machine's clock is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import (
    KubernetesId,
    Observation,
    PlanRequest,
    ReadRequest,
    Resource,
    ResourceId,
    RuntimeType,
    Status,
    WatchReport,
    WatchRequest,
)
from runtimes.kubernetes import informer
from runtimes.kubernetes.runtime import KubernetesRuntime
from runtimes.sandbox.clock import WallClock
from runtimes.sandbox.server import Sandbox
from workbench.engine.changes import Actor, ChangeClass, FieldChange, Op
from workbench.present.diff import field_notes
from workbench.present.glyphs import UNICODE

SECONDS = 20
RBAC = "rbac.authorization.k8s.io"
NAMESPACE = KubernetesId("v1", "Namespace", "", "shop")
SETTINGS = KubernetesId("v1", "ConfigMap", "shop", "settings")
GATE = KubernetesId("v1", "Service", "shop", "gate")


class Elsewhere(WallClock):
    """A clock that is wrong, or right where this machine's is not."""

    def __init__(self, ahead: timedelta) -> None:
        self._ahead = ahead

    def now(self) -> datetime:
        return super().now() + self._ahead


def _grant(sandbox: Sandbox, rules: Sequence[dict[str, Any]], namespace: str = "") -> None:
    """Grants rights to the user `limited`, in one namespace or in the cluster."""
    cluster, head = sandbox.clusters[0], {"apiVersion": f"{RBAC}/v1", "metadata": {"name": f"some{len(namespace)}"}}
    cluster.create(f"clusterroles.{RBAC}", "", {**head, "kind": "ClusterRole", "rules": list(rules)})
    subject = {"kind": "User", "name": "limited", "apiGroup": RBAC}
    kind, plural = ("RoleBinding", "rolebindings") if namespace else ("ClusterRoleBinding", "clusterrolebindings")
    ref = {"kind": "ClusterRole", "name": f"some{len(namespace)}", "apiGroup": RBAC}
    cluster.create(f"{plural}.{RBAC}", namespace, {**head, "kind": kind, "subjects": [subject], "roleRef": ref})


def _put(sandbox: Sandbox, id_: KubernetesId, **more: Any) -> None:
    plural = {"Namespace": "namespaces", "ConfigMap": "configmaps", "Service": "services", "Event": "events"}[id_.kind]
    head = {"name": id_.name, **({"namespace": id_.namespace} if id_.namespace else {})}
    body = {"apiVersion": id_.api_version, "kind": id_.kind, "metadata": head, **more}
    sandbox.clusters[0].create(plural, id_.namespace, body)


@asynccontextmanager
async def _watching(
    folder: Path, sandbox: Sandbox, *ids: KubernetesId, user: str = "limited"
) -> AsyncIterator[AsyncIterator[WatchReport]]:
    sandbox.write_kubeconfig(folder / "config", user=user)
    runtime = KubernetesRuntime.connect(kubeconfig=folder / "config")
    try:
        async with runtime.watch(WatchRequest(ids)) as reports, asyncio.timeout(SECONDS):
            yield reports
    finally:
        await runtime.close()


async def _first(reports: AsyncIterator[WatchReport], *ids: KubernetesId) -> dict[ResourceId, Observation]:
    found: dict[ResourceId, Observation] = {}
    while set(found) != set(ids):
        if isinstance(each := await anext(reports), Observation):
            found[each.id] = each
    return found


async def _until(reports: AsyncIterator[WatchReport], status: Status) -> Observation:
    while True:
        if isinstance(each := await anext(reports), Observation) and each.health.status is status:
            return each


@pytest.mark.parametrize("verbs", [["get"], ["get", "list"]])
async def test_who_has_rights_in_one_namespace_alone_still_hears_of_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verbs: list[str]
) -> None:
    """A namespace can be read by such a user and never be listed: no apply of theirs was ever ready."""
    monkeypatch.setattr(informer, "_POLL_SECONDS", 0.1)
    async with Sandbox(tokens={"limited": "x"}, controllers=False) as sandbox:
        _put(sandbox, NAMESPACE)
        _put(sandbox, SETTINGS)
        _grant(sandbox, [{"apiGroups": [""], "resources": ["namespaces", "configmaps"], "verbs": verbs}], "shop")
        async with _watching(tmp_path, sandbox, NAMESPACE, SETTINGS) as reports:
            found = await _first(reports, NAMESPACE, SETTINGS)
            assert {each.health.status for each in found.values()} == {Status.CURRENT}, found
            assert not any(each.lost for each in found.values())
            sandbox.clusters[0].delete("configmaps", "shop", "settings")
            gone = await _until(reports, Status.NOT_FOUND)
            assert gone.id == SETTINGS and gone.lost is None


async def test_what_is_listed_again_and_again_is_not_told_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It turned lost and ready in turns, a line each, for as long as somebody waited for another resource."""
    monkeypatch.setattr(informer, "_POLL_SECONDS", 0.1)
    monkeypatch.setattr(informer, "_GRACE_SECONDS", 0.0)
    async with Sandbox(tokens={"limited": "x"}, controllers=False) as sandbox:
        _put(sandbox, NAMESPACE)
        _put(sandbox, SETTINGS)
        _grant(sandbox, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}], "shop")
        async with _watching(tmp_path, sandbox, SETTINGS) as reports:
            await _first(reports, SETTINGS)
            again: list[WatchReport] = []
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    while True:
                        again.append(await anext(reports))
            assert not [each for each in again if isinstance(each, Observation)]


async def test_what_may_not_even_be_read_names_the_right_to_list(tmp_path: Path) -> None:
    async with Sandbox(tokens={"limited": "x"}, controllers=False) as sandbox:
        _put(sandbox, NAMESPACE)
        async with _watching(tmp_path, sandbox, NAMESPACE) as reports:
            found = await _until(reports, Status.UNKNOWN)
            assert found.health.reason == "Forbidden" and "cannot list" in found.health.message


@pytest.mark.parametrize("may_see_events", [True, False])
async def test_that_nobody_takes_up_a_service_is_not_said_by_who_may_not_see_events(
    tmp_path: Path, may_see_events: bool
) -> None:
    """A controller tells by events that it works on an address, or cannot get one."""
    spec = {"type": "LoadBalancer", "selector": {"app": "x"}, "ports": [{"port": 80}]}
    rules = [{"apiGroups": ["", "discovery.k8s.io"], "resources": ["services", "endpointslices"], "verbs": ["*"]}]
    rules += [{"apiGroups": [""], "resources": ["events"], "verbs": ["*"]}] if may_see_events else []
    async with Sandbox(
        tokens={"limited": "x"}, controllers=False, clock=(clock := Elsewhere(timedelta(minutes=-2)))
    ) as sandbox:
        _put(sandbox, NAMESPACE)
        _put(sandbox, GATE, spec=spec)
        clock._ahead = timedelta()
        _grant(sandbox, rules)
        async with _watching(tmp_path, sandbox, GATE) as reports:
            if may_see_events:
                found = await _until(reports, Status.CURRENT)
                assert found.health.is_qualified and "no controller took it up" in found.health.message
            else:
                found = await _until(reports, Status.IN_PROGRESS)
                while "events" not in found.health.message:
                    found = await _until(reports, Status.IN_PROGRESS)
                assert "may not be listed" in found.health.message and "readiness.yaml" in found.health.message


@pytest.mark.parametrize("ahead", [timedelta(hours=-1), timedelta(), timedelta(days=1)])
async def test_how_old_something_is_goes_by_the_clock_that_dated_it(tmp_path: Path, ahead: timedelta) -> None:
    """A machine that was an hour ahead took a Service that was just made for one that nobody had taken up."""
    spec = {"type": "LoadBalancer", "selector": {"app": "x"}, "ports": [{"port": 80}]}
    clock = Elsewhere(ahead)
    async with Sandbox(controllers=False, clock=clock) as sandbox:
        _put(sandbox, NAMESPACE)
        _put(sandbox, GATE, spec=spec)
        async with _watching(tmp_path, sandbox, GATE, user="admin") as reports:
            found = await _first(reports, GATE)
            assert found[GATE].health.reason == "NoAddress"
            clock._ahead += timedelta(minutes=2)
            late = await _until(reports, Status.CURRENT)
            assert late.health.reason == "NoController"


@pytest.mark.parametrize("ahead", [timedelta(hours=1), timedelta(hours=-1), timedelta()])
async def test_an_object_says_how_far_the_clock_that_dated_it_is_ahead(tmp_path: Path, ahead: timedelta) -> None:
    """Else what somebody changed a minute ago was changed an hour ago, or will be in an hour."""
    async with Sandbox(controllers=False, clock=Elsewhere(ahead)) as sandbox:
        _put(sandbox, NAMESPACE)
        _put(sandbox, SETTINGS, data={"a": "1"})
        sandbox.write_kubeconfig(tmp_path / "config", user="admin")
        runtime = KubernetesRuntime.connect(kubeconfig=tmp_path / "config")
        try:
            live = await runtime.read(ReadRequest(SETTINGS))
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}
            planned = await runtime.plan(PlanRequest(Resource(SETTINGS, RuntimeType.KUBERNETES, body)))
        finally:
            await runtime.close()
    assert live is not None and planned.live is not None
    assert abs(live.ahead - ahead) < timedelta(minutes=1) and abs(planned.live.ahead - ahead) < timedelta(minutes=1)
    owner = next(each for each in live.owners if each.when is not None)
    actor = Actor(owner.manager, owner.operation, owner.when, live.ahead)
    seconds = actor.seconds_ago(datetime.now(UTC))
    assert seconds is not None and -5 < seconds < 60
    field = FieldChange(("data", "a"), Op.CHANGE, ChangeClass.DRIFT, "1", "2", actor=actor)
    (note,) = field_notes(field, UNICODE, datetime.now(UTC))
    assert " ago" in note.text and "h " not in note.text.partition("by ")[2]
