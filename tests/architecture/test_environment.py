"""What a CI says of its build is looked at in one module, which names all of it."""

from __future__ import annotations

import ast
import os
from pathlib import Path

from workbench.ci import VARIABLES

ROOT = Path(__file__).parents[2]
OF_A_CI = ("CI_", "GITHUB_", "GITLAB_", "BUILDKITE_", "TRAVIS_", "CIRCLE_")


def may_name(text: str) -> bool:
    """What is parsed takes long, and few modules have these letters at all."""
    return any(each in text for each in ('"CI"', "'CI'", *OF_A_CI))


def test_no_other_module_names_a_variable_of_a_ci() -> None:
    named = {
        f"{module.relative_to(ROOT)}:{node.lineno} {node.value}"
        for package in ("workbench", "runtimes", "kcl", "notebooks")
        for module in (ROOT / package).rglob("*.py")
        if module != ROOT / "workbench" / "ci.py"
        if may_name(text := module.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant)
        if isinstance(node.value, str)
        if node.value == "CI" or (node.value.startswith(OF_A_CI) and node.value.isupper())
    }
    assert named == set()


def test_no_test_sees_what_the_ci_that_runs_it_says() -> None:
    assert [each for each in VARIABLES if each in os.environ] == []
