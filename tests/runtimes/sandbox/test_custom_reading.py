"""Custom resources as they are read: pruned by their schema, place by place, with the objects embedded in them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.errors import ApiError

PRESERVE = "x-kubernetes-preserve-unknown-fields"
N = {"type": "object"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "kept": {"type": "object", PRESERVE: True, "properties": {"n": N}},
                "any": {PRESERVE: True},
                "each": {"type": "array", PRESERVE: True, "items": {"type": "object", "properties": {"n": N}}},
                "e": {"type": "object", "x-kubernetes-embedded-resource": True, PRESERVE: True},
            },
        }
    },
}


def definition(plural: str = "widgets", kind: str = "Widget", **old: Any) -> dict[str, Any]:
    newest = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    older = {"name": "v1alpha1", "served": True, "storage": False, "schema": {"openAPIV3Schema": old.get("schema")}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    spec = {
        "group": "x.example",
        "scope": "Namespaced",
        "names": names,
        "versions": [newest, *([older] if old else [])],
    }
    return {"metadata": {"name": f"{plural}.x.example"}, "spec": spec}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster("test", VirtualClock(datetime(2026, 1, 2, tzinfo=UTC)), seed=7)


def widget(version: str = "v1", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"x.example/{version}", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec}


def test_what_is_kept_freely_still_has_places_that_are_not(cluster: Cluster) -> None:
    cluster.create("customresourcedefinitions.apiextensions.k8s.io", None, definition())
    warnings: list[str] = []
    inner = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "odd": 1}, "free": 1}
    body = widget(kept={"free": 1, "n": {"odd": 1}}, e=inner, odd=1)
    made = cluster.create("widgets.x.example", "default", body, field_validation="Warn", warnings=warnings)
    assert made["spec"] == {
        "kept": {"free": 1, "n": {}},
        "e": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "free": 1},
    }
    assert warnings == [
        'unknown field "spec.kept.n.odd"',
        'unknown field "spec.odd"',
        'unknown field "spec.e.metadata.odd"',
    ]


def test_a_list_that_is_kept_freely_keeps_what_is_in_its_items(cluster: Cluster) -> None:
    cluster.create("customresourcedefinitions.apiextensions.k8s.io", None, definition())
    body = widget(any=[{"a": [{"b": 1}]}], each=[{"free": 1, "n": {"odd": 1}}])
    made = cluster.create("widgets.x.example", "default", body)
    assert made["spec"] == {"any": [{"a": [{"b": 1}]}], "each": [{"free": 1, "n": {}}]}


@pytest.mark.parametrize(
    ("inner", "fields"),
    [
        ({}, ["spec.e.apiVersion", "spec.e.kind"]),
        ({"apiVersion": "a/b/c", "kind": "Bad Kind"}, ["spec.e.kind", "spec.e.apiVersion"]),
        ({"apiVersion": "v1", "kind": "P", "metadata": {"labels": {"a": "bad !"}}}, ["spec.e.metadata.labels"]),
    ],
)
def test_an_embedded_object_says_what_it_is(cluster: Cluster, inner: dict[str, Any], fields: list[str]) -> None:
    cluster.create("customresourcedefinitions.apiextensions.k8s.io", None, definition())
    with pytest.raises(ApiError) as refused:
        cluster.create("widgets.x.example", "default", widget(e=inner))
    assert [each["field"] for each in (refused.value.details or {})["causes"]] == fields


def test_what_is_kept_is_what_the_stored_version_names(cluster: Cluster) -> None:
    spec = {"type": "object", "properties": {"gone": {"type": "string", "default": "x"}, "kept": {"type": "object"}}}
    older = {"type": "object", "properties": {"spec": spec}}
    cluster.create("customresourcedefinitions.apiextensions.k8s.io", None, definition(schema=older))
    resource = cluster.resources.find("x.example", "v1alpha1", "widgets")
    assert resource is not None
    made = cluster.create(resource, "default", widget("v1alpha1"))
    assert (made["apiVersion"], made["spec"]) == ("x.example/v1alpha1", {})


def test_of_several_names_that_are_taken_the_last_is_told_of(cluster: Cluster) -> None:
    resource = "customresourcedefinitions.apiextensions.k8s.io"
    cluster.create(resource, None, definition())
    cluster.create(resource, None, definition("gadgets"))
    status = cluster.get(resource, None, "gadgets.x.example")["status"]
    assert status["acceptedNames"] == {"plural": "gadgets", "kind": ""}
    assert [(each["type"], each["reason"], each["message"]) for each in status["conditions"]] == [
        ("NamesAccepted", "ListKindConflict", '"WidgetList" is already in use'),
        ("Established", "NotAccepted", "not all names are accepted"),
    ]


def test_what_a_webhook_is_to_convert_is_shown_in_the_stored_version_alone(cluster: Cluster) -> None:
    """Unconverted it would look like an object of the other version, and be none."""
    made = definition(schema={"type": "object", PRESERVE: True})
    client = {"clientConfig": {"url": "https://hook.example/x"}, "conversionReviewVersions": ["v1"]}
    made["spec"]["conversion"] = {"strategy": "Webhook", "webhook": client}
    cluster.create("customresourcedefinitions.apiextensions.k8s.io", None, made)
    cluster.create("widgets.x.example", "default", widget())
    older = cluster.resources.find("x.example", "v1alpha1", "widgets")
    assert older is not None
    assert cluster.get("widgets.x.example", "default", "a")["apiVersion"] == "x.example/v1"
    refused = 'conversion webhook for x.example/v1, Kind=Widget failed: Post "https://hook.example/x?timeout=30s": '
    with pytest.raises(ApiError) as read:
        cluster.get(older, "default", "a")
    assert (read.value.code, read.value.message) == (500, f"{refused}the sandbox calls no webhooks")
    with pytest.raises(ApiError, match=r"conversion webhook for x\.example/v1alpha1"):
        cluster.create(older, "default", {**widget("v1alpha1"), "metadata": {"name": "b"}})
