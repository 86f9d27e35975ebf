"""The sandbox as a server: who may do what, faults of the API, the files it writes, a clean end."""

from __future__ import annotations

import asyncio
import json
import ssl
import stat
from pathlib import Path

import aiohttp
import pytest

from runtimes.sandbox import certificates
from runtimes.sandbox.api.disturbances import Disturbance
from runtimes.sandbox.server import Sandbox, written_uids

TOKENS = {"admin": "t-admin", "viewer": "t-viewer"}

_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
"""Of the curve P-256 (FIPS 186-5): y² = x³ - 3x + b."""


def quiet() -> Sandbox:
    return Sandbox(tokens=TOKENS, controllers=False, tls=False)


def bearer(user: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[user]}"}


async def test_clusters_are_separate() -> None:
    async with (
        Sandbox(clusters=2, tokens=TOKENS, controllers=False, tls=False) as sandbox,
        aiohttp.ClientSession() as http,
    ):
        made = {"metadata": {"name": "only-here"}}
        path = "/api/v1/namespaces/default/configmaps"
        async with http.post(sandbox.urls[0] + path, json=made, headers=bearer("admin")) as reply:
            assert reply.status == 201
        async with http.get(f"{sandbox.urls[1]}{path}/only-here", headers=bearer("admin")) as reply:
            assert reply.status == 404


async def test_roles_decide_what_others_may() -> None:
    async with quiet() as sandbox, aiohttp.ClientSession() as http:
        url = f"{sandbox.urls[0]}/api/v1/namespaces/default/configmaps"
        async with http.get(url, headers=bearer("viewer")) as reply:
            assert reply.status == 403
        async with http.get(f"{sandbox.urls[0]}/api", headers=bearer("viewer")) as reply:
            assert reply.status == 200
        async with http.get(url, headers={"Authorization": "Bearer wrong"}) as reply:
            assert reply.status == 401
            assert "wrong" not in await reply.text()


async def test_the_kubeconfig_is_its_owners_alone(tmp_path: Path) -> None:
    async with Sandbox(clusters=2, controllers=False) as sandbox:
        file = tmp_path / "kube" / "config"
        sandbox.write_kubeconfig(file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        written = json.loads(file.read_text())
        assert [each["name"] for each in written["contexts"]] == ["sandbox-1", "sandbox-2"]
        assert [each["cluster"]["server"] for each in written["clusters"]] == sandbox.urls


async def test_a_sandbox_is_known_again_by_the_kubeconfig_it_wrote(tmp_path: Path) -> None:
    file = tmp_path / "config"
    uids = []
    for _ in range(2):
        async with Sandbox(clusters=2, controllers=False, uids=written_uids(file)) as sandbox:
            sandbox.write_kubeconfig(file)
            uids.append([each.get("namespaces", None, "kube-system")["metadata"]["uid"] for each in sandbox.clusters])
    assert uids[0] == uids[1] and len(set(uids[0])) == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"clusters": 3}', '{"clusters": [{"name": "a", "cluster": {}}]}'])
def test_a_kubeconfig_of_others_says_nothing_of_a_sandbox(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    assert written_uids(tmp_path / "config") == {}


def test_clusters_with_the_same_seed_are_still_two() -> None:
    sandbox = Sandbox(clusters=2, controllers=False, seed=1)
    one, two = (each.get("namespaces", None, "kube-system")["metadata"]["uid"] for each in sandbox.clusters)
    again = Sandbox(clusters=2, controllers=False, seed=1).clusters[0].get("namespaces", None, "kube-system")
    assert one != two and again["metadata"]["uid"] == one


@pytest.mark.parametrize(
    ("factor", "x"),
    [
        (1, 0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296),
        (2, 0x7CF27B188D034F7E8A52380304B51AC3C08969E277F21B35A60B48FC47669978),
        (112233445566778899, 0x339150844EC15234807FE862A86BE77977DBFB3AE3D96F4C22795513AEAAB82F),
        (certificates.N - 1, 0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296),
    ],
)
def test_multiples_are_those_of_the_standard(factor: int, x: int) -> None:
    found = certificates._times(factor, certificates.G)
    assert found[0] == x and (found[1] ** 2 - found[0] ** 3 + 3 * found[0] - _B) % certificates.P == 0


async def test_the_certificate_is_trusted_by_those_who_are_given_it() -> None:
    trusted = certificates.make()
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0, ssl=trusted.context())
    port = server.sockets[0].getsockname()[1]
    context = ssl.create_default_context(cadata=trusted.certificate)
    stranger = ssl.create_default_context(cadata=certificates.make().certificate)
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        writer.close()
        await writer.wait_closed()
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection("127.0.0.1", port, ssl=stranger)
    finally:
        server.close()
        await server.wait_closed()


async def test_a_disturbance_happens_as_often_as_asked() -> None:
    async with quiet() as sandbox, aiohttp.ClientSession() as http:
        url = f"{sandbox.urls[0]}/api/v1/namespaces/default/configmaps"
        sandbox.disturbances[0].add(Disturbance("too-many-requests", ("list",), "configmaps", times=2))
        statuses = []
        for _ in range(3):
            async with http.get(url, headers=bearer("admin")) as reply:
                statuses.append((reply.status, reply.headers.get("Retry-After")))
        assert statuses == [(429, "1"), (429, "1"), (200, None)]


async def test_a_watch_can_be_made_to_drop() -> None:
    async with quiet() as sandbox, aiohttp.ClientSession() as http:
        url = f"{sandbox.urls[0]}/api/v1/namespaces/default/configmaps?watch=1"
        sandbox.disturbances[0].add(Disturbance("drop", ("watch",), times=1, seconds=0.05))
        with pytest.raises(aiohttp.ClientError):
            async with asyncio.timeout(5), http.get(url, headers=bearer("admin")) as reply:
                await reply.read()


async def test_leaving_ends_open_watches() -> None:
    async with aiohttp.ClientSession() as http:
        async with quiet() as sandbox:
            url = f"{sandbox.urls[0]}/api/v1/namespaces/default/configmaps?watch=1"
            reply = await http.get(url, headers=bearer("admin"))
            assert reply.status == 200
        with pytest.raises(aiohttp.ClientError):
            async with asyncio.timeout(5):
                await reply.read()
                raise aiohttp.ClientPayloadError("ended in order, which is fine as well")
        reply.close()


async def test_any_version_will_do_is_answered_whole_and_a_collection_is_deleted_by_pages() -> None:
    """A list at version 0 comes out of a cache, which heeds no limit; as a real 1.34 server was seen doing both."""
    async with quiet() as sandbox, aiohttp.ClientSession() as session:
        cluster = sandbox.clusters[0]
        for number in range(3):
            cluster.create("configmaps", "default", {"metadata": {"name": f"c{number}", "labels": {"of": "us"}}})
        url = f"{sandbox.urls[0]}/api/v1/namespaces/default/configmaps?labelSelector=of&limit=1"

        async def asked(method: str, query: str = "") -> tuple[list[str], bool]:
            async with session.request(method, url + query, headers=bearer("admin"), ssl=False) as reply:
                found = await reply.json()
            return [each["metadata"]["name"] for each in found["items"]], "continue" in found["metadata"]

        assert await asked("GET") == (["c0"], True)
        assert await asked("GET", "&resourceVersion=0") == (["c0", "c1", "c2"], False)
        assert await asked("DELETE") == (["c0"], True)
        assert await asked("GET", "&resourceVersion=0") == (["c1", "c2"], False)
