"""What rules may cost: refused and accepted as a real server was seen to do."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.sandbox.validate.causes import Causes
from runtimes.sandbox.validate.rules import compile_rules

TEXT = {"type": "string"}
SHORT = {"type": "string", "maxLength": 20}
RULES = "x-kubernetes-validations"


def parts(text: dict[str, Any], most: int | None) -> dict[str, Any]:
    items = {} if most is None else {"maxItems": most}
    members = {} if most is None else {"maxProperties": most}
    return {
        "a": {"type": "integer"},
        "s": text,
        "u": text,
        "l": {"type": "array", "items": text, **items},
        "n": {"type": "array", "items": {"type": "integer"}, **items},
        "m": {"type": "object", "additionalProperties": text, **members},
    }


def factors(schema: dict[str, Any]) -> list[str]:
    """By what factor each rule exceeds what it may cost; then the whole."""
    causes = Causes()
    compile_rules(causes, schema, "x")
    return [each["message"].split("factor of ")[1].split("x (")[0] for each in causes if "factor" in each["message"]]


@pytest.mark.parametrize(
    ("rule", "factor"),
    [
        ("self.a < 3 || self.s == self.u", None),
        ("self.s.startsWith(self.u)", None),
        ("self.s.matches('^[a-z]+$')", None),
        ("self.s.contains(self.u)", "more than 100"),
        ("self.l.all(x, x.startsWith('a'))", None),
        ("self.l.exists(x, x == self.s)", "more than 100"),
        ("self.n.all(x, self.n.all(y, x != y))", "more than 100"),
        ("self.m.all(k, k.startsWith('a'))", None),
        ("self.m.exists(k, k == self.s)", None),
        ("string(self.a) == self.s", None),
        ("self.l.filter(x, x != 'a').size() == 1", "1.6"),
        ("self.s.split(',').all(x, x != '')", "1.321205"),
        ("self.l.isSorted()", "more than 100"),
    ],
)
def test_a_rule_over_what_has_no_bound(rule: str, factor: str | None) -> None:
    schema = {"type": "object", "properties": parts(TEXT, None), RULES: [{"rule": rule}]}
    assert factors(schema)[:1] == ([factor] if factor else [])
    schema["properties"] = parts(SHORT, 10)
    assert factors(schema) == []


@pytest.mark.parametrize(
    ("rule", "item", "depth", "most", "expected"),
    [
        ("self > 2", {"type": "integer"}, 3, None, []),
        ("self > 2", {"type": "integer"}, 3, 1000, ["more than 100", "20.0"]),
        ("self.matches('^a')", TEXT, 3, 5, ["3.9"]),
        ("self.matches('^a')", TEXT, 1, 1000, ["31.5", "3.1"]),
        ("self.contains('a')", SHORT, 2, 1000, []),
        ("self.contains('a')", {"type": "string", "maxLength": 100}, 1, None, ["4.3"]),
        ("self.all(x, x > 1)", {"type": "array", "items": {"type": "integer"}}, 2, 5, ["19.7", "2.0"]),
    ],
)
def test_a_rule_counts_as_often_as_its_place_may_be_there(
    rule: str, item: dict[str, Any], depth: int, most: int | None, expected: list[str]
) -> None:
    schema = {**item, RULES: [{"rule": rule}]}
    for _ in range(depth):
        schema = {"type": "array", "items": schema, **({} if most is None else {"maxItems": most})}
    assert factors(schema) == expected


def test_a_message_that_is_computed_has_a_price_of_its_own() -> None:
    rule = {"rule": "self.a > 1", "messageExpression": "'a is ' + string(self.a)"}
    schema = {"type": "object", "properties": parts(SHORT, 10), RULES: [rule]}
    causes = Causes()
    compile_rules(causes, schema, "x")
    assert [each["field"] for each in causes] == [f"x.{RULES}[0].messageExpression"] * 2 + ["x"]
