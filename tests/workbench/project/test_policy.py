"""policy.yaml: what is understood, and what is told to be wrong with it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from runtimes.base import KubernetesId, TerraformId
from workbench.project import OutsideRepository, StackPath
from workbench.project.errors import BrokenFile
from workbench.project.policy import Level, read_policies

WEB = KubernetesId("apps/v1", "Deployment", "shop", "web")
STACK = StackPath.parse("catalog/prod")


def test_none_is_there(tmp_path: Path) -> None:
    assert read_policies(tmp_path) == ()


def test_a_whole_file(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(
        """\
policies:
  - {name: registries, rule: image-registries, with: {allowed: [a]}, stacks: ["*/prod"], kinds: [apps/*, Job, aws_*]}
  - {name: own, check: policies/own.k, level: warning}
waivers:
  - {policy: "reg*", stacks: [catalog/*], resources: ["Deployment shop/*"], until: 2026-12-31, reason: later}
"""
    )
    (file,) = read_policies(tmp_path)
    rule, check = file.policies
    assert (rule.name, rule.rule, rule.check, rule.level) == ("registries", "image-registries", None, Level.ERROR)
    assert (check.check, check.level) == (tmp_path / "policies/own.k", Level.WARNING)
    assert rule.concerns(STACK) and not rule.concerns(StackPath.parse("catalog/dev"))
    assert check.concerns(StackPath.parse("catalog/dev"))
    assert rule.looks_at(WEB) and rule.looks_at(KubernetesId("batch/v1", "Job", "", "a"))
    assert not rule.looks_at(KubernetesId("v1", "Pod", "", "a"))
    assert rule.looks_at(TerraformId("hashicorp", "aws", "aws_vpc", "main"))
    (waiver,) = file.waivers
    names = ("apps/v1:Deployment:shop:web", "Deployment shop/web")
    assert waiver.is_for("registries", STACK, names) and not waiver.is_for("limits", STACK, names)
    assert not waiver.is_for("registries", StackPath.parse("orders/prod"), names)
    assert not waiver.is_for("registries", STACK, ("Deployment other/web",))
    assert not waiver.is_for("registries", STACK, ()), "what is about the stack is about no resource"
    assert not waiver.has_expired(date(2026, 12, 31)) and waiver.has_expired(date(2027, 1, 1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n", "needs a mapping at the top"),
        ("policies: {a: b}\n", "policies needs to be a list"),
        ("policy: []\n", "unknown key 'policy'"),
        ("policies: [a]\n", "needs to be a mapping"),
        ("policies: [{name: a}]\n", "needs a name, and either rule or check"),
        ("policies: [{rule: replicas}]\n", "needs a name, and either rule or check"),
        ("policies: [{name: a, rule: replicas, check: b.k}]\n", "needs a name, and either rule or check"),
        ("policies: [{name: a, rule: replicas, levle: warning}]\n", "unknown key 'levle'"),
        ("policies: [{name: a, rule: replicas, level: info}]\n", "level needs to be error or warning"),
        ("policies: [{name: a, rule: replicas, stacks: []}]\n", "an empty list"),
        ("policies: [{name: a, rule: replicas, kinds: []}]\n", "an empty list"),
        ("policies: [{name: a, rule: replicas, with: [1]}]\n", "with needs to be a mapping"),
        ("policies: [{name: a, rule: replicas}, {name: a, rule: replicas}]\n", "two policies are called a"),
        ("waivers: [{policy: a, until: 2026-12-31}]\n", "needs policy, until and reason"),
        ("waivers: [{policy: a, reason: later}]\n", "needs policy, until and reason"),
        ("waivers: [{policy: a, reason: later, until: never}]\n", "until needs to be a day"),
        ("waivers: [{policy: a, reason: later, until: 20261231}]\n", "until needs to be a day"),
        ("waivers: [{policy: a, reason: later, until: 2026-12-31 10:00:00}]\n", "until needs to be a day"),
        ("policies: [\n", "is not valid YAML"),
        ("", "is empty, which may be what is left of it"),
        ("# policies: []\n", "is empty, which may be what is left of it"),
    ],
)
def test_what_is_not_understood_is_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "policy.yaml").write_text(text)
    with pytest.raises(BrokenFile) as raised:
        read_policies(tmp_path)
    assert said in raised.value.message and raised.value.where.startswith(str(tmp_path / "policy.yaml"))


def test_a_link_out_of_the_repository_is_refused_also_where_it_leads_nowhere(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "kcl.mod").write_text("")
    (root / "policy.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    with pytest.raises((OutsideRepository, BrokenFile)):
        read_policies(root)


def test_what_a_user_names_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(BrokenFile, match="cannot be read"):
        read_policies(tmp_path, tmp_path / "missing.yaml")
    (tmp_path / "mine.yaml").write_text("policies: [{name: a, rule: replicas}]\n")
    (mine,) = read_policies(tmp_path, tmp_path / "mine.yaml")
    assert mine.is_foreign
