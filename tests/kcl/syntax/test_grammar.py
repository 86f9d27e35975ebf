"""The grammar is the reference. That the parser reads what it takes is tested in tests/properties/test_readings.py."""

import pytest

pytest.importorskip("lark", reason="lark is not installed")

from tests.kcl.syntax.reference import grammar  # imports lark


def test_every_conflict_is_one_we_know_and_is_right_as_shift() -> None:
    assert grammar.conflicts() == [
        "ARROW: <type_element : LPAR types RPAR>",  # an arrow after `(T)` belongs to it
        "BAR: <type : type_element>",  # `() -> a | b` gives a union
        "BAR: <type : union>",
        "ELIF: <entry_orelse : >",  # in one line, an else belongs to the nearest if
        "ELIF: <item_orelse : >",
        "ELSE: <entry_orelse : >",
        "ELSE: <item_orelse : >",
        "IF: <test : value>",  # in a comprehension, `if a if b` is a ternary that lacks its else
    ]


@pytest.mark.parametrize(
    "text",
    ["a = [1 2]\n", "a = 1 2\n", "a =\n", "a = (\n1)\n", "schema\n", 'a = "${1 +}"\n'],
)
def test_the_grammar_refuses_what_nobody_should_write(text: str) -> None:
    assert grammar.read(text) is None


def test_the_grammar_reads_a_program() -> None:
    read = grammar.read('a = {\n    b: 1\n    "c" = [d.e, "${f}"]\n}\n')
    assert read is not None
    (statement,) = read
    assert "Selector(start=26, end=29, value=Name(start=26, end=27, id='d'), name='e'" in repr(statement)
