"""JSON Schema: what is made accepts what the schema accepts, in both compilers, with jsonschema as the oracle."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from kcl.tools.imports.literals import value as literal
from tests.json_schema import validator
from tests.kcl.tools.imports.drawing import changed, drawn
from tests.kcl.tools.imports.importing import imported, ours, theirs

_NODE = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/node"}, "val": {"type": "integer", "minimum": 1}},
    "required": ["val"],
}
_INT, _TEXT = {"type": "integer"}, {"type": "string"}
_PROPERTIES: dict[str, dict[str, Any]] = {
    "lengths": {"type": "string", "minLength": 2, "maxLength": 5},
    "pattern": {"type": "string", "pattern": r"^[a-z]+\d?$"},
    "quotes in a pattern": {"type": "string", "pattern": "^[\"'a-z]+$"},
    "bounds": {"type": "integer", "minimum": -3, "maximum": 7},
    "open bounds": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 9.5},
    "multiple": {"type": "integer", "multipleOf": 3},
    "part of one": {"type": "number", "multipleOf": 0.5},
    "enum": {"enum": ["a", "b", 3, True]},
    "enum that is no type": {"enum": ["a\nb", -1, 2.5, {"x": 1}, [1], 'q"', "${x}"]},
    "constant": {"const": "only"},
    "nullable": {"type": ["string", "null"], "maxLength": 3},
    "several types": {
        "type": ["string", "integer", "array"],
        "minimum": 3,
        "minLength": 2,
        "items": _INT,
        "maxItems": 2,
    },
    "items": {"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 1, "maxItems": 3},
    "unique": {"type": "array", "items": _INT, "uniqueItems": True},
    "first items": {"type": "array", "prefixItems": [_TEXT, _INT], "items": False},
    "contains": {"type": "array", "contains": {"const": 7}, "maxContains": 2},
    "lists of lists": {"type": "array", "items": {"type": "array", "items": {"type": "integer", "maximum": 5}}},
    "values": {"type": "object", "additionalProperties": {"type": "integer", "maximum": 5}, "minProperties": 1},
    "names": {"type": "object", "propertyNames": {"pattern": "^k"}, "additionalProperties": _INT},
    "patterns": {"type": "object", "patternProperties": {"^s_": _TEXT}, "additionalProperties": False},
    "open object": {"type": "object", "properties": {"a": _INT}, "required": ["a"]},
    "closed object": {
        "type": "object",
        "properties": {"a": _INT, "x-y": {"type": "integer", "minimum": 2}},
        "additionalProperties": False,
    },
    "reserved words": {
        "type": "object",
        "properties": {
            "if": _INT,
            "type": {"type": "string", "minLength": 2},
            "len": _INT,
            "str": _TEXT,
            "$ref_": _INT,
        },
    },
    "counted": {
        "type": "object",
        "properties": {"a": _INT, "b": _INT, "c": _INT},
        "minProperties": 1,
        "maxProperties": 2,
    },
    "other values": {
        "type": "object",
        "properties": {"a": _TEXT},
        "additionalProperties": {"type": "integer", "minimum": 3},
    },
    "depends": {"type": "object", "properties": {"a": _INT, "b": _INT}, "dependentRequired": {"a": ["b"]}},
    "depends on a schema": {
        "type": "object",
        "properties": {"a": _INT, "b": _INT},
        "dependentSchemas": {"a": {"properties": {"b": {"minimum": 5}}}},
    },
    "alternatives of kinds": {
        "oneOf": [{"type": "string", "maxLength": 3}, {"type": "array", "items": _INT}, {"type": "boolean"}]
    },
    "alternatives of objects": {
        "anyOf": [
            {"type": "object", "required": ["a"], "properties": {"a": _INT}},
            {"type": "object", "required": ["b"]},
        ]
    },
    "exactly one": {
        "type": "object",
        "properties": {"a": _INT, "b": _INT},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "exactly one range": {"type": "integer", "oneOf": [{"maximum": 5}, {"minimum": 3}]},
    "not": {"type": "string", "not": {"enum": ["abc", "a"]}},
    "not together": {"type": "object", "properties": {"a": _INT, "b": _INT}, "not": {"required": ["a", "b"]}},
    "names beside an alternative": {
        "oneOf": [{"type": "object", "properties": {"q": _TEXT}}],
        "properties": {"a": _INT},
        "required": ["a"],
    },
    "condition": {
        "type": "object",
        "properties": {"t": _TEXT, "z": _INT},
        "if": {"properties": {"t": {"const": "a"}}, "required": ["t"]},
        "then": {"required": ["z"]},
        "else": {"properties": {"z": {"maximum": 9}}},
    },
    "all of": {"allOf": [{"$ref": "#/$defs/node"}, {"properties": {"more": _TEXT}, "required": ["more"]}]},
    "all of one number": {"type": "integer", "allOf": [{"minimum": 3}, {"maximum": 9}, {"multipleOf": 2}]},
    "recursion": {"$ref": "#/$defs/node"},
    "recursion in lists": {"$ref": "#/$defs/tree"},
    "recursion without a schema": {"$ref": "#/$defs/nested"},
    "items of several kinds": {
        "type": "array",
        "items": {"anyOf": [_INT, {"type": "object", "properties": {"foo": _INT}, "required": ["foo"]}]},
    },
    "default beyond its limit": {
        "type": "object",
        "properties": {"bar": {"type": "integer", "default": 9, "maximum": 5}},
    },
    "anything": {},
}
_DEFS = {
    "node": _NODE,
    "tree": {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2}, "v": _INT},
        "additionalProperties": False,
    },
    "nested": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/nested"}}]},
}
_BY_HAND: dict[str, list[Any]] = {
    "lengths": ["ääää", "ä", "äöüäöü"],
    "nullable": [None],
    "several types": ["a", "ab", 2, 3, [1], [1, 2, 3], ["x"]],
    "first items": [["a", 1], ["a"], [1], ["a", 1, 2], []],
    "contains": [[7], [1], [7, 7, 7]],
    "enum that is no type": ["a\nb", -1, 2.5, {"x": 1}, {"x": 2}, [1], 'q"', "${x}"],
    "patterns": [{"s_a": "x"}, {"s_a": 1}, {"b": 1}, {}],
    "names": [{"ka": 1}, {"a": 1}],
    "closed object": [{"x-y": 1}, {"x-y": 2}, {"b": 1}],
    "other values": [{"a": "x", "b": 3}, {"b": 1}, {"b": "x"}],
    "alternatives of kinds": ["abc", "abcd", [1], ["x"], True, 1, {}],
    "exactly one": [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}, {}],
    "names beside an alternative": [{"a": 1}, {"a": "x"}, {"q": "x"}, {"a": 1, "q": 2}, {"a": 1, "q": "x"}, 1],
    "condition": [{"t": "a"}, {"t": "a", "z": 99}, {"z": 99}, {"z": 1}],
    "recursion": [{"val": 1, "next": {"val": 2, "next": {"val": 0}}}, {"val": 1, "next": {"val": 1}}, {"next": {}}],
    "recursion in lists": [{"kids": [{"kids": [{}, {}, {}]}]}, {"kids": [{"v": 1}]}, {"kids": [{"v": "x"}]}],
    "recursion without a schema": [1, [1, [2, []]], [1, ["x"]], "x"],
    "anything": [1, "x", None, {"a": [1]}],
    "depends": [{"a": 1}, {"a": 1, "b": 2}, {"b": 1}],
    "depends on a schema": [{"a": 1, "b": 5}, {"a": 1, "b": 4}, {"b": 1}],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _PROPERTIES)
def test_accepts_what_the_schema_accepts(name: str, tmp_path: Path) -> None:
    schema = _PROPERTIES[name]
    document = {
        "type": "object",
        "title": "Thing",
        "properties": {"value": schema},
        "required": ["value"],
        "$defs": _DEFS,
    }
    (tmp_path / "thing.json").write_text(json.dumps(document))
    ran = imported(tmp_path, "-m", "jsonschema", "thing.json")
    assert ran.status == 0, ran.err
    oracle = validator(document)
    rng = random.Random(name)
    candidates = [{"value": each} for each in _BY_HAND.get(name, ())]
    for _ in range(6):
        good = {"value": drawn(schema if "$ref" not in schema else _NODE, rng)}
        candidates += [good, *(changed(good, document, rng) for _ in range(4))]
    wrong = []
    main = tmp_path / "main.k"
    for candidate in candidates:
        if _has_none(candidate) and name not in ("nullable", "anything"):
            continue
        main.write_text(f"import models\nx = models.Thing {literal(candidate)}\n")
        expected = oracle.is_valid(candidate) or (name == "constant" and candidate == {})  # a constant sets itself
        for compiler in (ours, theirs):
            problem = compiler([main], tmp_path, {})
            if expected is not (problem == ""):
                wrong.append((compiler.__name__, expected, candidate, problem[:600]))
    text = (tmp_path / "models" / "thing.k").read_text()
    assert wrong == [], f"{wrong}\n{text}"


def _has_none(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_none(each) for each in value.values())
    return value is None or (isinstance(value, list) and any(_has_none(each) for each in value))


def test_formats_that_are_not_checked_are_named_where_the_elements_have_them(tmp_path: Path) -> None:
    texts = {"type": "array", "items": {"type": "array", "items": {"type": "string", "format": "cidr"}}}
    named = {"type": "object", "additionalProperties": {"type": "string", "format": "ipv4"}}
    (tmp_path / "net.json").write_text(json.dumps({"type": "object", "properties": {"ranges": texts, "named": named}}))
    made = imported(tmp_path, "net.json", "-o", "net.k")
    assert made.status == 0, made
    for said in (made.out + made.err, "".join(each.read_text() for each in (tmp_path / "net.k").rglob("*.k"))):
        assert "the format cidr is not checked" in said and "the format ipv4 is not checked" in said


_SIZES: dict[str, Any] = {"enum": [1, 2]}
_PART: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": _SIZES,
        "on": {"enum": [True]},
        "either": {"enum": [1, "a"]},
        "whole": {"type": "integer", "default": 1.0, "enum": [1.0, 2]},
        "name": {"type": "string", "pattern": "^a"},
    },
    "propertyNames": {"pattern": "^[a-z]+$"},
}


@pytest.mark.parametrize(
    ("part", "is_right"),
    [
        ({"size": 1}, True),
        ({"size": 3}, False),
        ({"on": True}, True),
        ({"on": False}, False),
        ({"either": 1}, True),
        ({"either": "b"}, False),
        ({"whole": 2}, True),
        ({"whole": 3}, False),
        ({"name": "a"}, True),
        ({"name": "b"}, False),
        ({"name": "a", "other": 1}, True),
        ({"name": "a", "Other": 1}, False),
    ],
)
def test_numbers_and_names_of_a_part_are_held_to_in_both_compilers(
    part: dict[str, Any], is_right: bool, tmp_path: Path
) -> None:
    """`{part = {size = 1}}` is a mapping of `int` to both, which `1 | 2` would not take."""
    (tmp_path / "thing.json").write_text(json.dumps({"type": "object", "properties": {"part": _PART}}))
    made = imported(tmp_path, "-m", "jsonschema", "thing.json")
    assert (made.status, "not held" in made.err) == (0, False)
    (tmp_path / "main.k").write_text(
        f"import models\nx = models.ThingPart {literal(part)}\ny = models.Thing {{part = {literal(part)}}}\n"
    )
    for compiler in (ours, theirs):
        problem = compiler([tmp_path / "main.k"], tmp_path, {})
        assert (problem == "") is is_right, (compiler.__name__, problem)


def test_a_default_of_an_integer_that_is_written_as_a_decimal_is_one(tmp_path: Path) -> None:
    (tmp_path / "thing.json").write_text(json.dumps({"type": "object", "properties": {"part": _PART}}))
    made = imported(tmp_path, "-m", "jsonschema", "thing.json")
    assert "default is left out" not in made.err
    assert "    whole?: int = 1\n" in (tmp_path / "models" / "thing.k").read_text()
