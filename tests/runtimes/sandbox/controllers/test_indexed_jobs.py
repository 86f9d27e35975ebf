"""Jobs by indexes, and Jobs of other managers: what a real 1.34 control plane was seen doing with the same requests."""

from __future__ import annotations

from typing import Any

from runtimes.sandbox.controllers.job_indexes import FAILURES, INDEX, parsed_indexes, spelled

from .conftest import Object, World, conditions
from .test_workloads import template


def run(world: World, image: str, seconds: float, **spec: Any) -> Object:
    body = {"completionMode": "Indexed", "template": template(image, restartPolicy="Never"), **spec}
    world.create("jobs.batch", {"metadata": {"name": "task"}, "spec": body})
    world.pass_seconds(seconds)
    return world.get("jobs.batch", "task")


def index_of(pod: Object) -> str:
    return str(pod["metadata"]["annotations"][INDEX])


def test_indexes_are_read_and_spelled_alike() -> None:
    assert spelled({0, 1, 2, 5, 7, 8}) == "0-2,5,7,8"
    assert parsed_indexes("0-2,5,7,8") == {0, 1, 2, 5, 7, 8}
    assert parsed_indexes(None) == parsed_indexes("") == set()


def test_a_job_is_done_when_a_rule_of_its_success_policy_is_met() -> None:
    world = World()
    rules = [{"succeededIndexes": "3", "succeededCount": 1}, {"succeededCount": 1}]
    job = run(world, "batch:1-done", 8, completions=4, parallelism=1, successPolicy={"rules": rules})
    assert conditions(job)["SuccessCriteriaMet"] == conditions(job)["Complete"] == "True/SuccessPolicy"
    assert job["status"]["conditions"][0]["message"] == "Matched rules at index 1"
    assert (job["status"]["completedIndexes"], job["status"]["succeeded"]) == ("0", 1)


def test_pods_that_a_success_policy_makes_superfluous_are_ended_and_no_failures() -> None:
    world = World()
    rules = [{"succeededIndexes": "0"}]
    run(world, "batch:1-long", 2, completions=2, parallelism=2, successPolicy={"rules": rules})
    first = next(pod for pod in world.pods() if index_of(pod) == "0")
    ended = {**first, "status": {**first["status"], "phase": "Succeeded"}}
    world.cluster.update("pods", "default", first["metadata"]["name"], ended, subresource="status")
    world.pass_seconds(8)
    job = world.get("jobs.batch", "task")
    assert conditions(job)["Complete"] == "True/SuccessPolicy"
    assert "failed" not in job["status"]
    assert [index_of(pod) for pod in world.pods()] == ["0"]


def test_every_index_has_tries_of_its_own() -> None:
    world = World()
    job = run(world, "batch:1-fail", 3, completions=2, parallelism=2, backoffLimitPerIndex=1)
    assert job["status"]["failedIndexes"] == ""
    assert "failed" not in job["status"]  # the last failed pod of an index counts when its successor is there
    world.pass_seconds(9)
    assert sorted(pod["metadata"]["annotations"][FAILURES] for pod in world.pods()) == ["0", "0", "1", "1"]
    world.pass_seconds(10)
    job = world.get("jobs.batch", "task")
    assert conditions(job)["Failed"] == "True/FailedIndexes"
    assert (job["status"]["failed"], job["status"]["failedIndexes"]) == (4, "0,1")
    assert world.events("FailedIndexes")[0]["message"] == "Job has failed indexes"


def test_too_many_failed_indexes_end_the_job() -> None:
    world = World()
    limits = {"backoffLimitPerIndex": 0, "maxFailedIndexes": 1}
    job = run(world, "batch:1-fail", 8, completions=4, parallelism=2, **limits)
    assert conditions(job)["Failed"] == "True/MaxFailedIndexesExceeded"
    assert job["status"]["failedIndexes"] == "0,1"
    assert sorted(map(index_of, world.pods())) == ["0", "1"]


def test_a_policy_gives_an_index_up_at_once() -> None:
    world = World()
    rules = [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}}]
    limits = {"backoffLimitPerIndex": 3, "podFailurePolicy": {"rules": rules}}
    job = run(world, "batch:1-fail", 10, completions=2, parallelism=1, **limits)
    assert conditions(job)["Failed"] == "True/FailedIndexes"
    assert (job["status"]["failed"], job["status"]["failedIndexes"]) == (2, "0,1")


def test_a_job_of_another_manager_is_left_alone() -> None:
    world = World()
    job = run(world, "batch:1-done", 10, completions=1, managedBy="example.com/queue")
    assert job.get("status", {}) == {}
    assert world.pods() == []
