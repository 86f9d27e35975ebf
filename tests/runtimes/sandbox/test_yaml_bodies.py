"""Bodies in YAML: what came twice is found by its line, keys are text as in JSON."""

from __future__ import annotations

import pytest

from runtimes.sandbox import decode
from runtimes.sandbox.api import yaml_bodies
from runtimes.sandbox.api.requests import read_applied, read_object
from runtimes.sandbox.errors import ApiError

from .kinds import CONFIG_MAP

TWICE = b'kind: ConfigMap\nmetadata:\n  name: b\n  labels: {a: b, a: c}\n  name: b\ndata:\n  x: "1"\n  x:\n    "2"\n'


def test_what_came_twice_is_told_of_by_its_line_and_the_inner_first() -> None:
    assert yaml_bodies.repeated(TWICE) == [
        'line 4: key "a" already set in map',
        'line 5: key "name" already set in map',
        'line 9: key "x" already set in map',
    ]
    assert yaml_bodies.repeated(b"yes: 1\ntrue: 2\n") == ["line 2: key true already set in map"]
    assert yaml_bodies.repeated(b'{"a": 1,\n"b": [{"c": 1, "c": 2}]}') == ['line 2: key "c" already set in map']


def test_many_aliases_of_one_node_are_looked_at_once() -> None:
    lines = ["a0: &a0 {x: 1}"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    assert yaml_bodies.repeated("\n".join(lines).encode()) == []


def test_keys_are_text() -> None:
    assert yaml_bodies.read(b"yes: a\n3: b\n1.5: {2: c}\n") == {"true": "a", "3": "b", "1.5": {"2": "c"}}


def test_lines_come_before_unknown_fields() -> None:
    body = read_object(b"kind: ConfigMap\nodd: 1\n" + TWICE, "application/yaml", "ConfigMap")
    read = decode.check(CONFIG_MAP, body)
    assert [each.partition(":")[0] for each in read.repeated] == ["line 3", "line 6", "line 7", "line 11"]
    assert read.strict == ['unknown field "odd"']


def test_an_apply_is_refused_only_where_it_is_strict() -> None:
    warnings: list[str] = []
    assert read_applied(TWICE, "Ignore", warnings)["data"] == {"x": "2"}
    assert warnings == []
    read_applied(TWICE, "Warn", warnings)
    assert len(warnings) == 3
    with pytest.raises(ApiError) as refused:
        read_applied(TWICE, "Strict", [])
    assert refused.value.message == (
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n"
        '  line 4: key "a" already set in map\n  line 5: key "name" already set in map\n'
        '  line 9: key "x" already set in map'
    )
