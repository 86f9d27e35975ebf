"""What is shown of a change shows it: the old and the new look different, and no more is shown than changed.

`WB_DIFF_EXAMPLES` sets how many pairs of values are tried.
"""

from __future__ import annotations

import json
import os
from itertools import pairwise
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.engine.diff import same
from workbench.engine.masking import Masked
from workbench.present.glyphs import UNICODE
from workbench.present.text import Line, Tone
from workbench.present.text_changes import ChangedLine, cells, looks_same, segments
from workbench.present.value_changes import changed_lines, in_one_line

EXAMPLES = int(os.environ.get("WB_DIFF_EXAMPLES", "40"))
WIDTH = 80
tried = settings(max_examples=EXAMPLES, deadline=None)

_HARD = ("\u200b", "\u00a0", "\t", "\r", "\x1b", "\u2028", "e\u0301", "é", "а", "\\", "…", "ü", "漢", "\U0001f600", "'")
_words = st.sampled_from(("web", "cpu", "100", "200m", "=", " ", "  ", ",", ":", "-", "#", "x" * 40, *_HARD))
_line = st.lists(_words, max_size=12).map("".join)
_text = st.lists(_line, max_size=12).map("\n".join)
_scalar = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False, width=16), _text)
_value = st.recursive(
    _scalar,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_line.filter(bool), inner, max_size=4),
    max_leaves=12,
)
_document = st.dictionaries(st.sampled_from("abcdef"), _value, min_size=1, max_size=5)
_style = st.sampled_from(
    (
        json.dumps,
        lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False),
        lambda value: json.dumps(value, indent=2) + "\n",
        lambda value: yaml.safe_dump(value, allow_unicode=True),
        lambda value: "# a comment\n" + yaml.safe_dump(value, default_flow_style=False),
    )
)
_written = st.tuples(_style, _document).map(lambda each: each[0](each[1]))


def seen(lines: list[ChangedLine]) -> tuple[str, str]:
    """What a reader sees of the old and of the new value."""
    old = [str(each.before) for each in lines if each.before is not None]
    new = [str(each.after) for each in lines if each.after is not None]
    return "\n".join(old), "\n".join(new)


def is_told(lines: list[ChangedLine]) -> bool:
    """Whether the two sides look different: by what they say, or by a line that only one of them has."""
    old, new = seen(lines)
    signs = [each.sign for each in lines]
    return not looks_same(old, new) or signs.count("-") != signs.count("+")


@tried
@given(
    st.one_of(st.tuples(_value, _value), st.tuples(_text, _text), st.tuples(_written, _written)), st.integers(24, 120)
)
def test_two_different_values_are_shown_as_different(both: tuple[Any, Any], width: int) -> None:
    before, after = both
    lines = list(changed_lines(before, after, width, UNICODE))
    if same(before, after):
        assert not lines
        return
    assert is_told(lines), (before, after, seen(lines))
    # at the deepest a path of several steps leaves little room
    assert all(cells(str(each.line)) <= max(width, 34) for each in lines), [str(each.line) for each in lines]
    inline = in_one_line(before, after)
    if inline is not None:
        assert not looks_same(*(str(Line(each)) for each in inline)), (before, after)


@tried
@given(_document, st.data())
def test_one_leaf_changed_in_a_document_is_all_that_is_shown(document: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(document)))
    filler = {f"filler{index}": {"a": index, "b": [index, index + 1]} for index in range(50)}
    other = data.draw(st.integers(1000, 2000))
    before, after = {**filler, **document}, {**filler, **document, key: other}
    for style in (json.dumps, lambda value: json.dumps(value, indent=2), lambda value: yaml.safe_dump(value)):
        lines = list(changed_lines(style(before), style(after), 100, UNICODE))
        assert is_told(lines)
        size = len(style({key: document[key]})) // 20 + len(style({key: document[key]}).splitlines())
        assert len(lines) <= 12 + 2 * size, [f"{each.sign} {each.line}" for each in lines]


@tried
@given(_line, _line)
def test_what_stands_out_is_all_that_differs(before: str, after: str) -> None:
    found = segments(before, after)
    assert ("".join(each.before for each in found), "".join(each.after for each in found)) == (before, after)
    assert all(each.is_changed or each.before == each.after for each in found)
    assert all(one.is_changed != other.is_changed for one, other in pairwise(found))


@tried
@given(st.lists(_line, max_size=5), st.lists(_line, max_size=5), st.integers(0, 400), st.integers(0, 400))
def test_the_lines_shown_grow_with_the_change_and_not_with_the_text(
    old: list[str], new: list[str], above: int, below: int
) -> None:
    lead, tail = [f"above {index}" for index in range(above)], [f"below {index}" for index in range(below)]
    before, after = "\n".join((*lead, *old, *tail)), "\n".join((*lead, *new, *tail))
    lines = list(changed_lines(before, after, WIDTH, UNICODE))
    wrapped = sum(cells(each) * 6 // WIDTH + 1 for each in (*old, *new))
    assert len(lines) <= wrapped + 5 * (len(old) + len(new) + 1)


@pytest.mark.parametrize("changed", [1, 20, 1000, 5000])
def test_many_lines_changed_are_never_a_wall_of_one_side(changed: int) -> None:
    before = [f"server{index} = 10.0.0.{index}" for index in range(5000)]
    after = [f"{each}00" if index % (5000 // changed) == 0 else each for index, each in enumerate(before)]
    lines = list(changed_lines("\n".join(before), "\n".join(after), WIDTH, UNICODE))
    signs = "".join(each.sign for each in lines)
    assert signs.count("-") == signs.count("+") == changed
    assert "-" * 9 not in signs and "+" * 9 not in signs
    assert len(lines) <= 8 * changed


def test_a_number_changed_in_a_line_of_json_is_shown_by_its_path() -> None:
    def config(cpu: int) -> str:
        return json.dumps({"hosts": [f"host-{index}.example.com" for index in range(5)], "limits": {"cpu": cpu}})

    lines = list(changed_lines(config(100), config(200), 40, UNICODE))
    assert [str(each.line) for each in lines] == ["as JSON:", "limits.cpu: 100 → 200"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 3}'),
        ('{"a": 1, "b": 2}', '{"a":1, "b": 3}'),
        ('{"a": 1.0, "b": 2}', '{"a": 1.00, "b": 3}'),
        ('{"a": 1, "a": 2, "b": 3}', '{"a": 4, "a": 2, "b": 5}'),
        ("a: 1 # one\nb: 2\n", "a: 1 # two\nb: 3\n"),
        ("a: 010\nb: 2\n", "a: 8\nb: 3\n"),
        ("a: x\nb: 2\n", "a: 'x'\nb: 3\n"),
        ("a: &x 1\nb: *x\n", "a: &x 2\nb: *x\n"),
        ('[{"a": 1, "b": 1}, {"c": 1}]', '[{"b": 1, "a": 1}, {"c": 2}]'),
    ],
)
def test_structure_that_does_not_tell_everything_is_not_used(before: str, after: str) -> None:
    lines = list(changed_lines(before, after, WIDTH, UNICODE))
    assert not any(str(each.line).startswith("as ") for each in lines), [str(each.line) for each in lines]
    assert is_told(lines)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("cafe", "c\u0430fe", "c\\u0430fe"),
        ("a b ", "a b", "\\x20"),
        ("a\u200bb", "ab", "\\u200b"),
        ("a\tb", "a    b", "\\t"),
        ("é", "e\u0301", "\\u0301"),
        ("a\n", "a", "a newline at the end"),
    ],
)
def test_what_looks_the_same_is_written_out(before: str, after: str, shown: str) -> None:
    lines = list(changed_lines(before, after, WIDTH, UNICODE))
    assert any(shown in str(each.line) for each in lines), [str(each.line) for each in lines]


def test_a_changed_word_stands_out_in_its_line() -> None:
    removed, added = changed_lines("--cpu=100 --mem=1Gi", "--cpu=250 --mem=1Gi", WIDTH, UNICODE)
    assert [each.text for each in removed.line.spans if each.tone is Tone.REMOVED_PART] == ["100"]
    assert [each.text for each in added.line.spans if each.tone is Tone.ADDED_PART] == ["250"]


def test_masks_that_begin_alike_are_told_apart() -> None:
    one, other = Masked("abcd0123"), Masked("abcd4567")
    inline = in_one_line(one, other)
    assert inline is not None
    assert [str(Line(each)) for each in inline] == ["«masked#abcd0»", "«masked#abcd4»"]
    assert is_told(list(changed_lines([one], [other], WIDTH, UNICODE)))
