"""The other workloads, scheduling, and deletion that spreads."""

from __future__ import annotations

from typing import Any

from runtimes.sandbox.controllers.nodes import new_node

from .conftest import Object, World, conditions


def template(image: str = "shop/web:1.0", **spec: Any) -> Object:
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": image}], **spec},
    }


SELECTOR = {"matchLabels": {"app": "web"}}


def test_parallel_stateful_pods_do_not_wait_for_one_another(world: World) -> None:
    spec = {"replicas": 3, "serviceName": "db", "selector": SELECTOR, "template": template("db:1-never")}
    world.create("statefulsets.apps", {"metadata": {"name": "db"}, "spec": {**spec, "podManagementPolicy": "Parallel"}})
    world.pass_seconds(2)
    assert sorted(pod["metadata"]["name"] for pod in world.pods()) == ["db-0", "db-1", "db-2"]


def test_claims_go_with_whom_the_set_says(world: World) -> None:
    """As a real controller does it: the pod that is one too many owns its claim, and takes it along."""
    claims = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                                                      "resources": {"requests": {"storage": "1Gi"}}}}]  # fmt: skip
    spec = {"replicas": 2, "serviceName": "db", "selector": SELECTOR, "template": template("db:1"),
            "podManagementPolicy": "Parallel", "volumeClaimTemplates": claims,
            "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete", "whenDeleted": "Retain"}}  # fmt: skip
    world.create("statefulsets.apps", {"metadata": {"name": "db"}, "spec": spec})

    def owners() -> dict[str, list[str]]:
        found = world.cluster.list("persistentvolumeclaims", "default").items
        return {e["metadata"]["name"]: [o["kind"] for o in e["metadata"].get("ownerReferences", ())] for e in found}

    world.pass_seconds(2)
    assert owners() == {"data-db-0": [], "data-db-1": []}
    world.patch(
        "statefulsets.apps", "db", {"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}}
    )
    world.pass_seconds(1)
    assert owners() == {"data-db-0": ["StatefulSet"], "data-db-1": ["StatefulSet"]}
    uid = world.get("persistentvolumeclaims", "data-db-1")["metadata"]["uid"]
    world.patch("statefulsets.apps", "db", {"spec": {"replicas": 1}})
    world.pass_seconds(5)
    assert owners() == {"data-db-0": ["StatefulSet"]}
    world.patch("statefulsets.apps", "db", {"spec": {"replicas": 2}})
    world.pass_seconds(20)
    assert owners() == {"data-db-0": ["StatefulSet"], "data-db-1": ["StatefulSet"]}
    assert world.get("persistentvolumeclaims", "data-db-1")["metadata"]["uid"] != uid, "it went with its pod"
    retained = {"whenScaled": "Retain", "whenDeleted": "Retain"}
    world.patch("statefulsets.apps", "db", {"spec": {"replicas": 0, "persistentVolumeClaimRetentionPolicy": retained}})
    world.pass_seconds(20)
    assert owners().keys() == {"data-db-0", "data-db-1"} and not world.pods()


def test_a_daemon_set_surges_before_it_takes_the_old_pod_away(world: World) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    spec = {"selector": SELECTOR, "template": template(), "updateStrategy": strategy}
    world.create("daemonsets.apps", {"metadata": {"name": "agent"}, "spec": spec})
    world.pass_seconds(2)
    changed = [{"name": "app", "image": "shop/web:2.0"}]
    world.patch("daemonsets.apps", "agent", {"spec": {"template": {"spec": {"containers": changed}}}})
    for _ in range(100):
        world.pass_seconds(0.1)
        assert world.get("daemonsets.apps", "agent")["status"]["numberReady"] == 2
    assert world.get("daemonsets.apps", "agent")["status"]["updatedNumberScheduled"] == 2


def test_a_job_past_its_deadline_fails_and_its_pods_go(world: World) -> None:
    spec = {"activeDeadlineSeconds": 5, "template": template("shop/batch:1-long", restartPolicy="Never")}
    world.create("jobs.batch", {"metadata": {"name": "task"}, "spec": spec})
    world.pass_seconds(3)
    assert world.get("jobs.batch", "task")["status"]["active"] == 1
    world.pass_seconds(10)
    job = world.get("jobs.batch", "task")
    assert conditions(job)["Failed"] == "True/DeadlineExceeded"
    assert job["status"]["failed"] == 1
    assert world.pods() == []


def test_a_finished_job_goes_when_its_time_is_up(world: World) -> None:
    spec = {"ttlSecondsAfterFinished": 30, "template": template("shop/batch:1-done", restartPolicy="Never")}
    world.create("jobs.batch", {"metadata": {"name": "task"}, "spec": spec})
    world.pass_seconds(20)
    assert conditions(world.get("jobs.batch", "task"))["Complete"] == "True/CompletionsReached"
    world.pass_seconds(30)
    assert world.cluster.find("jobs.batch", "default", "task") is None
    assert world.pods() == []


def test_pods_that_shun_one_another_wait_for_a_node_of_their_own(world: World) -> None:
    term = {"labelSelector": SELECTOR, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    world.deployment(replicas=3, template=template(affinity=affinity))
    world.pass_seconds(2)
    assert len({pod["spec"]["nodeName"] for pod in world.pods() if "nodeName" in pod["spec"]}) == 2
    waiting = [pod for pod in world.pods() if "nodeName" not in pod["spec"]]
    assert "didn't match pod anti-affinity rules" in waiting[0]["status"]["conditions"][0]["message"]


def test_pods_wait_for_room_and_take_it_when_it_comes(world: World) -> None:
    big = [{"name": "app", "image": "shop/web:1.0", "resources": {"requests": {"cpu": "5"}}}]
    world.deployment(replicas=3, template=template(containers=big))
    world.pass_seconds(2)
    assert world.get("deployments.apps", "web")["status"]["readyReplicas"] == 2
    assert "2 Insufficient cpu" in world.events("FailedScheduling")[0]["message"]
    world.patch("deployments.apps", "web", {"spec": {"replicas": 2}})
    world.pass_seconds(3)
    assert world.get("deployments.apps", "web")["status"]["readyReplicas"] == 2


def test_a_claim_of_the_sandboxs_own_class_gets_a_volume(world: World) -> None:
    world.cluster.create(
        "storageclasses.storage.k8s.io",
        None,
        {"metadata": {"name": "local"}, "provisioner": "sandbox.konfig-workbench/volumes"},
    )
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    world.create("persistentvolumeclaims", {"metadata": {"name": "data"}, "spec": spec})
    world.pass_seconds(1)
    claim = world.get("persistentvolumeclaims", "data")
    assert (claim["status"]["phase"], claim["status"]["capacity"]) == ("Bound", {"storage": "1Gi"})
    world.cluster.delete("persistentvolumeclaims", "default", "data")
    world.pass_seconds(1)
    assert world.cluster.list("persistentvolumes").items == []


def test_what_nobody_owns_any_more_is_collected(world: World) -> None:
    owner = world.create("configmaps", {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    world.create("configmaps", {"metadata": {"name": "owned", "ownerReferences": [reference]}})
    stranger = {**reference, "uid": "00000000-0000-0000-0000-000000000000"}
    world.create("configmaps", {"metadata": {"name": "half-owned", "ownerReferences": [reference, stranger]}})
    world.pass_seconds(1)
    names = [each["metadata"]["name"] for each in world.cluster.list("configmaps", "default").items]
    assert "owned" in names
    half = world.get("configmaps", "half-owned")
    assert [each["uid"] for each in half["metadata"]["ownerReferences"]] == [owner["metadata"]["uid"]]
    world.cluster.delete("configmaps", "default", "owner")
    world.pass_seconds(1)
    names = [each["metadata"]["name"] for each in world.cluster.list("configmaps", "default").items]
    assert names == ["kube-root-ca.crt"]


def test_many_similar_events_are_told_as_one(world: World) -> None:
    world.create("resourcequotas", {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    world.pass_seconds(1)
    world.deployment(replicas=1)
    world.pass_seconds(120)
    messages = [event["message"] for event in world.events("FailedCreate")]
    assert len(messages) == 11
    assert sum(message.startswith("(combined from similar events)") for message in messages) == 1


def test_a_cluster_with_nothing_to_do_is_quiet(world: World) -> None:
    world.deployment(replicas=3)
    world.pass_seconds(30)
    before = world.cluster.store.revision
    world.pass_seconds(3600)
    assert world.cluster.store.revision == before


def test_deleting_twice_made_again_keeps_nothing_of_the_old(world: World) -> None:
    for _ in range(3):
        world.deployment(replicas=2)
        world.pass_seconds(2)
        world.cluster.delete("deployments.apps", "default", "web", propagation="Foreground")
        world.pass_seconds(3)
        assert world.pods() == []
        assert world.cluster.list("replicasets.apps", "default").items == []


def test_an_ingress_of_the_clusters_class_gets_an_address_and_no_other_is_touched(world: World) -> None:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    for name, class_name in (("ours", "public"), ("theirs", "other")):
        spec = {"ingressClassName": class_name, "defaultBackend": backend}
        world.create("ingresses.networking.k8s.io", {"metadata": {"name": name}, "spec": spec})
    theirs = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}
    world.cluster.patch("ingresses.networking.k8s.io", "default", "theirs", theirs, subresource="status")
    world.pass_seconds(2)
    addresses = {
        name: [
            each["ip"] for each in world.get("ingresses.networking.k8s.io", name)["status"]["loadBalancer"]["ingress"]
        ]
        for name in ("ours", "theirs")
    }
    assert addresses == {"ours": ["203.0.113.10"], "theirs": ["192.0.2.7"]}


def test_a_claim_that_waits_for_its_consumer_is_bound_where_that_will_run(world: World) -> None:
    world.cluster.create(
        "storageclasses.storage.k8s.io",
        None,
        {
            "metadata": {"name": "late"},
            "provisioner": "sandbox.konfig-workbench/volumes",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    )
    requests = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "late", "resources": requests}
    world.create("persistentvolumeclaims", {"metadata": {"name": "data"}, "spec": spec})
    world.pass_seconds(2)
    assert world.get("persistentvolumeclaims", "data")["status"]["phase"] == "Pending"
    assert len(world.events("WaitForFirstConsumer")) == 1
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    world.deployment(replicas=1, template=template(volumes=volumes))
    world.pass_seconds(2)
    assert world.get("persistentvolumeclaims", "data")["status"]["phase"] == "Bound"
    assert world.get("deployments.apps", "web")["status"]["readyReplicas"] == 1
    assert world.events("FailedScheduling") == []


def test_a_job_with_indexes_tells_each_pod_its_own_and_which_are_done(world: World) -> None:
    plain = {"name": "own", "image": "shop/web:1-done", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "x"}]}
    pod = template("shop/web:1-done", restartPolicy="Never")
    pod["spec"]["containers"].append(plain)
    spec = {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "template": pod}
    world.create("jobs.batch", {"metadata": {"name": "j"}, "spec": spec})
    world.pass_seconds(1)
    (told, kept) = [each["env"] for each in world.pods()[0]["spec"]["containers"]]
    field = {"apiVersion": "v1", "fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}
    assert told == [{"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": field}}]
    assert kept == plain["env"]
    world.pass_seconds(20)
    assert world.get("jobs.batch", "j")["status"]["completedIndexes"] == "0,1"


def test_addresses_that_somebody_writes_for_a_service_without_selector_are_mirrored(world: World) -> None:
    world.create("services", {"metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}]}})
    subset = {"addresses": [{"ip": "10.3.3.3"}], "notReadyAddresses": [{"ip": "10.3.3.4"}], "ports": [{"port": 80}]}
    world.create("endpoints", {"metadata": {"name": "x"}, "subsets": [subset]})

    def slices() -> list[Object]:
        world.pass_seconds(2)
        return list(world.cluster.list("endpointslices.discovery.k8s.io", "default").items)

    (made,) = slices()
    assert made["endpoints"] == [
        {"addresses": ["10.3.3.3"], "conditions": {"ready": True}},
        {"addresses": ["10.3.3.4"], "conditions": {"ready": False}},
    ]
    assert made["ports"] == [{"name": "", "protocol": "TCP", "port": 80}]
    assert made["metadata"]["labels"] == {
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
        "kubernetes.io/service-name": "x",
    }
    assert slices() == [made], "nothing is written where nothing changed"
    world.patch("endpoints", "x", {"subsets": [{**subset, "notReadyAddresses": None}]})
    assert len(slices()[0]["endpoints"]) == 1
    world.patch("endpoints", "x", {"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}})
    assert slices() == []


def test_a_replication_controller_keeps_so_many_pods(world: World) -> None:
    world.create(
        "replicationcontrollers", {"metadata": {"name": "old"}, "spec": {"replicas": 2, "template": template()}}
    )
    world.pass_seconds(3)
    assert world.get("replicationcontrollers", "old")["status"]["availableReplicas"] == 2
    world.patch("replicationcontrollers", "old", {"spec": {"replicas": 1}})
    world.pass_seconds(3)
    assert len(world.pods()) == 1
    assert world.get("replicationcontrollers", "old")["status"]["replicas"] == 1
    world.cluster.delete("replicationcontrollers", "default", "old")
    world.pass_seconds(3)
    assert [pod["metadata"].get("ownerReferences") for pod in world.pods()] == [None]  # its default, as officially


def test_a_daemon_set_that_may_not_make_a_pod_still_tells_what_is_there(world: World) -> None:
    world.create("resourcequotas", {"metadata": {"name": "one"}, "spec": {"hard": {"pods": "1"}}})
    world.pass_seconds(2)
    world.create(
        "daemonsets.apps", {"metadata": {"name": "agent"}, "spec": {"selector": SELECTOR, "template": template()}}
    )
    world.pass_seconds(4)
    counts = world.get("daemonsets.apps", "agent")["status"]
    assert (counts["desiredNumberScheduled"], counts["currentNumberScheduled"], counts["numberReady"]) == (2, 1, 1)
    assert world.events("FailedCreate")


def test_nothing_runs_on_a_node_that_is_not_there_until_it_comes(world: World) -> None:
    containers = template()["spec"]["containers"]
    world.create("pods", {"metadata": {"name": "lost"}, "spec": {"nodeName": "ghost", "containers": containers}})
    world.pass_seconds(5)
    assert world.get("pods", "lost")["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    world.cluster.create("nodes", "", new_node("ghost", 3), manager="test")
    world.pass_seconds(5)
    assert world.get("pods", "lost")["status"]["phase"] == "Running"


def pod_of(world: World, name: str, priority: str, cpu: str, **spec: Any) -> None:
    asks = [{"name": "app", "image": "shop/web:1.0", "resources": {"requests": {"cpu": cpu}}}]
    body = {"containers": asks, "priorityClassName": priority, **spec}
    world.create("pods", {"metadata": {"name": name, "labels": {"app": name}}, "spec": body})


def classes(world: World) -> None:
    for name, value, policy in (("high", 1000, None), ("mid", 500, None), ("low", 10, None), ("polite", 1000, "Never")):
        body: Object = {"metadata": {"name": name}, "value": value}
        if policy:
            body["preemptionPolicy"] = policy
        world.cluster.create("priorityclasses.scheduling.k8s.io", "", body, manager="test")


def test_a_pod_of_a_higher_priority_takes_the_place_of_the_least_important(world: World) -> None:
    classes(world)
    pod_of(world, "a", "mid", "7")
    pod_of(world, "b", "low", "5")
    pod_of(world, "c", "high", "2")
    world.pass_seconds(3)
    pod_of(world, "polite", "polite", "6")
    pod_of(world, "urgent", "high", "6")
    world.pass_seconds(6)
    assert sorted(pod["metadata"]["name"] for pod in world.pods() if pod["spec"].get("nodeName")) == [
        "a",
        "c",
        "urgent",
    ]
    ended = world.events("Preempted")[0]
    assert ended["involvedObject"]["name"] == "b"
    uid, node = world.get("pods", "urgent")["metadata"]["uid"], world.get("pods", "urgent")["spec"]["nodeName"]
    assert ended["message"] == f"Preempted by pod {uid} on node {node}"
    assert world.get("pods", "urgent")["status"]["nominatedNodeName"] == node
    said = [event["message"] for event in world.events("FailedScheduling")]
    assert "0/2 nodes are available: 2 Insufficient cpu." in said
    assert "nodeName" not in world.get("pods", "polite")["spec"]


def test_a_disruption_budget_has_another_pod_preempted(world: World) -> None:
    classes(world)
    pod_of(world, "a", "low", "7")
    pod_of(world, "b", "low", "7")
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    world.create("poddisruptionbudgets.policy", {"metadata": {"name": "keep"}, "spec": budget})
    world.pass_seconds(4)
    pod_of(world, "urgent", "high", "6")
    world.pass_seconds(6)
    assert {pod["metadata"]["name"] for pod in world.pods()} == {"a", "urgent"}


def test_a_namespace_that_is_deleted_loses_its_pods_before_all_else(world: World) -> None:
    """As a real 1.34 does (OrderedNamespaceDeletion), which says meanwhile that nothing is left."""
    cluster = world.cluster
    cluster.create("namespaces", "", {"metadata": {"name": "going"}})
    world.pass_seconds(1)
    held = {"metadata": {"name": "held", "finalizers": ["x.example/hold"]}, "spec": template()["spec"]}
    cluster.create("pods", "going", held)
    cluster.create("configmaps", "going", {"metadata": {"name": "settings"}})
    cluster.delete("namespaces", "", "going")
    world.pass_seconds(60)
    assert cluster.get("pods", "going", "held")["metadata"]["deletionTimestamp"]
    assert "deletionTimestamp" not in cluster.get("configmaps", "going", "settings")["metadata"]
    said = conditions(cluster.get("namespaces", "", "going"))
    assert said["NamespaceContentRemaining"] == "False/ContentRemoved"
    assert said["NamespaceFinalizersRemaining"] == "False/ContentHasNoFinalizers"
    cluster.patch("pods", "going", "held", {"metadata": {"finalizers": None}}, "merge")
    world.pass_seconds(20)
    assert cluster.find("namespaces", "", "going") is None
