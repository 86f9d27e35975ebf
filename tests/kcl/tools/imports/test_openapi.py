"""OpenAPI 2 and 3: one file of all definitions, and Kubernetes' own as the package k8s."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kcl.conformance import corpus
from tests.kcl.tools.imports.importing import imported, ours, theirs

_SCHEMAS: dict[str, Any] = {
    "Pet": {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "nullable": True},
            "owner": {"$ref": "PLACE/Owner"},
            "class": {"type": "string", "enum": ["cat", "dog"]},
        },
    },
    "Owner": {"type": "object", "properties": {"pets": {"type": "array", "items": {"$ref": "PLACE/Pet"}}}},
    "Cat": {
        "allOf": [{"$ref": "PLACE/Pet"}, {"type": "object", "properties": {"lives": {"type": "integer", "maximum": 9}}}]
    },
}


@pytest.mark.parametrize("notation", ["2.0", "3.0.3", "3.1.0"])
def test_definitions_refer_to_each_other(notation: str, tmp_path: Path) -> None:
    is_old = notation == "2.0"
    schemas = json.loads(json.dumps(_SCHEMAS).replace("PLACE", "#/definitions" if is_old else "#/components/schemas"))
    document = (
        {"swagger": "2.0", "definitions": schemas}
        if is_old
        else {"openapi": notation, "components": {"schemas": schemas}}
    )
    (tmp_path / "pets.json").write_text(json.dumps(document))
    ran = imported(tmp_path, "pets.json")
    assert ran.status == 0, ran.err
    accepted = [
        'x = models.Pet {name = "a", owner = {pets = [{name = "b"}]}}',
        'x = models.Cat {name = "a", lives = 9, owner = {pets = []}}',
    ]
    refused = [
        "x = models.Pet {owner = {}}",
        'x = models.Cat {name = "a", lives = 10}',
        'x = models.Pet {name = "a", class = "x"}',
    ]
    main = tmp_path / "main.k"
    for text in (*accepted, *refused):
        main.write_text(f"import models\n{text}\n")
        for compiler in (ours, theirs):
            assert (compiler([main], tmp_path, {}) == "") is (text in accepted), text


@pytest.mark.slow
def test_the_package_k8s_compiles_in_both_compilers(tmp_path: Path) -> None:
    folder = corpus("kube-api-1.34") / "openapi"
    ran = imported(tmp_path, "-m", "openapi", "-p", "k8s", str(folder))
    assert ran.status == 0, ran.err
    root = tmp_path / "k8s"
    packages = sorted({path.parent for path in root.rglob("*.k")})
    assert len(packages) > 10
    names = [each.relative_to(tmp_path).as_posix().replace("/", ".") for each in packages]
    lines = [f"import {name} as m{at}\n" for at, name in enumerate(names)]
    apps, core, meta = (
        names.index(f"k8s.{each}") for each in ("api.apps.v1", "api.core.v1", "apimachinery.pkg.apis.meta.v1")
    )
    good = (
        f"x = m{apps}.Deployment {{metadata.name = 'a', "
        f"spec = {{selector.matchLabels = {{a = 'b'}}, template.spec.containers"
        f" = [{{name = 'c', ports = [{{containerPort = 80}}], resources.limits = {{cpu = '1', memory = 5}}}}]}}}}\n"
        f"y = m{core}.Service {{spec.ports = [{{port = 80, targetPort = 'http'}}]}}\n"
        f"z = m{meta}.ObjectMeta {{name = 'a'}}\n"
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    main = scratch / "main.k"
    for text, is_good in ((good, True), (good.replace("containerPort = 80", "containerPort = '80'"), False)):
        main.write_text("".join(lines) + text)
        for compiler in (ours, theirs):
            problem = compiler([main], scratch, {"k8s": root})
            assert (problem == "") is is_good, problem
