"""Bodies for comparing, identities of states, and which paths are secret."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.base import ListKey, sensitive
from runtimes.kubernetes import normalize

LIVE: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2025-01-01T00:00:00Z",
        "managedFields": [],
        "labels": {"a": "b"},
        "annotations": {"deployment.kubernetes.io/revision": "3"},
    },
    "spec": {"replicas": 1},
    "status": {"replicas": 1},
}


def test_what_no_configuration_may_set_is_taken_out() -> None:
    assert normalize.body(LIVE) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "labels": {"a": "b"},
        },
        "spec": {"replicas": 1},
    }


def _changed(**sections: Any) -> dict[str, Any]:
    return {
        **LIVE,
        **sections,
        "metadata": {**LIVE["metadata"], "resourceVersion": "8", **sections.get("metadata", {})},
    }


@pytest.mark.parametrize(
    ("now", "is_same"),
    [
        (_changed(status={"replicas": 9}), True),
        (_changed(metadata={"annotations": {"deployment.kubernetes.io/revision": "4"}}), True),
        (_changed(spec={"replicas": 2}), False),
        (_changed(metadata={"labels": {"a": "c"}}), False),
        (_changed(metadata={"annotations": {"other": "x"}}), False),
        (_changed(metadata={"uid": "v"}), False),
    ],
    ids=["status", "revision", "spec", "label", "annotation", "uid"],
)
def test_only_what_a_plan_is_about_tells_states_apart(now: dict[str, Any], is_same: bool) -> None:
    seen = normalize.identity(LIVE)
    assert normalize.resource_version(seen) == "7"
    assert normalize.is_same(seen, now) is is_same


def test_sensitive_paths_by_kind() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": "YQ=="}, "metadata": {"name": "a"}}
    assert sensitive.sensitive_paths(secret) == (("data",), ("stringData",))
    someone_elses = {"apiVersion": "example.com/v1", "kind": "Secret", "data": {"a": "b"}}
    assert sensitive.sensitive_paths(someone_elses) == ()
    applied = {"kind": "ConfigMap", "metadata": {"annotations": {sensitive.LAST_APPLIED: "{}"}}}
    assert sensitive.sensitive_paths(applied) == (("metadata", "annotations", sensitive.LAST_APPLIED),)


def test_sensitive_variables_of_every_kind_that_makes_pods() -> None:
    containers = [{"name": "c", "env": [{"name": "TOKEN", "value": "x"}, {"name": "MODE", "value": "y"}]}]
    value = (ListKey((("name", "c"),)), "env", ListKey((("name", "TOKEN"),)), "value")
    pod = {"kind": "Pod", "spec": {"initContainers": containers}}
    job = {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": containers}}}}}}
    deployment = {"kind": "Deployment", "spec": {"template": {"spec": {"containers": containers}}}}
    assert sensitive.sensitive_paths(pod) == (("spec", "initContainers", *value),)
    assert sensitive.sensitive_paths(job) == (
        ("spec", "jobTemplate", "spec", "template", "spec", "containers", *value),
    )
    assert sensitive.sensitive_paths(deployment) == (("spec", "template", "spec", "containers", *value),)


def test_secret_values_in_every_form_in_which_a_message_might_repeat_them() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": "aHVudGVyMjI="}, "stringData": {"b": "plain"}}
    assert set(normalize.secret_values(secret)) == {"aHVudGVyMjI=", "hunter22", "plain", "cGxhaW4="}


def test_a_drawn_address_is_unknown_but_one_that_was_asked_for_is_not() -> None:
    predicted = {
        "kind": "Service",
        "metadata": {"uid": "11111111-2222"},
        "spec": {
            "clusterIP": "10.0.0.7",
            "clusterIPs": ["10.0.0.7"],
            "ports": [{"port": 80, "protocol": "TCP", "nodePort": 31000}, {"port": 81, "nodePort": 31001}],
        },
    }
    port = ListKey((("port", 80), ("protocol", "TCP")))
    asked = {"spec": {"clusterIP": "10.0.0.7", "ports": [{"port": 81, "protocol": "TCP", "nodePort": 31001}]}}
    assert normalize.decided_later(asked, predicted) == (("spec", "clusterIPs"), ("spec", "ports", port, "nodePort"))


def test_a_drawn_uid_is_unknown_wherever_it_was_copied_to() -> None:
    predicted = {"kind": "Job", "metadata": {"uid": "1111-2222"}, "spec": {"selector": {"controller-uid": "1111-2222"}}}
    assert normalize.decided_later({}, predicted) == (("spec", "selector", "controller-uid"),)
