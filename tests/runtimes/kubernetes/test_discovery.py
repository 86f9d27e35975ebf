"""Which kinds are served: by two requests, by one for each group version where the server knows no other way."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from runtimes.base import RuntimeFailure, Unauthenticated
from runtimes.kubernetes.client import Client
from runtimes.kubernetes.discovery import ApiResource, Discovery
from runtimes.kubernetes.failures import failure
from runtimes.kubernetes.listing import KindLists
from runtimes.kubernetes.transport import Reply
from tests.runtimes.kubernetes.conftest import Place


class Recorded:
    """Passes requests on, writes them down, and has the last word on answers."""

    place = "here"

    def __init__(self, transport: Any, *, plain: bool = False, stale: str = "", damaged: Any = None) -> None:
        self._transport, self._plain, self._stale, self._damaged = transport, plain, stale, damaged
        self.paths: list[str] = []

    async def call(self, method: str, path: str, **rest: Any) -> Any:
        self.paths.append(path)
        if self._plain:
            rest.pop("accept", None)
        reply = await self._transport.call(method, path, **rest)
        if self._damaged is not None and path == "/apis":
            return Reply(200, self._damaged)
        for group in reply.body.get("items", ()):
            if self._stale and group["metadata"].get("name") == self._stale:
                group["versions"][0] = {"version": "v1", "resources": [], "freshness": "Stale"}
        return reply


def recorded(place: Place, **how: Any) -> tuple[Recorded, Discovery]:
    client: Client = place.runtime._client
    transport = Recorded(client._transport, **how)
    return transport, Discovery(transport)  # type: ignore[arg-type]  # it has the one method that is used


def served(*versions: str) -> dict[str, Any]:
    """A group that has a kind in each of these versions, called after it, and one in all of them."""

    def resource(kind: str) -> dict[str, Any]:
        return {"resource": f"{kind}s", "responseKind": {"kind": kind}, "scope": "Namespaced", "verbs": ["list"]}

    every = [{"version": each, "resources": [resource(each), resource("shared")]} for each in versions]
    return {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "m.example"}, "versions": every}]}


async def test_a_kind_that_only_another_version_of_its_group_has_is_served_too(sandboxed: Place) -> None:
    """Else its objects would be in no list: neither pruned, nor said to be there."""
    _, discovery = recorded(sandboxed, damaged=served("v1", "v1alpha1"))
    found = [
        (each.api_version, each.kind) for each in (await discovery.served()).kinds if "m.example" in each.api_version
    ]
    assert found == [("m.example/v1", "v1"), ("m.example/v1", "shared"), ("m.example/v1alpha1", "v1alpha1")]


NAMELESS: Any = {"verbs": ["list"], "responseKind": None}


def by_kind(kinds: tuple[ApiResource, ...]) -> dict[tuple[str, str], ApiResource]:
    return {(each.api_version, each.kind): each for each in kinds}


async def test_all_kinds_take_two_requests(place: Place) -> None:
    transport, discovery = recorded(place)
    found = (await discovery.served()).kinds
    assert sorted(transport.paths) == ["/api", "/apis"]
    assert await discovery.resource("apps/v1", "Deployment") in found
    kept = {each.kind for each in found if each.api_version in ("v1", "apps/v1") and each.keeps_status}
    assert "Deployment" in kept and "ConfigMap" not in kept and "ControllerRevision" not in kept
    assert len(transport.paths) == 2, "what is known is not asked for again"


async def test_one_kind_takes_one_request(place: Place) -> None:
    transport, discovery = recorded(place)
    assert (await discovery.resource("apps/v1", "Deployment")).plural == "deployments"
    assert transport.paths == ["/apis/apps/v1"]


async def test_a_server_without_aggregated_documents_says_the_same(place: Place) -> None:
    _, aggregated = recorded(place)
    transport, single = recorded(place, plain=True)
    assert by_kind((await single.served()).kinds) == by_kind((await aggregated.served()).kinds)
    assert len(transport.paths) > 10


async def test_what_the_server_could_not_look_at_lately_is_asked_for(place: Place) -> None:
    """An empty, stale group is one whose own server is away: without it kinds would be left out unsaid."""
    transport, discovery = recorded(place, stale="apps")
    assert ("apps/v1", "Deployment") in by_kind((await discovery.served()).kinds)
    assert sorted(transport.paths) == ["/api", "/apis", "/apis/apps/v1"]


async def test_a_group_whose_own_server_is_away_hides_no_other(sandboxed: Place) -> None:
    """An aggregated API that is not available (metrics, most often) is said, and the rest is listed all the same."""
    transport, discovery = recorded(sandboxed, stale="apps")
    call = transport.call

    async def away(method: str, path: str, **rest: Any) -> Any:
        if path == "/apis/apps/v1":
            raise failure(503, "service unavailable", target="here")
        return await call(method, path, **rest)

    transport.call = away  # type: ignore[method-assign]  # the server behind the server
    found = await discovery.served()
    assert found.silent == {"apps/v1": "service unavailable"} and ("v1", "Pod") in by_kind(found.kinds)
    assert not any(each.api_version == "apps/v1" for each in found.kinds)
    lists = KindLists(SimpleNamespace(discovery=discovery, list=sandboxed.runtime._client.list))  # type: ignore[arg-type]
    await lists.run()
    _, unlisted = await lists.all()
    assert unlisted == tuple(lists.away) == ("all of apps/v1",)


async def test_a_group_that_fails_in_any_other_way_is_not_known_either(sandboxed: Place) -> None:
    transport, discovery = recorded(sandboxed, damaged=stale("m.example", "n.example"))
    call = transport.call

    async def broken(method: str, path: str, **rest: Any) -> Any:
        if path.startswith("/apis/m.example"):
            raise failure(500, "its database is away", target="here")
        if path.startswith("/apis/n.example"):
            raise Unauthenticated("log in", target="here")
        return await call(method, path, **rest)

    transport.call = broken  # type: ignore[method-assign]  # the server behind the server
    with pytest.raises(Unauthenticated):
        await discovery.served()
    transport._damaged = stale("m.example")
    found = await discovery.served()
    assert found.silent == {"m.example/v1": "its database is away (HTTP 500)"}
    assert ("v1", "Pod") in by_kind(found.kinds)


def stale(*groups: str) -> dict[str, Any]:
    versions = [{"version": "v1", "resources": [], "freshness": "Stale"}]
    return {
        "kind": "APIGroupDiscoveryList",
        "items": [{"metadata": {"name": each}, "versions": versions} for each in groups],
    }


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"kind": "APIGroupDiscoveryList"},
        {"kind": "APIGroupDiscoveryList", "items": ["apps"]},
        {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "a"}, "versions": [{"resources": []}]}]},
        {
            "kind": "APIGroupDiscoveryList",
            "items": [{"metadata": {"name": "a"}, "versions": [{"version": "v1", "resources": [{"verbs": ["list"]}]}]}],
        },
        {
            "kind": "APIGroupDiscoveryList",
            "items": [
                {"metadata": {"name": "a"}, "versions": [{"version": "v1", "resources": [NAMELESS]}]}
            ],
        },
    ],
)  # fmt: skip
async def test_what_is_no_answer_of_an_api_server_is_a_failure(sandboxed: Place, document: Any) -> None:
    _, discovery = recorded(sandboxed, damaged=document)
    with pytest.raises(RuntimeFailure, match="not as an API server says it"):
        await discovery.served()
