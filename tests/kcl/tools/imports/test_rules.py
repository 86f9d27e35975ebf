"""Rules of CEL become checks that accept and refuse as an API server does, or are told as not held to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kcl.api import ParseCache
from kcl.tools.imports.literals import value as literal
from tests.kcl.conformance import corpus
from tests.kcl.tools.imports.importing import K8S, imported, ours, theirs
from tests.kcl.tools.imports.rule_cases import CASES, definition

_PATH = "models/v1/rules_example_com_v1_ruled.k"


def _imported(folder: Path, of: dict[str, Any]) -> str:
    ran = imported(folder, "-v", "-m", "crd", "-", text=yaml.safe_dump(of))
    assert ran.status == 0, ran.err
    return ran.err


@pytest.mark.parametrize("compiler", [ours, theirs])
def test_rules_are_decided_as_an_api_server_decides_them(compiler: Any, tmp_path: Path) -> None:
    corpus("kcl-modules")
    told = _imported(tmp_path, definition())
    assert "is not checked" not in told
    wrong = []
    main, cache = tmp_path / "main.k", ParseCache()
    for at, case in enumerate(CASES):
        for expected, values in ((True, case.accepted), (False, case.refused)):
            for value in values if compiler is ours else values[:1]:
                written = {"metadata": {"name": "x"}, "spec": {f"c{at}": value}}
                main.write_text(f"import models.v1 as models\nx = models.Ruled {literal(written)}\n")
                more = (cache,) if compiler is ours else ()
                problem = compiler([main], tmp_path, {"k8s": K8S}, *more)
                is_told = f"broken: {at}" in problem or "__dash__" in case.rule  # that one its owner checks
                if expected is not (problem == "") or (problem and not is_told):
                    wrong.append((case.rule, value, expected, problem[-700:]))
    assert wrong == []


_SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {"size": {"type": "integer"}, "when": {"type": "string"}},
}


def _text(folder: Path, *rules: dict[str, str], schema: dict[str, Any] = _SPEC) -> tuple[str, str]:
    """What is written for rules of a spec, and the report."""
    of = definition()
    spec = {**schema, "x-kubernetes-validations": list(rules)}
    of["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = spec
    told = _imported(folder, of)
    return (folder / _PATH).read_text(), told


def test_messages_are_those_of_the_rules(tmp_path: Path) -> None:
    text, told = _text(
        tmp_path,
        {"rule": "self.size < 5", "message": 'too "many" ${x}'},
        {"rule": "self.size > 0"},
        {"rule": "self.size != 3", "messageExpression": "'not ' + string(self.size)", "message": "unused"},
        {"rule": "self.size != 4", "messageExpression": "self.when", "message": "four"},
    )
    assert "is not checked" not in told
    lines = [line.strip() for line in text.splitlines() if "size " in line and " if " in line]
    there = " if size not in [None, Undefined], "
    assert lines == [
        f'size < 5{there}"too \\"many\\" \\${{x}}"',
        f'size > 0{there}"failed rule: self.size > 0"',
        f'size != 3{there}("not " + str(size))',
        f'size != 4{there}(when if (when not in [None, Undefined]) else "four")',
    ]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("self == oldSelf", "it compares with what was there before"),
        ("isIP(self.when)", "isIP is not known here"),
        ("duration(self.when) > duration('1s')", "duration is not known here"),
        ("self.other == 1", "other is not listed in the schema"),
        ("self.size == 'x'", "== of such values is not known here"),
        ("self.size < 1.5", ""),
        ("self.when < 'b'", "< of such values is not known here"),
        ("self.size ==", "'the end' is not expected"),
        ("self.size = 3", "'=' is not expected"),
        ("", "it is empty"),
        ("(" * 4000 + "true" + ")" * 4000, "it is nested too deeply"),
        ("!" * 9000 + "true", "it is nested too deeply"),
        ("true" + " && true" * 2000, "it is too long"),
        ("self" + ".size" * 500 + " == 1", "it is nested too deeply"),
        ("self.size in [" + "1, " * 3000 + "1]", "its condition is too long to be written"),
        ("self.when.matches('(a')", "the pattern (a is not checked, since KCL cannot read it"),
        ("self.when == '\\ud800'", "there is no such character"),
        ("self.size == 99999999999999999999", "it has a value that is not known here"),
        ("self.size == b'x'", "it has a value that is not known here"),
        ("Type{a: 1}.a == 1", "'{' is not expected"),
        ("[1, 2].all(i, v, v > 0)", "a macro with two variables is not known here"),
        ("self.when.lowerAscii() == 'a'", "lowerAscii is not known here"),
    ],
    ids=range(22),
)
def test_what_is_not_translated_is_told_with_the_reason(rule: str, why: str, tmp_path: Path) -> None:
    text, told = _text(tmp_path, {"rule": rule, "message": "no"})
    assert ("is not checked, since" in told) is (why != "")
    assert why in told
    assert why in text


def test_the_name_of_an_object_may_be_asked_for(tmp_path: Path) -> None:
    corpus("kcl-modules")
    of = definition()
    schema = {
        "type": "object",
        "properties": {"spec": _SPEC},
        "x-kubernetes-validations": [{"rule": "self.metadata.name == 'only' && self.kind == 'Ruled'"}],
    }
    of["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    assert "is not checked" not in _imported(tmp_path, of)
    main = tmp_path / "main.k"
    for metadata, expected in (("{name = 'only'}", True), ("{name = 'other'}", False), ("{}", True)):
        main.write_text(f"import models.v1 as models\nx = models.Ruled {{metadata = {metadata}}}\n")
        for compiler in (ours, theirs):
            problem = compiler([main], tmp_path, {"k8s": K8S})
            assert (problem == "") is expected, problem
