"""What a package made of definitions accepts: the objects that their schema accepts, and no others.

The oracle is jsonschema, over the schema written out as JSON Schema: `nullable`, int-or-string, names that are not
listed, formats. What the docstrings say is not held to (rules in CEL, `email`) it does not know either.
"""

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
from kcl.tools.imports.formats import FORMATS, OF_DEFINITIONS
from kcl.tools.imports.literals import value as literal
from kcl.tools.imports.names import group_words, kind_name, schema_name
from tests.json_schema import validator
from tests.kcl.conformance import corpus
from tests.kcl.tools.imports.drawing import CannotDraw, changed, drawn, keys_differ
from tests.kcl.tools.imports.importing import K8S, imported, is_template, ours, theirs

_IS_LONG = os.environ.get("KONFIG_WORKBENCH_SOAK") is not None
_EACH = 1 if _IS_LONG else 9
_OBJECTS, _CHANGES = (12, 6) if _IS_LONG else (3, 4)
_SEED = 18


def as_json_schema(schema: Any, is_branch: bool = False) -> Any:
    """A structural schema as JSON Schema that refuses what an API server does not keep."""
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for word, given in schema.items():
        match word:
            case "properties":
                made[word] = {name: as_json_schema(each, is_branch) for name, each in given.items()}
            case "items" | "additionalProperties":
                made[word] = as_json_schema(given, is_branch)
            case "not":
                made[word] = as_json_schema(given, True)
            case "allOf" | "anyOf" | "oneOf":
                made[word] = [*made.get(word, ()), *(as_json_schema(each, True) for each in given)]
            case "exclusiveMinimum" | "exclusiveMaximum":
                if given is True:
                    made[word] = schema[word.replace("exclusiveM", "m")]
            case "x-kubernetes-int-or-string":
                made["type"] = ["integer", "string"]
            case "x-kubernetes-list-type" if given == "set":
                made["uniqueItems"] = True
            case "type":
                made[word] = given
            case "format" if given in OF_DEFINITIONS:
                made["allOf"] = [*made.get("allOf", ()), {"pattern": FORMATS[given]}]
            case _ if not word.startswith("x-") and word not in ("format", "default", "description"):
                made[word] = given
    if schema.get("x-kubernetes-embedded-resource"):
        made["required"] = sorted({*made.get("required", ()), "apiVersion", "kind"})
        text = {"type": "string"}
        made["properties"] = {
            "apiVersion": {**text, "pattern": "^([^/]+|[^/]*/[^/]*)$"},
            "kind": {**text, "pattern": "^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$"},
            **made.get("properties", {}),
            "metadata": {"type": "object", "propertyNames": {"enum": ["name", "namespace", "labels", "annotations"]}},
        }
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in made
    if not is_branch and (made.get("properties") or schema.get("type") == "object") and not is_open:
        made["additionalProperties"] = False
    if schema.get("nullable") and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    return made


def _defaulted(schema: Any, value: Any) -> Any:
    """The value with the defaults that an API server puts in before it validates."""
    if isinstance(value, dict):
        extra, inner = schema.get("additionalProperties"), schema.get("properties", {})
        made = {
            name: _defaulted(inner.get(name, extra if isinstance(extra, dict) else {}), each)
            for name, each in value.items()
        }
        for name, each in inner.items():
            if name not in made and "default" in each:
                made[name] = _defaulted(each, each["default"])
        return made
    if isinstance(value, list):
        return [_defaulted(schema.get("items", {}), each) for each in value]
    return value


def _kinds(path: Path) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for each in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
        if each and each.get("kind") == "CustomResourceDefinition":
            spec = each["spec"]
            for version in spec.get("versions", []):
                schema = version.get("schema", {}).get("openAPIV3Schema")
                if schema:
                    yield spec["group"], version["name"], spec["names"]["kind"], schema


def _compared(
    path: Path, folder: Path, package: str, rng: random.Random, official_every: int
) -> Iterator[tuple[str, bool, str]]:
    """Each object, whether the oracle accepts it, and what a compiler has against it."""
    cache, packages = ParseCache(), {"k8s": K8S}
    count = 0
    found = list(_kinds(path))
    shared = Counter((version, kind) for _, version, kind in {each[:3] for each in found})
    for group, version, kind, schema in found:
        if shared[version, kind] > 1:  # of two groups: both have their full names
            kind = schema_name(f"{group_words(group)}_{version}_{kind}")
        kind = kind_name(kind)
        plain = as_json_schema(schema)
        for name in ("apiVersion", "kind", "metadata"):
            plain.get("properties", {}).pop(name, None)
        plain["required"] = [
            name for name in plain.get("required", ()) if name not in ("apiVersion", "kind", "metadata")
        ]
        open_ = {
            **schema,
            "properties": {
                name: each for name, each in schema.get("properties", {}).items() if name in plain.get("properties", {})
            },
        }
        oracle = validator(plain)
        candidates = []
        for _ in range(_OBJECTS):
            try:
                good = drawn(plain, rng)
            except CannotDraw:
                continue
            candidates += [good, *(changed(good, plain, rng) for _ in range(_CHANGES))]
        for candidate in candidates:
            if not isinstance(candidate, dict):
                continue
            main, written = folder / "main.k", {"metadata": {"name": "x"}, **candidate}
            main.write_text(f"import {package}.{version} as models\nx = models.{kind} {literal(written)}\n")
            expected = oracle.is_valid(_defaulted(open_, candidate)) and keys_differ(open_, candidate)
            told = f"{group}/{version} {kind} {literal(candidate)}"
            yield told, expected, ours([main], folder, packages, cache)
            count += 1
            if official_every and count % official_every == 0:
                yield f"officially: {told}", expected, theirs([main], folder, packages)


@pytest.mark.slow
def test_packages_accept_what_their_definitions_accept(tmp_path: Path) -> None:
    rng = random.Random(_SEED)
    wrong, counts = [], {True: 0, False: 0}
    found = [each for each in sorted(corpus("crds").rglob("*.yaml")) if not is_template(each)]
    for at, path in enumerate(found[::_EACH]):
        package = f"p{at}"
        assert imported(tmp_path, "-m", "crd", "-p", package, str(path)).status == 0
        for told, expected, problem in _compared(path, tmp_path, package, rng, 10):
            counts[expected] += 1
            if expected is not (problem == ""):
                verdict = "the schema accepts it" if expected else "the schema refuses it"
                wrong.append(f"{path.name}: {verdict}: {told[:1500]}\n{problem[:700]}")
    assert wrong == [], f"{len(wrong)} of {sum(counts.values())}:\n" + "\n".join(wrong[:20])
    assert min(counts.values()) > 50, counts
