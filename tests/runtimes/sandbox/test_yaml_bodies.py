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


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("y Y yes Yes YES on On ON true True TRUE", True),
        ("n N no No NO off Off OFF false False FALSE", False),
        ("~ null Null NULL", None),
        ("0x10 0X10 0b10000 0B1_0000 020 0o20 0O20 16 1_6 16.0 +16 1.6e1", 16),
        ("-.5 -0.5 -5e-1", -0.5),
        ("9223372036854775808", float(2**63)),
    ],
)
def test_plain_words_mean_what_they_mean_to_a_server(words: str, value: object) -> None:
    """As a kube-apiserver 1.34.3 answered."""
    for word in words.split():
        assert yaml_bodies.read(f"a: {word}".encode()) == {"a": value}, word


def test_other_words_are_text() -> None:
    words = ["yEs", "tRue", "nULL", "12:30", "2001-01-01", "0o", "0b2", "0x", "1e", "1e400", "_1", "=", "<<", "y1"]
    named = {f"k{number}": word for number, word in enumerate(words)}
    assert yaml_bodies.read("\n".join(f"{name}: {word}" for name, word in named.items()).encode()) == named
    assert yaml_bodies.read(b"y: 1\nN: 2\n.inf: 3\n") == {"true": 1, "false": 2, ".inf": 3}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: .inf", "json: unsupported value: +Inf"),
        ("a: -.INF", "json: unsupported value: -Inf"),
        ("a: .nan", "json: unsupported value: NaN"),
        ("~: v", 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "v"'),
    ],
)
def test_what_no_json_says_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ApiError) as refused:
        read_applied(text.encode(), "Strict", [])
    assert refused.value.message == f"error decoding YAML: error converting YAML to JSON: {expected}"


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


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"- a", r"json parse error: json: cannot unmarshal array into Go value of type struct .* \(2d2061\)$"),
        (b"kind: 1", r"cannot unmarshal number into Go struct field \.kind of type string \(6b696e643a2031\)$"),
        (b'{"apiVersion":"a/b/c"}', r'type ConfigMap\): unexpected GroupVersion string: a/b/c \(\{"api.*\}\)$'),
        (b'{"apiVersion":"v1/"}', r"^ConfigMap in version \"\" cannot be .*: Object 'apiVersion' is missing in '\{"),
    ],
)
def test_kind_and_version_are_read_before_all_else(body: bytes, message: str) -> None:
    """As a kube-apiserver 1.34.3 answered."""
    with pytest.raises(ApiError, match=message):
        read_object(body, "application/yaml", "ConfigMap")


def test_nothing_is_read_as_an_object_without_members() -> None:
    for body in (b"", b"null"):
        assert read_object(body, "application/yaml", "ConfigMap") == {}
    assert read_object(b'{"apiVersion":"/v1"}', "application/json", "ConfigMap") == {"apiVersion": "v1"}
