"""Edits at the place that provenance names: the value changes, everything around it stays to the letter."""

from __future__ import annotations

import pytest

from kcl.syntax.sites import attributes_of, literals_named, replace_at

TEXT = """import models.frontend  # shared

web: frontend.Server {
    image = "web:1"   # the tag
    rollout.surge = 2
    config = {A = "x", B = "y"}
    ports = [
        frontend.Port {number = 80}
    ]
}
limit = 3
"""


def at(fragment: str) -> tuple[int, int]:
    """The place of the last character between the brackets' start: `[name]` marks where the place is."""
    before = TEXT[: TEXT.index(fragment)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


@pytest.mark.parametrize(
    ("fragment", "value", "old", "new"),
    [
        ("image", "web:2", '"web:1"', '"web:2"'),
        ("surge", 5, "surge = 2", "surge = 5"),
        ("B = ", "${z}", '"y"', '"\\${z}"'),
        ("number", 8080, "80", "8080"),
        ("limit", [1, True, None], "limit = 3", "limit = [1, True, None]"),
        ("config", {"a-b": 1.5}, '{A = "x", B = "y"}', '{"a-b" = 1.5}'),
        ('"web:1"', "web:3", '"web:1"', '"web:3"'),
    ],
)
def test_the_value_is_replaced_and_nothing_else(fragment: str, value: object, old: str, new: str) -> None:
    assert replace_at(TEXT, *at(fragment), value) == TEXT.replace(old, new)


@pytest.mark.parametrize("place", [(1, 1), (4, 30), (99, 1), (2, 1)])
def test_a_place_without_a_value_is_refused(place: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"no value|no line"):
        replace_at(TEXT, *place, 1)


def test_a_file_with_syntax_errors_is_refused() -> None:
    with pytest.raises(ValueError, match="syntax errors"):
        replace_at("a = {", 1, 1, 2)


def test_what_has_no_literal_is_refused() -> None:
    with pytest.raises(TypeError):
        replace_at("a = 1", 1, 1, object())


def test_a_text_of_several_lines_stays_one() -> None:
    text = 'a = """\\\none {\n  two\n}\n"""  # note\n'
    assert replace_at(text, 1, 1, "one {\n  three\n}\n") == text.replace("two", "three")
    assert replace_at(text, 1, 1, "one\n${two}") == 'a = "one\\n\\${two}"  # note\n'


def test_single_quotes_stay_where_they_can() -> None:
    assert replace_at("a = 'x'  # note\n", 1, 1, "y") == "a = 'y'  # note\n"
    assert replace_at("a = 'x'\n", 1, 1, "it's") == 'a = "it\'s"\n'


def test_literals_of_a_name_are_found_however_its_key_is_written() -> None:
    assert [each.text for each in literals_named('a = {port = 1, "po\\x72t" = 2}\nport = 3\n', "port")] == [
        "1",
        "2",
        "3",
    ]
    assert literals_named("a = 1\n", "port") == literals_named("port = {\n", "port") == ()


def test_attributes_of_a_schema_are_found_by_its_last_name() -> None:
    text = "schema A:\n    web: frontend.Server\n    other: Server = None\n    port: int\n"
    assert attributes_of(text, "Server") == ("web", "other")
    assert attributes_of(text, "Job") == ()
