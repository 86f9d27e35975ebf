"""From compiled documents to a Spec, and back to YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtimes.base import KubernetesId, ListKey, RuntimeType, TerraformId
from tests.workbench.engine.world import config_map, deployment, namespace, secret
from workbench.engine.errors import DependencyCycle, SpecInvalid
from workbench.engine.masking import Masked, Seal, masked, sealed, sensitive_paths
from workbench.engine.placement import label_value, place
from workbench.engine.spec import SourceSite, build, load
from workbench.project import NamespaceBy, NamespaceRule, ProjectName, StackName, StackPath

STACK = StackPath(ProjectName("shop"), StackName("dev"))


def resource(body: dict[str, Any], *needs: str, **more: Any) -> dict[str, Any]:
    return {
        "id": str(KubernetesId.of(body)),
        "type": "Kubernetes",
        "attributes": body,
        "dependsOn": list(needs),
        **more,
    }


def test_documents_lists_and_kusions_own_form_are_all_a_spec() -> None:
    one, two = namespace(), config_map("a", {})
    expected = [KubernetesId.of(one), KubernetesId.of(two)]
    forms: list[list[Any]] = [
        [resource(one), resource(two)],
        [[resource(one), resource(two)]],
        [{"resources": [resource(one), resource(two)]}],
        [one, two],
        [[one], resource(two)],
        [{}, one, None, two],
    ]
    for form in forms:
        assert [each.id for each in build(form, stack="s")] == expected


def test_a_spec_survives_its_own_yaml() -> None:
    bucket = {
        "id": "hashicorp:aws:aws_s3_bucket:logs",
        "type": "Terraform",
        "attributes": {"bucket": "logs", "on": "1e3", "empty": {}},
        "dependsOn": ["v1:Namespace:shop"],
        "extensions": {"provider": "registry.terraform.io/hashicorp/aws/5.0.1"},
    }
    spec = build(
        [resource(namespace()), bucket, resource(config_map("a", {"y": "yes"}), "hashicorp:aws:aws_s3_bucket:logs")],
        stack="s",
    )
    assert spec.resources[2].depends_on == (TerraformId("hashicorp", "aws", "aws_s3_bucket", "logs"),)
    again = load(spec.to_yaml(), stack="s", where="spec.yaml")
    assert again.documents() == spec.documents()
    assert "dependsOn" not in spec.documents()[0] and "extensions" not in spec.documents()[0], "empty fields vanish"
    assert again.resources[1].type is RuntimeType.TERRAFORM


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([namespace(), namespace()], "two resources have the id v1:Namespace:shop"),
        ([resource(namespace(), "v1:Namespace:other")], "depends on v1:Namespace:other, which is not in this stack"),
        ([{"kind": "Namespace", "metadata": {"name": "x"}}], "has no apiVersion: its keys are kind, metadata"),
        ([{"metadata": {"name": "x"}}], "neither a resource nor a Kubernetes object"),
        ([{"apiVersion": "v1", "kind": "Namespace"}], "metadata.name"),
        ([{"id": "v1:Namespace:x", "type": "Helm", "attributes": {}}], "unknown type 'Helm'"),
        ([{**resource(namespace()), "id": "v1:Namespace:other"}], "its attributes are those of v1:Namespace:shop"),
        ([resource(namespace(), "a:b:c") | {"dependsOn": "x"}], "a list of ids as dependsOn"),
        (["text"], "is str, not a resource"),
        ([{"id": "", "type": "Kubernetes", "attributes": {}}], "empty part"),
        ([{"apiVersion": 1, "kind": "X", "metadata": {}}], "all text"),
    ],
)
def test_what_is_no_spec_says_what_is_wrong(documents: list[Any], message: str) -> None:
    with pytest.raises(SpecInvalid) as invalid:
        build(documents, stack="shop/dev")
    assert message in invalid.value.message
    assert "shop/dev" in invalid.value.where


def test_a_circle_of_dependencies_is_shown_as_a_path() -> None:
    a, b, c = (config_map(name, {}) for name in "abc")
    ids = [str(KubernetesId.of(each)) for each in (a, b, c)]
    with pytest.raises(DependencyCycle) as cycle:
        build([resource(a, ids[1]), resource(b, ids[2]), resource(c, ids[0])], stack="s")
    assert [str(each) for each in cycle.value.cycle] == [*ids, ids[0]]


def test_empty_lists_are_dropped_where_the_dialect_did() -> None:
    body = {**namespace(), "spec": {"a": [], "b": [{"c": []}], "d": {}, "e": [[]]}}
    spec = build([body], stack="s", drop_empty_lists=True)
    assert spec.resources[0].attributes["spec"] == {"b": [{}], "d": {}, "e": [[]]}


def test_provenance_is_found_through_the_envelope_and_by_identity() -> None:
    asked: list[tuple[int, tuple[str | int, ...]]] = []

    def lookup(document: int, path: tuple[str | int, ...]) -> tuple[SourceSite, ...]:
        asked.append((document, path))
        return (SourceSite(Path("/r/main.k"), 3, 5),) if path[-1:] == ("image",) else ()

    spec = build([[namespace(), resource(deployment("web"))]], stack="s", lookup=lookup)
    id_ = spec.resources[1].id
    path = ("spec", "template", "spec", "containers", ListKey((("name", "main"),)), "image")
    assert spec.chain(id_, path)[0].relative_to(Path("/r")) == "main.k:3"
    assert asked == [(0, (1, "attributes", "spec", "template", "spec", "containers", 0, "image"))]
    assert spec.chain(id_, ("metadata", "name")) == ()


def test_a_placement_gives_namespaces_and_moves_ids_with_them() -> None:
    free = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"app": "web"}}}
    spec = build([resource(free), resource(namespace(), "v1:ConfigMap:a"), config_map("b", {}, "own")], stack="s")
    placed = place(spec, STACK, NamespaceRule(NamespaceBy.COMPONENT, "{component}-{stack}"))
    assert [str(each.id) for each in placed] == [
        "v1:ConfigMap:web-dev:a",
        "v1:Namespace:shop",
        "v1:ConfigMap:own:b",
    ]
    assert placed.resources[1].depends_on == (placed.resources[0].id,)
    assert placed.resources[0].attributes["metadata"]["namespace"] == "web-dev"
    assert "namespace" not in spec.resources[0].attributes["metadata"], "the Spec itself is not touched"
    assert placed.origins[placed.resources[0].id] == spec.origins[spec.resources[0].id]


@pytest.mark.parametrize("text", ["a/b", "x" * 80, "-a-", "päy", "", "a b"])
def test_names_that_no_label_may_hold_are_made_to_fit_and_stay_apart(text: str) -> None:
    value = label_value(text)
    assert len(value) <= 63 and value.replace("-", "a").replace(".", "a").isalnum() and value.isascii()
    assert value != label_value(text + "'")
    assert label_value("shop") == "shop"


def test_secrets_are_masked_leaf_by_leaf_and_equal_ones_look_equal() -> None:
    seal = Seal.random()
    body = secret("key", {"a": "c2VjcmV0", "b": "c2VjcmV0", "c": "b3RoZXI="})
    id_ = KubernetesId.of(body)
    shown = masked(body, sensitive_paths(id_, body), seal)
    assert shown["metadata"] == body["metadata"]
    assert shown["data"]["a"] == shown["data"]["b"] != shown["data"]["c"]
    assert isinstance(shown["data"]["a"], Masked)
    assert "c2VjcmV0" not in repr(shown) + str(shown["data"]["a"]) + repr(seal)
    assert sealed(body, sensitive_paths(id_, body), seal)["data"]["a"].startswith("sealed:")
    assert shown != masked(body, sensitive_paths(id_, body), Seal.random()), "no session can compare with another"


def test_sensitive_elements_of_a_list_are_found_by_identity_and_by_index() -> None:
    body = {"env": [{"name": "A", "value": "one"}, {"name": "B", "value": "two"}], "args": ["x", "y"]}
    paths = (("env", ListKey((("name", "B"),)), "value"), ("args", 1))
    shown = masked(body, paths, Seal.random())
    assert shown["env"][0] == {"name": "A", "value": "one"}
    assert isinstance(shown["env"][1]["value"], Masked)
    assert shown["args"][0] == "x" and isinstance(shown["args"][1], Masked)
