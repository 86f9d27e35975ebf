"""The inventory of hosts: what it learns from clusters, what people enter, and what it answers over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from runtimes.sandbox.cmdb import Cmdb, looking
from runtimes.sandbox.server import Sandbox

TOKEN = "token-of-the-inventory"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


class World:
    """Clusters as the service sees them, and its clock."""

    def __init__(self) -> None:
        self.pods: dict[str, list[dict[str, Any]]] = {}
        self.seconds = 1_000_000.0

    def look(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        return self.pods

    def now(self) -> float:
        return self.seconds


def pod(name: str, uid: str = "u-1", **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "shop", "uid": uid, **status.pop("metadata", {})},
        "spec": {"nodeName": "node-1"},
        "status": status,
    }


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def cmdb(world: World) -> AsyncIterator[Cmdb]:
    async with Cmdb(token=TOKEN, look=world.look, look_seconds=3600, fresh_seconds=60, now=world.now) as cmdb:
        yield cmdb


async def ask(cmdb: Cmdb, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
    given = {"headers": HEADERS, **more}
    async with aiohttp.ClientSession() as client, client.request(method, cmdb.url + path, json=body, **given) as answer:
        return answer.status, await answer.json()


async def lookup(cmdb: Cmdb, *hostnames: str) -> Any:
    status, answer = await ask(cmdb, "POST", "/v1/hosts/lookup", {"hostnames": list(hostnames)})
    assert status == 200, answer
    return answer


async def test_a_pod_is_a_host(cmdb: Cmdb, world: World) -> None:
    world.pods = {"hz": [pod("web-1")]}
    await cmdb.look()
    (record,) = (await lookup(cmdb, "web-1"))["hosts"]
    seen = record.pop("seen")
    assert record == {
        "hostname": "web-1", "cluster": "hz", "namespace": "shop", "pod": "web-1", "uid": "u-1", "node": "node-1",
        "fresh": True,
    }  # fmt: skip
    assert seen.startswith("1970-01-12T")


async def test_what_is_not_seen_any_more_grows_old_and_stays(cmdb: Cmdb, world: World) -> None:
    world.pods = {"hz": [pod("web-1")]}
    await cmdb.look()
    world.pods, world.seconds = {"hz": []}, world.seconds + 61
    await cmdb.look()
    (record,) = (await lookup(cmdb, "web-1"))["hosts"]
    assert not record["fresh"]
    world.pods = {"hz": [pod("web-1")]}
    await cmdb.look()
    (record,) = (await lookup(cmdb, "web-1"))["hosts"]
    assert record["fresh"]


async def test_a_pod_of_the_same_name_that_came_later_is_another_record(cmdb: Cmdb, world: World) -> None:
    for uid in ("u-1", "u-2"):
        world.pods = {"hz": [pod("db-0", uid)]}
        await cmdb.look()
        world.seconds += 61
    found = (await lookup(cmdb, "db-0"))["hosts"]
    assert [each["uid"] for each in found] == ["u-2", "u-1"]


async def test_pods_that_ended_or_are_ending_are_no_hosts(cmdb: Cmdb, world: World) -> None:
    leaving = pod("web-2", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    world.pods = {"hz": [pod("job-1", phase="Succeeded"), leaving]}
    await cmdb.look()
    assert (await lookup(cmdb, "job-1", "web-2"))["unknown"] == ["job-1", "web-2"]


async def test_what_was_entered_by_hand_never_grows_old(cmdb: Cmdb, world: World) -> None:
    records = [{"hostname": "h", "cluster": each, "namespace": "shop", "pod": "p"} for each in ("hz", "sh")]
    assert await ask(cmdb, "PUT", "/v1/hosts", {"hosts": records}) == (200, {"written": 2})
    world.seconds += 10_000
    found = (await lookup(cmdb, "h"))["hosts"]
    assert {each["cluster"]: each["fresh"] for each in found} == {"hz": True, "sh": True}


async def test_a_record_can_be_entered_as_seen_at_a_time(cmdb: Cmdb) -> None:
    record = {"hostname": "h", "cluster": "hz", "namespace": "shop", "pod": "p", "seen": "1970-01-01T00:00:00+00:00"}
    await ask(cmdb, "PUT", "/v1/hosts", {"hosts": [record]})
    (found,) = (await lookup(cmdb, "h"))["hosts"]
    assert not found["fresh"]


async def test_names_in_no_record_are_said_once(cmdb: Cmdb) -> None:
    assert await lookup(cmdb, "a", "b", "a") == {"hosts": [], "unknown": ["a", "b"]}


@pytest.mark.parametrize("name", ["'; drop table host; --", "ü\n", "%", "x" * 5000])
async def test_names_are_only_names(cmdb: Cmdb, name: str) -> None:
    assert (await lookup(cmdb, name))["unknown"] == [name]
    assert (await ask(cmdb, "GET", "/healthz"))[1]["records"] == 0


async def test_records_are_listed_by_cluster_and_namespace(cmdb: Cmdb, world: World) -> None:
    world.pods = {"hz": [pod("web-1"), pod("web-2")], "sh": [pod("web-3")]}
    await cmdb.look()
    _, answer = await ask(cmdb, "GET", "/v1/hosts?cluster=hz&namespace=shop&limit=1")
    assert [each["hostname"] for each in answer["hosts"]] == ["web-1"]
    _, answer = await ask(cmdb, "GET", "/v1/hosts?namespace=other")
    assert answer["hosts"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/hosts/lookup", {"hostnames": "web-1"}, 400),
        ("POST", "/v1/hosts/lookup", {"names": []}, 400),
        ("POST", "/v1/hosts/lookup", [], 400),
        ("POST", "/v1/hosts/lookup", {"hostnames": ["h"] * 1001}, 413),
        ("PUT", "/v1/hosts", {"hosts": [{"pod": "p"}]}, 400),
        ("PUT", "/v1/hosts", {"hosts": [{"hostname": ""}]}, 400),
        ("PUT", "/v1/hosts", {"hosts": [{"hostname": "h", "seen": "yesterday"}]}, 400),
        ("GET", "/v1/hosts?limit=many", None, 400),
    ],
)
async def test_requests_that_make_no_sense_are_refused(
    cmdb: Cmdb, method: str, path: str, body: Any, status: int
) -> None:
    got, answer = await ask(cmdb, method, path, body)
    assert got == status and answer["error"]
    assert cmdb.inventory.count() == 0


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}])
async def test_without_the_token_nothing_is_said(cmdb: Cmdb, headers: dict[str, str]) -> None:
    for method, path in (("GET", "/healthz"), ("GET", "/v1/hosts"), ("POST", "/v1/hosts/lookup")):
        status, answer = await ask(cmdb, method, path, {"hostnames": []}, headers=headers)
        assert status == 401 and TOKEN not in str(answer)


async def test_records_outlive_the_service(tmp_path: Path, world: World) -> None:
    database = str(tmp_path / "cmdb.sqlite")
    world.pods = {"hz": [pod("web-1")]}
    async with Cmdb(token=TOKEN, database=database, look=world.look, look_seconds=3600, now=world.now):
        pass
    async with Cmdb(token=TOKEN, database=database, now=world.now) as cmdb:
        assert len((await lookup(cmdb, "web-1"))["hosts"]) == 1


async def test_it_looks_at_clusters_over_http_and_passes_over_those_that_are_gone(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    async with Sandbox(clusters=2, controllers=False) as sandbox:
        sandbox.write_kubeconfig(kubeconfig)
        cluster = sandbox.clusters[0]
        cluster.create("namespaces", None, {"metadata": {"name": "shop"}})
        spec = {"containers": [{"name": "main", "image": "web:1"}]}
        cluster.create("serviceaccounts", "shop", {"metadata": {"name": "default"}})
        cluster.create("pods", "shop", {"metadata": {"name": "web-1"}, "spec": spec})
        clusters = {"hz": "sandbox-1", "sh": "sandbox-2", "gone": "sandbox-3"}
        async with Cmdb(token=TOKEN, look=looking(kubeconfig, clusters), look_seconds=3600) as cmdb:
            (record,) = (await lookup(cmdb, "web-1"))["hosts"]
            assert record["cluster"] == "hz" and record["uid"]
