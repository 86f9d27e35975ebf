"""Configurations: operators, merging, names inside them, comprehensions."""

import pytest

from tests.kcl.evaluator.conftest import Values


def test_colon_merges_equals_replaces_plus_equals_appends(values: Values) -> None:
    program = """
_base = {merged = {a = 1}, replaced = {a = 1}, grown = [1]}
result = _base | {merged: {b = 2}, replaced = {b = 2}, grown += [2, 3]}
"""
    assert values(program)["result"] == {"merged": {"a": 1, "b": 2}, "replaced": {"b": 2}, "grown": [1, 2, 3]}


def test_a_name_alone_replaces_what_was_there(values: Values) -> None:
    """`{x}` says `{x = x}`, as officially, and not `{x: x}`."""
    program = """
schema S:
    x: {str:int} = {c = 3}
    l: [int] = [3, 4]
x = {a = 1}
l = [1]
result = [S {x, l}, {x: {b = 2}} | {x}, {x: {b = 2}, x}]
"""
    replaced = {"x": {"a": 1}}
    assert values(program)["result"] == [{**replaced, "l": [1]}, replaced, {"x": {"b": 2}}]


def test_entries_of_one_key_merge_within_a_configuration(values: Values) -> None:
    program = "a = {x: {b: 1}, x: {c: 2}, x.d = 3, l = [1], l += [2], y = 1, y = 2}"
    assert values(program)["a"] == {"x": {"b": 1, "c": 2, "d": 3}, "l": [1, 2], "y": 2}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ("o: {y = 1}\n    o: P {a = 2}", {"y": 1, "a": 2, "b": 3, "c": 4}),
        ("o: P {a = 2}\n    o: {y = 1}", {"a": 2, "b": 3, "c": 4, "y": 1}),
        ("o: P {a = 2}\n    o.b = 1", {"a": 2, "b": 1, "c": 4}),
        ("o: P {a = 2}\n    o: {a = -1}", {"a": -1, "b": 3, "c": 4}),
        ("o: {a = 1, b = 1}\n    o: P {a = 2}", {"a": 2, "b": 3, "c": 4}),
        ("o: [P {a = 2}]\n    o: [{b = 1}]", [{"a": 2, "b": 1, "c": 4}]),
        ("**{o = P {a = 2}}\n    o: {b = 1}", {"a": 2, "b": 1, "c": 4}),
        ("o: R {a = 2, b = 1}\n    o: P {a = 2}", {"a": 2, "b": 3, "c": 4, "d": 2}),
        ("o: P {a = 2} | {b = 1}", {"a": 2, "b": 1, "c": 2}),
    ],
)
def test_an_instance_beside_entries_of_its_key_is_not_built_again(
    values: Values, entries: str, expected: object
) -> None:
    schemas = """
schema P:
    a: int
    b: int = 3
    c: int = b + 1
    check:
        a > 0
schema R(P):
    d: int = c
"""
    found = values(f"{schemas}q = {{\n    {entries}\n}}\n")["q"]["o"]
    assert found == expected
    if isinstance(found, dict) and isinstance(expected, dict):
        assert list(found) == list(expected)


def test_none_and_undefined_never_erase_in_a_merge(values: Values) -> None:
    assert values("a = {x = 1} | {x: None} | {x: Undefined}\n") == {"a": {"x": 1}}


def test_lists_merge_item_by_item(values: Values) -> None:
    assert values("a = [1, {b = 1}] | [2, {c = 2}, 3]\n") == {"a": [2, {"b": 1, "c": 2}, 3]}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("l[0] = 9", [9, 2, 3]),
        ("l[-1] = 9", [1, 2, 9]),
        ("l[1] = Undefined", [1, 3]),
        ("l[1] += [7, 8]", [1, 7, 8, 2, 3]),
    ],
)
def test_an_index_addresses_one_item_of_a_list(values: Values, entry: str, expected: object) -> None:
    assert values(f"a = {{\n    l = [1, 2, 3]\n    {entry}\n}}\n")["a"]["l"] == expected


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("m[0] = 1", "only list attribute can be override value with the index 0"),
        ("l[5] = 1", "index out of bounds: the len is 1 but the index is 5"),
        ("l[5] += [1]", "insertion index (is 5) should be <= len (is 1)"),
    ],
)
def test_an_index_that_is_not_there_is_an_error(finding: Values, entry: str, message: str) -> None:
    assert finding(f"a = {{\n    l = [1]\n    {entry}\n}}\n")[:3] == ("E3M38", message, 3)


def test_what_an_instance_has_by_default_conflicts_as_what_was_written_does(finding: Values) -> None:
    schema = "schema S:\n    a: [int] = []\n    n: int = 1\n"
    for changed in ("a: [1]", "n: 2"):
        assert "conflicting values" in finding(f"{schema}x = S {{}} | {{{changed}}}\n")[1]


def test_different_scalars_conflict_and_the_path_is_told(finding: Values) -> None:
    number, message, line, _ = finding("a = {x: {y: 1}} | {x: {y: 2}}\n")
    assert (number, line) == ("E3M38", 1)
    told = "conflicting values on the attribute 'y' between :\n    1\nand\n    2\nwith union path :\n    x.y"
    assert message.startswith(told)


def test_only_lists_can_be_inserted_into(finding: Values) -> None:
    message = "only list attribute can be inserted value, the origin value type is int and got value type is list"
    assert finding("a = {x = 1} | {x += [1]}\n")[:2] == ("E3M38", message)


def test_a_key_is_a_name_for_the_entries_after_it(values: Values) -> None:
    program = "x = 10\na = {y = x + 1, x = 1, z = x, n = {w = x}}\n"
    assert values(program)["a"] == {"y": 11, "x": 1, "z": 1, "n": {"w": 1}}


def test_a_key_of_the_loop_before_is_not_seen_by_the_next(values: Values) -> None:
    program = "k = 'outer'\na = [{\n    if i == 0:\n        k = 'inner'\n    v = k\n} for i in range(2)]\n"
    assert values(program)["a"] == [{"k": "inner", "v": "inner"}, {"v": "outer"}]


def test_comprehensions_loop_over_lists_dicts_and_strings(values: Values) -> None:
    program = """
d = {a = 1, b = 2}
keys = [k for k in d]
pairs = ["${k}${v}" for k, v in d if v > 1]
indexed = [i + v for i, v in [10, 20]]
nested = [x + y for x in ["a", "b"] for y in ["c", "d"] if x + y != "bc"]
turned = {"${v}" = k for k, v in d}
grown = {"every" += [v] for _, v in d}
letters = [c for c in "ab"]
named = {x.name: x.n for x in [{name = "p", n = 1}]}
"""
    assert values(program) == {
        "d": {"a": 1, "b": 2},
        "keys": ["a", "b"],
        "pairs": ["b2"],
        "indexed": [10, 21],
        "nested": ["ac", "ad", "bd"],
        "turned": {"1": "a", "2": "b"},
        "grown": {"every": [1, 2]},
        "letters": ["a", "b"],
        "named": {"p": 1},
    }


def test_quantifiers(values: Values) -> None:
    program = """
a = all x in [1, 2] {x > 0}
b = any k, v in {p = 1} {k == "p" and v == 1}
c = map x in [1, 2] {x * 2}
d = filter x in [1, 2, 3] {x != 2}
e = filter k, v in {p = 1, q = 2} {v > 1}
f = all x in [1, -1] {x > 0 if x > 0}
"""
    assert values(program) == {"a": True, "b": True, "c": [2, 4], "d": [1, 3], "e": {"q": 2}, "f": True}


def test_what_a_filter_leaves_merges_as_it_was_written(values: Values, finding: Values) -> None:
    assert values("a = {k = 9, **(filter x, v in {j = 1, k = 2} {v > 1})}\n") == {"a": {"k": 2}}
    assert values("a = {k = [9], **(filter x, v in {j = [1], k += [2]} {x != 'j'})}\n") == {"a": {"k": [9, 2]}}
    conflict = finding("a = {k = 9, **(filter x, v in {j: 1, k: 2} {v > 1})}\n")
    assert conflict[1].startswith("conflicting values on the attribute 'k'")


def test_unpacking_takes_nothing_from_nothing(values: Values) -> None:
    assert values("a = {**None, **{x = 1}, **Undefined}\nb = [*None, *[1], *Undefined]\n") == {"a": {"x": 1}, "b": [1]}


def test_entries_and_items_may_depend_on_conditions(values: Values) -> None:
    program = """
on = True
a = {
    if on:
        x = 1
    elif True:
        y = 2
    else:
        z = 3
}
b = [
    1
    if not on: 2
    else: 3
]
"""
    assert values(program)["a"] == {"x": 1}
    assert values(program)["b"] == [1, 3]
