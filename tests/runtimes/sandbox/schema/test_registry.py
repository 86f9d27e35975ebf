"""What is known of kinds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtimes.sandbox.schema import generate
from runtimes.sandbox.schema.registry import Registry
from runtimes.sandbox.schema.types import Type

from ..kinds import DEPLOYMENT, POD


def member(type_: Type, *names: str) -> Type:
    for name in names:
        assert type_.map is not None
        found = type_.map.member(name)
        assert found is not None
        type_ = found
    return type_


def test_lists_know_how_their_elements_are_told_apart() -> None:
    containers = member(DEPLOYMENT.type, "spec", "template", "spec", "containers").list
    assert containers is not None
    assert (containers.associative, containers.keys) == (True, ("name",))
    ports = member(containers.element, "ports").list
    assert ports is not None
    assert ports.keys == ("containerPort", "protocol")
    args = member(containers.element, "args").list
    assert args is not None
    assert not args.associative


def test_go_says_which_zeros_are_kept() -> None:
    shape = member(POD.type, "spec").map
    assert shape is not None
    grace, network = shape.fields["terminationGracePeriodSeconds"], shape.fields["hostNetwork"]
    assert (grace.pointer, network.pointer) == (True, False)
    assert shape.fields["containers"].go == "[]v1.Container"


def test_a_kind_that_is_not_served_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        Registry.load().kind("", "v2", "ConfigMap")


def test_types_may_hold_themselves() -> None:
    definition = Registry.load().kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition").type
    versions = member(definition, "spec", "versions").list
    assert versions is not None
    schema = member(versions.element, "schema", "openAPIV3Schema")
    assert member(schema, "not") is schema


def test_the_shipped_definitions_are_those_of_the_recorded_documents() -> None:
    root = Path(__file__).resolve().parents[5] / "shared" / "conformance"
    folder = Path(os.environ.get("KONFIG_WORKBENCH_CONFORMANCE", root)) / "kube-api-1.34" / "openapi"
    if not folder.is_dir():
        pytest.skip(f"no recorded documents at {folder}: set KONFIG_WORKBENCH_CONFORMANCE to their folder")
    shipped = Registry.load()
    document = generate.documents(folder)["apis_apps_v1"]
    for name, schema in document["components"]["schemas"].items():
        fields = shipped.definition(name).map
        assert fields is not None or "properties" not in schema
        assert fields is None or schema.get("properties", {}).keys() <= fields.fields.keys()
