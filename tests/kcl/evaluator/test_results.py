"""What a program amounts to, and that evaluations do not disturb each other."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kcl.evaluator.value import KDict
from tests.kcl.evaluator.conftest import Evaluated


def test_an_expression_statement_is_united_with_the_variables(evaluated: Evaluated) -> None:
    value = evaluated("schema S:\n    n: int = 1\nS {}\nm = 2\n").value
    assert isinstance(value, KDict)
    assert dict(value) == {"n": 1, "m": 2}


def test_a_scalar_stands_alone(evaluated: Evaluated) -> None:
    assert evaluated("_x = 1\n_x + 1\n").value == 2


def test_variables_come_in_the_order_of_their_declaration(evaluated: Evaluated) -> None:
    program = "schema S:\n    n?: int\n    m?: int\nc: S {n = 1}\na = 1\nc: S {m = a}\n"
    assert list(evaluated(program).value) == ["c", "a"]


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


def test_evaluations_run_side_by_side(evaluated: Evaluated) -> None:
    def run(number: int) -> Any:
        program = f"_f = lambda n {{\n    n if n <= 0 else _f(n - 1)\n}}\na = _f(50)\nb = {number}\n"
        return evaluated(program).value["b"]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(12))) == list(range(12))
