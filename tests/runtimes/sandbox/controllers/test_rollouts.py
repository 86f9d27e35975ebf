"""Deployments in the situations that a rollout meets."""

from __future__ import annotations

from .conftest import World, conditions


def sizes(world: World) -> dict[str, int]:
    """Wanted replicas by image."""
    sets = world.cluster.list("replicasets.apps", "default").items
    return {rs["spec"]["template"]["spec"]["containers"][0]["image"]: rs["spec"]["replicas"] for rs in sets}


def test_a_paused_deployment_can_be_scaled_but_rolls_nothing_out(world: World) -> None:
    world.deployment(replicas=2)
    world.pass_seconds(2)
    world.patch("deployments.apps", "web", {"spec": {"paused": True, "replicas": 3}})
    world.set_image("web", "shop/web:2.0")
    world.pass_seconds(5)
    assert sizes(world) == {"shop/web:1.0": 3}
    assert conditions(world.get("deployments.apps", "web"))["Progressing"] == "Unknown/DeploymentPaused"
    world.patch("deployments.apps", "web", {"spec": {"paused": False}})
    world.pass_seconds(8)
    assert sizes(world) == {"shop/web:1.0": 0, "shop/web:2.0": 3}
    assert conditions(world.get("deployments.apps", "web"))["Progressing"] == "True/NewReplicaSetAvailable"


def test_a_revision_that_never_starts_fails_at_its_deadline_and_heals_by_the_next(world: World) -> None:
    world.deployment(replicas=2, progressDeadlineSeconds=10)
    world.pass_seconds(3)
    world.set_image("web", "shop/web:2.0-missing")
    world.pass_seconds(5)
    assert conditions(world.get("deployments.apps", "web"))["Progressing"] == "True/ReplicaSetUpdated"
    world.pass_seconds(10)
    deployment = world.get("deployments.apps", "web")
    assert conditions(deployment)["Progressing"] == "False/ProgressDeadlineExceeded"
    assert conditions(deployment)["Available"] == "True/MinimumReplicasAvailable"
    world.set_image("web", "shop/web:2.1")
    world.pass_seconds(10)
    assert conditions(world.get("deployments.apps", "web"))["Progressing"] == "True/NewReplicaSetAvailable"


def test_scaling_in_the_middle_of_a_rollout_shares_by_size(world: World) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}
    world.deployment(replicas=10, strategy=rolling)
    world.pass_seconds(3)
    world.set_image("web", "shop/web:2.0-missing")
    world.pass_seconds(3)
    assert sizes(world) == {"shop/web:1.0": 8, "shop/web:2.0-missing": 5}
    world.patch("deployments.apps", "web", {"spec": {"replicas": 15}})
    world.pass_seconds(3)
    assert sizes(world) == {"shop/web:1.0": 11, "shop/web:2.0-missing": 7}


def test_a_refused_pod_shows_in_the_deployment(world: World) -> None:
    world.create("resourcequotas", {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}})
    world.pass_seconds(1)
    world.deployment(replicas=2)
    world.pass_seconds(3)
    assert conditions(world.get("deployments.apps", "web"))["ReplicaFailure"] == "True/FailedCreate"
    assert "exceeded quota: few" in world.events("FailedCreate")[0]["message"]


def test_replicasets_of_forgotten_revisions_are_deleted(world: World) -> None:
    world.deployment(revisionHistoryLimit=1)
    for number in range(2, 5):
        world.pass_seconds(5)
        world.set_image("web", f"shop/web:{number}.0")
    world.pass_seconds(5)
    assert sizes(world) == {"shop/web:3.0": 0, "shop/web:4.0": 2}


def test_a_stateful_set_without_pods_for_a_moment_has_not_finished_its_update(world: World) -> None:
    template = {
        "metadata": {"labels": {"app": "db"}},
        "spec": {"containers": [{"name": "app", "image": "shop/db:1.0"}]},
    }
    body = {"replicas": 1, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": template}
    world.create("statefulsets.apps", {"metadata": {"name": "db"}, "spec": body})
    world.pass_seconds(5)
    first = world.get("statefulsets.apps", "db")["status"]["currentRevision"]
    container = {"name": "app", "image": "shop/db:2.0-never"}
    world.patch("statefulsets.apps", "db", {"spec": {"template": {"spec": {"containers": [container]}}}})
    world.pass_seconds(10)
    status = world.get("statefulsets.apps", "db")["status"]
    assert status["updatedReplicas"] == 1
    assert (status["currentRevision"], status.get("currentReplicas", 0)) == (first, 0)
    assert status["updateRevision"] != first
