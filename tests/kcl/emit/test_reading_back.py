"""What is written reads back equal under two YAML libraries that know nothing of each other's code.

PyYAML reads YAML 1.1, ruamel.yaml YAML 1.2: both pure readers, and that of PyYAML in C. One thing cannot be told to
both: the official tools spell floats from 1e16 up, and those that are tiny, as YAML 1.2 does (`1e16`), where
YAML 1.1 asks for a point and a sign and takes the rest for a text.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from kcl.api import ParseCache, run, yaml_text
from kcl.emit import yaml_stream
from tests.kcl.conformance import ROOT, corpus
from tests.sizes import size
from workbench.project import discover

_C_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_READERS: dict[str, Callable[[str], Any]] = {
    "PyYAML": yaml.safe_load,
    "PyYAML in C": lambda text: yaml.load(text, Loader=_C_LOADER),
    "ruamel.yaml": lambda text: YAML(typ="safe", pure=True).load(text),
}

_NASTY = [
    *("On", "yEs", "N", "null", "~", "", " ", "<<", "=", ".", "-", "---", "...", "--- a", "+1", ".5", "5.", "1e5"),
    *("0o7", "017", "0x1F", "0b1", "1_0", "1:30", "1:30:00.5", ".inf", "-.INF", ".NaN", "2001-12-14", "12e03"),
    *("2001-12-14t21:59:43.10-05:00", "a: b", "a:", ":a", "a #b", "#a", "? a", "?a", "- a", "-a", "|", ">", "|-"),
    *("%a", "@a", "`a", "!a", "!!str a", "&a", "*a", "[a", "]", "{a", "}", ",a", "'", '"', "'a'", '"a"', "\\", "\\n"),
    *(
        "a\tb",
        "\ta",
        "a\t",
        "a ",
        " a",
        "\n",
        "\n\n",
        "\na",
        "a\n",
        "a\n\n",
        " \n",
        "\n ",
        "a\n b",
        " a\n b\n",
        "a \nb",
    ),
    *("a\r\nb", "a\rb", "a\x85b", "a\u2028b", "\ufeffa", "a\x00b", "a\x7f", "\x1b[0m", "é", "日本", "\U0001f600"),
    *("x" * 128, "x" * 129, "x" * 300, "a b " * 60, "# not a comment\nkey: value\n", "---\n...\n", "\t\n", "a\n\tb"),
]
_TEXT = (
    st.sampled_from(_NASTY)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    | st.text("ab :#-\n'\"\t,[]{}&*!|>%@`?~.=01", max_size=9)
    | st.text("ab \n", max_size=30)
)
_FLOAT = st.floats(allow_nan=False)


def _has_no_exponent(number: float) -> bool:
    return "e" not in yaml_text(number)


def _data(floats: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    return st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | floats | _TEXT,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
        max_leaves=16,
    )


def _equal(left: Any, right: Any) -> bool:
    """Of the same types as well, at every depth, keys in the same order: 1 is neither True nor 1.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(map(_equal, left.values(), right.values()))
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(left == right)


def _reads_back(text: str, data: Any) -> None:
    for name, read in _READERS.items():
        assert _equal(read(text), data), f"{name} reads {read(text)!r} from\n{text}\ninstead of {data!r}"


@pytest.mark.parametrize("text", _NASTY)
def test_a_nasty_text_reads_back_as_key_value_and_item(text: str) -> None:
    data = {text: [text, {text: {text: text}, "a": [[text, []], {}]}], "a b": text}
    _reads_back(yaml_text(data), data)
    _reads_back(yaml_text(text), text)


@settings(max_examples=size(100, 1_000), deadline=None)
@given(_data(_FLOAT.filter(_has_no_exponent)))
@example({"a": [[], {}, [[]], [{}], {"": None}], "x" * 129: {"b": [1, True, 1.0, "1"]}, "k\n": [{"c": [-0.0]}]})
def test_data_reads_back_equal_under_both_libraries(data: Any) -> None:
    _reads_back(yaml_text(data), data)


@settings(max_examples=size(60, 400), deadline=None)
@given(_FLOAT)
def test_every_float_reads_back_from_yaml_1_2(number: float) -> None:
    text = yaml_text({"a": number})
    assert _equal(_READERS["ruamel.yaml"](text), {"a": number})
    under_yaml_1_1 = yaml.safe_load(text)["a"]
    assert _equal(under_yaml_1_1, number) or (not _has_no_exponent(number) and under_yaml_1_1 == text[3:-1])


@settings(max_examples=size(30, 200), deadline=None)
@given(st.lists(_data(_FLOAT.filter(_has_no_exponent)), min_size=2, max_size=4))
def test_documents_of_a_stream_read_back_each(documents: list[Any]) -> None:
    text = yaml_stream(documents)
    assert _equal(list(yaml.safe_load_all(text)), documents)
    assert _equal(list(YAML(typ="safe", pure=True).load_all(text)), documents)


def test_what_was_written_before_changes_nothing_of_what_is_written() -> None:
    """Lines are remembered by equality, and 1, True and 1.0 are equal; so are a text as a key and as a value."""
    both = [{"a": item} for item in (1, True, 1.0, "1", 0, False, 0.0, "", None, "a", "a\nb")]
    assert [yaml_text(item) for item in both + both[::-1]] == [
        f"a: {text}\n"
        for text in [
            *("1", "true", "1.0", "'1'", "0", "false", "0.0", "''", "null", "a", "|-\n  a\n  b"),
            *("|-\n  a\n  b", "a", "null", "''", "0.0", "false", "0", "'1'", "1.0", "true", "1"),
        ]
    ]


def test_more_texts_and_keys_than_are_remembered() -> None:
    data: dict[str, Any] = {
        f"key-{key}": {f"item-{item}": f"text {key} {item}" for item in range(40)} for key in range(700)
    }
    data["last"] = [{"one": f"t-{number}"} for number in range(700)]
    text = yaml_text([data, data])
    assert _equal(yaml.load(text, Loader=_C_LOADER), [data, data])
    assert text.count("\n") == 2 * (700 * 41 + 1 + 700)


def _documents_of(stacks: list[Path], names: list[str]) -> list[Any]:
    cache = ParseCache()
    found = [document for each in stacks for document in run(work_dir=each, settings=names, cache=cache).documents]
    assert found
    return found


def test_all_documents_of_konfig_2023_read_back_equal() -> None:
    root = corpus("konfig-2023")
    stacks = sorted(each.parent for each in root.rglob("kcl.yaml") if (each.parent / "ci-test/settings.yaml").is_file())
    for each in _documents_of(stacks, ["kcl.yaml", "ci-test/settings.yaml"]):
        _reads_back(yaml_text(each), each)


def test_all_documents_of_the_sample_read_back_equal() -> None:
    found = [each for each in discover(ROOT / "sample-konfig").stacks() if not each.name.startswith("gateway/")]
    for each in _documents_of([stack.directory for stack in found], ["kcl.yaml"]):
        _reads_back(yaml_text(each), each)
