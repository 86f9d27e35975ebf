"""What the server fills in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.sandbox import defaults
from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.schema.registry import Registry

from .kinds import DEPLOYMENT, POD, SECRET, SERVICE, complete, deployment


def container(obj: dict[str, Any]) -> dict[str, Any]:
    template = obj["spec"].get("template", obj)
    found: dict[str, Any] = template["spec"]["containers"][0]
    return found


def test_a_deployment_rolls_by_quarters() -> None:
    spec = complete(DEPLOYMENT, deployment())["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
    assert complete(DEPLOYMENT, deployment(strategy={"type": "Recreate"}))["spec"]["strategy"] == {"type": "Recreate"}


def test_defaults_are_filled_in_once() -> None:
    once = complete(DEPLOYMENT, deployment())
    assert complete(DEPLOYMENT, once) == once


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("example/app", "Always"),
        ("example/app:latest", "Always"),
        ("host:5000/app", "Always"),
        ("example/app:1", "IfNotPresent"),
        ("example/app@sha256:" + "0" * 64, "IfNotPresent"),
        ("Not An Image", "IfNotPresent"),
    ],
)
def test_an_image_is_pulled_always_if_its_tag_is_latest(image: str, policy: str) -> None:
    body = {"spec": {"containers": [{"name": "main", "image": image}]}}
    assert container(complete(POD, body))["imagePullPolicy"] == policy


def test_a_pods_limits_are_requested_but_a_templates_are_not() -> None:
    limited = {"name": "main", "image": "example/app:1", "resources": {"limits": {"cpu": "1"}}}
    assert container(complete(POD, {"spec": {"containers": [limited]}}))["resources"]["requests"] == {"cpu": "1"}
    body = deployment()
    body["spec"]["template"]["spec"]["containers"] = [limited]
    assert "requests" not in container(complete(DEPLOYMENT, body))["resources"]


def test_a_service_port_targets_itself_over_tcp() -> None:
    spec = complete(SERVICE, {"spec": {"ports": [{"port": 80}, {"port": 53, "targetPort": "dns"}]}})["spec"]
    assert spec["ports"] == [
        {"port": 80, "protocol": "TCP", "targetPort": 80},
        {"port": 53, "protocol": "TCP", "targetPort": "dns"},
    ]
    assert (spec["type"], spec["sessionAffinity"], spec["internalTrafficPolicy"]) == ("ClusterIP", "None", "Cluster")


def test_strings_of_a_secret_become_data() -> None:
    secret = complete(SECRET, {"data": {"a": "dg=="}, "stringData": {"a": "new", "b": "x"}})
    assert "stringData" not in secret
    assert secret["data"] == {"a": "bmV3", "b": "eA=="}


def test_a_custom_resource_takes_its_schemas_defaults_where_the_holder_is_there() -> None:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "default": 3},
                    "parts": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"count": {"type": "integer", "default": 1}}},
                    },
                },
            }
        },
    }
    kind = Registry.load().custom("example.com", "v1", "Widget", schema)
    filled: dict[str, Any] = {"spec": {"size": None, "parts": [{}, {"count": 2}]}}
    defaults.apply(kind, filled)
    assert filled == {"spec": {"size": 3, "parts": [{"count": 1}, {"count": 2}]}}
    bare: dict[str, Any] = {}
    defaults.apply(kind, bare)
    assert bare == {}


def test_restart_rules_of_single_containers_are_not_heard_but_of_sidecars() -> None:
    rules = {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart"}]}
    kept = {"name": "aside", "image": "x:1", "restartPolicy": "Always"}
    body = {
        "containers": [{"name": "main", "image": "x:1", **rules}],
        "initContainers": [{"name": "first", "image": "x:1", **rules}, kept],
    }
    spec = complete(POD, {"spec": body})["spec"]
    assert [each.get("restartPolicy") for each in spec["initContainers"]] == [None, "Always"]
    assert "restartPolicyRules" not in spec["initContainers"][0]
    assert "restartPolicy" not in spec["containers"][0]


@pytest.mark.parametrize(
    ("given", "source", "reference"),
    [
        ({"dataSource": {"kind": "PersistentVolumeClaim", "name": "x"}}, "x", "x"),
        ({"dataSourceRef": {"apiGroup": "a.b", "kind": "Thing", "name": "x"}}, "x", "x"),
        ({"dataSource": {"apiGroup": "a.b", "kind": "Thing", "name": "x"}}, None, None),
        ({"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "x", "namespace": "other"}}, None, None),
    ],
)
def test_what_a_claim_is_filled_from_stands_in_both_fields(
    given: dict[str, Any], source: str | None, reference: str | None
) -> None:
    cluster = Cluster("test", VirtualClock(datetime(2026, 1, 2, tzinfo=UTC)), seed=7)
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **given}
    made = cluster.create("persistentvolumeclaims", "default", {"metadata": {"name": "c"}, "spec": wanted})
    spec = made["spec"]
    assert ((spec.get("dataSource") or {}).get("name"), (spec.get("dataSourceRef") or {}).get("name")) == (
        source,
        reference,
    )
