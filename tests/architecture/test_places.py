"""Who surveys, plans and applies asks places, or their kind, what holds there; nobody goes by a name or a type."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from runtimes.base import KubernetesId, RuntimeType, TerraformId
from workbench.engine.place_kinds import CLUSTER, KINDS, WORKSPACE, PlaceKind, kind_called, kind_of

WORKBENCH = Path(__file__).parents[2] / "workbench"
MODULES = (
    "planner.py",
    "destinations.py",
    "engine/survey.py",
    "engine/planning.py",
    "engine/narrowing.py",
    "engine/execute.py",
    "engine/reconcile.py",
    "engine/identities.py",
)
_IDS = {"KubernetesId", "TerraformId"}


def told_apart(tree: ast.AST) -> list[str]:
    """Returns where a module tells places apart by itself."""
    return [f"line {node.lineno}" for node in ast.walk(tree) if isinstance(node, ast.expr | ast.arg) and _tells(node)]


def _tells(node: ast.expr | ast.arg) -> bool:
    match node:
        case (
            ast.Name(id="TERRAFORM_PLACE" | "TerraformId") | ast.Constant(value="terraform") | ast.arg(arg="workspace")
        ):
            return True
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, what]):
            return any(isinstance(each, ast.Name) and each.id in _IDS for each in ast.walk(what))
        case _:
            return False


@pytest.mark.parametrize(
    "code",
    [
        "x == TERRAFORM_PLACE",
        "isinstance(x, TerraformId)",
        "isinstance(x, KubernetesId | Other)",
        "isinstance(x, (A, TerraformId))",
        "x == 'terraform'",
        "def f(workspace=None): ...",
        "lambda workspace: 1",
    ],
)
def test_the_check_sees_each_way(code: str) -> None:
    assert told_apart(ast.parse(code))


@pytest.mark.parametrize("name", MODULES)
def test_places_are_not_told_apart(name: str) -> None:
    assert told_apart(ast.parse((WORKBENCH / name).read_bytes())) == []


def test_every_type_of_resource_lives_in_one_kind_of_place() -> None:
    assert {each.runtime_type for each in KINDS} == set(RuntimeType)
    assert kind_of(KubernetesId("v1", "ConfigMap", "shop", "web")) is CLUSTER
    assert kind_of(TerraformId("hashicorp", "aws", "aws_s3_bucket", "logs")) is WORKSPACE


@pytest.mark.parametrize("kind", KINDS)
def test_the_name_of_a_place_tells_its_kind(kind: PlaceKind) -> None:
    assert {kind_called(each) for each in kind.names(("east", "west"))} == {kind}
