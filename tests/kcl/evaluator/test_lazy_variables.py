"""Variables do not depend on the order they are written in."""

import pytest

from tests.kcl.evaluator.conftest import Values


def test_a_variable_may_be_used_before_it_is_declared(values: Values) -> None:
    assert values("a = b + 1\nb = 2\n") == {"a": 3, "b": 2}


def test_every_reader_sees_the_last_assignment_of_a_private_variable(values: Values) -> None:
    assert values("_x = 1\ny = _x\n_x = 2\nz = _x\n") == {"y": 2, "z": 2}


def test_an_assignment_that_reads_its_own_variable_continues_from_the_one_before(values: Values) -> None:
    assert values("_x = [1]\n_x = _x + [2]\n_x += [3]\nx = _x\n") == {"x": [1, 2, 3]}


def test_a_branch_that_is_not_taken_assigns_nothing(values: Values) -> None:
    assert values("a = _a\n_a = 1\nif False:\n    _a = 2\nelif True:\n    _a += 10\nelse:\n    _a = 3\n") == {"a": 11}


def test_the_condition_of_an_if_sees_the_values_from_before_it(values: Values) -> None:
    program = "_a = 1\nif _a == 1:\n    _a = 2\n    _b = _a + 1\nelse:\n    _b = 0\na = _a\nb = _b\n"
    assert values(program) == {"a": 2, "b": 3}
    program = "schema S:\n    n: int = 0\n    if n == 0:\n        n = 7\n        m = n + 1\ns = S {}\nt = S {n = 1}\n"
    assert values(program) == {"s": {"n": 7, "m": 8}, "t": {"n": 1}}


def test_variables_that_need_each_other_stay_undefined(values: Values) -> None:
    assert values("a = b\nb = a\nc = 1\n") == {"c": 1}


def test_places_inside_a_variable_can_be_assigned(values: Values) -> None:
    program = '_a = {b = {c = 1}, l = [1, 2]}\n_a.b.c = 2\n_a.b["d"] = 3\n_a.l[1] = 9\n_a.b.c += 5\na = _a\n'
    assert values(program) == {"a": {"b": {"c": 7, "d": 3}, "l": [1, 9]}}


def test_assigning_inside_a_copy_leaves_the_original_alone(values: Values) -> None:
    assert values("_a = {b = 1}\n_c = _a\n_c.b = 2\na = _a\nc = _c\n") == {"a": {"b": 1}, "c": {"b": 2}}


def test_one_value_may_be_given_to_several_variables(values: Values) -> None:
    assert values("a = b = [1]\n") == {"a": [1], "b": [1]}


@pytest.mark.parametrize(
    ("program", "message", "line"),
    [
        ("a = 1\na = 2\n", "Can not change the value of 'a', because it was declared immutable", 2),
        ("a = 1\na += 2\n", "Immutable variable 'a' is modified during compiling", 2),
        (
            "a = {b = 1}\nif True:\n    a.b = 2\n",
            "Can not change the value of 'a', because it was declared immutable",
            3,
        ),
    ],
)
def test_exported_variables_are_assigned_once(finding: Values, program: str, message: str, line: int) -> None:
    assert finding(program)[:3] == ("E1001", message, line)


def test_a_variable_keeps_the_type_of_its_first_assignment(finding: Values, values: Values) -> None:
    assert finding("_a = 1\n_a = 'x'\nb = _a\n")[:3] == ("E2G22", "expected int, got str(x)", 2)
    assert finding("_a: [str] = []\n_a = [1]\nb = _a\n")[:3] == ("E2G22", "expected [str], got [int(1)]", 2)
    assert values("_a = None\n_a = 'x'\nb = _a\n") == {"b": "x"}


def test_a_package_is_evaluated_once_and_its_files_share_one_scope(values: Values) -> None:
    files = {"pkg/a.k": "one = two - _hidden\n", "pkg/b.k": "two = 2\n_hidden = 1\n"}
    assert values("import pkg\na = pkg.one\nb = pkg.two\n", files=files) == {"a": 1, "b": 2}


def test_a_name_nobody_defines_is_an_error_with_the_names_that_come_close(finding: Values) -> None:
    assert finding("number = 1\na = nunber + 1\n") == (
        "E2L23",
        "name 'nunber' is not defined, did you mean '[\"number\"]'?",
        2,
        5,
    )


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        # What is below a statement that makes its variable out of what it was sees that, until the next that does.
        ("_c = 1\n_c += 1\na = _c\n_c = 5\n_c += 2\nb = _c\n", {"a": 2, "b": 7}),
        ("_c = 1\n_c = _c + 2\na = _c\n_c = 9\nb = _c\n", {"a": 3, "b": 3}),
        (
            "_c = {}\n_c |= {d = 3}\na = {x = _c}\n_c |= {e = 4}\nb = _c\n",
            {"a": {"x": {"d": 3}}, "b": {"d": 3, "e": 4}},
        ),
        ("_c = 1\nif True:\n    _c += 1\na = _c\n_c = 5\nb = _c\n", {"a": 2, "b": 2}),
        ("_c = 1\n_c += 10\n_c = 3\nif _c > 5:\n    _c += 100\na = _c\n", {"a": 103}),
        ("_c = {a = 1}\n_c |= {b = 2}\n_c.d = 3\na = _c\n", {"a": {"a": 1, "b": 2, "d": 3}}),
        ("_c = {a = 1}\n_c |= {b = 2}\n_c = {z = 3}\n_c.y = 4\na = _c\n", {"a": {"a": 1, "b": 2}}),
        # Read before, it has become all that its statements make of it, and the last of them begins with that.
        ("_c = 1\na = _c\n_c += 10\nb = _c\n_c += 100\nc = _c\n", {"a": 111, "b": 111, "c": 221}),
        ("_c = [1]\na = _c\n_c = [*_c, 2]\nb = _c\n", {"a": [1, 2], "b": [1, 2, 2]}),
        ("_c = 1\na = {x = _c}\n_c += 10\nb = _c\n", {"a": {"x": 11}, "b": 11}),
        ("_c = 1\n_f = lambda { _c }\na = _f()\n_c += 10\nb = _c\n", {"a": 11, "b": 11}),
        # The body of a schema sees what a variable holds where the instance is made.
        ("schema P:\n    v: int = _c\n_c = 1\na = P {}\n_c = 5\nb = P {v = _c}\n", {"a": {"v": 1}, "b": {"v": 5}}),
    ],
)
def test_a_variable_that_is_made_out_of_itself_is_read_in_order(
    values: Values, program: str, expected: dict[str, object]
) -> None:
    assert values(program) == expected


def test_a_unification_whose_variable_was_read_above_it_unites_with_what_was_read(values: Values) -> None:
    head = "schema P:\n    l?: [int]\n"
    assert values(head + "a = b\nb: P {l += [2]}\nc = b\n") == {"a": {"l": [2]}, "b": {"l": [2, 2]}, "c": {"l": [2]}}
    assert values(head + "a = {x = b}\nb: P {l += [2]}\n") == {"a": {"x": {"l": [2]}}, "b": {"l": [2]}}
