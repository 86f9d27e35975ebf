"""Sets of field paths, in memory and as managedFields writes them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtimes.sandbox.apply.fieldset import FieldSet, keyed, member, path_text, scalar

names = st.text(alphabet="abc./-", min_size=1, max_size=3)
elements = st.one_of(
    names.map(member),
    st.dictionaries(names, st.one_of(st.integers(), names), min_size=1, max_size=2).map(keyed),
    st.one_of(names, st.integers(), st.booleans()).map(scalar),
)
paths = st.lists(elements, min_size=1, max_size=4).map(tuple)


def set_of(found: list[tuple[str, ...]]) -> FieldSet:
    made = FieldSet()
    for path in found:
        made.insert(path)
    return made


sets = st.lists(paths, max_size=8).map(set_of)


@given(sets)
def test_what_is_written_reads_back_the_same(fields: FieldSet) -> None:
    assert FieldSet.decode(fields.encode()) == fields


@given(sets, sets)
def test_union_difference_and_intersection_are_those_of_the_paths(left: FieldSet, right: FieldSet) -> None:
    ours, theirs = set(left), set(right)
    assert set(left.union(right)) == ours | theirs
    assert set(left.intersection(right)) == ours & theirs
    assert set(left.difference(right)) == ours - theirs


@given(sets, sets)
def test_without_takes_away_what_is_below_too(left: FieldSet, right: FieldSet) -> None:
    gone = set(right)
    expected = {path for path in left if not any(path[:length] in gone for length in range(1, len(path) + 1))}
    assert set(left.without(right)) == expected


def test_an_element_that_is_owned_and_holds_fields_is_marked_by_a_dot() -> None:
    container = keyed({"name": "main"})
    fields = set_of([("f:containers", container), ("f:containers", container, "f:image")])
    assert fields.encode() == {"f:containers": {'k:{"name":"main"}': {".": {}, "f:image": {}}}}


def test_keys_written_with_spaces_or_in_another_order_are_the_same_element() -> None:
    written: dict[str, object] = {"f:ports": {'k:{"protocol": "TCP", "port": 80}': {".": {}}}}
    assert set(FieldSet.decode(written)) == {("f:ports", keyed({"port": 80, "protocol": "TCP"}))}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:spec", "f:replicas"), ".spec.replicas"),
        (("f:containers", keyed({"name": "main"}), "f:image"), '.containers[name="main"].image'),
        (("f:ports", keyed({"port": 80, "protocol": "TCP"})), '.ports[port=80,protocol="TCP"]'),
        (("f:finalizers", scalar("x")), '.finalizers[="x"]'),
    ],
)
def test_paths_read_as_messages_show_them(path: tuple[str, ...], text: str) -> None:
    assert path_text(path) == text


@pytest.mark.parametrize("written", [{"spec": {}}, {"f:spec": 1}, {"k:{": {}}])
def test_what_is_no_field_set_is_refused(written: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        FieldSet.decode(written)
