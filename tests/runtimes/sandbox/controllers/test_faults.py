"""What goes wrong on demand, what it looks like, and that it heals."""

from __future__ import annotations

import pytest

from runtimes.sandbox.faults import Faults

from .conftest import World, conditions, waiting


def test_an_image_that_cannot_be_pulled_until_it_is_healed(world: World) -> None:
    world.faults.fail_image("shop/web:2.*")
    world.deployment(image="shop/web:2.0")
    world.pass_seconds(2)
    assert {waiting(pod) for pod in world.pods(app="web")} <= {"ErrImagePull", "ImagePullBackOff"}
    assert "shop/web:2.0" in world.events("Failed")[0]["message"]
    world.faults.heal_image("shop/web:2.*")
    world.pass_seconds(2)
    assert world.get("deployments.apps", "web")["status"]["readyReplicas"] == 2


def test_running_containers_begin_to_crash_and_come_back(world: World) -> None:
    world.deployment()
    world.pass_seconds(2)
    world.faults.fail_image("shop/*", "crash")
    world.pass_seconds(3.5)
    assert {waiting(pod) for pod in world.pods(app="web")} == {"CrashLoopBackOff"}
    assert conditions(world.get("deployments.apps", "web"))["Available"] == "False/MinimumReplicasUnavailable"
    world.faults.heal_image("shop/*")
    world.pass_seconds(5)
    assert conditions(world.get("deployments.apps", "web"))["Available"] == "True/MinimumReplicasAvailable"


def test_the_back_off_grows(world: World) -> None:
    world.deployment(replicas=1, image="shop/web:1.0-crash")
    restarts = []
    for _ in range(4):
        world.pass_seconds(30)
        restarts.append(world.pods(app="web")[0]["status"]["containerStatuses"][0]["restartCount"])
    assert restarts[0] >= 3
    assert restarts[3] - restarts[2] <= 1


def test_what_breaks_at_once_never_looks_ready(world: World) -> None:
    world.deployment(replicas=1, image="shop/web:1.0-broken")
    for _ in range(100):
        world.pass_seconds(0.1)
        assert "readyReplicas" not in world.get("deployments.apps", "web")["status"]


def test_a_container_that_ends_does_not_pass_its_readiness_probe(world: World) -> None:
    probed = {"name": "app", "image": "shop/web:1.0-crash", "readinessProbe": {"httpGet": {"path": "/", "port": 80}}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [probed]}}
    world.deployment(replicas=1, template=template)
    for _ in range(50):
        world.pass_seconds(0.1)
        assert "readyReplicas" not in world.get("deployments.apps", "web")["status"]


def test_a_silent_node_is_lost_and_comes_back(world: World) -> None:
    world.deployment(replicas=2)
    world.pass_seconds(2)
    world.faults.silence_node("node-1")
    world.pass_seconds(55)
    node = world.cluster.get("nodes", None, "node-1")
    assert conditions(node)["Ready"] == "Unknown/NodeStatusUnknown"
    assert {taint["key"] for taint in node["spec"]["taints"]} == {"node.kubernetes.io/unreachable"}
    assert world.get("deployments.apps", "web")["status"]["readyReplicas"] == 1
    world.faults.revive_node("node-1")
    world.pass_seconds(2)
    assert conditions(world.cluster.get("nodes", None, "node-1"))["Ready"] == "True/KubeletReady"
    assert world.get("deployments.apps", "web")["status"]["readyReplicas"] == 2


def test_a_stopped_scheduler_leaves_pods_waiting(world: World) -> None:
    world.faults.stop("kube-scheduler")
    world.deployment(replicas=1)
    world.pass_seconds(3)
    assert "nodeName" not in world.pods(app="web")[0]["spec"]
    world.faults.start("kube-scheduler")
    world.pass_seconds(1)
    assert world.get("deployments.apps", "web")["status"]["readyReplicas"] == 1


def test_an_annotation_chooses_a_behaviour(world: World) -> None:
    metadata = {"labels": {"app": "web"}, "annotations": {"sandbox.konfig-workbench/behaviour": "missing"}}
    world.deployment(
        template={"metadata": metadata, "spec": {"containers": [{"name": "app", "image": "shop/web:1.0"}]}}
    )
    world.pass_seconds(1)
    assert {waiting(pod) for pod in world.pods(app="web")} <= {"ErrImagePull", "ImagePullBackOff"}


def test_a_missing_config_map_holds_a_pod_back_until_it_is_there(world: World) -> None:
    container = {"name": "app", "image": "shop/web:1.0", "envFrom": [{"configMapRef": {"name": "settings"}}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    world.deployment(replicas=1, template=template)
    world.pass_seconds(2)
    assert waiting(world.pods(app="web")[0]) == "CreateContainerConfigError"
    assert world.events("Failed")[0]["message"] == 'Error: configmap "settings" not found'
    world.create("configmaps", {"metadata": {"name": "settings"}, "data": {"a": "1"}})
    world.pass_seconds(1)
    assert world.get("deployments.apps", "web")["status"]["readyReplicas"] == 1


def test_faults_that_make_no_sense_are_refused_with_what_there_is() -> None:
    faults = Faults()
    with pytest.raises(ValueError, match=r"no such behaviour: 'explode'; there are .*crash.*missing"):
        faults.fail_image("*", "explode")
    with pytest.raises(ValueError, match="no fault is set for 'shop/x'; set are: none"):
        faults.heal_image("shop/x")
    with pytest.raises(ValueError, match="no such component: 'etcd'"):
        faults.stop("etcd")
