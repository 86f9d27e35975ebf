"""What is made of definitions is held to a real API server: rules of CEL, and objects drawn from published schemas."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kcl.api import ParseCache
from kcl.tools.imports.literals import value as literal
from kcl.tools.imports.names import file_stem, group_words, kind_name, package_part, schema_name, snake
from tests.kcl.conformance import corpus
from tests.kcl.tools.imports.api_server import ApiServer, api_server
from tests.kcl.tools.imports.drawing import CannotDraw, changed, drawn
from tests.kcl.tools.imports.importing import K8S, imported, is_template, ours
from tests.kcl.tools.imports.rule_cases import CASES, definition

_EACH = int(os.environ.get("KONFIG_WORKBENCH_DEFINITIONS_EVERY", "9"))
_OBJECTS, _CHANGES = 4, 6


def test_the_table_of_rules_is_what_a_server_decides() -> None:
    server = api_server()
    assert server.define(definition()) == ""
    for at, case in enumerate(CASES):
        for expected, values in ((True, case.accepted), (False, case.refused)):
            for value in values:
                answer = server.create(definition(), "v1", {"spec": {f"c{at}": value}})
                assert answer.is_accepted is expected, (case.rule, value, answer.message)


def _definitions(path: Path) -> Iterator[dict[str, Any]]:
    for each in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
        if each and each.get("kind") == "CustomResourceDefinition":
            yield each


def _candidates(schema: dict[str, Any], rng: random.Random) -> list[dict[str, Any]]:
    names = ("apiVersion", "kind", "metadata")
    plain = {
        **schema,
        "properties": {name: each for name, each in schema.get("properties", {}).items() if name not in names},
        "required": [name for name in schema.get("required", ()) if name not in names],
    }
    found = []
    for _ in range(_OBJECTS):
        try:
            good = drawn(plain, rng)
        except CannotDraw:
            continue
        found += [good, *(changed(good, plain, rng) for _ in range(_CHANGES))]
    return [each for each in found if isinstance(each, dict)]


def compared(
    server: ApiServer, path: Path, folder: Path, package: str, rng: random.Random
) -> Iterator[tuple[str, bool, bool, bool, str]]:
    """Of each object: what it is, whether the server and we accept it, whether something is not held to, and why."""
    cache, packages = ParseCache(), {"k8s": K8S}
    definitions = list(_definitions(path))
    kinds = Counter((v["name"], d["spec"]["names"]["kind"]) for d in definitions for v in d["spec"].get("versions", []))
    for each in definitions:
        problem = server.define(each)
        if problem:
            continue
        group, kind = each["spec"]["group"], each["spec"]["names"]["kind"]
        for version in each["spec"]["versions"]:
            schema = version.get("schema", {}).get("openAPIV3Schema")
            if not schema:
                continue
            name = version["name"]
            full = schema_name(f"{group_words(group)}_{name}_{kind}")
            known_as = full if kinds[name, kind] > 1 else kind_name(kind)
            stem = file_stem(f"{group_words(group)}_{name}_{snake(kind)}".lower())
            told = "Not held to here" in (folder / package / package_part(name) / f"{stem}.k").read_text()
            for candidate in _candidates(schema, rng):
                if "status" in version.get("subresources", {}):
                    candidate.pop("status", None)  # a server drops it unseen when an object is created
                answer = server.create(each, name, candidate)
                written = literal({"metadata": {"name": "x"}, **candidate})
                main = folder / "main.k"
                main.write_text(f"import {package}.{package_part(name)} as models\nx = models.{known_as} {written}\n")
                found = ours([main], folder, packages, cache)
                yield f"{group}/{name} {written}", answer.is_accepted, found == "", told, answer.message or found


@pytest.mark.slow
def test_published_definitions_are_held_to_as_a_server_holds_to_them(tmp_path: Path) -> None:
    """`KONFIG_WORKBENCH_DEFINITIONS_EVERY=1` takes them all."""
    server, rng = api_server(), random.Random(7)
    found = [each for each in sorted(corpus("crds").rglob("*.yaml")) if not is_template(each)][::_EACH]
    counts: Counter[tuple[bool, bool]] = Counter()
    wrong = []
    for at, path in enumerate(found):
        assert imported(tmp_path, "-m", "crd", "-p", f"p{at}", str(path)).status == 0
        for told, theirs_, ours_, is_told, why in compared(server, path, tmp_path, f"p{at}", rng):
            counts[theirs_, ours_] += 1
            if theirs_ is not ours_ and (theirs_ or not is_told):
                wrong.append(
                    f"{path.name}: {'the server accepts' if theirs_ else 'we accept'}: {told[:900]}\n{why[:600]}"
                )
    assert wrong == [], f"{len(wrong)} of {counts}:\n" + "\n".join(wrong[:20])
    assert min(counts[True, True], counts[False, False]) > 20, counts
