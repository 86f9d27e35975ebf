"""Konfig of July 2023, compiled as a user does, against what was recorded then."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from workbench.engine.compile import compile_now
from workbench.engine.compiled import CompileInputs
from workbench.project import discover

CORPUS = Path(os.environ.get("KONFIG_WORKBENCH_CONFORMANCE", Path(__file__).parents[4] / "shared" / "conformance"))
KONFIG = CORPUS / "konfig-2023"
GOLDENS = sorted(KONFIG.rglob("ci-test/stdout.golden.yaml"))
SETTINGS = "ci-test/settings.yaml"

pytestmark = pytest.mark.skipif(not GOLDENS, reason=f"no Konfig corpus at {KONFIG}")


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda path: str(path.parents[1].relative_to(KONFIG)))
def test_the_spec_is_the_one_recorded(golden: Path) -> None:
    stack = discover(KONFIG).select(str(golden.parents[1]))
    compiled = compile_now(stack, CompileInputs(settings=(SETTINGS,)))
    found = yaml.safe_load(compiled.spec.to_yaml())
    recorded = yaml.safe_load(golden.read_text())
    assert sorted(found, key=lambda each: each["id"]) == sorted(recorded, key=lambda each: each["id"])


def test_fields_lead_back_to_the_file_of_the_application() -> None:
    stack = discover(KONFIG).select("nginx-example/dev")
    spec = compile_now(stack, CompileInputs(settings=(SETTINGS,))).spec
    deployment = next(each.id for each in spec if str(each.id).startswith("apps/v1:Deployment"))
    chain = spec.chain(deployment, ("spec", "template", "spec", "containers", 0, "image"))
    assert chain[0].relative_to(KONFIG.resolve()).startswith("appops/nginx-example/base/base.k:")
