"""Refusals of kinds that are seldom written by hand, in a real server's words."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.sandbox import validate
from runtimes.sandbox.schema.registry import Registry
from runtimes.sandbox.validate.causes import Causes
from runtimes.sandbox.validate.custom import schema_rules
from runtimes.sandbox.validate.events import newer_event
from runtimes.sandbox.validate.schedules import schedule, time_zone

from ..kinds import complete

Object = dict[str, Any]


def refusals(group: str, kind: str, body: Object, *, namespaced: bool = False) -> list[tuple[str, str]]:
    metadata = {"name": "a", **({"namespace": "n"} if namespaced else {})}
    schema = Registry.load().kind(group, "v1", kind)
    causes = validate.create(schema, complete(schema, {"metadata": metadata, **body}))
    return [(cause["field"], cause["message"]) for cause in causes]


def refused_change(group: str, kind: str, old: Object, new: Object) -> list[tuple[str, str]]:
    schema = Registry.load().kind(group, "v1", kind)
    metadata = {"name": "a", "resourceVersion": "1"}
    before, after = (complete(schema, {"metadata": metadata, **body}) for body in (old, new))
    return [(cause["field"], cause["message"]) for cause in validate.update(schema, after, before)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("*/5 0-6,18 1 jan-mar MON", ""),
        ("@hourly", ""),
        ("@every 1h30m", ""),
        ("61 * * * *", "end of range (61) above maximum (59): 61"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("* * * * someday", 'failed to parse int from someday: strconv.Atoi: parsing "someday": invalid syntax'),
        ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
        ("@often", "unrecognized descriptor: @often"),
        ("@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'),
        ("TZ=UTC * * * * *", "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
    ],
)
def test_schedules(text: str, problem: str) -> None:
    causes = Causes()
    schedule(causes, text, None, None)
    expected = [f'Invalid value: "{text}": {problem}'.replace('\\"', '"')] if problem else []
    assert [cause["message"] for cause in causes] == expected


@pytest.mark.parametrize(
    ("zone", "problem"),
    [
        (None, ""),
        ("Europe/Berlin", ""),
        ("", "timeZone must be nil or non-empty string"),
        ("Nowhere/At", "unknown time zone Nowhere/At"),
        ("../etc/passwd", "unknown time zone ../etc/passwd"),
        ("Local", "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"),
    ],
)
def test_time_zones(zone: str | None, problem: str) -> None:
    causes = Causes()
    time_zone(causes, zone)
    assert [cause["message"] for cause in causes] == ([f'Invalid value: "{zone}": {problem}'] if problem else [])


def volume(**spec: Any) -> Object:
    return {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **spec}}


def test_a_local_volume_says_where_it_is_and_stays_there() -> None:
    lacks = ("spec.nodeAffinity", "Required value: Local volume requires node affinity")
    assert refusals("", "PersistentVolume", volume(local={"path": "/x"})) == [lacks]
    terms = [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]
    here = volume(local={"path": "/x"}, nodeAffinity={"required": {"nodeSelectorTerms": terms}})
    assert refusals("", "PersistentVolume", here) == []
    text = "Invalid value: null: field is immutable, except for updating from beta label to GA"
    assert ("nodeAffinity", text) in refused_change("", "PersistentVolume", here, volume(local={"path": "/x"}))


def test_a_host_path_leads_down() -> None:
    refused = [("spec.hostPath.path", "Invalid value: \"/x/../y\": must not contain '..'")]
    assert refusals("", "PersistentVolume", volume(hostPath={"path": "/x/../y"})) == refused


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"scopes": ["Odd"]}, "scopes", 'Invalid value: ["Odd"]: unsupported scope'),
        (
            {"scopes": ["BestEffort", "NotBestEffort"]},
            "scopes",
            'Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes',
        ),
        (
            {"scopes": ["BestEffort"], "hard": {"requests.cpu": "1"}},
            "scopes",
            'Invalid value: ["BestEffort"]: unsupported scope applied to resource',
        ),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}},
            "scopeSelector.matchExpressions.values",
            "Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
        ),
    ],
)
def test_scopes_of_quotas(spec: Object, field: str, message: str) -> None:
    body = {"spec": {"hard": {"pods": "1"}, **spec}}
    assert refusals("", "ResourceQuota", body, namespaced=True) == [(f"spec.{field}", message)]


def test_scopes_of_a_quota_stay() -> None:
    old, new = ({"spec": {"hard": {"pods": "1"}, "scopes": scopes}} for scopes in ([], ["BestEffort"]))
    assert refused_change("", "ResourceQuota", old, new) == [
        ("spec.scopes", 'Invalid value: ["BestEffort"]: field is immutable')
    ]


def test_what_a_node_was_given_it_keeps() -> None:
    old, new = ({"spec": {"providerID": each}} for each in ("x://a", "x://b"))
    text = 'Forbidden: node updates may not change providerID except from "" to valid'
    assert refused_change("", "Node", old, new) == [("spec.providerID", text)]


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({"kind": "K", "name": "n", "scope": "Cluster"}, []),
        ({"kind": "K", "name": "n", "scope": "Namespace", "namespace": "x"}, []),
        (
            {"kind": "K", "name": "n", "scope": "Namespace"},
            [("spec.parameters.namespace", "Required value: `parameters.scope` is set to 'Namespace'")],
        ),
        ({"name": "n", "scope": "Cluster"}, [("spec.parameters.kind", "Required value")]),
    ],
)
def test_parameters_of_ingress_classes(parameters: Object, refused: list[tuple[str, str]]) -> None:
    body = {"spec": {"controller": "x.example/y", "parameters": parameters}}
    assert refusals("networking.k8s.io", "IngressClass", body) == refused


def test_a_runtime_class_keeps_its_handler() -> None:
    old, new = {"handler": "runc"}, {"handler": "other"}
    assert refused_change("node.k8s.io", "RuntimeClass", old, new) == [
        ("handler", 'Invalid value: "other": field is immutable')
    ]


def test_events_say_who_reports_what() -> None:
    new = {"eventTime": "2024-01-02T03:04:05.000000Z", "involvedObject": {"namespace": "n"}}
    assert refusals("", "Event", new, namespaced=True) == [
        ("reportingComponent", "Required value"),
        ("reportingComponent", 'Invalid value: "": name part must be non-empty'),
        (
            "reportingComponent",
            "Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start "
            "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
            "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
        ("reportingInstance", "Required value"),
        ("action", "Required value"),
        ("reason", "Required value"),
    ]
    elsewhere = {"involvedObject": {"namespace": "other"}}
    text = 'Invalid value: "other": does not match event.namespace'
    assert refusals("", "Event", elsewhere, namespaced=True) == [("involvedObject.namespace", text)]


def test_the_newer_api_takes_new_events_only() -> None:
    causes = newer_event({"type": "Odd", "count": 3, "source": {"component": ""}})
    assert [(cause["field"], cause["message"]) for cause in causes] == [
        ("eventTime", "Required value"),
        ("type", 'Invalid value: "": has invalid value: Odd'),
        ("count", 'Invalid value: "": needs to be unset'),
    ]


@pytest.mark.parametrize(
    ("group", "kind", "body", "refused"),
    [
        (
            "",
            "Endpoints",
            {"subsets": [{"addresses": [{"ip": "127.0.0.1"}]}]},
            [
                (
                    "subsets[0].addresses[0].ip",
                    'Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
                )
            ],
        ),
        (
            "",
            "LimitRange",
            {"spec": {"limits": [{"type": "Nothing"}]}},
            [("spec.limits[0].type", 'Invalid value: "Nothing": must be a standard limit type or fully qualified')],
        ),
        (
            "networking.k8s.io",
            "Ingress",
            {
                "metadata": {"name": "a", "namespace": "n", "annotations": {"kubernetes.io/ingress.class": "x"}},
                "spec": {"ingressClassName": "y", "defaultBackend": {"resource": {"kind": "K", "name": "n"}}},
            },
            [
                (
                    "annotations.kubernetes.io/ingress.class",
                    'Invalid value: "x": must match `ingressClassName` when both are specified',
                )
            ],
        ),
    ],
)
def test_refusals_of_other_kinds(group: str, kind: str, body: Object, refused: list[tuple[str, str]]) -> None:
    assert refusals(group, kind, body, namespaced=True) == refused


def test_taints_of_nodes_differ() -> None:
    taints = [{"key": "a", "effect": "NoExecute", "value": value} for value in ("v", "w")]
    shown = '{"Key":"a","Value":"w","Effect":"NoExecute","TimeAdded":null}'
    text = f"Duplicate value: {shown}: taints must be unique by key and effect pair"
    assert refusals("", "Node", {"spec": {"taints": taints}}) == [("metadata.taints[1]", text)]


@pytest.mark.parametrize(
    ("group", "kind", "status", "fields"),
    [
        ("apps", "StatefulSet", {"replicas": -1}, ["replicas", "readyReplicas", "currentReplicas"]),
        ("apps", "DaemonSet", {"observedGeneration": -1}, ["observedGeneration"]),
        ("policy", "PodDisruptionBudget", {"expectedPods": -1}, ["expectedPods"]),
        ("", "Pod", {"observedGeneration": -1}, ["observedGeneration"]),
        ("", "ReplicationController", {"replicas": -1}, ["replicas", "fullyLabeledReplicas", "readyReplicas"]),
    ],
)
def test_counts_of_a_status_are_no_less_than_nothing(group: str, kind: str, status: Object, fields: list[str]) -> None:
    schema = Registry.load().kind(group, "v1", kind)
    obj = {"metadata": {"name": "a", "namespace": "n", "resourceVersion": "1"}, "status": status}
    causes = validate.update(schema, obj, obj, "status")
    assert [cause["field"] for cause in causes][: len(fields)] == [f"status.{field}" for field in fields]


DEFAULTS = [
    (
        "",
        "Endpoints",
        {"subsets": [{"ports": [{"port": 1}]}]},
        {"subsets": [{"ports": [{"port": 1, "protocol": "TCP"}]}]},
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "FlowSchema",
        {"spec": {"priorityLevelConfiguration": {"name": "x"}}},
        {"spec": {"priorityLevelConfiguration": {"name": "x"}, "matchingPrecedence": 1000}},
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        {"spec": {"matchConstraints": {"resourceRules": [{"resources": ["pods"]}]}}},
        {
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {
                    "matchPolicy": "Equivalent",
                    "namespaceSelector": {},
                    "objectSelector": {},
                    "resourceRules": [{"resources": ["pods"], "scope": "*"}],
                },
            }
        },
    ),
]


@pytest.mark.parametrize(("group", "kind", "body", "filled"), DEFAULTS, ids=[kind for _, kind, _, _ in DEFAULTS])
def test_defaults_of_other_kinds(group: str, kind: str, body: Object, filled: Object) -> None:
    made = complete(Registry.load().kind(group, "v1", kind), body)
    assert {name: value for name, value in made.items() if name in filled} == filled


@pytest.mark.parametrize(
    ("schema", "value", "messages"),
    [
        (
            {"type": "string", "minLength": 2, "enum": ["ab"]},
            "a",
            [
                'Invalid value: "a": x in body should be at least 2 chars long',
                'Unsupported value: "a": supported values: "ab"',
            ],
        ),
        (
            {"type": "integer", "allOf": [{"minimum": 3}]},
            1,
            [
                "Invalid value: 1: x in body should be greater than or equal to 3",
                'Invalid value: "": "x" must validate all the schemas (allOf). None validated',
            ],
        ),
        (
            {"type": "number", "multipleOf": 0.5},
            1.3,
            ["Invalid value: 1.3: x in body should be a multiple of 0.5"],
        ),
        (
            {"type": "number", "multipleOf": 0.5},
            6,
            ["Invalid value: 0: factor MultipleOf declared for x must be positive: 0"],
        ),
        ({"type": "string", "format": "uri"}, "x", ['Invalid value: "x": x in body must be of type uri: "x"']),
        ({"type": "string", "format": "byte"}, "!", ['Invalid value: "!": x in body must be of type byte: "!"']),
    ],
)
def test_schemas_of_custom_resources(schema: Object, value: object, messages: list[str]) -> None:
    causes = Causes()
    schema_rules(causes, schema, value, "x")
    assert [cause["message"] for cause in causes] == messages
