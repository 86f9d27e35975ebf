"""Writes of custom resources and lists of them, as a real server 1.34 was seen to answer."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.sandbox import listing
from runtimes.sandbox.api.replies import negotiate
from runtimes.sandbox.api.requests import Query, delete_options
from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.decode import parse_json
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.listing import Page, Selection
from runtimes.sandbox.selectors import parse_fields, parse_labels

PLURAL = "widgets.shop.example.com"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"replicas": {"type": "integer"}},
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


def widget(spec: Any, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "shop.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec, **more}


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster("test", VirtualClock(datetime(2026, 1, 2, tzinfo=UTC)), seed=7)
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": SCHEMA},
        "subresources": {"status": {}, "scale": {**SCALE, "labelSelectorPath": ".status.selector"}},
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": PLURAL},
        "spec": {"group": "shop.example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    made.create("customresourcedefinitions.apiextensions.k8s.io", None, body)
    made.create(PLURAL, "default", widget({"replicas": 1}))
    return made


def refusal(cluster: Cluster, patch: Any) -> ApiError:
    with pytest.raises(ApiError) as refused:
        cluster.patch(PLURAL, "default", "w", patch, "merge")
    return refused.value


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"spec": {"replicas": -1}}, ".spec.replicas: Invalid value: -1: should be a non-negative integer"),
        (
            {"spec": {"replicas": 2**31}},
            ".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647",
        ),
        (
            {"status": {"replicas": "x"}, "spec": "y"},
            '[spec: Invalid value: "string": spec in body must be of type object: "string", '
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: y is of the type string, "
            "expected map[string]interface{}]",
        ),
    ],
)
def test_what_scaling_reads_has_its_form(cluster: Cluster, patch: Any, message: str) -> None:
    assert refusal(cluster, patch).message == f'Widget.shop.example.com "w" is invalid: {message}'


def test_a_kind_or_version_of_its_own_is_told_by_what_the_object_says(cluster: Cluster) -> None:
    assert refusal(cluster, {"apiVersion": "Odd"}).message == (
        'Widget "w" is invalid: apiVersion: Invalid value: "Odd": must be shop.example.com/v1'
    )
    missing = refusal(cluster, {"apiVersion": ""})
    assert (missing.code, missing.reason) == (500, "InternalError")
    assert refusal(cluster, {"kind": ""}).message.startswith(' "" is invalid: patch: Invalid value: ')


def test_owners_are_forgotten_where_a_write_of_the_status_says_what_does_not_fit(cluster: Cluster) -> None:
    assert "managedFields" in cluster.get(PLURAL, "default", "w")["metadata"]
    done = cluster.patch(PLURAL, "default", "w", {"spec": {"replicas": "x"}}, "merge", subresource="status")
    assert "managedFields" not in done["metadata"]
    assert done["spec"] == {"replicas": 1}


# --- What is listed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spec.z=1,spec.a=2", '"spec.a" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        ("spec.z=1,a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("metadata.name in (a)", "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'"),
    ],
)
def test_terms_of_a_field_selector_are_read_sorted_and_before_they_are_looked_up(
    cluster: Cluster, text: str, message: str
) -> None:
    with pytest.raises(ApiError) as refused:
        parse_fields(text, cluster.resources.named("leases.coordination.k8s.io"))
    assert refused.value.message == message


def test_a_number_compared_with_is_a_label_value_too() -> None:
    assert parse_labels("a>1,a<5")
    with pytest.raises(ApiError, match=r'^unable to parse requirement: values\[0\]\[a\]: Invalid value: "-1"'):
        parse_labels("a>-1")


@pytest.mark.parametrize(("text", "why"), [("1.5", "invalid syntax"), ("9223372036854775808", "value out of range")])
def test_numbers_have_64_bits(text: str, why: str) -> None:
    with pytest.raises(ApiError) as refused:
        Query(f"limit={text}").number("limit")
    assert refused.value.message == f'strconv.ParseInt: parsing "{text}": {why}'


def test_there_may_be_more_where_anything_follows(cluster: Cluster) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {})):
        cluster.create("configmaps", "default", {"metadata": {"name": name, "labels": labels}})
    resource = cluster.resources.named("configmaps")
    selection = Selection(parse_labels("x=1"), parse_fields("", resource))
    found = cluster.page(resource, "default", selection, Page(1))
    assert [each["metadata"]["name"] for each in found.items] == ["a"]
    assert found.continue_token


def test_options_in_a_body_count_alone_even_if_there_are_none() -> None:
    query = Query("propagationPolicy=odd")
    assert delete_options(query, {}).propagation is None
    with pytest.raises(ApiError):
        delete_options(query, None)


def test_a_watch_from_now_begins_with_what_is_there_so_it_cannot_be_continued() -> None:
    with pytest.raises(ApiError, match="resourceVersionMatch is forbidden when continue is provided"):
        listing.check_options("", "", None, True, "x")
    listing.check_options("1", "", None, True, "x")


@pytest.mark.parametrize(
    "accept",
    ["application/json;g=meta.k8s.io", "application/json;v=v1", "application/json;charset=latin1"],
)
def test_a_form_that_is_not_had_is_not_acceptable(accept: str) -> None:
    with pytest.raises(ApiError) as refused:
        negotiate(accept)
    assert refused.value.code == 406
    assert negotiate(f"{accept},application/yaml").format == "application/yaml"


def numbered(cluster: Cluster, schema: dict[str, Any], text: str) -> Any:
    """What is kept of a number, given as JSON, in a custom resource with a schema for it."""
    definition = cluster.get("customresourcedefinitions.apiextensions.k8s.io", None, PLURAL)
    own = {"type": "object", "properties": {"n": schema}}
    version = {**definition["spec"]["versions"][0], "schema": {"openAPIV3Schema": own}, "subresources": {}}
    patch = {"spec": {"versions": [version]}}
    cluster.patch("customresourcedefinitions.apiextensions.k8s.io", None, PLURAL, patch, "merge")
    head = '"apiVersion": "shop.example.com/v1", "kind": "Widget", "metadata": {"name": "n"}'
    return cluster.create(PLURAL, "default", parse_json(f'{{{head}, "n": {text}}}'), dry_run=True)["n"]


@pytest.mark.parametrize(
    ("schema", "text", "kept"),
    [
        ({"type": "number"}, "1" * 25, 1.1111111111111111e24),
        ({"type": "number"}, "9223372036854775808", 9223372036854776000),
        ({"type": "number"}, "-9223372036854775808", -9223372036854775808),
        ({"type": "number", "multipleOf": 2}, "9007199254740992.0", 9007199254740992),
        ({"type": "number", "multipleOf": 2.5}, "4", 4),
        ({"type": "number", "multipleOf": 2.5}, "5.0", 5),
        ({"type": "number", "multipleOf": 0.1}, "0.3", 0.3),
        ({"type": "number", "multipleOf": 0.1}, "-0.4", -0.4),
    ],
)
def test_a_whole_number_beyond_64_bits_is_one_of_floating_point(
    cluster: Cluster, schema: dict[str, Any], text: str, kept: float
) -> None:
    made = numbered(cluster, schema, text)
    assert (type(made), made) == (type(kept), kept)


@pytest.mark.parametrize(
    ("schema", "text", "told"),
    [
        (
            {"type": "number", "multipleOf": 2},
            "1" + "0" * 24,
            "1e+24: n in body should be a multiple of 2",
        ),
        ({"type": "number", "multipleOf": 2.5}, "5", "Invalid value: 5: n in body should be a multiple of 2"),
        ({"type": "number", "multipleOf": 2.5}, "5.5", "Invalid value: 5.5: n in body should be a multiple of 2.5"),
        ({"type": "integer"}, "9007199254740993.0", 'n in body must be of type integer: "number"'),
        ({"type": "integer"}, "9223372036854775808", 'n in body must be of type integer: "number"'),
        ({"type": "integer", "multipleOf": 2}, "1" * 310, f"number {'1' * 310} into Go value of type float64"),
        ({"type": "number"}, "1e999", "into Go value of type float64"),
        ({"type": "number", "multipleOf": int("1" * 310)}, "2.5", "into Go struct field JSONSchemaProps"),
    ],
)
def test_a_number_that_the_schema_does_not_take_is_refused(
    cluster: Cluster, schema: dict[str, Any], text: str, told: str
) -> None:
    with pytest.raises(ApiError, match=re.escape(told)):
        numbered(cluster, schema, text)
