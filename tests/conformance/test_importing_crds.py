"""Every published definition of custom resources imports, and what is made of it compiles in both compilers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
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


_ATTRIBUTE = re.compile(r"^    (\$?\w+)(\?)?: ([^=\n]+?)(?: = .*)?$")


def _declared(files: Iterable[Path]) -> dict[tuple[str, str], str]:
    """The types of all attributes, by schema and name."""
    found, schema = {}, ""
    for path in files:
        for line in path.read_text().splitlines():
            if line.startswith("schema "):
                schema = line.removeprefix("schema ").rstrip(":")
            elif (match := _ATTRIBUTE.match(line)) is not None:
                found[schema, match[1]] = f"{match[2] or ''}: {match[3]}"
    return found


def test_schemas_are_those_of_the_published_packages(tmp_path: Path) -> None:
    """Files, schemas and attributes have the same names and types; karpenter was published from other definitions."""
    same = different = 0
    for folder in sorted(corpus("crds").iterdir()):
        published = {path.name: path for path in (corpus("kcl-modules") / folder.name).rglob("*.k")}
        if not published or folder.name == "karpenter":
            continue
        for path in sorted(folder.glob("*.yaml")):
            if is_template(path):
                continue
            ran = imported(tmp_path, "-m", "crd", "-f", "-q", "-p", folder.name, str(path))
            assert ran.status == 0, ran.err
        for made in sorted((tmp_path / folder.name.replace("-", "_")).rglob("*.k")):
            if made.name in published:
                ours_, theirs_ = _declared([made]), _declared([published[made.name]])
                same += sum(ours_.get(key) == of for key, of in theirs_.items())
                different += sum(ours_.get(key) != of for key, of in theirs_.items())
    assert same > 500
    assert different <= same // 50, (same, different)
