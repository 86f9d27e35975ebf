"""Corners of single controllers, as a real control plane of 1.34.3 was seen to go round them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from runtimes.sandbox.api.pods import Request, proxy
from runtimes.sandbox.deletion import Options
from runtimes.sandbox.errors import ApiError

from .conftest import Object, World

SELECTOR = {"matchLabels": {"app": "web"}}


def template(image: str = "web:1", **spec: Any) -> Object:
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}], **spec}}


def told(world: World) -> set[tuple[str, str]]:
    events = world.cluster.list("events", "default").items
    return {(event["involvedObject"]["kind"], event["reason"]) for event in events}


def test_a_name_that_is_still_taken_is_no_failure_of_a_stateful_set(world: World) -> None:
    spec = {"replicas": 1, "serviceName": "db", "selector": SELECTOR, "template": template()}
    world.create("statefulsets.apps", {"metadata": {"name": "db"}, "spec": spec})
    world.pass_seconds(5)
    world.patch("pods", "db-0", {"metadata": {"labels": {"app": "other"}}})
    world.pass_seconds(30)
    assert not world.get("pods", "db-0")["metadata"].get("ownerReferences"), "it was let go"
    assert ("StatefulSet", "SuccessfulCreate") in told(world)
    assert ("StatefulSet", "FailedCreate") not in told(world)


def test_a_job_that_goes_lets_go_of_pods_that_never_ran(world: World) -> None:
    """With a policy for failures Pods on their way out are not counted before they ended, which these never do."""
    rules = [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3]}}]
    spec = {"template": template("web:1-missing", restartPolicy="Never"), "podFailurePolicy": {"rules": rules}}
    world.create("jobs.batch", {"metadata": {"name": "work"}, "spec": spec})
    world.pass_seconds(5)
    assert len(world.pods()) == 1
    world.cluster.delete("jobs.batch", "default", "work", propagation="Foreground")
    world.pass_seconds(10)
    assert not world.pods()
    assert not world.cluster.list("jobs.batch", "default").items


def test_a_schedule_that_never_comes_is_told(world: World) -> None:
    job = {"spec": {"template": template(restartPolicy="Never")}}
    spec = {"schedule": "0 0 31 2 *", "jobTemplate": job}
    world.create("cronjobs.batch", {"metadata": {"name": "never"}, "spec": spec})
    world.pass_seconds(5)
    assert ("CronJob", "InvalidSchedule") in told(world)


def test_a_surge_goes_on_once_the_new_pods_were_ready_long_enough(world: World) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    spec = {"selector": SELECTOR, "template": template(), "updateStrategy": rolling, "minReadySeconds": 4}
    world.create("daemonsets.apps", {"metadata": {"name": "web"}, "spec": spec})
    world.pass_seconds(20)
    world.patch("daemonsets.apps", "web", {"spec": {"template": template("web:2")}})
    world.pass_seconds(60)
    assert {pod["spec"]["containers"][0]["image"] for pod in world.pods()} == {"web:2"}


def test_a_surging_set_does_not_wait_for_a_pod_to_be_gone(world: World) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    spec = {"selector": SELECTOR, "template": template("web:1-hang"), "updateStrategy": rolling}
    world.create("daemonsets.apps", {"metadata": {"name": "web"}, "spec": spec})
    world.pass_seconds(10)
    pods = world.pods()
    world.cluster.delete("pods", "default", pods[0]["metadata"]["name"])
    world.pass_seconds(5)
    staying = [pod for pod in world.pods() if not pod["metadata"].get("deletionTimestamp")]
    assert len(staying) == len(pods) and len(world.pods()) == len(pods) + 1


def test_a_pod_of_two_budgets_is_told_and_not_evicted(world: World) -> None:
    world.create(
        "replicasets.apps", {"metadata": {"name": "web"}, "spec": {"selector": SELECTOR, "template": template()}}
    )
    for name in ("one", "two"):
        budget = {"minAvailable": 0, "selector": SELECTOR}
        world.create("poddisruptionbudgets.policy", {"metadata": {"name": name}, "spec": budget})
    world.pass_seconds(5)
    (pod,) = world.pods()
    with pytest.raises(ApiError) as refused:
        world.cluster.evict("default", pod["metadata"]["name"], Options())
    assert (refused.value.code, refused.value.reason) == (500, "")
    assert "more than one PodDisruptionBudget" in refused.value.message
    assert ("Pod", "MultiplePodDisruptionBudgets") in told(world)


def test_what_a_services_proxy_says_depends_on_who_is_behind_it(world: World) -> None:
    """Nothing listens in a sandbox, so the best it can say is that; the Service itself is no answer."""

    def asked() -> tuple[int, str]:
        request = SimpleNamespace(namespace="default", address=SimpleNamespace(name="web:80"))
        with pytest.raises(ApiError) as refused:
            proxy(world.cluster, cast(Request, request), "services")
        return refused.value.code, refused.value.message

    assert asked() == (404, 'services "web" not found')
    world.create(
        "services", {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
    )
    world.pass_seconds(2)
    assert asked() == (503, 'no endpoints available for service "web"')
    world.create(
        "replicasets.apps", {"metadata": {"name": "web"}, "spec": {"selector": SELECTOR, "template": template()}}
    )
    world.pass_seconds(5)
    assert asked() == (501, "the sandbox simulates Pods: nothing listens behind service web")


def test_a_job_that_is_suspended_keeps_when_it_began(world: World) -> None:
    spec = {"template": template("web:1-long", restartPolicy="Never")}
    world.create("jobs.batch", {"metadata": {"name": "work"}, "spec": spec})
    world.pass_seconds(5)
    began = world.get("jobs.batch", "work")["status"]["startTime"]
    world.patch("jobs.batch", "work", {"spec": {"suspend": True}})
    world.pass_seconds(20)
    status = world.get("jobs.batch", "work")["status"]
    assert not world.pods()
    assert status["startTime"] == began and "active" not in status
    world.patch("jobs.batch", "work", {"spec": {"suspend": False}})
    world.pass_seconds(5)
    status = world.get("jobs.batch", "work")["status"]
    assert status["active"] == 1 and status["startTime"] > began


def _token_secret(name: str, account: str, **annotations: str) -> Object:
    named = {"kubernetes.io/service-account.name": account, **annotations}
    return {"metadata": {"name": name, "annotations": named}, "type": "kubernetes.io/service-account-token"}


def test_a_secret_for_a_token_is_filled_and_ends_with_its_account(world: World) -> None:
    made = world.create("serviceaccounts", {"metadata": {"name": "robot"}})
    for secret in (
        _token_secret("token", "robot"),
        _token_secret("nobodys", "none"),
        _token_secret("anothers", "robot", **{"kubernetes.io/service-account.uid": "another"}),
    ):
        world.create("secrets", secret)
    world.pass_seconds(2)
    secrets = {secret["metadata"]["name"]: secret for secret in world.cluster.list("secrets", "default").items}
    assert secrets.keys() == {"token"}
    assert secrets["token"]["data"].keys() == {"ca.crt", "namespace", "token"}
    uid = secrets["token"]["metadata"]["annotations"]["kubernetes.io/service-account.uid"]
    assert uid == made["metadata"]["uid"]
    world.cluster.delete("serviceaccounts", "default", "robot")
    world.pass_seconds(2)
    assert not world.cluster.list("secrets", "default").items


def test_a_seed_makes_the_token_of_an_account_repeat() -> None:
    def token() -> str:
        world = World()
        world.create("serviceaccounts", {"metadata": {"name": "robot"}})
        world.create("secrets", _token_secret("token", "robot"))
        world.pass_seconds(2)
        world.controllers.stop()
        return str(world.get("secrets", "token")["data"]["token"])

    assert token() == token()


def test_a_job_that_a_schedule_did_not_make_is_told(world: World) -> None:
    job = {"spec": {"template": template("web:1-long", restartPolicy="Never")}}
    cron = world.create(
        "cronjobs.batch", {"metadata": {"name": "cron"}, "spec": {"schedule": "0 0 1 1 *", "jobTemplate": job}}
    )
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "cron",
        "uid": cron["metadata"]["uid"],
        "controller": True,
    }
    world.create("jobs.batch", {"metadata": {"name": "by-hand", "ownerReferences": [owner]}, **job})
    world.pass_seconds(5)
    assert [event["message"] for event in world.events("UnexpectedJob")] == [
        "Saw a job that the controller did not create or forgot: by-hand"
    ]
