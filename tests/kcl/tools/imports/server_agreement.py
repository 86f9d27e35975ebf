"""What an API server and packages made by `kcl import` say of the same objects, and how the two differ.

`python -m tests.kcl.tools.imports.server_agreement [FILES | built-in]` sends objects of every published definition, or
of the kinds that the server has by itself, to the server of `KONFIG_WORKBENCH_API_SERVER`, and prints how many are
judged alike, and of each kind of difference how many and the first ones.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from kcl.api import ParseCache
from kcl.tools.imports.literals import value as literal
from kcl.tools.imports.names import file_stem, group_words, kind_name, package_part, schema_name, snake
from tests.json_schema import validator
from tests.kcl.conformance import corpus
from tests.kcl.tools.imports.api_server import Answer, ApiServer, api_server
from tests.kcl.tools.imports.built_in_objects import OBJECTS
from tests.kcl.tools.imports.drawing import CannotDraw, changed, drawn, keys_differ
from tests.kcl.tools.imports.importing import K8S, imported, is_template, ours

_FORMAT: Final = re.compile(r"must be of type (?!string|integer|object|array|number|boolean)([\w-]+)")
_MOST_DEPTH: Final = 3


@dataclass(frozen=True, slots=True)
class Judged:
    """`notes` are what the docstrings of the package say it does not hold to, `problem` what our compiler says.

    `fits_document` is what jsonschema says of an object, by what the server itself says of its kind.
    """

    told: str
    answer: Answer
    problem: str
    notes: str
    fits_document: bool
    is_built_in: bool = False

    @property
    def is_alike(self) -> bool:
        return self.answer.is_accepted is (self.problem == "")

    @property
    def difference(self) -> str:
        """Of which kind a difference is."""
        if self.answer.is_accepted:
            return "the server accepts it" if self.fits_document else "its own document refuses it"
        if self.answer.status == 400 and not (self.is_built_in and self.fits_document):
            return "the server cannot decode it"
        return next((name for name, test in DEFENDED.items() if test(self)), "another reason of the server")


def _is_noted_rule(of: Judged) -> bool:
    said = " ".join(of.notes.split())
    return any(cause and cause in said for cause in map(_cause, of.answer.causes))


def _cause(text: str) -> str:
    """What a cause says, without the value that it is about."""
    return " ".join(text.rpartition('": ')[2].split())


DEFENDED: Final = {
    "a rule in CEL that is noted": _is_noted_rule,
    "a format": lambda of: _FORMAT.search(of.answer.message) is not None,
    "code of the server": lambda of: of.is_built_in and of.fits_document,
    "its own document refuses it": lambda of: False,
}
"""Why an object is refused that the package accepts, where docs/import.md says so."""


def definitions(path: Path) -> Iterator[dict[str, Any]]:
    for each in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
        if each and each.get("kind") == "CustomResourceDefinition":
            yield each


def _candidates(schema: dict[str, Any], rng: random.Random, objects: int, changes: int) -> list[dict[str, Any]]:
    names = ("apiVersion", "kind", "metadata")
    plain = {
        **schema,
        "properties": {name: each for name, each in schema.get("properties", {}).items() if name not in names},
        "required": [name for name in schema.get("required", ()) if name not in names],
    }
    found = []
    for _ in range(objects):
        try:
            good = drawn(plain, rng)
        except CannotDraw:
            continue
        found += [good, *(changed(good, plain, rng) for _ in range(changes))]
    return [each for each in found if isinstance(each, dict)]


def of_definitions(
    server: ApiServer, path: Path, folder: Path, package: str, rng: random.Random, objects: int = 4, changes: int = 6
) -> Iterator[Judged]:
    """Objects of the definitions in a file, which is imported as a package of this folder."""
    assert imported(folder, "-m", "crd", "-p", package, str(path)).status == 0
    cache, packages = ParseCache(), {"k8s": K8S}
    known = list(definitions(path))
    every = {
        (d["spec"]["group"], v["name"], d["spec"]["names"]["kind"])
        for d in known
        for v in d["spec"].get("versions", [])
    }
    kinds = Counter((name, kind) for _, name, kind in every)
    for each in known:
        if server.define(each):
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
            text = (folder / package / package_part(name) / f"{stem}.k").read_text()
            notes = "\n".join(line for line in text.splitlines() if "Not held to here" in line)
            oracle = validator({name: each for name, each in schema.items() if name != "required"})
            for candidate in _candidates(schema, rng, objects, changes):
                if "status" in version.get("subresources", {}):
                    candidate.pop("status", None)  # a server drops it unseen when an object is created
                answer = server.create(each, name, candidate)
                written = literal({"metadata": {"name": "x"}, **candidate})
                main = folder / "main.k"
                main.write_text(f"import {package}.{package_part(name)} as models\nx = models.{known_as} {written}\n")
                problem = ours([main], folder, packages, cache)
                fits = oracle.is_valid(candidate)
                yield Judged(f"{group}/{name} {kind} {written}", answer, problem, notes, fits)


# --- Kinds that a server has by itself ---

_MADE_BY_SERVER: Final = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")


def of_built_in_kinds(server: ApiServer, folder: Path, rng: random.Random, changes: int) -> Iterator[Judged]:
    """Objects that the server accepts, as written and as it fills them in, and each with one change at a time.

    The package is made of the OpenAPI documents that the server gives.
    """
    documents = _documents(server)
    (folder / "openapi").mkdir()
    for at, document in enumerate(documents.values()):
        (folder / "openapi" / f"{at}.json").write_text(json.dumps(document))
    ran = imported(folder, "-m", "openapi", "-p", "k8s", str(folder / "openapi"))
    assert ran.status == 0, ran.err
    scratch = folder / "scratch"
    scratch.mkdir()
    main, cache = scratch / "main.k", ParseCache()
    for written in yaml.safe_load_all(OBJECTS):
        version, kind = written["apiVersion"], written["kind"]
        path = server.path_of(version, kind)
        first = server.request("POST", f"{path}?dryRun=All&fieldValidation=Strict", written)
        assert first.is_accepted, (version, kind, first.message)
        document = documents["api/v1" if version == "v1" else f"apis/{version}"]
        package, name, schema = _schema_of(document, version, kind)
        for good in (written, _as_written(first.body)):
            opened = _opened(schema, document, good, 0)
            oracle = validator(opened)
            for candidate in (good, *(changed(good, opened, rng) for _ in range(changes))):
                if (candidate.get("apiVersion"), candidate.get("kind")) != (version, kind):
                    continue  # the package says these itself
                if isinstance(candidate.get("metadata"), dict):
                    candidate["metadata"].pop("namespace", None)  # the path says it
                answer = server.request("POST", f"{path}?dryRun=All&fieldValidation=Strict", candidate)
                content = literal({key: each for key, each in candidate.items() if key not in ("apiVersion", "kind")})
                main.write_text(f"import {package} as models\nx = models.{name} {content}\n")
                problem = ours([main], scratch, {"k8s": folder / "k8s"}, cache)
                said = _said(candidate)
                fits = oracle.is_valid(said) and keys_differ(opened, said)
                yield Judged(f"{version} {kind} {content}", answer, problem, "", fits, True)


def _documents(server: ApiServer) -> dict[str, dict[str, Any]]:
    """The OpenAPI documents of the groups and versions of which an object is sent, by their path."""
    paths = {each["apiVersion"] for each in yaml.safe_load_all(OBJECTS)}
    wanted = sorted("api/v1" if each == "v1" else f"apis/{each}" for each in paths)
    return {each: server.request("GET", f"/openapi/v3/{each}").body for each in wanted}


def _as_written(answered: Mapping[str, Any]) -> dict[str, Any]:
    """An object as somebody would write it who knows all that the server fills in."""
    metadata = {name: each for name, each in answered["metadata"].items() if name not in _MADE_BY_SERVER}
    return {**{name: each for name, each in answered.items() if name != "status"}, "metadata": metadata}


def _said(value: Any) -> Any:
    """Without what is null: to KCL and to the server it is not there."""
    if isinstance(value, dict):
        return {name: _said(each) for name, each in value.items() if each is not None}
    return [_said(each) for each in value] if isinstance(value, list) else value


def _schema_of(document: Mapping[str, Any], version: str, kind: str) -> tuple[str, str, dict[str, Any]]:
    """The package and the name of the schema of a kind, and what the document says of it."""
    group, _, own = version.rpartition("/")
    wanted = {"group": group, "version": own, "kind": kind}
    for name, each in document["components"]["schemas"].items():
        if each.get("x-kubernetes-group-version-kind") == [wanted]:
            *parts, schema = name.removeprefix("io.k8s.").split(".")
            return ".".join(("k8s", *map(package_part, parts))), schema_name(schema), each
    raise AssertionError(f"there is no {version} {kind} in the document")


def _opened(schema: dict[str, Any], document: Mapping[str, Any], value: Any, depth: int) -> dict[str, Any]:
    """The schema without references, as deep as the value is and a little deeper."""
    references = [schema, *schema.get("allOf", ())]
    for each in references:
        if "$ref" in each:
            schema = document["components"]["schemas"][each["$ref"].rpartition("/")[2]]
    if value is None:
        depth += 1
        if depth > _MOST_DEPTH:
            return {"type": schema.get("type", "string"), "required": schema.get("required", [])}
    made = dict(schema)
    made["uniqueItems"] = schema.get("x-kubernetes-list-type") == "set"
    if "properties" in schema:
        inner = value if isinstance(value, dict) else {}
        made["properties"] = {
            name: _opened(each, document, inner.get(name), depth) for name, each in schema["properties"].items()
        }
    if isinstance(schema.get("items"), dict):
        items = value if isinstance(value, list) and value else [None]
        made["items"] = _opened(schema["items"], document, items[0], depth)
    if isinstance(schema.get("additionalProperties"), dict):
        values = list(value.values()) if isinstance(value, dict) and value else [None]
        made["additionalProperties"] = _opened(schema["additionalProperties"], document, values[0], depth)
    return made


# --- Figures ---


def main() -> None:
    server, rng = api_server(), random.Random(7)
    is_built_in = sys.argv[1:] == ["built-in"]
    paths = [] if is_built_in else [Path(each) for each in sys.argv[1:]] or sorted(corpus("crds").rglob("*.yaml"))
    counts: Counter[str] = Counter()
    differing: dict[str, list[Judged]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        for at, path in enumerate(each for each in paths if not is_template(each)):
            folder = Path(scratch, str(at))
            folder.mkdir()
            _count(of_definitions(server, path, folder, "p", rng), "definitions", counts, differing)
        if is_built_in:
            folder = Path(scratch, "built_in")
            folder.mkdir()
            _count(
                of_built_in_kinds(server, folder, rng, int(os.environ.get("KONFIG_WORKBENCH_CHANGES", "20"))),
                "built in",
                counts,
                differing,
            )
    for name, found in differing.items():
        for each in found[:40]:
            told = each.problem[-700:] if each.answer.is_accepted else each.answer.message[:500]
            sys.stdout.write(f"=== {name}: {each.told[:700]}\n{told}\n")
    sys.stdout.writelines(f"{name}: {count}\n" for name, count in sorted(counts.items()))


def _count(judged: Iterator[Judged], of: str, counts: Counter[str], differing: dict[str, list[Judged]]) -> None:
    for each in judged:
        verdict = "accepted" if each.answer.is_accepted else "refused"
        if each.is_alike:
            counts[f"{of}: {verdict} by both"] += 1
        else:
            name = f"{of}: {each.difference}"
            counts[name] += 1
            differing[name].append(each)


if __name__ == "__main__":
    main()
