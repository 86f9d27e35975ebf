"""readiness.yaml: which resource has which rule, and what is wrong with a file that can't be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.base import KubernetesId, ReadyByCondition, ReadyByField, ReadyWhenThere, TerraformId
from workbench.project import BrokenFile, StackPath
from workbench.project.readiness import read_readiness, rules_for

TEXT = """\
rules:
  - {kind: Ingress, name: legacy, ready: default}
  - {kind: Ingress, stacks: ["*/dev"], ready: exists}
  - {kind: networking.k8s.io/Ingress, ready: {field: status.loadBalancer.ingress}}
  - kind: acme.io/Database
    name: "orders-*"
    namespace: "shop-*"
    ready: {condition: Available, failed: [Broken]}
  - {kind: Volume, ready: {field: 'status.parts[0]["a.b"]', values: [Bound, 1, true], failed: [Lost]}}
"""
INGRESS = KubernetesId("networking.k8s.io/v1", "Ingress", "shop-1", "web")
LEGACY = KubernetesId("networking.k8s.io/v1", "Ingress", "shop-1", "legacy")
FOREIGN = KubernetesId("acme.io/v1", "Ingress", "shop-1", "web")
DATABASE = KubernetesId("acme.io/v1alpha1", "Database", "shop-1", "orders-eu")
OTHER_DATABASE = KubernetesId("acme.io/v1alpha1", "Database", "elsewhere", "orders-eu")
VOLUME = KubernetesId("acme.io/v1", "Volume", "", "disk")
IDS = (INGRESS, LEGACY, FOREIGN, DATABASE, OTHER_DATABASE, VOLUME, TerraformId("a", "b", "Ingress", "web"))


def test_the_first_rule_that_matches_decides(tmp_path: Path) -> None:
    (tmp_path / "readiness.yaml").write_text(TEXT)
    rules = read_readiness(tmp_path)
    assert rules_for(rules, StackPath.parse("web/dev"), IDS) == {
        INGRESS: ReadyWhenThere("readiness.yaml, rule 2"),
        FOREIGN: ReadyWhenThere("readiness.yaml, rule 2"),
        DATABASE: ReadyByCondition("readiness.yaml, rule 4", "Available", ("Broken",)),
        VOLUME: ReadyByField("readiness.yaml, rule 5", ("status", "parts", 0, "a.b"), ("Bound", 1, True), ("Lost",)),
    }
    in_production = rules_for(rules, StackPath.parse("web/prod"), IDS)
    assert in_production[INGRESS] == ReadyByField("readiness.yaml, rule 3", ("status", "loadBalancer", "ingress"))
    assert FOREIGN not in in_production


def test_without_a_file_every_kind_has_its_own_rule(tmp_path: Path) -> None:
    assert rules_for(read_readiness(tmp_path), StackPath.parse("web/dev"), IDS) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: {}", "needs to be a list"),
        ("rule: []", "unknown key 'rule'"),
        ("rules: [x]", "needs to be a mapping"),
        ("rules: [{ready: exists}]", "needs kind and ready"),
        ("rules: [{kind: X}]", "needs kind and ready"),
        ("rules: [{kind: X, ready: never}]", "ready needs to be"),
        ("rules: [{kind: X, ready: {condition: ''}}]", "ready needs to be"),
        ("rules: [{kind: X, ready: {field: 'a[b'}}]", "ready needs to be"),
        ("rules: [{kind: X, ready: {condition: A, values: [x]}}]", "unknown key 'values'"),
        ("rules: [{kind: X, ready: {condition: A, failed: [1]}}]", "condition types"),
        ("rules: [{kind: X, ready: {field: a, values: x}}]", "values needs to be a list"),
        ("rules: [{kind: X, ready: exists, stacks: dev}]", "stacks needs to be a list"),
        ("rules: [{kind: 1, ready: exists}]", "kind needs to be text"),
        ("rules: [", "is not valid YAML"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "readiness.yaml").write_text(text)
    with pytest.raises(BrokenFile) as refused:
        read_readiness(tmp_path)
    assert message in refused.value.message
    assert "readiness.yaml" in refused.value.where
