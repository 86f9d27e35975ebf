"""Bodies as a person would write them: blocks, sets, nulls and what nobody wrote."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runtimes.base import UNKNOWN, FieldPath
from runtimes.terraform import bodies, schema, values
from runtimes.terraform.bodies import Pair
from runtimes.terraform.schema import Type

REFERENCE = "$kusion_path.a:b:c:d.id"


def _type(attributes: dict[str, Any], blocks: dict[str, Any] | None = None) -> Type:
    types = {"t": {"block": {"attributes": attributes, "block_types": blocks or {}}}}
    found = schema.read({"provider_schemas": {"p": {"resource_schemas": types}}}).get("t")
    assert found is not None
    return found


SETTABLE = {"type": "string", "optional": True}
RULES = {"rule": {"nesting_mode": "set", "block": {"attributes": {"port": SETTABLE, "from": SETTABLE}}}}


def _paired(wanted: Any, before: Any, after: Any, type_: Type | None = None) -> tuple[Any, Any]:
    found = bodies.paired(wanted, Pair(before, after), type_)
    return found.before, found.after


@pytest.mark.parametrize(
    ("wanted", "before", "after", "expected"),
    [
        # null is absent, and what nobody wrote is not shown while it stays
        ({"a": 1}, {"a": 1, "b": None, "c": "x"}, {"a": 1, "b": None, "c": "x"}, ({"a": 1}, {"a": 1})),
        ({"a": 1, "b": None}, {"a": 1, "b": "x"}, {"a": 1, "b": "x"}, ({"a": 1}, {"a": 1})),
        # what nobody wrote is shown where it changes
        ({"a": 1}, {"a": 1, "c": "x"}, {"a": 1, "c": UNKNOWN}, ({"a": 1, "c": "x"}, {"a": 1, "c": UNKNOWN})),
        ({}, {"tags": {"a": 1, "b": 2}}, {"tags": {"a": 1}}, ({"tags": {"b": 2}}, {})),
        ({}, {"tags": {"a": 1}}, {"tags": None}, ({"tags": {"a": 1}}, {})),
        # nothing and empty are the same
        ({}, {"rules": []}, {"rules": None}, ({}, {})),
        ({"rules": []}, {"rules": None}, {"rules": []}, ({"rules": []}, {"rules": []})),
        # everything shows when it is made
        ({"a": 1}, None, {"a": 1, "b": "default", "c": None, "d": []}, (None, {"a": 1, "b": "default"})),
        # a single block written as a mapping
        ({"disk": {"gb": 1}}, {"disk": [{"gb": 1, "x": None}]}, {"disk": [{"gb": 2, "x": None}]},
         ({"disk": {"gb": 1}}, {"disk": {"gb": 2}})),
        ({"disk": [{"gb": 1}]}, {"disk": [{"gb": 1, "id": "d"}]}, {"disk": [{"gb": 2, "id": "d"}]},
         ({"disk": [{"gb": 1}]}, {"disk": [{"gb": 2}]})),
        ({"disk": {"gb": 1}}, {"disk": []}, {"disk": [{"gb": 1}]}, ({}, {"disk": {"gb": 1}})),
        # types as Terraform has them
        ({"a": "1"}, {"a": 1}, {"a": 2}, ({"a": 1}, {"a": 2})),
        # a list that gets shorter, and one that is of another form
        ({"l": ["a"]}, {"l": ["a", "b"]}, {"l": ["a"]}, ({"l": ["a", "b"]}, {"l": ["a"]})),
        ({"l": ["a"]}, {"l": {"k": 1}}, {"l": ["a"]}, ({"l": {"k": 1}}, {"l": ["a"]})),
        ({"l": ["a"]}, {"l": ["b"]}, {"l": UNKNOWN}, ({"l": ["b"]}, {"l": UNKNOWN})),
    ],
)  # fmt: skip
def test_a_body_has_what_was_written_and_what_changes(wanted: Any, before: Any, after: Any, expected: Any) -> None:
    assert _paired(wanted, before, after) == expected


def test_elements_of_a_set_come_as_they_were_written() -> None:
    type_ = _type({"names": {"type": ["set", "string"], "optional": True}}, RULES)
    wanted = {"names": ["b", "a"], "rule": [{"port": "9"}, {"port": "1", "from": REFERENCE}]}
    raw = {
        "names": ["a", "b"],
        "rule": [{"port": "1", "from": "net-7"}, {"port": "9", "from": None}],
    }
    expected = {"names": ["b", "a"], "rule": [{"port": "9"}, {"port": "1", "from": "net-7"}]}
    assert _paired(wanted, raw, raw, type_) == (expected, expected)
    assert _paired(wanted, raw, raw) == (expected, expected)


def test_a_change_in_a_set_shows_once() -> None:
    type_ = _type({}, RULES)
    wanted = {"rule": [{"port": "9"}, {"port": "5"}, {"port": "1"}]}
    before = {"rule": [{"port": "1", "from": None}, {"port": "3", "from": "x"}, {"port": "9", "from": None}]}
    after = {"rule": [{"port": "1", "from": None}, {"port": "5", "from": None}, {"port": "9", "from": None}]}
    expected = (
        {"rule": [{"port": "9"}, {"port": "3", "from": "x"}, {"port": "1"}]},
        {"rule": [{"port": "9"}, {"port": "5"}, {"port": "1"}]},
    )
    assert _paired(wanted, before, after, type_) == expected


def test_a_list_in_another_order_is_a_change() -> None:
    type_ = _type({"names": {"type": ["list", "string"], "optional": True}})
    for known in (type_, None):
        changed = _paired({"names": ["b", "a"]}, {"names": ["a", "b"]}, {"names": ["b", "a"]}, known)
        assert changed == ({"names": ["a", "b"]}, {"names": ["b", "a"]})


def test_what_is_not_configured_is_what_can_be_set() -> None:
    type_ = _type({"name": SETTABLE, "id": {"type": "string", "computed": True}}, RULES)
    attributes = {"name": "x", "id": "i", "rule": [{"port": "1", "from": None}]}
    assert bodies.written(attributes, type_) == {"name": "x", "rule": [{"port": "1"}]}
    assert bodies.written({**attributes, "rule": []}, None) == {"name": "x", "id": "i"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("disk", 0, "gb"), ("disk", "gb")),
        (("rule", 1, "port"), ("rule",)),
        (("list", 1, "x"), ("list", 1, "x")),
        (("tags", "a.b"), ("tags", "a.b")),
        (("none", 0), ("none", 0)),
    ],
)
def test_paths_lead_to_the_same_in_a_body(path: FieldPath, expected: FieldPath) -> None:
    wanted = {"disk": {"gb": 1}, "rule": [{"port": "2"}, {"port": "1"}], "list": [{}, {"x": 1}], "tags": {"a.b": 1}}
    raw = {"disk": [{"gb": 1}], "rule": [{"port": "1"}, {"port": "2"}], "list": [{}, {"x": 1}], "tags": {"a.b": 1}}
    assert bodies.shaped_path(path, wanted, raw, None) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": None}, {}, []),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, [(("a", "c"), 2, None)]),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}, {"b": 3}]}, [(("a", 1, "b"), 2, 3)]),
        ({"a": ["x"]}, {"a": ["x", "y"]}, [(("a",), ["x"], ["x", "y"])]),
    ],
)
def test_differences_are_fields(before: Any, after: Any, expected: Any) -> None:
    assert list(bodies.differences(before, after)) == expected


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text("abc", min_size=1, max_size=1), TREES, max_size=3)


@given(OBJECTS, OBJECTS)
def test_what_does_not_change_has_one_body(wanted: dict[str, Any], raw: dict[str, Any]) -> None:
    before, after = _paired(wanted, raw, raw)
    assert before == after


@given(OBJECTS, OBJECTS, OBJECTS)
@example({"a": {}}, {"a": []}, {"a": [None]})
@example({}, {"a": []}, {"a": {}})
@example({}, {"a": []}, {"a": [None]})
def test_what_changes_shows(wanted: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> None:
    one, other = _paired(wanted, before, after)
    if not values.same(before, after):
        assert one != other


@given(TREES)
def test_masks_of_nothing_change_nothing(value: Any) -> None:
    assert values.with_unknown(value, _mask_of(value)) == value


def _mask_of(value: Any) -> Any:
    match value:
        case dict():
            return {key: _mask_of(each) for key, each in value.items() if isinstance(each, dict | list)}
        case list():
            return [_mask_of(each) for each in value]
        case _:
            return False


def test_unknown_values_stand_where_the_mask_says() -> None:
    value = {"a": 1, "l": ["x", None], "m": {}}
    mask = {"id": True, "l": [False, True], "m": {"k": True}, "n": {"o": {}}}
    expected = {"a": 1, "l": ["x", UNKNOWN], "m": {"k": UNKNOWN}, "id": UNKNOWN}
    assert values.with_unknown(value, mask) == expected


def test_secrets_are_found_by_name_and_by_text() -> None:
    value = {
        "password": "x",
        "use_password": True,
        "tokens": ["a"],
        "token": ["b"],
        "note": "has longer in it",
        "n": "abc",
    }
    paths = values.shortest(list(values.secret_paths(value, frozenset({"longer", "ab"}))))
    assert paths == (("note",), ("password",), ("token", 0), ("tokens", 0))
