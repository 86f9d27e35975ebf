"""Kinds that are served in another version than the configured one: what lies there is neither absent nor deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.base import (
    DeleteRequest,
    KubernetesId,
    Observation,
    OtherVersion,
    PlanRequest,
    ReadRequest,
    Resource,
    RuntimeType,
    Status,
    WatchRequest,
)
from runtimes.kubernetes.runtime import KubernetesRuntime
from runtimes.sandbox.server import Sandbox
from tests.workbench.engine.world import World, config_map, namespace
from workbench.engine.events import Action

TOOL = {"apiVersion": "example.org/v1alpha1", "kind": "Tool", "metadata": {"name": "hammer", "namespace": "default"}}
ID = KubernetesId.of(TOOL)


def definition(*, is_served: bool) -> dict[str, object]:
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": schema},
        {"name": "v1alpha1", "served": is_served, "storage": False, "schema": schema},
    ]
    names = {"kind": "Tool", "plural": "tools", "singular": "tool", "listKind": "ToolList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "tools.example.org"},
        "spec": {"group": "example.org", "scope": "Namespaced", "names": names, "versions": versions},
    }


async def test_what_is_served_in_another_version_is_there(tmp_path: Path) -> None:
    async with Sandbox() as sandbox:
        sandbox.write_kubeconfig(tmp_path / "kubeconfig")
        (cluster,) = sandbox.clusters
        cluster.create("customresourcedefinitions.apiextensions.k8s.io", "", definition(is_served=False))
        runtime = KubernetesRuntime.connect(kubeconfig=tmp_path / "kubeconfig")
        try:
            for asked in (
                runtime.read(ReadRequest(ID)),
                runtime.plan(PlanRequest(Resource(ID, RuntimeType.KUBERNETES, TOOL))),
                runtime.delete(DeleteRequest(ID, None)),
            ):
                with pytest.raises(OtherVersion, match=r"serves Tool as example.org/v1, .* as example.org/v1alpha1"):
                    await asked
            async with runtime.watch(WatchRequest((ID,))) as reports:
                async for each in reports:
                    if isinstance(each, Observation):
                        assert each.health.status is Status.UNKNOWN and "example.org/v1" in each.health.message
                        break
        finally:
            await runtime.close()


async def test_what_was_applied_in_a_version_that_is_served_no_more_is_deleted_all_the_same() -> None:
    world = World()
    old = KubernetesId("v1", "ConfigMap", "shop", "old")
    await world.release(namespace(), config_map("old", {"a": "1"}))
    now = KubernetesId("v2", "ConfigMap", "shop", "old")
    world.hz.objects[now] = world.hz.objects.pop(old)
    world.hz.fail["read", str(old)] = OtherVersion("served as v2", served="v2", target="hz")
    world.hz.hidden.add(now)
    plan = await world.plan(namespace())
    (deleted,) = [each for each in plan.steps() if each.action is Action.DELETE]
    assert deleted.address.id == now
