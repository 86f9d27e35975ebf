"""Validation rules in CEL: what a real server says of them, and that none takes for ever."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.sandbox.cel.evaluation import Budget, OutOfBudget, evaluate
from runtimes.sandbox.cel.syntax import CelError, parse
from runtimes.sandbox.validate.causes import Causes
from runtimes.sandbox.validate.rules import check_rules, compile_rules, left_out, stated

Object = dict[str, Any]

PARTS: Object = {
    "a": {"type": "integer"},
    "n": {"type": "number"},
    "s": {"type": "string", "maxLength": 100},
    "b": {"type": "boolean"},
    "l": {"type": "array", "maxItems": 9, "items": {"type": "string", "maxLength": 9}},
    "m": {"type": "object", "maxProperties": 9, "additionalProperties": {"type": "string", "maxLength": 9}},
    "d": {"type": "string", "format": "date-time"},
    "i": {"x-kubernetes-int-or-string": True},
    "o": {"type": "object", "properties": {"x": {"type": "integer"}}},
}


def schema(rule: str, **more: Any) -> Object:
    return {"type": "object", "properties": PARTS, "x-kubernetes-validations": [{"rule": rule, **more}]}


def found(rules: Object, new: Object, old: Object | None = None) -> list[tuple[str, str]]:
    causes = Causes()
    check_rules(causes, rules, new, old)
    return [(cause["field"], cause["message"]) for cause in causes]


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ("self.a > 1", {"a": 2}, {"a": 1}),
        ("self.s.startsWith('x')", {"s": "xy"}, {"s": "y"}),
        ("self.l.all(x, x.size() < 3)", {"l": ["a"]}, {"l": ["abc"]}),
        ("self.l.exists(x, x == 'a') && size(self.l) <= 2", {"l": ["a"]}, {"l": ["b"]}),
        ("has(self.m) ? self.m.all(k, k != 'bad') : true", {}, {"m": {"bad": "x"}}),
        ("self.s.matches('^[a-z]+$') || self.b", {"s": "A", "b": True}, {"s": "A", "b": False}),
        ("self.n >= 0.5 && double(self.a) < self.n", {"n": 1.5, "a": 1}, {"n": 1, "a": 5}),
        ("type(self.i) == string ? self.i == '5%' : self.i == 5", {"i": 5}, {"i": "4%"}),
        ("self.s in ['a', 'b']", {"s": "a"}, {"s": "c"}),
        (
            "self.d < timestamp('2024-01-01T00:00:00Z')",
            {"d": "2023-01-02T03:04:05Z"},
            {"d": "2025-01-02T03:04:05Z"},
        ),
        ("quantity(self.s).isLessThan(quantity('1Gi'))", {"s": "1Mi"}, {"s": "2Gi"}),
        ("self.m.exists_one(k, self.m[k] == 'x')", {"m": {"a": "x"}}, {"m": {"a": "x", "b": "x"}}),
        ("self.l.map(x, x + '!').filter(x, x != 'a!').size() == 1", {"l": ["b"]}, {"l": ["a"]}),
        ("url(self.s).getHost() == 'a.example'", {"s": "https://a.example/x"}, {"s": "https://b.example/x"}),
        ("self.?o.?x.orValue(1) == 1", {}, {"o": {"x": 2}}),
        ("sets.contains(self.l, ['a'])", {"l": ["b", "a"]}, {"l": ["b"]}),
        ("sets.equivalent(self.l, ['a'])", {"l": ["a", "a"]}, {"l": ["a", "b"]}),
        ("sets.intersects(self.l, ['a'])", {"l": ["b", "a"]}, {"l": []}),
        ("self.m.all(k, v, k != v)", {"m": {"a": "b"}}, {"m": {"a": "a"}}),
        ("self.l.existsOne(i, v, v == 'a' && i > 0)", {"l": ["a", "a"]}, {"l": ["a"]}),
        ("self.m.transformList(k, v, v != 'x', k + v) == ['ab']", {"m": {"a": "b"}}, {"m": {"a": "x"}}),
        ("self.m.transformMap(k, v, v + '!')['a'] == 'b!'", {"m": {"a": "b"}}, {"m": {"a": "c"}}),
        ("self.l.transformMapEntry(i, v, {v: i})['b'] == 1", {"l": ["a", "b"]}, {"l": ["b"]}),
        ("cidr('10.0.0.0/8').containsIP(self.s)", {"s": "10.1.1.1"}, {"s": "11.1.1.1"}),
        ("cidr(self.s).containsCIDR('10.1.0.0/16')", {"s": "10.0.0.0/8"}, {"s": "11.0.0.0/8"}),
        ("cidr(self.s).prefixLength() > 8 && ip.isCanonical('::1')", {"s": "10.0.0.0/9"}, {"s": "10.0.0.0/8"}),
        ("semver(self.s).isGreaterThan(semver('1.2.3-rc.1'))", {"s": "1.2.3"}, {"s": "1.2.3-alpha"}),
        ("isSemver(self.s) && semver(self.s).minor() == 4", {"s": "2.4.0"}, {"s": "v2.4"}),
        ("'%s-%d'.format([self.s, self.a]) == 'x-1'", {"s": "x", "a": 1}, {"s": "x", "a": 2}),
        ("-7 / 2 == -3 && -7 % 2 == -1 && self.a == 0", {"a": 0}, {"a": 1}),
    ],
)
def test_rules_hold_or_not(rule: str, good: Object, bad: Object) -> None:
    causes = Causes()
    compile_rules(causes, schema(rule), "x.properties[spec]")
    assert causes == []
    assert found(schema(rule), good) == []
    assert found(schema(rule), bad) == [("<nil>", f'Invalid value: "object": failed rule: {rule}')]


@pytest.mark.parametrize(
    ("rule", "at", "message"),
    [
        ("self.nothing > 1", 5, "undefined field 'nothing'"),
        ("self.o.zz == 1", 7, "undefined field 'zz'"),
        ("self.a > 'x'", 8, "found no matching overload for '_>_' applied to '(int, string)'"),
        ("self.b + self.b", 8, "found no matching overload for '_+_' applied to '(bool, bool)'"),
        ("self.l.all(x, x > 1)", 17, "found no matching overload for '_>_' applied to '(string, int)'"),
        ("nothing(self.a)", 8, "undeclared reference to 'nothing' (in container '')"),
        ("unknown > 1", 1, "undeclared reference to 'unknown' (in container '')"),
        ("self.a > 1)", 11, "Syntax error: extraneous input ')' expecting <EOF>"),
        ("self.b ? true", 14, "Syntax error: mismatched input '<EOF>' expecting ':'"),
        ("has(self)", 5, "invalid argument to has() macro"),
        ("self.s.matches('[')", 16, "invalid matches argument"),
    ],
)
def test_rules_that_do_not_compile(rule: str, at: int, message: str) -> None:
    causes = Causes()
    compile_rules(causes, schema(rule), "x.properties[spec]")
    (cause,) = causes
    assert cause["field"] == "x.properties[spec].x-kubernetes-validations[0].rule"
    wanted = f"compilation failed: ERROR: <input>:1:{at}: {message}\n | {rule}\n | {'.' * (at - 1)}^"
    assert cause["message"].endswith(wanted)


@pytest.mark.parametrize(
    ("more", "field", "message"),
    [
        ({"message": "a\nb"}, "message", 'Invalid value: "a\\nb": must not contain line breaks'),
        ({"fieldPath": ".zz"}, "fieldPath", 'Invalid value: ".zz": must be a valid path'),
        (
            {"optionalOldSelf": True},
            "optionalOldSelf",
            "Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
    ],
)
def test_what_stands_beside_a_rule(more: Object, field: str, message: str) -> None:
    causes = Causes()
    stated(causes, schema("self.a == 1", **more), "x")
    compile_rules(causes, schema("self.a == 1", **more), "x")
    assert [(each["field"], each["message"]) for each in causes] == [
        (f"x.x-kubernetes-validations[0].{field}", message)
    ]


def test_what_a_broken_rule_says() -> None:
    assert found(schema("self.a > 1", message="must be more"), {"a": 1})[0][1].endswith(": must be more")
    told = schema(
        "self.a > 1", messageExpression="'got ' + string(self.a)", reason="FieldValueForbidden", fieldPath=".a"
    )
    assert found(told, {"a": 1}) == [("a", "Forbidden: got 1")]
    assert found(schema("self.a > 1"), {})[0][1].endswith(": no such key: a evaluating rule: self.a > 1")
    assert found(schema("self.a / 0 == 1"), {"a": 1})[0][1].endswith(
        ": division by zero evaluating rule: self.a / 0 == 1"
    )


def test_transitions_compare_with_what_was() -> None:
    fixed = schema("self.s == oldSelf.s")
    assert found(fixed, {"s": "a"}) == []
    assert found(fixed, {"s": "b"}, {"s": "a"}) != []
    grows = schema("!oldSelf.hasValue() || self.a >= oldSelf.value().a", optionalOldSelf=True)
    assert found(grows, {"a": 1}) == []
    assert found(grows, {"a": 1}, {"a": 3}) != []


def test_what_does_not_change_is_not_held_against_an_object() -> None:
    assert found(schema("self.a > 1"), {"a": 1}, {"a": 1}) == []


def test_rules_wait_for_what_is_missing() -> None:
    causes = Causes()
    causes.required("spec.a")
    check_rules(causes, schema("self.a > 1"), {}, None)
    assert causes[-1]["message"].startswith("Invalid value: null: some validation rules were not checked")


def test_a_hostile_rule_ends() -> None:
    rule = "self.l.all(x, self.l.all(y, self.l.all(z, x + y != z)))"
    assert "running out of cost budget" in found(schema(rule), {"l": ["a"] * 1000})[0][1]
    with pytest.raises(OutOfBudget):
        evaluate(parse("x.contains(x)"), {"x": "a" * 10_000_000}, Budget())
    for text in ("(" * 500 + "1" + ")" * 500, "!" * 100 + "x" + "[0]" * 3_000, "[" * 5_000, "a" * 9_000):
        with pytest.raises(CelError):
            evaluate(parse(text), {"x": True}, Budget())


def test_who_defines_a_rule_that_is_not_evaluated_is_told() -> None:
    made = schema("!format.dns1123Label().validate(self.s).hasValue()")
    definition = {"spec": {"versions": [{"schema": {"openAPIV3Schema": made}}]}}
    assert left_out(definition) == ["the sandbox does not evaluate validation rules that use format"]
    assert found(made, {"s": "A"}) == []
