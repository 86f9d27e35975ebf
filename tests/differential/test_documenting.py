"""Attributes on pages of `kcl doc` beside those of the official `get_schema_type_mapping`.

Where they differ on purpose: an attribute that a schema requires and its base does not is required, as it is when the
program runs; default and documentation of such as `type` and `schema`, keywords, and of names with dots are told.
`python -m tests.differential.test_documenting FOLDER [NAME=FOLDER]` compares all packages below a folder.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kcl.secrecy.rules import MASK
from kcl.tools.doc import documentation
from kcl.tools.doc.model import Attribute, Package, Schema
from tests.kcl.conformance import ROOT, corpus

official = pytest.importorskip("kcl_lib.api", reason="the official KCL compiler is not installed")


def mapping(package: Package, packages: Mapping[str, str]) -> dict[str, Any]:
    """The official types of a package's own schemas; {} where the official compiler finds none."""
    files = [os.path.join(package.module, each) for each in package.files]
    external = [official.ExternalPkg(pkg_name=name, pkg_path=folder) for name, folder in packages.items()]
    program = official.ExecProgramArgs(k_filename_list=files, work_dir=package.module, external_pkgs=external)
    try:
        asked = official.GetSchemaTypeMappingArgs(exec_args=program)
        found = official.API().get_schema_type_mapping(asked).schema_type_mapping
    except Exception:  # whatever it is, there is nothing to compare with
        return {}
    return {name: each for name, each in found.items() if each.pkg_path in ("", "__main__")}


def attributes(schema: Schema) -> dict[str, Attribute]:
    every = [*schema.attributes, *(each for group in schema.inherited for each in group.attributes)]
    return {each.name: each for each in every if each.type and not each.is_conditional}


def compared(folder: Path, packages: Mapping[str, str]) -> tuple[Counter[str], list[str]]:
    """How many were compared, and what differs."""
    counts: Counter[str] = Counter()
    differences: list[str] = []
    for package in documentation(cwd=folder).library.packages:
        theirs = mapping(package, packages)
        for schema in package.schemas:
            if schema.name not in theirs or schema.kind == "rule" or schema.unknown_bases:
                counts["not compared"] += 1
                continue
            counts["schemas"] += 1
            ours, said = attributes(schema), theirs[schema.name].properties
            where = f"{package.name}.{schema.name}"
            if set(ours) != set(said):
                differences.append(f"{where}: attributes {sorted(set(ours) ^ set(said))}")
            for name in sorted(set(ours) & set(said)):
                counts["attributes"] += 1
                differences += [f"{where}.{name}: {each}" for each in differing(ours[name], said[name])]
    return counts, differences


def differing(ours: Attribute, theirs: Any) -> list[str]:
    found = []
    default, said = squeezed(ours.default or ""), squeezed(theirs.default)
    if default != said and MASK not in default and said not in ("", "Undefined"):
        found.append(f"default {default[:60]} {said[:60]}")
    doc, told = " ".join(" ".join(each.text for each in ours.doc).split()), " ".join(theirs.description.split())
    if doc != told and told and MASK not in doc:
        found.append(f"doc {doc[:60]} {told[:60]}")
    return found


def squeezed(text: str) -> str:
    """Without white space, and without what the official printer writes otherwise in a configuration."""
    return "" if "{" in text else "".join(text.split())


def test_attributes_of_the_sample_repository() -> None:
    counts, differences = compared(ROOT / "sample-konfig", {})
    assert differences == []
    assert counts["schemas"] > 50 and counts["attributes"] > 200 and counts["not compared"] == 0


def test_attributes_of_konfig() -> None:
    packages = {"k8s": str(corpus("kcl-modules") / "k8s" / "1.31")}
    counts, differences = compared(corpus("konfig-2025") / "konfig", packages)
    assert differences == []
    assert counts["schemas"] > 60 and counts["attributes"] > 300


@pytest.mark.parametrize("name", ["k8s/1.31/api/apps", "argo-cd-order", "baremetal-operator", "flagger", "podinfo"])
def test_attributes_of_published_packages(name: str) -> None:
    folder = corpus("kcl-modules") / name
    if not folder.is_dir():
        pytest.skip(f"{name} is not among the published packages here")
    counts, differences = compared(folder, {})
    assert differences == []
    assert counts["schemas"] > 0


def main() -> None:
    packages = dict(each.split("=", 1) for each in sys.argv[2:])
    counts, differences = compared(Path(sys.argv[1]), packages)
    sys.stdout.write("".join(f"{each}\n" for each in differences) + f"{dict(counts)}\n")


if __name__ == "__main__":
    main()
