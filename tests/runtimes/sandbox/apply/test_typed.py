"""Merging and comparing along types."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtimes.sandbox.apply import typed
from runtimes.sandbox.schema.registry import Registry

WIDGET = Registry.load().custom(
    "example.com",
    "v1",
    "Widget",
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "parts": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
                        },
                    },
                    "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                    "steps": {"type": "array", "items": {"type": "string"}},
                    "options": {"type": "object", "additionalProperties": {"type": "string"}},
                },
            }
        },
    },
)
letters = st.sampled_from("abcd")
specs = st.fixed_dictionaries(
    {},
    optional={
        "parts": st.lists(
            st.fixed_dictionaries({"name": letters}, optional={"count": st.integers(0, 2)}),
            min_size=1,
            unique_by=lambda part: part["name"],
        ),
        "tags": st.lists(letters, min_size=1, unique=True),
        "steps": st.lists(letters, min_size=1),
        "options": st.dictionaries(letters, letters, min_size=1),
    },
).filter(bool)
objects = specs.map(lambda spec: {"spec": spec})


@given(objects)
def test_an_object_merged_with_itself_is_itself(obj: dict[str, object]) -> None:
    assert typed.merge(WIDGET.type, obj, obj) == obj
    same = typed.compare(WIDGET.type, obj, obj)
    assert not (same.added or same.modified or same.removed)


@given(objects, objects)
def test_all_that_was_applied_is_in_the_merge(left: dict[str, object], right: dict[str, object]) -> None:
    merged = typed.merge(WIDGET.type, left, right)
    missing = typed.compare(WIDGET.type, merged, typed.merge(WIDGET.type, merged, right))
    assert not (missing.added or missing.modified or missing.removed)
    assert set(typed.field_set(WIDGET.type, right)) <= set(typed.field_set(WIDGET.type, merged))


@given(objects, objects)
def test_a_comparison_turned_around_swaps_added_and_removed(left: dict[str, object], right: dict[str, object]) -> None:
    there, back = typed.compare(WIDGET.type, left, right), typed.compare(WIDGET.type, right, left)
    assert (there.added, there.removed, there.modified) == (back.removed, back.added, back.modified)


def test_shared_elements_come_in_the_order_of_the_applied_list() -> None:
    left = {"spec": {"parts": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}}
    right = {"spec": {"parts": [{"name": "c"}, {"name": "a"}]}}
    merged = typed.merge(WIDGET.type, left, right)
    assert [part["name"] for part in merged["spec"]["parts"]] == ["b", "c", "a"]
