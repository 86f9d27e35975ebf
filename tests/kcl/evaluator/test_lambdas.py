"""Lambdas: locals, captured variables, recursion."""

from tests.kcl.evaluator.conftest import Values


def test_a_lambda_keeps_the_variables_of_the_place_it_was_created(values: Values) -> None:
    program = "fs = [lambda x {x + i} for i in [10, 20]]\na = [f(1) for f in fs]\n"
    assert values(program)["a"] == [11, 21]


def test_locals_may_be_reassigned_and_do_not_leak(values: Values) -> None:
    program = """
n = 5
f = lambda x {
    m = x
    m += 1
    if m > 2:
        m = m * 10
    m
}
a = f(1)
b = f(2)
c = n
"""
    found = values(program)
    assert (found["a"], found["b"], found["c"]) == (2, 30, 5)


def test_a_lambda_may_call_itself(values: Values) -> None:
    program = "fib = lambda n: int -> int {\n    n if n < 2 else fib(n - 1) + fib(n - 2)\n}\na = fib(12)\n"
    assert values(program)["a"] == 144


def test_recursion_without_end_is_an_error_not_a_crash(finding: Values) -> None:
    assert finding("f = lambda n {\n    f(n + 1)\n}\na = f(0)\n")[:2] == (
        "E3M38",
        "more than 1500 nested calls: this never ends",
    )


def test_a_lambda_of_a_schema_reads_the_attributes_of_its_instance(values: Values) -> None:
    program = (
        "schema S:\n    n: int = 1\n    _f = lambda x {\n        x + n\n    }\n    m: int = _f(2)\na = S {n = 5}\n"
    )
    assert values(program)["a"] == {"n": 5, "m": 7}


def test_the_result_and_the_parameters_are_held_to_their_types(finding: Values) -> None:
    assert finding("f = lambda x: int -> str {\n    x\n}\na = f(1)\n")[:2] == ("E2G22", "expected str, got int")
    assert finding("f = lambda x: int -> int {\n    x\n}\na = f('no')\n") == (
        "E2G22",
        "expected int, got str(no)",
        4,
        7,
    )


def test_calling_what_an_optional_selection_did_not_find_gives_nothing(values: Values) -> None:
    assert values('a = option("missing")?.lower() or "none"\n')["a"] == "none"


def test_a_result_of_the_wrong_type_is_the_fault_of_the_statement_that_made_it(finding: Values) -> None:
    program = "f = lambda v -> int {\n    c = v * 1\n    c * [1]\n}\na = {x = f(1)}\n"
    assert finding(program) == ("E3M38", "expect int, got list", 3, 5)
    assert finding(program.replace("f(1)", "[f(1) for i in [1, 2, 3]]"))[2:] == (3, 5)
