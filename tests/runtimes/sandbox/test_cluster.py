"""The verbs in the process: what controllers rely on."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.sandbox import scale
from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster, copied
from runtimes.sandbox.deletion import Options
from runtimes.sandbox.errors import ApiError

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster("test", VirtualClock(START), seed=7)


def config_map(name: str = "a", **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def test_times_come_from_the_clock(cluster: Cluster) -> None:
    made = cluster.create("configmaps", "default", config_map(k="1"), manager="me")
    assert made["metadata"]["creationTimestamp"] == "2026-01-02T03:04:05Z"
    assert made["metadata"]["managedFields"][0]["time"] == "2026-01-02T03:04:05Z"


def test_a_seed_makes_names_uids_and_tokens_repeat() -> None:
    def names() -> tuple[str, str, str]:
        cluster = Cluster("test", VirtualClock(START), seed=3)
        made = cluster.create("configmaps", "default", {"metadata": {"generateName": "x-"}})
        return made["metadata"]["name"], made["metadata"]["uid"], cluster.rng.token()

    assert names() == names()


def test_a_write_based_on_an_old_version_is_refused(cluster: Cluster) -> None:
    first = cluster.create("configmaps", "default", config_map(k="1"))
    cluster.patch("configmaps", "default", "a", {"data": {"k": "2"}})
    stale = copied(first)
    stale["data"] = {"k": "3"}
    with pytest.raises(ApiError) as refused:
        cluster.update("configmaps", "default", "a", stale)
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")
    assert cluster.get("configmaps", "default", "a")["data"] == {"k": "2"}


def test_objects_that_readers_hold_do_not_change(cluster: Cluster) -> None:
    before = cluster.create("configmaps", "default", config_map(k="1"))
    cluster.patch("configmaps", "default", "a", {"data": {"k": "2"}})
    assert before["data"] == {"k": "1"}


def test_a_dry_run_changes_nothing(cluster: Cluster) -> None:
    seen: list[object] = []
    cluster.subscribe(seen.append)
    revision = cluster.store.revision
    shown = cluster.create(
        "services", "default", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}, dry_run=True
    )
    assert shown["spec"]["clusterIP"].startswith("10.0.0.")
    assert (cluster.store.revision, seen, cluster.find("services", "default", "s")) == (revision, [], None)


def test_a_write_that_changes_nothing_makes_no_version(cluster: Cluster) -> None:
    made = cluster.create("configmaps", "default", config_map(k="1"), manager="me")
    again = cluster.update("configmaps", "default", "a", config_map(k="1"), manager="me")
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_the_first_write_of_a_claim_stores_its_phase(cluster: Cluster) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": spec}
    created = cluster.create("persistentvolumeclaims", "default", body)["metadata"]["resourceVersion"]
    versions = [
        cluster.patch("persistentvolumeclaims", "default", "data", {}, "merge")["metadata"]["resourceVersion"]
        for _ in range(2)
    ]
    assert versions[0] != created
    assert versions[1] == versions[0]


@pytest.mark.parametrize(
    "options", [Options(uid="other"), Options(resource_version="1")], ids=["uid", "resource-version"]
)
def test_an_eviction_that_is_refused_leaves_no_note(cluster: Cluster, options: Options) -> None:
    cluster.create("serviceaccounts", "default", {"metadata": {"name": "default"}})
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    made = cluster.create("pods", "default", body)
    with pytest.raises(ApiError) as refused:
        cluster.evict("default", "p", options)
    assert refused.value.code == 409
    assert cluster.get("pods", "default", "p") == made


def test_an_unknown_resource_is_not_found(cluster: Cluster) -> None:
    with pytest.raises(ApiError) as refused:
        cluster.list("gadgets.example.com")
    assert refused.value.code == 404


@pytest.mark.parametrize("verb", ["create", "apply"])
def test_policies_that_are_none_get_no_default(cluster: Cluster, verb: str) -> None:
    """As a kube-apiserver 1.34.3 answered, which fills in only what is absent."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "behavior": {"scaleUp": {"policies": []}, "scaleDown": {}}}
    body = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": spec}
    kind = "horizontalpodautoscalers.autoscaling"
    with pytest.raises(ApiError) as refused:
        if verb == "create":
            cluster.create(kind, "default", body)
        else:
            cluster.patch(kind, "default", "a", body, "apply", manager="one")
    assert "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy" in refused.value.message
    assert "scaleDown" not in refused.value.message


def test_two_appliers_conflict_until_one_forces(cluster: Cluster) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "1"}}
    cluster.patch("configmaps", "default", "a", body, "apply", manager="one")
    other = {**body, "data": {"k": "2"}}
    with pytest.raises(ApiError) as refused:
        cluster.patch("configmaps", "default", "a", other, "apply", manager="two")
    assert refused.value.details == {
        "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.k"}]
    }
    forced = cluster.patch("configmaps", "default", "a", other, "apply", manager="two", force=True)
    assert [entry["manager"] for entry in forced["metadata"]["managedFields"]] == ["two"]


async def test_a_watch_shows_what_was_there_and_what_comes(cluster: Cluster) -> None:
    cluster.create("configmaps", "default", config_map("a"))
    watch = cluster.watch("configmaps", "default", label_selector="x=1")
    cluster.create("configmaps", "default", {"metadata": {"name": "b", "labels": {"x": "1"}}})
    cluster.patch("configmaps", "default", "b", {"metadata": {"labels": {"x": "2"}}})
    cluster.delete("configmaps", "default", "a")
    async with asyncio.timeout(5):
        events = [await anext(watch), await anext(watch)]
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [
        ("ADDED", "b"),
        ("DELETED", "b"),
    ]


def test_a_watch_from_a_forgotten_version_is_gone(cluster: Cluster) -> None:
    made = cluster.create("configmaps", "default", config_map())
    cluster.patch("configmaps", "default", "a", {"data": {"k": "2"}})
    cluster.store.compact()
    cluster.patch("configmaps", "default", "a", {"data": {"k": "3"}})
    with pytest.raises(ApiError) as refused:
        cluster.watch("configmaps", "default", made["metadata"]["resourceVersion"])
    assert (refused.value.code, refused.value.reason) == (410, "Expired")


def test_history_is_bounded() -> None:
    cluster = Cluster("test", VirtualClock(START), history=5)
    first = cluster.create("configmaps", "default", config_map())
    for number in range(20):
        cluster.patch("configmaps", "default", "a", {"data": {"k": str(number)}})
    with pytest.raises(ApiError):
        cluster.store.since(int(first["metadata"]["resourceVersion"]))
    assert len(cluster.store.since(cluster.store.revision - 3)) == 3


def test_finalizers_hold_an_object_until_the_last_is_gone(cluster: Cluster) -> None:
    cluster.create("configmaps", "default", {"metadata": {"name": "a", "finalizers": ["example.com/f"]}})
    assert not cluster.delete("configmaps", "default", "a").gone
    assert cluster.get("configmaps", "default", "a")["metadata"]["deletionTimestamp"] == "2026-01-02T03:04:05Z"
    cluster.patch("configmaps", "default", "a", {"metadata": {"finalizers": None}})
    assert cluster.find("configmaps", "default", "a") is None


def test_a_definition_is_served_at_once_and_takes_its_objects_along(cluster: Cluster) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    definitions = "customresourcedefinitions.apiextensions.k8s.io"
    cluster.create(definitions, None, {"metadata": {"name": "widgets.example.com"}, "spec": spec})
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1, "x": 2}}
    made = cluster.create("widgets.example.com", "default", body)
    assert made["spec"] == {"size": 1}
    with pytest.raises(ApiError) as refused:
        cluster.create("widgets.example.com", "default", {**body, "metadata": {"name": "v"}, "spec": {"size": "x"}})
    assert refused.value.code == 422
    cluster.delete(definitions, None, "widgets.example.com")
    with pytest.raises(ApiError):
        cluster.list("widgets.example.com")
    assert cluster.store.items(("example.com", "widgets")) == []


def test_a_quota_counts_what_is_made_and_refuses_what_exceeds_it(cluster: Cluster) -> None:
    hard = {"count/configmaps": "1"}
    cluster.create("resourcequotas", "default", {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    status = {"status": {"hard": hard, "used": {"count/configmaps": "0"}}}
    cluster.patch("resourcequotas", "default", "q", status, subresource="status")
    cluster.create("configmaps", "default", config_map("a"))
    with pytest.raises(ApiError, match="exceeded quota: q, requested: count/configmaps=1"):
        cluster.create("configmaps", "default", config_map("b"))
    assert cluster.get("resourcequotas", "default", "q")["status"]["used"] == {"count/configmaps": "1"}


def pod_of_class(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "example/app:1"}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, "runtimeClassName": name, **spec}}


def test_a_runtime_class_shapes_the_pods_that_name_it(cluster: Cluster) -> None:
    cluster.create("serviceaccounts", "default", {"metadata": {"name": "default"}})
    scheduling = {"nodeSelector": {"disk": "fast"}, "tolerations": [{"key": "k", "operator": "Exists"}]}
    body = {"metadata": {"name": "small"}, "handler": "runc", "scheduling": scheduling}
    cluster.create("runtimeclasses.node.k8s.io", "", {**body, "overhead": {"podFixed": {"cpu": "100m"}}})
    made = cluster.create("pods", "default", pod_of_class("small"))
    assert made["spec"]["overhead"] == {"cpu": "100m"}
    assert made["spec"]["nodeSelector"] == {"disk": "fast"}
    assert {"key": "k", "operator": "Exists"} in made["spec"]["tolerations"]
    for name, spec, why in (
        ("none", {}, 'pod rejected: RuntimeClass "none" not found'),
        (
            "small",
            {"nodeSelector": {"disk": "slow"}},
            "conflict: runtimeClass.scheduling.nodeSelector[disk] = fast; pod.spec.nodeSelector[disk] = slow",
        ),
    ):
        with pytest.raises(ApiError) as refused:
            cluster.create("pods", "default", pod_of_class(name, **spec))
        assert (refused.value.code, refused.value.message) == (403, f'pods "p" is forbidden: {why}')


def test_a_job_without_labels_shares_those_of_its_template(cluster: Cluster) -> None:
    containers = [{"name": "main", "image": "example/app:1"}]
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"restartPolicy": "Never", "containers": containers}}
    made = cluster.create("jobs.batch", "default", {"metadata": {"name": "j"}, "spec": {"template": template}})
    uid = made["metadata"]["uid"]
    names = {"batch.kubernetes.io/job-name": "j", "job-name": "j"}
    given = {"app": "a", "batch.kubernetes.io/controller-uid": uid, "controller-uid": uid, **names}
    assert made["metadata"]["labels"] == given == made["spec"]["template"]["metadata"]["labels"]


def test_unknown_fields_of_a_patched_object_are_told_in_order(cluster: Cluster) -> None:
    cluster.create("configmaps", "default", config_map())
    with pytest.raises(ApiError) as refused:
        cluster.patch("configmaps", "default", "a", {"zebra": 1, "apple": 2}, field_validation="Strict")
    assert 'unknown field "apple", unknown field "zebra"' in refused.value.message


def test_a_service_that_needs_two_families_is_refused(cluster: Cluster) -> None:
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "ipFamilyPolicy": "RequireDualStack"}}
    with pytest.raises(ApiError, match="this cluster is not configured for dual-stack services"):
        cluster.create("services", "default", body)


def test_node_ports_go_with_the_need_for_them(cluster: Cluster) -> None:
    spec = {"type": "NodePort", "ports": [{"port": 80}]}
    made = cluster.create("services", "default", {"metadata": {"name": "s"}, "spec": spec})
    assert made["spec"]["ports"][0]["nodePort"]
    change = {"spec": {"type": "ExternalName", "externalName": "x.example"}}
    assert "nodePort" not in cluster.patch("services", "default", "s", change)["spec"]["ports"][0]


def test_a_scale_needs_the_field_that_its_definition_names(cluster: Cluster) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    versions = [{**version, "subresources": {"scale": paths}}]
    spec = {"group": "a.example.com", "scope": "Namespaced", "names": names, "versions": versions}
    cluster.create(DEFINITIONS, "", {"metadata": {"name": "widgets.a.example.com"}, "spec": spec})
    served = cluster.resources.find("a.example.com", "v1", "widgets")
    assert served is not None
    cluster.create(served, "default", {"metadata": {"name": "w"}, "spec": {}})
    with pytest.raises(ApiError, match=r'the spec replicas field "\.spec\.replicas" does not exist'):
        scale.get(cluster, served, "default", "w")
