"""YAML output: what is written reads back as the same data, and is spelled as the official tools spell it."""

import json
import math
import random
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kcl.emit import json_text, yaml_stream, yaml_text
from kcl.evaluator.numbers import float_display, float_text
from kcl.loader import load_all_yaml, load_yaml
from tests.sizes import size

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text(
    "ab :#-\n'\"\t,[]{}&*!|>%@`?~.=01", max_size=9
)
_DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=size(100, 600), deadline=None)
@given(_DATA)
def test_what_is_written_reads_back_the_same(data: Any) -> None:
    assert load_yaml(yaml_text(data)) == data


@settings(max_examples=size(70, 400), deadline=None)
@given(_TEXT)
def test_no_reader_of_yaml_1_1_mistakes_a_string_for_something_else(text: str) -> None:
    assert yaml.safe_load(yaml_text({"a": text})) == {"a": text}


@settings(max_examples=size(70, 400), deadline=None)
@given(_DATA)
def test_json_reads_back_the_same(data: Any) -> None:
    def finite(value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if isinstance(value, list):
            return [finite(item) for item in value]
        return {key: finite(item) for key, item in value.items()} if isinstance(value, dict) else value

    assert json.loads(json_text(data)) == finite(data)
    assert json.loads(json_text(data, indent=2)) == finite(data)


@pytest.mark.parametrize(
    "text",
    [
        "on",
        "Off",
        "y",
        "N",
        "yes",
        "null",
        "~",
        "nan",
        "1",
        "1e3",
        "0x1f",
        "1_000",
        "2020-01-01",
        "10m",
        "-a",
        "=",
        "<<",
        ".a",
        "",
        " a",
    ],
)
def test_words_and_numbers_are_quoted(text: str) -> None:
    assert yaml_text({"a": text}) == f"a: '{text}'\n"


@pytest.mark.parametrize("text", ["a b", "a:b", "a#b", "a=b", "http://x:80/a", "inf", "t", "é", "a'b", "?a", "v1"])
def test_harmless_strings_stay_plain(text: str) -> None:
    assert yaml_text({"a": text}) == f"a: {text}\n"


def test_layout_of_nested_containers() -> None:
    data = {"a": [], "b": {}, "c": [[1, 2], [3, [4]], []], "d": [{"a": 1, "b": [1]}, {}], "on": {"x": None, "y": True}}
    assert yaml_text(data) == (
        "a: []\nb: {}\nc:\n- - 1\n  - 2\n- - 3\n  - - 4\n- []\nd:\n- a: 1\n  b:\n  - 1\n- {}\n"
        "'on':\n  x: null\n  'y': true\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb", "a: |-\n  a\n  b\n"),
        ("a\n", "a: |\n  a\n"),
        ("a\n\n", "a: |+\n  a\n\n"),
        (" a\nb", "a: |2-\n   a\n  b\n"),
        ("a \nb", 'a: "a \\nb"\n'),
        ("a\tb\n", 'a: "a\\tb\\n"\n'),
    ],
)
def test_several_lines(text: str, expected: str) -> None:
    assert yaml_text({"a": text}) == expected


@pytest.mark.parametrize(
    ("number", "short", "long"),
    [
        (1.0, "1.0", "1.0"),
        (1e15, "1000000000000000.0", "1000000000000000.0"),
        (1e16, "1e16", "10000000000000000.0"),
        (1.5e20, "1.5e20", "150000000000000000000.0"),
        (0.00001234, "0.00001234", "0.00001234"),
        (1e-5, "0.00001", "0.00001"),
        (1e-6, "1e-6", "0.000001"),
        (-1.5e-7, "-1.5e-7", "-0.00000015"),
    ],
)
def test_floats(number: float, short: str, long: str) -> None:
    assert float_text(number) == short
    assert float_display(number) == long


def test_streams_and_sorted_keys() -> None:
    assert yaml_stream([{"b": 1, "a": {"d": 1, "c": 2}}, 1], sort_keys=True) == "a:\n  c: 2\n  d: 1\nb: 1\n---\n1\n"
    assert load_all_yaml("a: 1\n---\n- 2\n") == [{"a": 1}, [2]]


def test_what_is_no_data_is_refused() -> None:
    with pytest.raises(TypeError, match="not a plain value"):
        yaml_text({"a": object()})


def test_official_spelling() -> None:
    """Random data, spelled by both; skipped without the official library."""
    kcl_lib = pytest.importorskip("kcl_lib.api")
    api = kcl_lib.API()
    dice = random.Random(7)
    alphabet = "ab1 -:#'\"\n\t,[]{}&*!|>%@`?~.+\\/é"

    def text() -> str:
        return "".join(dice.choice(alphabet) for _ in range(dice.choice([0, 1, 1, 2, 3, 5, 8])))

    def data(depth: int) -> Any:
        kind = dice.random()
        if depth > 3 or kind < 0.5:
            return text()
        if kind < 0.6:
            return dice.choice([1, -5, 1.5, True, False, None, 1e20, 0.001])
        if kind < 0.8:
            return [data(depth + 1) for _ in range(dice.randint(0, 3))]
        return {text(): data(depth + 1) for _ in range(dice.randint(0, 3))}

    def source(value: Any) -> str:
        if isinstance(value, str):
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, list):
            return "[" + ", ".join(map(source, value)) + "]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{source(key)}: {source(item)}" for key, item in value.items()) + "}"
        return repr(value)

    for _ in range(60):
        value = {"x": data(0)}
        arguments = kcl_lib.ExecProgramArgs(k_filename_list=["main.k"], k_code_list=[f"x = {source(value['x'])}"])
        official = api.exec_program(arguments)
        assert not official.err_message
        assert yaml_text(value).rstrip("\n") == official.yaml_result.rstrip("\n")
