"""Clusters to run against: the sandbox always, and a real one where KONFIG_WORKBENCH_KUBECONFIG names its kubeconfig.

The real cluster should be one to throw away: namespaces are made and deleted in it, and where it has no nodes, two
that a kwok plays.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import ApplyRequest, DeleteRequest, KubernetesId, LiveResource, ReadRequest, Resource, RuntimeType
from runtimes.kubernetes.runtime import KubernetesRuntime
from runtimes.sandbox.server import Sandbox

REAL = os.environ.get("KONFIG_WORKBENCH_KUBECONFIG", "")


@dataclass
class Place:
    """A runtime with a namespace of the test's own in its cluster."""

    runtime: KubernetesRuntime
    namespace: str
    kubeconfig: Path
    sandbox: Sandbox | None

    async def write(
        self,
        method: str,
        path: str,
        body: Any,
        *,
        manager: str = "someone",
        content_type: str = "application/merge-patch+json",
        subresource: str = "",
    ) -> Any:
        """Writes as another client would, without going through the runtime's verbs."""
        transport = self.runtime._client._transport
        kind = content_type if method == "PATCH" else "application/json"
        path = path.replace("$NS", self.namespace)
        reply = await transport.call(
            method, path, query=[("fieldManager", manager)] if method != "DELETE" else (), body=body, content_type=kind
        )
        return reply.body

    async def apply(self, body: dict[str, Any], *, force: bool = False) -> LiveResource:
        """Applies to whatever is there now."""
        live = await self.runtime.read(ReadRequest(KubernetesId.of(body)))
        return await self.runtime.apply(ApplyRequest(resource(body), live.identity if live else None, force=force))

    def deployment(
        self, name: str = "web", *, image: str = "example/app:v1", replicas: int = 2, **pod_spec: Any
    ) -> dict[str, Any]:
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": self.namespace, "labels": {"app": name}},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{"name": "main", "image": image}], **pod_spec},
                },
            },
        }

    def config_map(self, name: str = "settings", **data: str) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace},
            "data": data,
        }


def resource(body: dict[str, Any]) -> Resource:
    return Resource(KubernetesId.of(body), RuntimeType.KUBERNETES, body)


@pytest.fixture(params=["sandbox", pytest.param("real", marks=pytest.mark.skipif(not REAL, reason="no real cluster"))])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    if request.param == "real":
        async with _in(Path(REAL), None) as found:
            await _furnish(found)
            yield found
    else:
        async with Sandbox() as sandbox:
            kubeconfig = tmp_path / "kubeconfig"
            sandbox.write_kubeconfig(kubeconfig)
            async with _in(kubeconfig, sandbox) as found:
                yield found


@pytest.fixture
async def sandboxed(tmp_path: Path) -> AsyncIterator[Place]:
    """The sandbox only, for faults that no real cluster has on demand."""
    async with Sandbox() as sandbox:
        kubeconfig = tmp_path / "kubeconfig"
        sandbox.write_kubeconfig(kubeconfig)
        async with _in(kubeconfig, sandbox) as found:
            yield found


class _in:
    def __init__(self, kubeconfig: Path, sandbox: Sandbox | None) -> None:
        self._kubeconfig, self._sandbox = kubeconfig, sandbox

    async def __aenter__(self) -> Place:
        namespace = f"test-{uuid.uuid4().hex[:8]}"
        runtime = KubernetesRuntime.connect(kubeconfig=self._kubeconfig)
        self._place = Place(runtime, namespace, self._kubeconfig, self._sandbox)
        await self._place.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        return self._place

    async def __aexit__(self, *_: object) -> None:
        runtime = self._place.runtime
        await runtime.delete(DeleteRequest(KubernetesId("v1", "Namespace", "", self._place.namespace), None))
        await runtime.close()


async def _furnish(place: Place) -> None:
    listed = await place.runtime._client._transport.call("GET", "/api/v1/nodes")
    for name in ("node-1", "node-2") if not listed.body["items"] else ():
        await place.apply(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}},
            }
        )
