"""Schemas of custom resource definitions that are odd, with what a real server 1.34 said of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.sandbox import decode
from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.schema.registry import Registry

KIND = Registry.load().kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
AT = "spec.versions.schema.openAPIV3Schema.properties"


def definition(schema: Any, **version: Any) -> dict[str, Any]:
    first = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.shop.example.com"},
        "spec": {
            "group": "shop.example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [first],
        },
    }


def of_spec(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": schema}}


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return Cluster("test", VirtualClock(datetime(2026, 1, 2, tzinfo=UTC)), seed=7)


@pytest.mark.parametrize(
    ("schema", "error"),
    [
        (
            {"type": "array", "items": {"type": 1}},
            f"number into Go struct field JSONSchemaProps.{AT}.items of type string",
        ),
        (
            {"type": "array", "items": {"properties": {"x": {"additionalProperties": {"required": "x"}}}}},
            f"string into Go struct field JSONSchemaProps.{AT}.items of type []string",
        ),
        (
            {"type": "array", "items": [{"type": "string"}, 1]},
            f"number into Go struct field JSONSchemaProps.{AT}.items of type v1.JSONSchemaProps",
        ),
        (
            {"additionalProperties": {"enum": {"a": 1}}},
            f"object into Go struct field JSONSchemaProps.{AT}.additionalProperties of type []v1.JSON",
        ),
        (
            {"dependencies": {"x": [1]}},
            f"number into Go struct field JSONSchemaProps.{AT}.dependencies of type string",
        ),
    ],
)
def test_a_schema_within_a_schema_is_read_as_one(schema: Any, error: str) -> None:
    with pytest.raises(decode.DecodeError) as caught:
        decode.check(KIND, decode.parse_json(json.dumps(definition(of_spec(schema)))))
    assert str(caught.value) == f"json: cannot unmarshal {error}"


def test_what_is_neither_a_schema_nor_a_truth_value() -> None:
    with pytest.raises(decode.DecodeError, match=r"^boolean or JSON schema expected$"):
        decode.check(KIND, definition(of_spec({"additionalProperties": "object"})))


def test_unknown_members_within_items_go_without_a_word() -> None:
    read = decode.check(KIND, definition(of_spec({"type": "array", "items": {"type": "string", "odd": 1}, "odd": 1})))
    made = read.object["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert made == {"type": "array", "items": {"type": "string"}}
    assert read.strict == ['unknown field "spec.versions[0].schema.openAPIV3Schema.properties.spec.odd"']


def test_a_struct_without_members_has_unknown_ones() -> None:
    read = decode.check(KIND, definition({"type": "object"}, subresources={"status": {"a": 1}}))
    assert read.strict == ['unknown field "spec.versions[0].subresources.status.a"']


SPEC = "spec.validation.openAPIV3Schema.properties[spec]"


@pytest.mark.parametrize(
    ("schema", "causes"),
    [
        (of_spec({"type": "array", "items": -1}), [(f"{SPEC}.items", "Required value: must be specified")]),
        (
            of_spec({"type": "integer", "default": {"a": 1}}),
            [
                (f"{SPEC}.default", 'Invalid value: {"a":1}: must not have unknown fields'),
                (f"{SPEC}.default", 'Invalid value: "object":  in body must be of type integer: "object"'),
            ],
        ),
        (
            of_spec({"type": "object", "x-kubernetes-list-type": "set"}),
            [(f"{SPEC}.type", 'Invalid value: "object": must be array if x-kubernetes-list-type is specified')],
        ),
        (
            of_spec({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-map-keys": ["a"]}),
            [
                (
                    f"{SPEC}.x-kubernetes-list-type",
                    "Required value: must be map if x-kubernetes-list-map-keys is non-empty",
                )
            ],
        ),
        (
            of_spec({"type": "object", "anyOf": [{"properties": {"a": {"minimum": 1}}, "type": "object"}]}),
            [
                (f"{SPEC}.anyOf[0].type", "Forbidden: must be empty to be structural"),
            ],
        ),
        (
            {"type": "object", "properties": {"metadata": {"type": "object", "default": {}}}},
            [
                (
                    "spec.validation.openAPIV3Schema.properties[metadata].default",
                    "Forbidden: must not be set in top-level metadata",
                )
            ],
        ),
    ],
)
def test_what_a_schema_may_not_say(cluster: Cluster, schema: Any, causes: list[tuple[str, str]]) -> None:
    with pytest.raises(ApiError) as refused:
        cluster.create("customresourcedefinitions.apiextensions.k8s.io", None, definition(schema))
    found = [(each["field"], each["message"]) for each in (refused.value.details or {})["causes"]]
    assert found == causes


def test_versions_are_judged_before_names_and_what_they_share_after(cluster: Cluster) -> None:
    body = definition({"type": "object", "nullable": True})
    body["spec"]["names"]["listKind"] = ""
    body["spec"]["versions"].append({"name": "V 2", "served": True, "storage": True, "schema": {}})
    body["spec"]["versions"][0]["schema"] = {}
    with pytest.raises(ApiError) as refused:
        cluster.create("customresourcedefinitions.apiextensions.k8s.io", None, body)
    assert [each["field"] for each in (refused.value.details or {})["causes"]][:4] == [
        "spec.versions[0].schema.openAPIV3Schema",
        "spec.versions[1].schema.openAPIV3Schema",
        "spec.versions[1].name",
        "spec.versions",
    ]
