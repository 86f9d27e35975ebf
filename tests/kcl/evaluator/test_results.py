"""What a program amounts to, and that evaluations do not disturb each other."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kcl.evaluator.value import KDict
from tests.kcl.evaluator.conftest import Evaluated, Values


def test_an_expression_statement_is_united_with_the_variables(evaluated: Evaluated) -> None:
    value = evaluated("schema S:\n    n: int = 1\nS {}\nm = 2\n").value
    assert isinstance(value, KDict)
    assert dict(value) == {"n": 1, "m": 2}


def test_a_scalar_stands_alone(evaluated: Evaluated) -> None:
    assert evaluated("_x = 1\n_x + 1\n").value == 2


def test_variables_come_in_the_order_of_their_declaration_joined_ones_where_the_last_stands(
    evaluated: Evaluated,
) -> None:
    program = "schema S:\n    n?: int\n    m?: int\nc: S {n = 1}\na = 1\nc: S {m = a}\nb = 2\n"
    assert list(evaluated(program).value) == ["a", "c", "b"]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("b = {x: a, y = 1}\na = b.y\nc = b.y\n", {"b": {"x": 1, "y": 1}, "a": 1, "c": 1}),
        ("a = b or 1\nb = a or 2\n", {"a": 1, "b": 1}),
        ("_b = {y = 1}\na = _b.y\n_b |= {z: a}\nc = _b\n", {"a": 1, "c": {"y": 1, "z": 1}}),
        ("_b = {y = 1}\n_b |= {z: a}\na = _b.y\nc = _b\n", {"a": 1, "c": {"y": 1, "z": 1}}),
    ],
)
def test_of_variables_that_read_each_other_nothing_is_lost(
    evaluated: Evaluated, program: str, expected: dict[str, Any]
) -> None:
    value = evaluated(program).value
    assert {name: each for name, each in value.items() if not name.startswith("_")} == expected


def test_what_an_entry_needs_that_needs_the_entry_is_an_error_and_not_left_out(finding: Values) -> None:
    assert "'UndefinedType'" in finding("a = b.x\nb = {x: a, y = 1}\n")[1]


def test_a_stream_replaces_the_output_and_keeps_its_values(evaluated: Evaluated) -> None:
    result = evaluated("import manifests\na = 1\nmanifests.yaml_stream([{b = 2}, {c = 3}])\n")
    assert result.emitted is not None
    assert result.emitted().split() == ["b:", "2", "---", "c:", "3"]
    assert [dict(document) for document in result.documents or ()] == [{"b": 2}, {"c": 3}]
    assert result.provenance.lookup(1, ("c",))[0].line == 3


def test_print_is_kept_apart_from_the_value(evaluated: Evaluated) -> None:
    result = evaluated('print("hello", 1)\na = 1\n')
    assert result.printed.strip() == "hello 1"
    assert dict(result.value) == {"a": 1}


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ('x = 1\n"msg"\n', '{...} and "msg"'),
        ("{a = 1}\n[1]\n", "[...] and {...}"),
        ("{a = 1}\nTrue\n", "true and {...}"),
        ('"abc"\n"cd"\n', '"cd" and "abc"'),
    ],
)
def test_a_conflict_is_told_of_statements_that_cannot_be_united(finding: Values, program: str, told: str) -> None:
    """In the official words."""
    number, message, *_ = finding(program)
    assert (number, message) == ("E3M38", f"conflicting values between {told}")


def test_evaluations_run_side_by_side(evaluated: Evaluated) -> None:
    def run(number: int) -> Any:
        program = f"_f = lambda n {{\n    n if n <= 0 else _f(n - 1)\n}}\na = _f(50)\nb = {number}\n"
        return evaluated(program).value["b"]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(12))) == list(range(12))
