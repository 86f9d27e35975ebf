"""What the server refuses, and how it says so."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.sandbox import validate
from runtimes.sandbox.schema.registry import Registry
from runtimes.sandbox.validate import names

from ..kinds import CONFIG_MAP, DEPLOYMENT, POD, SERVICE, complete, config_map, deployment

Object = dict[str, Any]


def said(causes: list[Any]) -> list[tuple[str, str]]:
    return [(cause["field"], cause["message"]) for cause in causes]


def pod(**container: Any) -> Object:
    body = {"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [{"name": "main", **container}]}}
    return complete(POD, body)


def service(*ports: Object, **spec: Any) -> Object:
    body = {"metadata": {"name": "s", "namespace": "n"}, "spec": {"ports": list(ports), **spec}}
    return complete(SERVICE, body)


def test_a_good_object_has_no_causes() -> None:
    assert validate.create(DEPLOYMENT, complete(DEPLOYMENT, deployment())) == []
    assert validate.create(POD, pod(image="example/app:1")) == []
    assert validate.create(SERVICE, service({"port": 80})) == []


def test_all_causes_come_at_once_in_the_order_of_the_fields() -> None:
    found = validate.create(
        POD, pod(name="Bad_Name", image="", ports=[{"containerPort": 0}], env=[{"name": "", "value": "1"}])
    )
    assert [cause["field"] for cause in found] == [
        "spec.containers[0].name",
        "spec.containers[0].image",
        "spec.containers[0].ports[0].containerPort",
        "spec.containers[0].env[0].name",
    ]
    assert found[1] == {
        "reason": "FieldValueRequired",
        "message": "Required value",
        "field": "spec.containers[0].image",
    }


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"replicas": -1}, "spec.replicas", "Invalid value: -1: must be greater than or equal to 0"),
        (
            {"selector": {"matchLabels": {"app": "other"}}},
            "spec.template.metadata.labels",
            'Invalid value: {"app":"web"}: `selector` does not match template `labels`',
        ),
        (
            {"strategy": {"type": "Sideways"}},
            "spec.strategy",
            'Unsupported value: {"Type":"Sideways","RollingUpdate":null}: '
            'supported values: "Recreate", "RollingUpdate"',
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}},
            "spec.strategy.rollingUpdate.maxUnavailable",
            'Invalid value: "0%": may not be 0 when `maxSurge` is 0',
        ),
        (
            {"progressDeadlineSeconds": 5, "minReadySeconds": 5},
            "spec.progressDeadlineSeconds",
            "Invalid value: 5: must be greater than minReadySeconds",
        ),
    ],
)
def test_rules_of_deployments(change: Object, field: str, message: str) -> None:
    found = validate.create(DEPLOYMENT, complete(DEPLOYMENT, deployment(**change)))
    assert said(found) == [(field, message)]


@pytest.mark.parametrize(
    ("ports", "spec", "causes"),
    [
        ([], {}, [("spec.ports", "Required value")]),
        (
            [{"port": 80}, {"port": 81}],
            {},
            [("spec.ports[0].name", "Required value"), ("spec.ports[1].name", "Required value")],
        ),
        (
            [{"port": 80, "nodePort": 30080}],
            {},
            [("spec.ports[0].nodePort", "Forbidden: may not be used when `type` is 'ClusterIP'")],
        ),
        ([], {"type": "ExternalName"}, [("spec.externalName", "Required value")]),
        (
            [{"port": 80, "targetPort": "Bad_Name"}],
            {},
            [
                (
                    "spec.ports[0].targetPort",
                    'Invalid value: "Bad_Name": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
                )
            ],
        ),
    ],
)
def test_rules_of_services(ports: list[Object], spec: Object, causes: list[tuple[str, str]]) -> None:
    assert said(validate.create(SERVICE, service(*ports, **spec))) == causes


def test_a_request_may_not_exceed_its_limit() -> None:
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1500m", "memory": "1024Mi"}}
    assert said(validate.create(POD, pod(image="x", resources=resources))) == [
        (
            "spec.containers[0].resources.requests",
            'Invalid value: "1500m": must be less than or equal to cpu limit of 1',
        )
    ]


def test_a_mount_needs_its_volume() -> None:
    found = validate.create(POD, pod(image="x", volumeMounts=[{"name": "data", "mountPath": "/data"}]))
    assert said(found) == [("spec.containers[0].volumeMounts[0].name", 'Not found: "data"')]


def test_selectors_are_fixed() -> None:
    old = complete(DEPLOYMENT, deployment())
    new = complete(DEPLOYMENT, deployment(selector={"matchLabels": {"app": "b"}}))
    new["spec"]["template"]["metadata"]["labels"] = {"app": "b"}
    assert said(validate.update(DEPLOYMENT, new, old)) == [
        ("spec.selector", 'Invalid value: {"matchLabels":{"app":"b"}}: field is immutable')
    ]


def test_a_pod_may_change_its_image_and_little_else() -> None:
    old = pod(image="example/app:1")
    assert validate.update(POD, pod(image="example/app:2"), old) == []
    found = validate.update(POD, pod(image="example/app:1", command=["x"]), old)
    assert [cause["field"] for cause in found] == ["spec"]
    assert found[0]["message"].startswith("Forbidden: pod updates may not change fields other than")


def test_an_immutable_config_map_stays_as_it_is() -> None:
    old = {**complete(CONFIG_MAP, config_map(k="1")), "immutable": True}
    old["metadata"]["namespace"] = "n"
    new = {**old, "data": {"k": "2"}}
    assert said(validate.update(CONFIG_MAP, new, old)) == [
        ("data", "Forbidden: field is immutable when `immutable` is set")
    ]


def test_a_status_may_not_count_more_than_there_is() -> None:
    old = complete(DEPLOYMENT, deployment())
    new = {**old, "status": {"replicas": 1, "readyReplicas": 2}}
    assert said(validate.update(DEPLOYMENT, new, old, "status")) == [
        ("status.readyReplicas", "Invalid value: 2: cannot be greater than status.replicas")
    ]


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("example.com/x", 0),
        ("x", 0),
        ("UPPER.com/x", 1),
        ("/x", 1),
        ("a/b/c", 1),
        ("", 2),
        ("-x", 1),
        ("a" * 64, 1),
    ],
)
def test_qualified_names(name: str, problems: int) -> None:
    assert len(names.qualified(name)) == problems


def test_a_label_with_dots_is_told_so() -> None:
    assert names.label("a.b") == ["must not contain dots"]


SCHEMA = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "color": {"type": "string", "enum": ["red", "green"]},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            },
        }
    },
}


@pytest.mark.parametrize(
    ("body", "causes"),
    [
        ({"spec": {"size": 1}}, []),
        ({}, [("spec", "Required value")]),
        (
            {"spec": {"size": 0}},
            [("spec.size", "Invalid value: 0: spec.size in body should be greater than or equal to 1")],
        ),
        (
            {"spec": {"size": "x"}},
            [("spec.size", 'Invalid value: "string": spec.size in body must be of type integer: "string"')],
        ),
        (
            {"spec": {"color": "blue"}},
            [("spec.color", 'Unsupported value: "blue": supported values: "red", "green"')],
        ),
        ({"spec": {"tags": ["x", "x"]}}, [("spec.tags[1]", 'Duplicate value: "x"')]),
    ],
)
def test_custom_resources_follow_their_schema(body: Object, causes: list[tuple[str, str]]) -> None:
    kind = Registry.load().custom("example.com", "v1", "Widget", SCHEMA)
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "n"}, **body}
    assert said(validate.create(kind, obj)) == causes


def test_odd_but_accepted_objects_are_warned_about() -> None:
    twice = pod(image="x", env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}])
    assert validate.warnings(POD, twice, None) == [
        'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'
    ]
    extended = pod(image="x", env=[{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}])
    assert validate.warnings(POD, extended, None) == []
