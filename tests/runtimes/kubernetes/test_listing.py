"""What carries labels is listed once, for those who compare and those who delete; a failed list is no empty one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from runtimes.base import (
    Forbidden,
    Identity,
    KubernetesId,
    Overloaded,
    PlanRequest,
    ReadRequest,
    ResourceId,
    RuntimeFailure,
    TooMany,
    Unreachable,
)
from runtimes.kubernetes import listing, normalize
from runtimes.kubernetes.client import Object
from runtimes.kubernetes.discovery import Discovery
from runtimes.kubernetes.runtime import KubernetesRuntime
from runtimes.kubernetes.together import together
from runtimes.kubernetes.transport import Reply
from tests.runtimes.kubernetes.conftest import Place, resource

LABELS = {"stack": "here"}


async def labelled_maps(place: Place, count: int) -> list[KubernetesId]:
    bodies = [place.config_map(f"settings-{each}", a="1") for each in range(count)]
    for each in bodies:
        each["metadata"]["labels"] = LABELS
        await place.apply(each)
    return [KubernetesId.of(each) for each in bodies]


def answering(place: Place, answer: Callable[[str], None]) -> Counter[str]:
    """Has `answer` a look at each path that is asked for, which it may fail; returns how often each was."""
    transport = place.runtime._client._transport
    call, asked = transport.call, Counter[str]()

    async def looked_at(method: str, path: str, **rest: Any) -> Reply:
        asked[path] += 1
        answer(path)
        return await call(method, path, **rest)

    transport.call = looked_at  # type: ignore[method-assign]  # to count requests, and to fail some
    return asked


async def test_what_is_compared_and_what_is_owned_take_one_list_of_each_kind(sandboxed: Place) -> None:
    ids = await labelled_maps(sandboxed, 6)
    asked = answering(sandboxed, lambda path: None)
    found = sandboxed.runtime.labelled(LABELS, ids[:5])
    _, observed = await asyncio.gather(found.run(), found.observed(ids[:5]))
    assert {id_: live and live["metadata"]["name"] for id_, live in observed.items()} == {
        each: each.name for each in ids[:5]
    }
    uids = {live["metadata"]["uid"] for live in observed.values() if live is not None}
    owned = await found.owned(uids)
    assert ([each.id for each in owned.resources], owned.unlisted) == ([ids[5]], ())
    assert asked["/api/v1/configmaps"] == 1 and asked["/apis/apps/v1/deployments"] == 1
    assert [path for path, times in asked.items() if times > 1] == []


async def test_of_a_long_list_one_page_is_there_in_full(sandboxed: Place) -> None:
    """Each page is trimmed before the next is asked for: a watch holds of its objects what it needs."""
    await labelled_maps(sandboxed, 6)
    asked = answering(sandboxed, lambda path: steps.append("page"))
    steps: list[str] = []
    kinds = await sandboxed.runtime._client.discovery.resource("v1", "ConfigMap")
    steps.clear()

    def trim(live: Object) -> Object:
        steps.append("trimmed")
        return {"name": live["metadata"]["name"]}

    found = await sandboxed.runtime._client._pages(kinds, sandboxed.namespace, "stack=here", "", trim, page_size=2)
    assert steps == ["page", "trimmed", "trimmed"] * 3 and sum(asked.values()) >= 3
    assert [set(each) for each in found.items] == [{"name"}] * 6


async def test_what_was_looked_for_ahead_answers_who_asks_next_and_nobody_after(sandboxed: Place) -> None:
    ids = await labelled_maps(sandboxed, 6)
    asked = answering(sandboxed, lambda path: None)
    await sandboxed.runtime.prepare(lambda: LABELS)
    found = sandboxed.runtime.labelled(LABELS, ids)
    _, observed = await asyncio.gather(found.run(), found.observed(ids))
    owned = await found.owned(())
    assert set(observed) == set(ids) and [each.id for each in owned.resources] == ids and owned.unlisted == ()
    assert asked["/api/v1/configmaps"] == 1 and asked["/apis"] == 1
    await sandboxed.apply(sandboxed.config_map("settings-6", a="1"))
    again = sandboxed.runtime.labelled(LABELS, ids)
    assert again is not found
    await again.run()
    assert asked["/api/v1/configmaps"] == 2, "later there may be others"


async def test_what_was_looked_for_ahead_is_for_one_comparison_alone(sandboxed: Place) -> None:
    """To the next one it would tell what was there before that began: what was deleted meanwhile would be the same."""
    ids = await labelled_maps(sandboxed, 6)
    asked = answering(sandboxed, lambda path: None)
    await sandboxed.runtime.prepare(lambda: LABELS)
    sandboxed.runtime.discard_prepared()  # as who compared has failed
    await sandboxed.runtime._client.delete(ids[0], uid=None)
    found = sandboxed.runtime.labelled(LABELS, ids)
    _, observed = await asyncio.gather(found.run(), found.observed(ids))
    assert {id_: live is not None for id_, live in observed.items()} == {each: each != ids[0] for each in ids}
    asked.clear()
    await sandboxed.runtime.prepare(lambda: LABELS)  # it took that long: who compares has asked already
    await asyncio.sleep(0.05)
    assert not asked["/api/v1/configmaps"] and sandboxed.runtime.labelled(LABELS, ids)._begun is None


async def test_nothing_is_looked_for_ahead_for_who_is_done_when_the_cluster_answers(sandboxed: Place) -> None:
    asked = answering(sandboxed, lambda path: None)
    await sandboxed.runtime.prepare(dict)
    await asyncio.sleep(0.05)
    assert asked["/apis"] and not asked["/api/v1/configmaps"]


@pytest.mark.parametrize("after", ["other labels", "too long", "a write", "a failure"])
async def test_what_was_looked_for_ahead_is_no_answer_after(
    sandboxed: Place, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    ids = await labelled_maps(sandboxed, 6)
    fails, looked = [after == "a failure"], asyncio.Event()

    def answer(path: str) -> None:
        if path == "/api/v1/configmaps":
            looked.set()
            if fails[0]:
                raise Unreachable("away")

    asked = answering(sandboxed, answer)
    await sandboxed.runtime.prepare(lambda: LABELS if after != "other labels" else {"stack": "there"})
    await looked.wait()
    if fails[0]:
        ahead = sandboxed.runtime._looked_ahead
        assert ahead is not None and ahead._begun is not None
        await ahead._begun[1]
    fails[0] = False
    if after == "too long":
        monkeypatch.setattr(listing, "_FRESH_SECONDS", 0.0)
    if after == "a write":
        added = sandboxed.config_map("settings-6", a="1")
        added["metadata"]["labels"] = LABELS
        await sandboxed.apply(added)
        ids.append(KubernetesId.of(added))
    found = sandboxed.runtime.labelled(LABELS, ids)
    _, observed = await asyncio.gather(found.run(), found.observed(ids))
    assert set(observed) == set(ids) and {each.id for each in (await found.owned(())).resources} == set(ids)
    assert asked["/api/v1/configmaps"] == 2


async def test_what_is_owned_after_an_apply_was_not_looked_for_before(sandboxed: Place) -> None:
    ids = await labelled_maps(sandboxed, 6)
    await sandboxed.runtime.prepare(lambda: LABELS)
    owned = await sandboxed.runtime.owned(LABELS)
    assert [each.id for each in owned.resources] == ids
    assert sandboxed.runtime._looked_ahead is not None, "who counts what there is now asks now"


async def test_what_was_looked_for_ahead_ends_with_who_asked(sandboxed: Place) -> None:
    """A comparison that is over cancels what it no longer needs; nothing of it goes on."""
    ids = await labelled_maps(sandboxed, 6)
    hangs, begun = asyncio.Event(), asyncio.Event()
    transport = sandboxed.runtime._client._transport
    call = transport.call

    async def hanging(method: str, path: str, **rest: Any) -> Reply:
        if path == "/apis/apps/v1/deployments":
            begun.set()
            await hangs.wait()
        return await call(method, path, **rest)

    transport.call = hanging  # type: ignore[method-assign]  # one list is never answered
    await sandboxed.runtime.prepare(lambda: LABELS)
    found = sandboxed.runtime.labelled(LABELS, ids)
    running = asyncio.ensure_future(found.run())
    assert set(await found.observed(ids)) == set(ids)
    await begun.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert found._begun is not None and found._begun[1].done()


async def test_who_compares_waits_for_no_other_kind(sandboxed: Place) -> None:
    ids = await labelled_maps(sandboxed, 1)
    found = sandboxed.runtime.labelled(LABELS, ids)
    transport = sandboxed.runtime._client._transport
    call, goes_on = transport.call, asyncio.Event()

    async def slow(method: str, path: str, **rest: Any) -> Reply:
        if path not in ("/api", "/apis", "/api/v1/configmaps"):
            await goes_on.wait()
        return await call(method, path, **rest)

    transport.call = slow  # type: ignore[method-assign]  # all other kinds keep their answers back
    running = asyncio.ensure_future(found.run())
    assert set(await found.observed(ids)) == set(ids)
    assert not running.done()
    goes_on.set()
    assert [each.id for each in (await found.owned(())).resources] == ids
    await running


async def test_where_not_all_namespaces_may_be_listed_the_ones_that_are_wanted_are(sandboxed: Place) -> None:
    ids = await labelled_maps(sandboxed, 5)

    def refuse(path: str) -> None:
        if path == "/api/v1/configmaps":
            raise Forbidden("no", target="here")

    asked = answering(sandboxed, refuse)
    found = sandboxed.runtime.labelled(LABELS, ids)
    await found.run()
    assert set(await found.observed(ids)) == set(ids)
    assert asked[f"/api/v1/namespaces/{sandboxed.namespace}/configmaps"] == 1
    owned = await found.owned(())
    assert (owned.resources, owned.unlisted) == ((), ("ConfigMap",)), "what is not known is said"


@pytest.mark.parametrize("broken", ["/apis/batch/v1/jobs", "/apis"])
async def test_a_list_that_fails_is_not_an_empty_one(sandboxed: Place, broken: str) -> None:
    ids = await labelled_maps(sandboxed, 4)

    def fail(path: str) -> None:
        if path == broken:
            raise RuntimeFailure("the list broke", target="here")

    answering(sandboxed, fail)
    found = sandboxed.runtime.labelled(LABELS, ids)
    await found.run()
    assert set(await found.observed(ids)) == set(ids), "what is compared is read all the same"
    with pytest.raises(RuntimeFailure, match="the list broke"):
        await found.owned(())
    with pytest.raises(RuntimeFailure, match="the list broke"):
        await sandboxed.runtime.owned(LABELS)


async def test_what_no_list_holds_takes_one_request_whose_answer_tells_whether_it_is_there(sandboxed: Place) -> None:
    bodies = [sandboxed.config_map(f"new-{each}", a="1") for each in range(3)]
    ids = [KubernetesId.of(each) for each in bodies]
    there = sandboxed.config_map("unlabelled", a="0", theirs="1")
    live = await sandboxed.apply(there)
    await labelled_maps(sandboxed, 1)
    found = sandboxed.runtime.labelled(LABELS, [*ids, live.id])
    _, observed = await asyncio.gather(found.run(), found.observed([*ids, live.id]))
    assert observed == dict.fromkeys([*ids, live.id])
    asked = answering(sandboxed, lambda path: None)
    for each in bodies:
        prediction = await sandboxed.runtime.plan(PlanRequest(resource(each), presumed_absent=True))
        assert prediction.live is None and prediction.after["data"] == {"a": "1"}
    assert set(asked.values()) == {1}
    wanted = sandboxed.config_map("unlabelled", a="1")
    presumed = await sandboxed.runtime.plan(PlanRequest(resource(wanted), presumed_absent=True))
    assert presumed == await sandboxed.runtime.plan(PlanRequest(resource(wanted))), "a list by labels is no absence"
    assert presumed.live is not None and presumed.live.identity == live.identity


async def test_what_cannot_be_changed_in_place_is_replaced_though_no_list_held_it(sandboxed: Place) -> None:
    await sandboxed.apply(sandboxed.deployment())
    wanted = sandboxed.deployment()
    wanted["spec"]["selector"]["matchLabels"] = wanted["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    presumed = await sandboxed.runtime.plan(PlanRequest(resource(wanted), presumed_absent=True))
    read = await sandboxed.runtime.plan(PlanRequest(resource(wanted)))
    assert presumed.live is not None and read.live is not None and presumed.replaces
    assert (presumed.live.identity.uid, presumed.replaces) == (read.live.identity.uid, read.replaces)


async def test_what_another_manager_holds_is_a_conflict_though_no_list_held_it(sandboxed: Place) -> None:
    named = f"/api/v1/namespaces/{sandboxed.namespace}/configmaps"
    await sandboxed.write("POST", named, sandboxed.config_map("theirs", a="0"), manager="kubectl-edit")
    wanted = resource(sandboxed.config_map("theirs", a="1"))
    presumed = await sandboxed.runtime.plan(PlanRequest(wanted, presumed_absent=True))
    assert [each.manager for each in presumed.conflicts] == ["kubectl-edit"]
    assert presumed == await sandboxed.runtime.plan(PlanRequest(wanted))


@pytest.mark.parametrize("refused", ["/api/v1/configmaps", "everywhere"])
async def test_a_kind_that_may_not_be_listed_is_presumed_nothing_of(sandboxed: Place, refused: str) -> None:
    ids = [KubernetesId.of(sandboxed.config_map(f"new-{each}")) for each in range(5)]

    def refuse(path: str) -> None:
        if path == refused or (refused == "everywhere" and path.endswith("/configmaps")):
            raise Forbidden("no", target="here")

    answering(sandboxed, refuse)
    found = sandboxed.runtime.labelled(LABELS, ids)
    await found.run()
    in_the_namespace = {} if refused == "everywhere" else dict.fromkeys(ids)
    assert await found.observed(ids) == in_the_namespace


async def test_what_is_as_it_was_is_told_by_one_list_of_metadata(sandboxed: Place) -> None:
    ids = await labelled_maps(sandboxed, 22)
    seen: dict[ResourceId, Identity | None] = {}
    for each in ids:
        live = await sandboxed.runtime.read(ReadRequest(each))
        seen[each] = live.identity if live else None
    new = [KubernetesId.of(sandboxed.config_map(f"new-{each}")) for each in range(3)]
    seen.update(dict.fromkeys(new))
    changed, gone, again, going, labelled, made = *ids[:5], new[0]
    named = f"/api/v1/namespaces/{sandboxed.namespace}/configmaps"
    await sandboxed.write("PATCH", f"{named}/{changed.name}", {"data": {"a": "2"}})
    await sandboxed.write("PATCH", f"{named}/{labelled.name}", {"metadata": {"labels": {"stack": None}}})
    await sandboxed.write("PATCH", f"{named}/{going.name}", {"metadata": {"finalizers": ["example.com/waits"]}})
    live = await sandboxed.runtime.read(ReadRequest(going))
    for each in (gone, again, going):
        await sandboxed.write("DELETE", f"{named}/{each.name}", None)
    for each in (again, made):
        await sandboxed.write("POST", named, sandboxed.config_map(each.name))
    asked = answering(sandboxed, lambda path: None)
    still = await sandboxed.runtime.unmoved(seen)
    assert still == set(seen) - {changed, gone, again, going, labelled, made}
    assert asked == {named: 1}


async def test_a_version_that_a_restored_cluster_gives_again_is_not_what_was_seen(
    sandboxed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Since the backup, another one wrote under the same number: only when, or a generation, tells."""
    monkeypatch.setattr(listing, "_FEWEST_COMPARED", 1)
    (id_,) = await labelled_maps(sandboxed, 1)
    live = await sandboxed.runtime.read(ReadRequest(id_))
    assert live is not None and await sandboxed.runtime.unmoved({id_: live.identity}) == {id_}
    metadata = live.observed["metadata"]
    (*before, last) = metadata["managedFields"]
    changes: tuple[dict[str, Any], ...] = (
        {"managedFields": [*before, {**last, "time": "2020-01-01T00:00:00Z"}]},
        {"managedFields": []},
        {"generation": 7},
    )
    for others in changes:
        before_restore = normalize.identity({**live.observed, "metadata": {**metadata, **others}})
        assert before_restore.version.split("/")[:2] == live.identity.version.split("/")[:2]
        assert await sandboxed.runtime.unmoved({id_: before_restore}) == frozenset()


@pytest.mark.parametrize("why", ["few", "many others", "refused", "not served"])
async def test_where_a_list_does_not_pay_nothing_is_said_of_what_is_as_it_was(
    sandboxed: Place, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    await labelled_maps(sandboxed, 9)
    kind = "Gauge" if why == "not served" else "ConfigMap"
    version = "metrics.example.com/v1" if why == "not served" else "v1"
    absent = [KubernetesId(version, kind, sandboxed.namespace, f"new-{each}") for each in range(2)]
    monkeypatch.setattr(listing, "_FEWEST_COMPARED", 3 if why == "few" else 2)
    if why == "many others":
        monkeypatch.setattr(listing, "PAGE_SIZE", 0)

    def refuse(path: str) -> None:
        if why == "refused" and path.endswith("/configmaps"):
            raise Forbidden("no", target="here")

    answering(sandboxed, refuse)
    assert await sandboxed.runtime.unmoved(dict.fromkeys(absent)) == frozenset()
    if why in ("few", "refused", "not served"):
        return
    monkeypatch.setattr(listing, "_MOST_LISTED_FOR_ONE", 5)
    assert await sandboxed.runtime.unmoved(dict.fromkeys(absent)) == set(absent)


async def test_a_namespace_of_more_than_is_wanted_is_said_to_be_before_all_is_read(
    sandboxed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await labelled_maps(sandboxed, 4)
    owner = await sandboxed.runtime.read(ReadRequest(ids[0]))
    assert owner is not None
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": ids[0].name, "uid": owner.identity.uid}
    for number in range(3):
        owned = sandboxed.config_map(f"owned-{number}", text="long")
        owned["metadata"]["ownerReferences"] = [reference]
        await sandboxed.apply(owned)
    there = await sandboxed.runtime.contents(sandboxed.namespace, 100)
    assert there is not None
    kept = {each.id.name: "data" in each.body for each in there.resources if isinstance(each.id, KubernetesId)}
    assert [kept["owned-0"], kept[ids[0].name]] == [False, True]
    unowned = sum(not each.observed["metadata"].get("ownerReferences") for each in there.resources)
    assert await sandboxed.runtime.contents(sandboxed.namespace, unowned) is not None, "what is owned does not count"
    with pytest.raises(TooMany, match=rf"holds more than {unowned - 1} objects that no other owns \(\d ConfigMap"):
        await sandboxed.runtime.contents(sandboxed.namespace, unowned - 1)


GAUGES = "/apis/metrics.example.com/v1/gauges"


async def serve_gauges(place: Place) -> None:
    """A kind in a group of its own, as another server behind the API server may have it."""
    names = {"kind": "Gauge", "plural": "gauges", "singular": "gauge", "listKind": "GaugeList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gauges.metrics.example.com"},
        "spec": {"group": "metrics.example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    await place.apply(definition)


@pytest.mark.parametrize(
    "failed",
    [
        Overloaded("service unavailable", target="here"),
        RuntimeFailure("service unavailable (HTTP 500)", target="here"),
        Unreachable("https://here cannot be reached: service unavailable", target="here"),
    ],
)
async def test_a_server_behind_the_server_that_gives_no_list_hides_no_other(
    sandboxed: Place, failed: RuntimeFailure
) -> None:
    """It fails as it likes; what it serves is not known, and why, and nothing else is lost by it."""
    ids = await labelled_maps(sandboxed, 2)
    await serve_gauges(sandboxed)

    def fail(path: str) -> None:
        if path == GAUGES:
            raise failed

    answering(sandboxed, fail)
    owned = await sandboxed.runtime.owned(LABELS)
    assert [each.id for each in owned.resources] == ids
    assert owned.unlisted == tuple(owned.away) == ("Gauge of metrics.example.com/v1",)
    (why,) = owned.away.values()
    assert why.startswith("service unavailable")
    assert ("metrics.example.com", "Gauge") not in owned.listed and ("apps", "Deployment") in owned.listed
    contents = await sandboxed.runtime.contents(sandboxed.namespace, 1_000)
    assert contents is not None and contents.unlisted == () and set(ids) <= {each.id for each in contents.resources}


async def test_where_nothing_answers_no_single_kind_is_to_blame(
    sandboxed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await serve_gauges(sandboxed)
    await sandboxed.runtime.kinds()

    def fail(path: str) -> None:
        if path == GAUGES:
            raise Unreachable("https://here cannot be reached: connection refused", target="here")

    async def silent() -> bool:
        return False

    answering(sandboxed, fail)
    monkeypatch.setattr(sandboxed.runtime._client.transport, "answers_others", silent)
    with pytest.raises(Unreachable, match="cannot be reached"):
        await sandboxed.runtime.owned(LABELS)
    with pytest.raises(Unreachable, match="cannot be reached"):
        client = sandboxed.runtime._client
        await client.list(await client.resource("metrics.example.com/v1", "Gauge"))


class Status:
    """A server whose every answer is a Status."""

    place = "here"

    async def call(self, method: str, path: str, **_: Any) -> Reply:
        return Reply(200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"})


async def test_a_server_that_serves_nothing_is_none() -> None:
    """Taken for an answer, it would say that there is nothing of any kind, and so nothing to delete."""
    with pytest.raises(RuntimeFailure, match="serves nothing"):
        await Discovery(Status()).served()  # type: ignore[arg-type]  # it has the one method that is used


async def test_one_kind_waits_for_the_answer_about_all_that_is_on_its_way(sandboxed: Place) -> None:
    asked = answering(sandboxed, lambda path: None)
    discovery = Discovery(sandboxed.runtime._client._transport)
    every, one = await asyncio.gather(discovery.served(), discovery.resource("apps/v1", "Deployment"))
    assert one in every.kinds
    assert sorted(asked) == ["/api", "/apis"]


async def test_what_goes_into_a_new_namespace_is_dry_run_and_not_looked_for(sandboxed: Place) -> None:
    body = {**sandboxed.config_map(a="1"), "metadata": {"name": "settings", "namespace": "new"}}
    await sandboxed.runtime.read(ReadRequest(KubernetesId.of(sandboxed.config_map())))  # which kinds there are is known
    asked = answering(sandboxed, lambda path: None)
    request = PlanRequest(resource(body), new_namespaces=frozenset({"new"}))
    assert (await sandboxed.runtime.plan(request)).live is None
    assert asked == {"/api/v1/namespaces/new/configmaps/settings": 1}
    # who was faster with the namespace, and with the object, is met all the same
    await sandboxed.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}})
    there = await sandboxed.apply({**body, "data": {"a": "2"}})
    found = await sandboxed.runtime.plan(request)
    assert found.live is not None and found.live.identity == there.identity and found.after["data"] == {"a": "1"}


async def test_a_failure_ends_what_was_asked_beside_it() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("the other")

    async def fails() -> None:
        raise RuntimeFailure("no", target="here")

    with pytest.raises(RuntimeFailure):
        await together(waits(), fails())
    assert ended == ["the other"]


async def test_what_comes_after_the_end_opens_no_connection(sandboxed: Place) -> None:
    """It would be a session that nobody closes."""
    runtime = KubernetesRuntime.connect(kubeconfig=sandboxed.kubeconfig)
    transport = runtime._client._transport
    await transport.call("GET", "/api")
    await runtime.close()
    with pytest.raises(Unreachable, match="were closed"):
        await transport.call("GET", "/api")
    assert transport._rest is None
