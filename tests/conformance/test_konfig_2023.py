"""Konfig of July 2023: every stack that has a golden result compiles to it, in the dialect its kcl.mod asks for."""

from pathlib import Path
from typing import Any

import pytest

from kcl.api import ParseCache, PlanOptions, RunResult, run
from kcl.loader import load_yaml
from tests.conformance.kcl_suite import same
from tests.kcl.conformance import FOLDER, corpus

_KONFIG = FOLDER / "konfig-2023"
_GOLDEN = "ci-test/stdout.golden.yaml"
_SETTINGS = ["kcl.yaml", "ci-test/settings.yaml"]


def _stacks() -> list[str]:
    found = sorted(path.parents[1].relative_to(_KONFIG).as_posix() for path in _KONFIG.rglob(_GOLDEN))
    return found or ["absent"]


@pytest.fixture(scope="module")
def konfig() -> Path:
    return corpus("konfig-2023")


@pytest.fixture(scope="module")
def cache() -> ParseCache:
    return ParseCache()


def _spec(stack: Path, documents: list[Any]) -> list[Any]:
    """The documents as Kusion lists them: without empty fields, custom resource definitions of the project added."""
    resources = [{key: value for key, value in item.items() if value not in ([], {}, "", None)} for item in documents]
    for path in sorted(stack.parent.glob("crd/*.yaml")):
        definition = load_yaml(path.read_text())
        name = definition["metadata"]["name"]
        resources.append(
            {
                "id": f"{definition['apiVersion']}:{definition['kind']}:{name}",
                "type": "Kubernetes",
                "attributes": definition,
            }
        )
    return sorted(resources, key=lambda resource: str(resource["id"]))


def _run(stack: Path, cache: ParseCache) -> RunResult:
    return run(work_dir=stack, settings=_SETTINGS, output=PlanOptions(omit_empty_lists=True), cache=cache)


@pytest.mark.parametrize("stack", _stacks())
def test_stack_compiles_to_its_golden_result(stack: str, konfig: Path, cache: ParseCache) -> None:
    folder = konfig / stack
    result = _run(folder, cache)
    golden = load_yaml((folder / _GOLDEN).read_text())
    ours = _spec(folder, list(result.documents))
    expected = _spec(folder.parent / "none", golden)
    assert [item["id"] for item in ours] == [item["id"] for item in expected]
    for mine, theirs in zip(ours, expected, strict=True):
        assert same(mine, theirs), f"{mine['id']}: {mine}\ninstead of\n{theirs}"


def test_image_leads_back_to_the_line_a_user_wrote(konfig: Path, cache: ParseCache) -> None:
    folder = konfig / "appops/nginx-example/dev"
    result = _run(folder, cache)
    deployment = next(
        index for index, item in enumerate(result.documents) if item["attributes"]["kind"] == "Deployment"
    )
    path = ("attributes", "spec", "template", "spec", "containers", 0, "image")
    site = result.provenance.lookup(deployment, path)[0]
    line = Path(site.file).read_text().splitlines()[site.line - 1]
    assert Path(site.file).name == "base.k"
    assert line.strip() == 'image = "nginx:1.7.8"'
