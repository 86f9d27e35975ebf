"""Refusals of kinds that are seldom written by hand, in a real server's words."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.sandbox import validate
from runtimes.sandbox.schema.registry import Registry
from runtimes.sandbox.validate.causes import Causes
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
