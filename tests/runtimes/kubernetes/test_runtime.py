"""The contract of `Runtime`, held by the same client against the sandbox and a real cluster."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from runtimes.base import (
    ApplyRequest,
    Conflict,
    DeleteRequest,
    FieldConflict,
    Forbidden,
    Identity,
    KubernetesId,
    ListKey,
    LogRequest,
    Moved,
    NotThere,
    ObjectRef,
    Observation,
    PlanRequest,
    ReadRequest,
    Rejected,
    RuntimeFailure,
    Status,
    Unauthenticated,
    WatchRequest,
    value_at,
)
from runtimes.kubernetes.runtime import KubernetesRuntime
from runtimes.sandbox.server import Sandbox
from tests.runtimes.kubernetes.conftest import Place, resource

FOREIGN_UID = "00000000-0000-4000-8000-000000000001"


async def test_reading_what_is_not_there_gives_none(place: Place) -> None:
    assert await place.runtime.read(ReadRequest(KubernetesId("v1", "ConfigMap", place.namespace, "no"))) is None
    assert await place.runtime.read(ReadRequest(KubernetesId("v1", "ConfigMap", "no-such-place", "no"))) is None
    assert await place.runtime.read(ReadRequest(KubernetesId("no.example.com/v1", "No", "", "no"))) is None


async def test_a_live_body_holds_what_a_configuration_may_say(place: Place) -> None:
    await place.apply(place.deployment())
    live = await place.runtime.read(ReadRequest(KubernetesId.of(place.deployment())))
    assert live is not None
    assert "status" not in live.body
    assert set(live.body["metadata"]) <= {"name", "namespace", "labels", "annotations"}
    assert live.body["spec"]["template"]["spec"]["restartPolicy"] == "Always"


async def test_a_plan_of_something_new_has_defaults_and_changes_nothing(place: Place) -> None:
    prediction = await place.runtime.plan(PlanRequest(resource(place.deployment())))
    assert prediction.before is None
    assert prediction.after["spec"]["strategy"]["type"] == "RollingUpdate"
    assert prediction.conflicts == ()
    assert prediction.list_keys["spec", "template", "spec", "containers"] == ("name",)
    assert await place.runtime.read(ReadRequest(prediction.id)) is None


async def test_planning_again_after_an_apply_predicts_no_change(place: Place) -> None:
    await place.apply(place.deployment())
    prediction = await place.runtime.plan(PlanRequest(resource(place.deployment())))
    assert prediction.before == prediction.after


async def test_a_plan_shows_what_an_apply_then_does(place: Place) -> None:
    await place.apply(place.deployment())
    wanted = place.deployment(image="example/app:v2", replicas=3)
    prediction = await place.runtime.plan(PlanRequest(resource(wanted)))
    assert prediction.live is not None
    applied = await place.runtime.apply(ApplyRequest(resource(wanted), prediction.live.identity))
    assert applied.body == prediction.after


async def test_a_new_object_is_made_only_if_there_is_none(place: Place) -> None:
    made = await place.runtime.apply(ApplyRequest(resource(place.config_map(a="1")), None))
    assert made.body["data"] == {"a": "1"}
    with pytest.raises(Moved, match="created by someone else"):
        await place.runtime.apply(ApplyRequest(resource(place.config_map(a="2")), None))
    live = await place.runtime.read(ReadRequest(made.id))
    assert live is not None and live.body["data"] == {"a": "1"}


async def _change(place: Place) -> None:
    await place.write("PATCH", "/api/v1/namespaces/$NS/configmaps/settings", {"data": {"b": "2"}})


async def _replace(place: Place) -> None:
    await place.write("DELETE", "/api/v1/namespaces/$NS/configmaps/settings", None)
    await place.write("POST", "/api/v1/namespaces/$NS/configmaps", place.config_map(a="1"))


async def _remove(place: Place) -> None:
    await place.write("DELETE", "/api/v1/namespaces/$NS/configmaps/settings", None)


@pytest.mark.parametrize(
    ("meanwhile", "words"),
    [(_change, "changed since"), (_replace, "recreated"), (_remove, "deleted since")],
    ids=["changed", "replaced", "removed"],
)
async def test_an_apply_refuses_when_the_object_is_not_what_was_planned_for(
    place: Place, meanwhile: Callable[[Place], Any], words: str
) -> None:
    seen = await place.apply(place.config_map(a="1"))
    await meanwhile(place)
    for force in (False, True):
        with pytest.raises(Moved, match=words):
            await place.runtime.apply(ApplyRequest(resource(place.config_map(a="3")), seen.identity, force=force))
    live = await place.runtime.read(ReadRequest(seen.id))
    assert live is None or live.body["data"].get("a") == "1"


async def test_a_write_to_the_status_alone_does_not_make_a_plan_stale(place: Place) -> None:
    seen = await place.apply(place.deployment(replicas=0))
    status = {"status": {"conditions": [{"type": "Odd", "status": "True"}]}}
    await place.write("PATCH", "/apis/apps/v1/namespaces/$NS/deployments/web/status", status)
    applied = await place.runtime.apply(
        ApplyRequest(resource(place.deployment(image="example/app:v2", replicas=0)), seen.identity)
    )
    assert value_at(applied.body, ("spec", "template", "spec", "containers", 0, "image")) == "example/app:v2"


async def test_fields_of_others_are_conflicts_with_their_owner_and_time(place: Place) -> None:
    await place.apply(place.deployment(replicas=0))
    path = "/apis/apps/v1/namespaces/$NS/deployments/web"
    image = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "example/app:theirs"}]}}}}
    patch = {**image, "metadata": {"labels": {"app": "theirs"}}}
    await place.write(
        "PATCH", path, patch, manager="kubectl-edit", content_type="application/strategic-merge-patch+json"
    )

    wanted = resource(place.deployment(replicas=0, image="example/app:v2"))
    prediction = await place.runtime.plan(PlanRequest(wanted))
    container = ("spec", "template", "spec", "containers", ListKey((("name", "main"),)))
    assert [(each.path, each.manager) for each in prediction.conflicts] == [
        (("metadata", "labels", "app"), "kubectl-edit"),
        ((*container, "image"), "kubectl-edit"),
    ]
    assert all(each.when.endswith("Z") for each in prediction.conflicts)
    assert value_at(prediction.before, (*container, "image")) == "example/app:theirs"
    assert value_at(prediction.after, (*container, "image")) == "example/app:v2"

    assert prediction.live is not None
    with pytest.raises(Conflict) as refused:
        await place.runtime.apply(ApplyRequest(wanted, prediction.live.identity))
    assert set(refused.value.conflicts) == set(prediction.conflicts)
    forced = await place.runtime.apply(ApplyRequest(wanted, prediction.live.identity, force=True))
    assert value_at(forced.body, (*container, "image")) == "example/app:v2"


async def test_a_conflict_over_a_label_with_dots_is_found_by_its_path(place: Place) -> None:
    body = place.config_map(a="1")
    body["metadata"]["labels"] = {"app.kubernetes.io/part-of": "ours"}
    await place.apply(body)
    await place.write(
        "PATCH",
        "/api/v1/namespaces/$NS/configmaps/settings",
        {"metadata": {"labels": {"app.kubernetes.io/part-of": "theirs"}}},
    )
    prediction = await place.runtime.plan(PlanRequest(resource(body)))
    (conflict,) = prediction.conflicts
    assert conflict == FieldConflict(("metadata", "labels", "app.kubernetes.io/part-of"), "someone", conflict.when)


async def test_an_object_whose_owners_were_forgotten_conflicts_with_its_past(place: Place) -> None:
    body = place.config_map(a="1")
    await place.apply(body)
    await place.write(
        "PATCH", "/api/v1/namespaces/$NS/configmaps/settings", {"metadata": {"managedFields": [{}]}, "data": {"a": "2"}}
    )
    prediction = await place.runtime.plan(PlanRequest(resource(body)))
    assert [(each.path, each.manager) for each in prediction.conflicts] == [(("data", "a"), "before-first-apply")]


async def test_owners_say_who_set_what(place: Place) -> None:
    await place.apply(place.config_map(a="1"))
    await place.write("PATCH", "/api/v1/namespaces/$NS/configmaps/settings", {"data": {"b": "2"}}, manager="a-person")
    live = await place.runtime.read(ReadRequest(KubernetesId.of(place.config_map())))
    assert live is not None
    owners = {each.path: (each.manager, each.operation) for each in live.owners}
    assert owners["data", "a"] == ("workbench", "Apply")
    assert owners["data", "b"] == ("a-person", "Update")
    assert all(each.when is not None for each in live.owners)


async def test_a_field_that_is_fixed_at_creation_is_a_replacement(place: Place) -> None:
    await place.apply(place.deployment(replicas=0))
    other = copy.deepcopy(place.deployment(replicas=0))
    other["spec"]["selector"]["matchLabels"] = {"app": "other"}
    other["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    prediction = await place.runtime.plan(PlanRequest(resource(other)))
    assert prediction.replaces == (("spec", "selector"),)
    assert prediction.after["metadata"]["name"] == "web"
    assert prediction.after["spec"]["selector"]["matchLabels"] == {"app": "other"}
    assert prediction.after["spec"]["strategy"]["type"] == "RollingUpdate"
    live = await place.runtime.read(ReadRequest(prediction.id))
    assert live is not None
    with pytest.raises(Rejected, match="immutable"):
        await place.runtime.apply(ApplyRequest(resource(other), live.identity))


async def test_a_missing_namespace_is_a_finding_unless_the_plan_makes_it(place: Place) -> None:
    body = place.config_map(a="1")
    body["metadata"]["namespace"] = "not-yet-there"
    with pytest.raises(NotThere, match="not-yet-there") as refused:
        await place.runtime.plan(PlanRequest(resource(body)))
    assert "create the namespace" in refused.value.hint
    prediction = await place.runtime.plan(PlanRequest(resource(body), new_namespaces=frozenset({"not-yet-there"})))
    assert prediction.before is None and prediction.after["data"] == {"a": "1"}
    assert any("not-yet-there" in warning for warning in prediction.warnings)


async def test_an_unknown_field_is_refused_by_the_plan_already(place: Place) -> None:
    body = place.deployment()
    body["spec"]["replicaCount"] = 2
    with pytest.raises(Rejected, match="replicaCount"):
        await place.runtime.plan(PlanRequest(resource(body)))


async def test_invalid_content_is_refused_with_its_causes(place: Place) -> None:
    with pytest.raises(Rejected) as refused:
        await place.runtime.plan(PlanRequest(resource(place.deployment(replicas=-1))))
    assert [field for field, _ in refused.value.causes] == ["spec.replicas"]
    assert str(KubernetesId.of(place.deployment())) in str(refused.value)


async def test_an_unknown_kind_says_what_is_served(place: Place) -> None:
    body = {"apiVersion": "apps/v1", "kind": "Deploymint", "metadata": {"name": "a", "namespace": place.namespace}}
    with pytest.raises(NotThere, match="no kind Deploymint") as refused:
        await place.runtime.plan(PlanRequest(resource(body)))
    assert "Deployment" in refused.value.hint


async def test_a_kind_defined_a_moment_ago_is_found(place: Place) -> None:
    group = f"{place.namespace}.example.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    widget = {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": place.namespace},
        "spec": {"size": 1},
    }
    with pytest.raises(NotThere):
        await place.runtime.plan(PlanRequest(resource(widget)))
    made = await place.apply(definition)
    try:
        await _until_served(place, widget)
        applied = await place.runtime.apply(ApplyRequest(resource(widget), None))
        assert applied.body["spec"] == {"size": 1}
    finally:
        await place.runtime.delete(DeleteRequest(made.id, made.identity))


async def _until_served(place: Place, body: dict[str, Any]) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                await place.runtime.plan(PlanRequest(resource(body)))
            except NotThere:
                await asyncio.sleep(0.1)
            else:
                return


async def test_deleting_twice_is_success_and_another_uid_is_not(place: Place) -> None:
    made = await place.apply(place.config_map(a="1"))
    with pytest.raises(Moved):
        await place.runtime.delete(DeleteRequest(made.id, Identity(FOREIGN_UID, made.identity.version)))
    assert await place.runtime.read(ReadRequest(made.id)) is not None
    await place.runtime.delete(DeleteRequest(made.id, made.identity))
    await place.runtime.delete(DeleteRequest(made.id, made.identity))
    assert await place.runtime.read(ReadRequest(made.id)) is None


async def test_whether_something_may_be_deleted_is_asked_without_deleting_it(place: Place) -> None:
    made = await place.apply(place.config_map(a="1"))
    assert await place.runtime.may_delete(made.id) == ""
    live = await place.runtime.read(ReadRequest(made.id))
    assert live is not None and live.identity == made.identity


async def test_owned_finds_what_we_applied_and_not_what_controllers_made_of_it(place: Place) -> None:
    labels = {"example.com/stack": place.namespace}
    ours = place.deployment()
    ours["metadata"]["labels"] |= labels
    ours["spec"]["template"]["metadata"]["labels"] |= labels
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": place.namespace, "labels": labels},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    }
    theirs = place.config_map("theirs", a="1")
    theirs["metadata"]["labels"] = labels
    await place.apply(ours)
    await place.apply(service)
    await place.apply(place.config_map("unlabelled", a="1"))
    await place.write("POST", "/api/v1/namespaces/$NS/configmaps", theirs)
    found = await place.runtime.owned(labels)
    assert [each.id for each in found.resources] == [KubernetesId.of(ours), KubernetesId.of(service)]
    assert found.unlisted == ()
    looked_at = [each.identity.uid for each in found.resources[:1]]
    assert (await place.runtime.owned(labels, known=looked_at)).resources == found.resources[1:]


async def test_a_service_has_an_address_that_no_plan_can_know(place: Place) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": place.namespace},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    }
    prediction = await place.runtime.plan(PlanRequest(resource(service)))
    assert set(prediction.unknown) == {("spec", "clusterIP"), ("spec", "clusterIPs")}
    await place.apply(service)
    prediction = await place.runtime.plan(PlanRequest(resource(service)))
    assert prediction.unknown == ()


async def test_a_body_without_namespace_goes_to_the_contexts(place: Place) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "somewhere"}, "data": {"a": "1"}}
    prediction = await place.runtime.plan(PlanRequest(resource(body)))
    assert prediction.after["metadata"]["namespace"] == "default"


@pytest.mark.parametrize(
    "data",
    [{"data": {"key": "c2VjcmV0LXRleHQ"}}, {"stringData": {"key": 20340857}}, {"data": {"key/x": "c2VjcmV0LXRleHQ="}}],
    ids=["not-base64", "a-number", "bad-name"],
)
async def test_what_is_wrong_with_a_secret_is_told_without_its_values(place: Place, data: dict[str, Any]) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": place.namespace}, **data}
    with pytest.raises(RuntimeFailure) as refused:
        await place.runtime.plan(PlanRequest(resource(body)))
    told = f"{refused.value!s} {refused.value!r} {refused.value.hint} {getattr(refused.value, 'causes', '')}"
    assert "s on " in told or place.namespace in told
    for value in ("c2VjcmV0LXRleHQ", "secret-text", "20340857"):
        assert value not in told


async def test_the_paths_of_secrets_are_named(place: Place) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": place.namespace},
        "stringData": {"key": "text"},
    }
    prediction = await place.runtime.plan(PlanRequest(resource(secret)))
    assert ("data",) in prediction.sensitive and ("stringData",) in prediction.sensitive
    assert "text" not in repr(prediction)


async def test_the_log_of_a_pod_that_has_not_started_is_empty(place: Place) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "waiting", "namespace": place.namespace},
        "spec": {"nodeSelector": {"no": "node"}, "containers": [{"name": "main", "image": "example/app:v1"}]},
    }
    if place.sandbox is None:
        # admission wants the account that a controller makes
        await _until_made(place, KubernetesId("v1", "ServiceAccount", place.namespace, "default"))
    await place.apply(pod)
    lines = await place.runtime.logs(LogRequest(ObjectRef("Pod", place.namespace, "waiting")))
    assert lines == ()
    with pytest.raises(NotThere):
        await place.runtime.logs(LogRequest(ObjectRef("Pod", place.namespace, "no-such-pod")))


@pytest.mark.parametrize(("init", "names"), [((), ("app",)), ((), ("app", "sidecar")), (("prepare",), ("app",))])
async def test_a_log_holds_what_each_container_wrote_by_name(
    sandboxed: Place, init: tuple[str, ...], names: tuple[str, ...]
) -> None:
    containers = [{"name": each, "image": "example/app:v1"} for each in names]
    body = sandboxed.deployment(replicas=1, initContainers=[{"name": each, "image": "example/i:v1"} for each in init])
    body["spec"]["template"]["spec"]["containers"] = containers
    await sandboxed.apply(body)
    ref = None
    lines: tuple[str, ...] = ()
    async with asyncio.timeout(60):
        async with sandboxed.runtime.watch(WatchRequest((KubernetesId.of(body),))) as reports:
            async for each in reports:
                if isinstance(each, Observation) and each.tree and each.health.status is Status.CURRENT:
                    ref = each.tree.children[0].children[0].ref
                    break
        assert ref is not None
        while not lines:
            lines = await sandboxed.runtime.logs(LogRequest(ref))
            await asyncio.sleep(0.05)
    every = (*init, *names)
    if len(every) == 1:
        assert not any(text.startswith("app | ") for text in lines)
        assert lines[:1] == (await sandboxed.runtime.logs(LogRequest(ref, "app")))[:1]
    else:
        found = dict.fromkeys(text.partition(" | ")[0] for text in lines)
        assert set(found) <= set(every) and set(names) <= set(found)


async def _until_made(place: Place, id_: KubernetesId) -> None:
    for _ in range(200):
        if await place.runtime.read(ReadRequest(id_)) is not None:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{id_} was not made within 10 s")


async def test_refused_credentials_and_missing_rights_differ(place: Place) -> None:
    config = yaml.safe_load(place.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": "no-such-token-0123456789"}
    refused = place.kubeconfig.with_name("refused") if place.sandbox else None
    if refused is None:
        pytest.skip("the real kubeconfig's folder is not ours to write to")
    refused.write_text(yaml.safe_dump(config))
    runtime = KubernetesRuntime.connect(kubeconfig=refused)
    try:
        with pytest.raises(Unauthenticated) as error:
            await runtime.read(ReadRequest(KubernetesId("v1", "ConfigMap", "default", "a")))
        assert "no-such-token" not in f"{error.value} {error.value.hint} {error.value!r}"
    finally:
        await runtime.close()


async def test_a_user_without_rights_is_told_so(tmp_path: Any) -> None:
    async with Sandbox(tokens={"admin": "a-token", "viewer": "v-token"}) as sandbox:
        sandbox.write_kubeconfig(tmp_path / "config", user="viewer")
        runtime = KubernetesRuntime.connect(kubeconfig=tmp_path / "config", place="shop-eu")
        try:
            with pytest.raises(Forbidden, match=r"on shop-eu.*cannot"):
                await runtime.read(ReadRequest(KubernetesId("v1", "ConfigMap", "default", "a")))
            assert "may not delete" in await runtime.may_delete(KubernetesId("v1", "ConfigMap", "default", "a"))
        finally:
            await runtime.close()
