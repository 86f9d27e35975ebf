"""What comes between: an answer that is not the object, not the list, or not the server's is nothing that is known."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from runtimes.base import (
    ApplyRequest,
    Identity,
    KubernetesId,
    LiveNode,
    Rejected,
    Resource,
    RuntimeFailure,
    RuntimeType,
)
from runtimes.base.records import Lease, StoredSecret
from runtimes.kubernetes import discovery
from runtimes.kubernetes.client import Client
from runtimes.kubernetes.discovery import ApiResource
from runtimes.kubernetes.failures import failure
from runtimes.kubernetes.operations import KubernetesOperations
from runtimes.kubernetes.records import KubernetesRecords
from runtimes.kubernetes.runtime import KubernetesRuntime
from runtimes.kubernetes.transport import Reply

KUBE_SYSTEM = KubernetesId("v1", "Namespace", "", "kube-system")


NAMESPACES = {"name": "namespaces", "kind": "Namespace", "namespaced": False, "verbs": ["get", "list"]}
NODES = {"name": "nodes", "kind": "Node", "namespaced": False, "verbs": ["get", "list", "patch"]}
MAPS = {"name": "configmaps", "kind": "ConfigMap", "namespaced": True, "verbs": ["get", "list"]}
DEPLOYMENTS = {"name": "deployments", "kind": "Deployment", "namespaced": True, "verbs": ["get", "list"]}
APPS = {"name": "apps", "versions": [{"groupVersion": "apps/v1"}], "preferredVersion": {"groupVersion": "apps/v1"}}
ELSEWHERE = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "another"}}


class Between:
    """Says what is served as a server does, and answers all else with one thing, a text by 404."""

    place = "here"
    connection = SimpleNamespace(namespace="default")

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def call(self, method: str, path: str, **rest: Any) -> Any:
        if path == "/api/v1":
            return Reply(200, {"kind": "APIResourceList", "groupVersion": "v1", "resources": [NAMESPACES, NODES, MAPS]})
        if path == "/apis":
            return Reply(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": [APPS]})
        if isinstance(self._answer, str):
            raise failure(404, self._answer, target=self.place)
        return Reply(200, self._answer)

    @asynccontextmanager
    async def stream(self, path: str, query: Any, **rest: Any) -> AsyncIterator[Any]:
        raise failure(404, self._answer, target=self.place)
        yield


def behind(answer: Any) -> Client:
    return Client(Between(answer))  # type: ignore[arg-type]  # it has what is used


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []},
        {"kind": "Status", "apiVersion": "v1", "status": "Success"},
        {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "another"}},
        {"kind": "Namespace", "apiVersion": "v2", "metadata": {"name": "kube-system"}},
    ],
)
async def test_what_is_not_the_object_is_not_taken_for_it(answer: dict[str, Any]) -> None:
    client = behind(answer)
    with pytest.raises(RuntimeFailure, match="answered with another thing"):
        await client.get(KUBE_SYSTEM)
    with pytest.raises(RuntimeFailure, match="answered with another thing"):
        await client.apply(KUBE_SYSTEM, {"apiVersion": "v1", "kind": "Namespace"}, dry_run=True)


@pytest.mark.parametrize("answer", [{}, {"kind": "Status", "status": "Success"}, {"kind": "Lease", "metadata": {}}])
async def test_a_record_that_was_not_written_is_not_taken_for_written(answer: dict[str, Any]) -> None:
    """Nobody holds a stack by a lease that is nowhere."""
    records = KubernetesRecords(behind(answer))
    records._client.resource = lease_resource  # type: ignore[method-assign]
    records._client.discovery.resource = lease_resource  # type: ignore[method-assign]
    with pytest.raises(RuntimeFailure, match="another thing"):
        await records.write_lease(Lease("wb", "lock", "ann", 1, "", "", 45))
    with pytest.raises(RuntimeFailure, match="another thing"):
        await records.create_secret(StoredSecret("wb", "release", "t", {}, {}))


async def lease_resource(api_version: str, kind: str) -> ApiResource:
    return ApiResource(api_version, kind, f"{kind.lower()}s", True, frozenset())


@pytest.mark.parametrize("answer", [{}, {"kind": "Status", "status": "Success"}, {"items": {}}])
async def test_what_is_no_list_is_not_an_empty_one(answer: dict[str, Any]) -> None:
    client = behind(answer)
    with pytest.raises(RuntimeFailure, match="no list"):
        await client.list(await client.resource("v1", "Namespace"))


MAP = {"metadata": {"name": "a", "namespace": "shop", "uid": "1"}}
METADATA_LIST = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "items": [MAP]}


@pytest.mark.parametrize(
    "answer",
    [
        {"kind": "SecretList", "apiVersion": "v1", "metadata": {}, "items": [MAP]},
        {"kind": "ConfigMapList", "apiVersion": "v2", "metadata": {}, "items": [MAP]},
        {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": [{"kind": "Secret", **MAP}]},
        {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": [{"apiVersion": "v2", **MAP}]},
        METADATA_LIST,
    ],
    ids=["kind", "version", "kind of an item", "version of an item", "metadata alone"],
)
async def test_a_list_of_another_kind_is_not_taken_for_it(answer: dict[str, Any]) -> None:
    client = behind(answer)
    with pytest.raises(RuntimeFailure, match="a list of something else"):
        await client.list(await client.resource("v1", "ConfigMap"), "shop")


async def test_a_list_of_metadata_is_one_for_who_asked_for_it() -> None:
    client = behind(METADATA_LIST)
    found = await client.list(await client.resource("v1", "ConfigMap"), "shop", metadata_only=True)
    assert [each["metadata"] for each in found.items] == [MAP["metadata"]]


async def test_a_list_that_ends_before_its_end_is_not_whole() -> None:
    """What is not in it would count as deleted."""
    client = behind({"kind": "ConfigMapList", "metadata": {"remainingItemCount": 2}, "items": [MAP]})
    with pytest.raises(RuntimeFailure, match="2 are left out"):
        await client.list(await client.resource("v1", "ConfigMap"), "shop")


async def test_a_list_that_names_an_object_twice_is_not_whole() -> None:
    """As of a page that comes again in the place of the next one."""
    client = behind({"kind": "ConfigMapList", "metadata": {}, "items": [MAP, MAP]})
    with pytest.raises(RuntimeFailure, match="names shop/a twice"):
        await client.list(await client.resource("v1", "ConfigMap"), "shop")


async def test_an_empty_list_as_go_writes_it_is_one() -> None:
    client = behind({"kind": "NamespaceList", "metadata": {}, "items": None})
    assert (await client.list(await client.resource("v1", "Namespace"))).items == ()


async def test_a_proxy_that_finds_nothing_says_nothing_of_objects() -> None:
    client = behind("404 page not found")
    with pytest.raises(RuntimeFailure, match="not from the API server"):
        await client.get(KUBE_SYSTEM)
    with pytest.raises(RuntimeFailure, match="not from the API server"):
        await client.delete(KUBE_SYSTEM, uid=None)


async def test_what_is_of_another_namespace_is_not_taken_for_it() -> None:
    client, wanted = behind(ELSEWHERE), KubernetesId("v1", "ConfigMap", "shop", "a")
    with pytest.raises(RuntimeFailure, match="answered with another thing"):
        await client.get(wanted)
    client = behind({"kind": "ConfigMapList", "metadata": {}, "items": [ELSEWHERE]})
    with pytest.raises(RuntimeFailure, match="not in namespace shop"):
        await client.list(await client.resource("v1", "ConfigMap"), "shop")
    assert (await client.list(await client.resource("v1", "ConfigMap"))).items == (ELSEWHERE,)


@pytest.mark.parametrize("answer", ["404 page not found", {"kind": "Status", "reason": "NotFound", "message": "no"}])
async def test_a_list_that_is_not_found_is_not_an_empty_one(answer: Any) -> None:
    """What is not in it would count as deleted."""
    client = behind(answer)
    client.transport.call = _not_found(client.transport.call, answer)  # type: ignore[method-assign]
    maps = await client.resource("v1", "ConfigMap")
    with pytest.raises(RuntimeFailure, match="not from the API server"):
        await client.list(maps, "shop")
    with pytest.raises(RuntimeFailure, match="not from the API server"):
        async with client.watch(maps, "shop", "1", seconds=1):
            pass


def _not_found(call: Any, answer: Any) -> Any:
    async def answered(method: str, path: str, **rest: Any) -> Any:
        if path.endswith("/configmaps"):
            raise failure(404, answer, target="here")
        return await call(method, path, **rest)

    return answered


async def test_a_version_that_the_server_says_it_has_is_not_gone_where_it_is_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor is what was in it: `wb destroy` would have nothing to delete."""
    monkeypatch.setattr(discovery, "_BEFORE_ATTEMPTS_SECONDS", (0.0, 0.0))
    client = behind("404 page not found")
    with pytest.raises(RuntimeFailure, match="whether it serves apps/v1 is not known"):
        await client.get(KubernetesId("apps/v1", "Deployment", "shop", "a"))
    with pytest.raises(RuntimeFailure, match="whether it serves apps/v1 is not known"):
        await client.delete(KubernetesId("apps/v1", "Deployment", "shop", "a"), uid="u")


async def test_a_version_that_the_server_tells_of_before_it_serves_it_is_asked_for_again() -> None:
    """As that of a definition that was made a moment ago."""
    client = behind("404 page not found")
    call, asked = client.transport.call, 0

    async def served_soon(method: str, path: str, **rest: Any) -> Any:
        nonlocal asked
        if path != "/apis/apps/v1":
            return await call(method, path, **rest)
        asked += 1
        if asked == 1:
            raise failure(404, "404 page not found", target="here")
        return Reply(200, {"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": [DEPLOYMENTS]})

    client.transport.call = served_soon  # type: ignore[method-assign]
    assert (await client.resource("apps/v1", "Deployment")).plural == "deployments"
    assert asked == 2


@pytest.mark.parametrize(
    ("api_version", "asked"), [("v1", ["/api/v1"]), ("apps/v1", ["/apis/apps/v1", "/apis"])]
)  # fmt: skip
async def test_where_nobody_says_what_is_served_it_is_not_asked_for_again(api_version: str, asked: list[str]) -> None:
    client = behind({})
    paths: list[str] = []

    async def nothing(method: str, path: str, **rest: Any) -> Any:
        paths.append(path)
        raise failure(404, "404 page not found", target="here")

    client.transport.call = nothing  # type: ignore[method-assign]
    with pytest.raises(RuntimeFailure, match=f"whether it serves {api_version} is not known: .* does not say"):
        await client.resource(api_version, "Thing")
    assert paths == asked


async def test_what_a_server_does_not_find_or_serve_is_not_there() -> None:
    assert await behind("404 page not found").get(KubernetesId("example.org/v1", "Lamp", "default", "a")) is None


@pytest.mark.parametrize("spec", [{}, {"unschedulable": False}, {"taints": []}])
async def test_a_cordon_that_admission_puts_back_is_not_taken_for_done(spec: dict[str, Any]) -> None:
    """The API answers such a write well, with the object as it is."""
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n-1", "uid": "u"}, "spec": spec}
    operations = KubernetesOperations(behind(node), SimpleNamespace())
    live = LiveNode("n-1", "u", is_ready=True, is_cordoned=False)
    with pytest.raises(Rejected, match="does not have what it was asked to") as raised:
        await operations.cordon(live)
    assert "webhook" in raised.value.hint
    await operations.uncordon(live)


SETTINGS = KubernetesId("v1", "ConfigMap", "shop", "settings")


def settings(version: str, uid: str = "one", **data: str) -> dict[str, Any]:
    metadata = {"name": "settings", "namespace": "shop", "uid": uid, "resourceVersion": version}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.mark.parametrize(
    "answer", [settings("7"), settings("12", uid="two"), settings("12", uid=""), settings("")],
    ids=["an older version", "another object", "no uid", "no version"],
)  # fmt: skip
async def test_an_apply_that_another_state_answers_is_not_known_to_be_done(answer: dict[str, Any]) -> None:
    """As a cache in between, or another server behind the same address, would."""
    runtime = KubernetesRuntime(behind(answer))
    resource = Resource(SETTINGS, RuntimeType.KUBERNETES, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})
    with pytest.raises(RuntimeFailure, match="the server answered with another state") as failed:
        await runtime.apply(ApplyRequest(resource, Identity("one", "10/x")))
    assert type(failed.value) is RuntimeFailure, "so the engine looks whether it was done"
