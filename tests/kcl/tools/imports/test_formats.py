"""Formats of texts are held to as an API server holds to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kcl.stdlib.patterns import compiled
from kcl.tools.imports.formats import FORMATS, OF_DEFINITIONS, QUANTITY
from kcl.tools.imports.literals import value as literal
from tests.kcl.conformance import corpus
from tests.kcl.tools.imports.api_server import api_server
from tests.kcl.tools.imports.format_cases import ACCEPTED, TEXTS, UNKNOWN, definition
from tests.kcl.tools.imports.importing import K8S, imported, ours, theirs


@pytest.mark.parametrize("name", sorted(OF_DEFINITIONS))
def test_texts_have_the_formats_that_a_server_sees_in_them(name: str) -> None:
    expression = compiled(FORMATS[name])
    assert [each for each in TEXTS if expression.search(each)] == [each for each in TEXTS if each in ACCEPTED[name]]


def test_the_table_of_formats_is_what_a_server_decides() -> None:
    server = api_server()
    assert server.define(definition()) == ""
    for at, name in enumerate((*ACCEPTED, *UNKNOWN)):
        for text in TEXTS:
            answer = server.create(definition(), "v1", {"spec": {f"f{at}": text}})
            assert answer.is_accepted is (text in ACCEPTED.get(name, TEXTS)), (name, text, answer.message)


@pytest.mark.parametrize("compiler", [ours, theirs])
def test_formats_are_checked_in_both_compilers(compiler: Any, tmp_path: Path) -> None:
    corpus("kcl-modules")
    ran = imported(tmp_path, "-v", "-m", "crd", "-", text=yaml.safe_dump(definition()))
    assert (ran.status, "is not checked" in ran.err) == (0, False), ran.err
    main = tmp_path / "main.k"
    wrong = {name: next(each for each in reversed(TEXTS) if each not in ACCEPTED[name]) for name in ACCEPTED}
    good = {f"f{at}": ACCEPTED[name][0] for at, name in enumerate(ACCEPTED)}
    good |= {f"f{len(ACCEPTED) + at}": "any text" for at, _ in enumerate(UNKNOWN)}
    changed = [{**good, f"f{at}": wrong[name]} for at, name in enumerate(ACCEPTED)]
    for spec in (good, *(changed if compiler is ours else changed[:3])):
        written = literal({"metadata": {"name": "x"}, "spec": spec})
        main.write_text(f"import models.v1 as models\nx = models.Formatted {written}\n")
        problem = compiler([main], tmp_path, {"k8s": K8S})
        assert (problem == "") is (spec is good), (spec, problem)


@pytest.mark.parametrize("name", ["email", "hostname"])
def test_what_a_server_holds_to_and_nothing_here_says_is_told(name: str, tmp_path: Path) -> None:
    of = definition()
    schema = of["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"] = {"x": {"type": "string", "format": name}}
    assert (
        f"the format {name} is not checked" in imported(tmp_path, "-v", "-m", "crd", "-", text=yaml.safe_dump(of)).err
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(
            (each, True)
            for each in ("1", "0.5", ".5", "5.", "+1", "-1", "10m", "1Gi", "1e3", "1E-3", "100M", "5k", "1n")
        ),
        *(
            (each, False)
            for each in ("", "1GiB", "1gi", "1 Gi", "ten", "1K i", "0x10", "1e", ".", "1.2.3", "1K5", "1Mi!")
        ),
    ],
)
def test_quantities(text: str, expected: bool) -> None:
    assert bool(compiled(QUANTITY).search(text)) is expected


def test_quantities_bytes_and_times_of_built_in_kinds_are_held_to(tmp_path: Path) -> None:
    folder = corpus("kube-api-1.34") / "openapi"
    for name in ("api_v1", "apis_coordination.k8s.io_v1"):
        assert imported(tmp_path, "-q", "-m", "openapi", "-p", "k8s", "-f", str(folder / f"{name}.json")).status == 0
    main = tmp_path / "scratch" / "main.k"
    main.parent.mkdir()
    secret, lease = "core.Secret {data = {a = %s}}", "times.Lease {spec = {renewTime = %s}}"
    quota = "core.ResourceQuota {spec = {hard = {cpu = %s}}}"
    good = ((secret, '"aGk="'), (secret, '"aG\\nk="'), (secret, '""'), (quota, "1"), (quota, '"10m"'), (quota, "0.5"),
            (lease, '"2024-01-01T00:00:00.5Z"'))  # fmt: skip
    bad = ((secret, '"hi!"'), (secret, '"aGk"'), (quota, '"1GiB"'), (quota, "True"), (lease, '"2024-01-01"'))
    for text, written in (*good, *bad):
        imports = "import k8s.api.core.v1 as core\nimport k8s.api.coordination.v1 as times\n"
        main.write_text(f"{imports}x = {text % written}\n")
        problem = ours([main], main.parent, {"k8s": tmp_path / "k8s"})
        assert (problem == "") is ((text, written) in good), (written, problem)
