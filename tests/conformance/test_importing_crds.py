"""Every published definition of custom resources imports, and what is made of it compiles in both compilers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kcl.api import ParseCache
from tests.kcl.conformance import corpus
from tests.kcl.tools.imports.importing import K8S, imported, is_template, ours, theirs

_IS_LONG = os.environ.get("KONFIG_WORKBENCH_SOAK") is not None
_EACH = 1 if _IS_LONG else 6


def _definitions() -> list[Path]:
    return [each for each in sorted(corpus("crds").rglob("*.yaml")) if not is_template(each)]


@pytest.mark.slow
def test_published_definitions_compile_in_both_compilers(tmp_path: Path) -> None:
    corpus("kcl-modules")
    found = _definitions()[::_EACH]
    cache, packages, problems, made = ParseCache(), {"k8s": K8S}, [], 0
    for at, path in enumerate(found):
        ran = imported(tmp_path, "-m", "crd", "-p", f"p{at}", str(path))
        assert ran.status == 0, ran.err
        for folder in sorted({(tmp_path / line).parent for line in ran.out.splitlines()}):
            files = sorted(folder.glob("*.k"))
            made += len(files)
            for problem in (ours(files, folder, packages, cache), theirs(files, folder, packages)):
                if problem:
                    problems.append(f"{path}: {problem[:500]}")
    assert problems == []
    assert made >= len(found)


def test_what_holds_no_definition_is_refused_and_named(tmp_path: Path) -> None:
    for path in sorted(corpus("crds").rglob("*.yaml")):
        if is_template(path) and "kind: CustomResourceDefinition" not in path.read_text():
            ran = imported(tmp_path, "-m", "crd", str(path))
            assert ran.status == 1
            assert path.name in ran.err
    assert list(tmp_path.iterdir()) == []
