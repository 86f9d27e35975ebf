"""Schemas that contradict or repeat themselves, and names that conditions call: what is made compiles and holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kcl.tools.imports.literals import value as literal
from tests.json_schema import validator
from tests.kcl.tools.imports.importing import imported, ours, theirs

_INT, _TEXT = {"type": "integer"}, {"type": "string"}
_OPEN: dict[str, Any] = {"type": "object", "properties": {"tags": {"type": "array", "minItems": 1}}}
_SCHEMAS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "a name that a condition calls": (_OPEN, [{"len": 1, "tags": [1]}, {"len": 1, "tags": []}, {"typeof": 1}]),
    "a name that a function calls": (
        {**_OPEN, "additionalProperties": {"$ref": "#/$defs/numbers"}},
        [{"len": [1]}, {"len": []}, {"len": ["x"]}, {"typeof": [1], "isunique": [2], "len": [3]}],
    ),
    "a number that is an object": (
        {"type": "object", "additionalProperties": {**_INT, "allOf": [{"type": "object", "required": ["a"]}]}},
        [{}, {"a": 1}, {"a": {"a": 1}}],
    ),
    "a number among texts": ({"type": "array", "items": _TEXT, "contains": {**_INT, "minimum": 3}}, [[], ["a"]]),
    "an object among the values of an enumeration": (
        {"enum": ["a", 3], "allOf": [{"type": "object", "properties": {"a": _INT}}]},
        ["a", 3, {"a": 1}],
    ),
    "an object, a number or a text, by reference": (
        {"$ref": "#/$defs/several"},
        [{"a": 1}, {"a": "x"}, {}, 3, 9, "x", True, []],
    ),
    "other values of other types": (
        {
            "type": "object",
            "properties": {"a": _INT},
            "additionalProperties": {"type": ["string", "integer"], "maxLength": 2, "minimum": 1},
        },
        [{"a": 0, "b": "x", "c": 1}, {"b": 0}, {"b": "xyz"}, {"b": True}],
    ),
}
_DEFS = {
    "numbers": {"type": "array", "items": _INT, "minItems": 1, "uniqueItems": True},
    "several": {"type": ["object", "integer", "string"], "properties": {"a": _INT}, "maximum": 6},
    "endless": {"anyOf": [{"$ref": "#/$defs/endless"}, _INT]},
}


@pytest.mark.parametrize("name", _SCHEMAS)
def test_accepts_what_the_schema_accepts(name: str, tmp_path: Path) -> None:
    schema, values = _SCHEMAS[name]
    document = {"title": "Thing", "type": "object", "properties": {"value": schema, "other": {}}, "$defs": _DEFS}
    _import(tmp_path, document)

    oracle, main = validator(document), tmp_path / "main.k"
    for value in values:
        main.write_text(f"import models\nx = models.Thing {literal({'value': value})}\n")
        for compiler in (ours, theirs):
            problem = compiler([main], tmp_path, {})
            assert oracle.is_valid({"value": value}) is (problem == ""), (compiler.__name__, value, problem)


def _import(folder: Path, document: dict[str, Any]) -> str:
    """The report; the package compiles in both compilers."""
    (folder / "thing.json").write_text(json.dumps(document))
    made = imported(folder, "-v", "-m", "jsonschema", "thing.json")
    assert made.status == 0, made.err
    main = folder / "main.k"
    main.write_text("import models\nx = 1\n")
    assert ours([main], folder, {}) == theirs([main], folder, {}) == ""
    return made.err


def test_what_asks_itself_about_the_same_value_is_told(tmp_path: Path) -> None:
    value = {"$ref": "#/$defs/endless"}
    report = _import(tmp_path, {"title": "Thing", "type": "object", "properties": {"value": value}, "$defs": _DEFS})
    assert "what refers to itself for the same value is not checked" in report
    (tmp_path / "main.k").write_text("import models\nx = models.Thing {value = 1}\n")
    assert ours([tmp_path / "main.k"], tmp_path, {}) == theirs([tmp_path / "main.k"], tmp_path, {}) == ""


def test_a_document_that_refers_to_no_object_is_held_to(tmp_path: Path) -> None:
    report = _import(
        tmp_path, {"title": "Thing", "$ref": "#/definitions/on", "definitions": {"on": {"type": "boolean"}}}
    )
    assert "has it as the attribute `value`" in report
    for value, is_right in (("True", True), ("3", False)):
        (tmp_path / "main.k").write_text(f"import models\nx = models.Thing {{value = {value}}}\n")
        assert (ours([tmp_path / "main.k"], tmp_path, {}) == "") is is_right


def test_what_the_document_asks_of_itself_is_told_though_parts_of_it_refer_to_it(tmp_path: Path) -> None:
    document = {"title": "Thing", "type": "object", "properties": {"next": {"$ref": "#"}}, "minProperties": 1}
    assert "what depends on which names are set" in _import(tmp_path, document)


def test_an_enumeration_of_objects_with_a_schema_is_told(tmp_path: Path) -> None:
    value = {"type": "object", "properties": {"a": _INT}, "anyOf": [{"enum": [{"a": 1}]}, {"required": ["a"]}]}
    report = _import(tmp_path, {"title": "Thing", "type": "object", "properties": {"value": value}})
    assert "an enumeration of objects is not checked where they are of a schema" in report
    (tmp_path / "main.k").write_text("import models\nx = models.Thing {value = {a = 1}}\n")
    assert ours([tmp_path / "main.k"], tmp_path, {}) == theirs([tmp_path / "main.k"], tmp_path, {}) == ""


def test_a_name_that_is_required_and_not_taken_is_told(tmp_path: Path) -> None:
    document = {"title": "Thing", "type": "object", "properties": {"a": _INT}, "required": ["b"]}
    report = _import(tmp_path, {**document, "additionalProperties": False})
    assert "b is required, and no name that is listed" in report
