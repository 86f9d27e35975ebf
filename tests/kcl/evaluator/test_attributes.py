"""Attributes of values whose type is known only when the program runs, by closures and by generated code."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.kcl.compiler.both_ways import same
from tests.kcl.evaluator.conftest import Values

_SCHEMAS = {
    "plain": "schema A:\n    given: int = 1\n    absent?: int\n",
    "derived": "schema B:\n    absent?: int\nschema A(B):\n    given: int = 1\n",
    "mixed in": "schema OwnMixin:\n    absent?: int\nschema A:\n    mixin [OwnMixin]\n    given: int = 1\n",
    "index signature": "schema A:\n    [str]: int\n    given: int = 1\n    absent?: int\n",
    "conditional": "schema A:\n    given: int = 1\n    if given > 5:\n        absent = 1\n",
    "parameter": "schema A[size=3]:\n    given: int = 1\n    absent?: int = size\n",
}
_READS = {
    "selector": "r = [f(x) for x in list]\nf = lambda v {\n    v.NAME\n}\n",
    "optional": "r = [f(x) for x in list]\nf = lambda v {\n    v?.NAME\n}\n",
    "in a text": 'r = [f(x) for x in list]\nf = lambda v {\n    {text = "<${v.NAME}>"}\n}\n',
    "called": "r = [f(x) for x in list]\nf = lambda v {\n    len(str(v.NAME))\n}\n",
    "of a variable": "a: any = list[0]\nr = [a.NAME]\n",
    "of an item": "r = [x.NAME for x in list]\n",
    "in a configuration": "r = [{k = x?.NAME} for x in list]\n",
    "quantified": "r = all x in list { x.NAME == x.NAME }\n",
    "untyped attribute": "schema Of:\n    one: any\n    read = one.NAME\nr = [Of {one = x} for x in list]\n",
    "check": "schema Of:\n    one: any\n    check:\n        one.NAME != 7\nr = [Of {one = x} for x in list]\n",
}
_NOWHERE = ("givn", "size", "_hidden", "upper", "instances")
_INSTANCES = "list: any = [A {}, A {given = 2}, A {given = 3}]\n"


@pytest.mark.parametrize(("schema", "read"), product(_SCHEMAS, _READS))
def test_an_instance_has_the_attributes_of_its_schema_and_no_others(
    monkeypatch: pytest.MonkeyPatch, schema: str, read: str
) -> None:
    def outcome(name: str) -> Any:
        program = _SCHEMAS[schema] + _INSTANCES + _READS[read].replace("NAME", name)
        return program, same(monkeypatch, files=["main.k"], work_dir="/w", texts={"main.k": program})

    for name in ("given", "absent"):
        assert len(outcome(name)[1]) == 4, name
    name = _NOWHERE[(list(_SCHEMAS).index(schema) + list(_READS).index(read)) % len(_NOWHERE)]
    program, refused = outcome(name)
    assert f"schema 'A' attribute '{name}' not found" in refused[0]
    line = next(at for at, text in enumerate(program.splitlines(), 1) if f".{name}" in text)
    assert f"main.k:{line}:" in refused[0]


@pytest.mark.parametrize("read", _READS)
def test_a_key_that_a_configuration_does_not_have_is_undefined(monkeypatch: pytest.MonkeyPatch, read: str) -> None:
    program = "list: any = [{given = 1}, {}]\n" + _READS[read].replace("NAME", "absent")
    assert len(same(monkeypatch, files=["main.k"], work_dir="/w", texts={"main.k": program})) == 4


def test_keys_that_an_index_signature_admitted_are_attributes(values: Values) -> None:
    program = _SCHEMAS["index signature"] + "a: any = A {extra = 5}\nb = a.extra\nc = a?.extra\nd = a['missing']\n"
    assert values(program) == {"a": {"given": 1, "extra": 5}, "b": 5, "c": 5}


@pytest.mark.parametrize("change", ["_a.nope += 1", "_a.inner.nope += 1"])
def test_what_is_added_to_must_be_there(finding: Values, change: str) -> None:
    program = f"schema A:\n    given: int = 1\n    inner?: any\n_a: any = A {{inner = A {{}}}}\n{change}\n"
    assert finding(program) == ("E3M38", "schema 'A' attribute 'nope' not found", 5, 1)
    inside = program.replace(change, f"f = lambda _a {{\n    {change}\n    _a\n}}\nb = f(_a)")
    assert finding(inside) == ("E3M38", "schema 'A' attribute 'nope' not found", 6, 5)
