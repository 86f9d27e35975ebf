"""Packages that were published of the same definitions accept what ours accept; ours refuse more of what is wrong."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcl.api import ParseCache
from kcl.tools.imports.literals import value as literal
from kcl.tools.imports.names import file_stem, group_words, kind_name, package_part, snake
from tests.conformance.test_what_imported_crds_accept import as_json_schema
from tests.json_schema import validator
from tests.kcl.conformance import corpus
from tests.kcl.tools.imports.drawing import CannotDraw, changed, drawn
from tests.kcl.tools.imports.importing import K8S, imported, is_template, ours
from tests.kcl.tools.imports.server_agreement import definitions

_EACH = 1 if os.environ.get("KONFIG_WORKBENCH_SOAK") is not None else 8
_CHANGES = 4
_SKIPPED = ("karpenter",)
"""Published from other definitions."""


def _objects(schema: dict[str, Any], rng: random.Random) -> Iterator[tuple[dict[str, Any], bool]]:
    """Objects, and whether the schema accepts them."""
    plain = as_json_schema(schema)
    for name in ("apiVersion", "kind", "metadata"):
        plain.get("properties", {}).pop(name, None)
    plain["required"] = [name for name in plain.get("required", ()) if name in plain.get("properties", {})]
    oracle = validator(plain)
    try:
        good = drawn(plain, rng)
    except CannotDraw:
        return
    for each in (good, *(changed(good, plain, rng) for _ in range(_CHANGES))):
        if isinstance(each, dict):
            yield each, oracle.is_valid(each)


def compared(path: Path, published: Path, folder: Path, package: str, rng: random.Random) -> Iterator[tuple[str, ...]]:
    """Of each object: what it is, what the schema, our package and the published one say, and why it is refused."""
    assert imported(folder, "-m", "crd", "-q", "-p", package, str(path)).status == 0
    cache, main = ParseCache(), folder / "main.k"
    packages = {"k8s": K8S, "published": published}
    for each in definitions(path):
        group, kind = each["spec"]["group"], each["spec"]["names"]["kind"]
        for version in each["spec"]["versions"]:
            part = package_part(version["name"])
            stem = file_stem(f"{group_words(group)}_{version['name']}_{snake(kind)}".lower())
            schema = version.get("schema", {}).get("openAPIV3Schema")
            made, theirs = folder / package / part / f"{stem}.k", published / part / f"{stem}.k"
            if not schema or not theirs.is_file() or f"schema {kind_name(kind)}:" not in theirs.read_text():
                continue
            if f"schema {kind_name(kind)}:" not in made.read_text():
                continue  # two groups have the kind
            for content, is_valid in _objects(schema, rng):
                written = literal({"metadata": {"name": "x"}, **content})
                said = []
                for name in (package, "published"):
                    main.write_text(f"import {name}.{part} as models\nx = models.{kind_name(kind)} {written}\n")
                    said.append(ours([main], folder, packages, cache))
                verdicts = ("valid" if is_valid else "invalid", *("refused" if each else "accepted" for each in said))
                yield f"{group}/{version['name']} {kind} {written}", *verdicts, said[0], said[1]


@pytest.mark.slow
def test_published_packages_accept_what_ours_accept(tmp_path: Path) -> None:
    rng = random.Random(3)
    counts: Counter[str] = Counter()
    wrong = []
    paths = [each for each in sorted(corpus("crds").rglob("*.yaml")) if not is_template(each)][::_EACH]
    for at, path in enumerate(paths):
        name = path.relative_to(corpus("crds")).parts[0]
        published = corpus("kcl-modules") / name
        if published.is_dir() and name not in _SKIPPED:
            for told, schema, mine, other, why, _ in compared(path, published, tmp_path, f"p{at}", rng):
                counts[f"{schema}: ours {mine}, published {other}"] += 1
                if schema == "valid" and mine == "refused" and other == "accepted":
                    wrong.append(f"{told[:600]}\n{why[:400]}")
    assert counts["valid: ours accepted, published accepted"] > 20, counts
    assert wrong == [], f"{counts}\n" + "\n".join(wrong[:10])
    if os.environ.get("KONFIG_WORKBENCH_SOAK") is not None:
        print("\n".join(f"{name}: {count}" for name, count in sorted(counts.items())))  # noqa: T201
