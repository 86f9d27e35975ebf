"""Operators on values."""

import pytest

from kcl.evaluator import operations
from kcl.evaluator.value import UNDEFINED, KDict, KList
from tests.kcl.evaluator.conftest import Values


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("7 // 2", 3),
        ("-7 // 2", -4),
        ("-7 % 3", 2),
        ("1 / 2", 0.5),
        ("2 ** 10", 1024),
        ("-2 ** 2", 4),
        ("1 + 2.5", 3.5),
        ("'a' * 3", "aaa"),
        ("[1] * 2", [1, 1]),
        ("[1] + [2]", [1, 2]),
        ("5 & 3 | 8 ^ 1", 9),
        ("1 << 4 >> 2", 4),
        ("~1", -2),
        ("1 < 2 < 3", True),
        ("1 < 3 < 2", False),
        ("1 == 1.0", True),
        ("True == 1", False),
        ("[1] == [1.0]", True),
        ("None == Undefined", False),
        ("1 in [1.0]", True),
        ("True in [1]", False),
        ("'a' in {a = 1}", True),
        ("'b' not in 'abc'", False),
        ("{} or 'x'", "x"),
        ("0 and 1", 0),
        ("not []", True),
        ("'abc'[-1]", "c"),
        ("[1, 2, 3, 4][1:3]", [2, 3]),
        ("[1, 2, 3][::-1]", [3, 2, 1]),
        ("{a = 1}['b'] or 2", 2),
        ("(lambda x { x })(None)?.a?.b", None),
        ("1 if 'x' else 2", 1),
        ('"${1 + 1}-${[1, None, True, 1.5]}"', "2-[1, None, True, 1.5]"),
    ],
)
def test_expressions(values: Values, expression: str, expected: object) -> None:
    found = values(f"a = {expression}\n").get("a")
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("(lambda x { x })(1) + 'a'", "unsupported operand type(s) for +: 'int' and 'str'"),
        ("[1][:] + {}.x", 'can only concatenate list (not "UndefinedType") to list'),
        ("9223372036854775807 + 1", "9223372036854775808: A 64 bit integer overflow"),
        ("[1][1]", "list index out of range: 1"),
        ("(lambda x { x })(Undefined).a", "invalid value 'UndefinedType' to load attribute 'a'"),
        ("1 // (lambda x { x })(0)", "attempt to divide by zero"),
    ],
)
def test_what_cannot_be_done_says_so_at_its_place(finding: Values, expression: str, message: str) -> None:
    assert finding(f"b = 1\na = {expression}\n") == ("E3M38", message, 2, 5)


@pytest.mark.parametrize(
    ("expression", "types"),
    [
        ("1 + 'a'", "+: 'int(1)' and 'str(a)'"),
        ("[1] + None", "+: '[int(1)]' and 'NoneType'"),
        ("b - 'a'", "-: 'int' and 'str(a)'"),
        ("{x = 1} < [1]", "<: '{str(x):int(1)}' and '[int(1)]'"),
        ("[1] | {x = 'y'}", "|: '[int(1)]' and '{str(x):str(y)}'"),
    ],
)
def test_operands_whose_types_are_plain_to_see_are_a_type_error(finding: Values, expression: str, types: str) -> None:
    told = finding(f"b = 1\na = {expression}\n")
    assert told == ("E2G22", f"unsupported operand type(s) for {types}", 2, 5)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e16, "10000000000000000.0"),
        (1e15, "1000000000000000.0"),
        (1e-5, "0.00001"),
        (1.5e-7, "0.00000015"),
        (float("inf"), "inf"),
        (-0.0, "-0.0"),
    ],
)
def test_floats_as_text(value: float, text: str) -> None:
    assert operations.to_str(value) == text


def test_undefined_is_falsy_and_unlike_none() -> None:
    assert not UNDEFINED
    assert not operations.equals(UNDEFINED, None)
    assert operations.equals(KList([KDict({"a": 1})]), KList([KDict({"a": 1.0})]))
