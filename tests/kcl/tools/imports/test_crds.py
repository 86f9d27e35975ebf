"""Custom resource definitions: what is made of them, always the same, and no larger a difference than the change."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kcl.tools.imports.importing import imported

_SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "description": "What is wanted.",
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many."},
        "mode": {"type": "string", "enum": ["Fast", "Safe"], "default": "Safe"},
        "port": {"x-kubernetes-int-or-string": True},
        "type": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "parts": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
}


def _definition(spec: dict[str, Any] | None = None, kind: str = "CronTab", **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": spec or _SPEC}}
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
    inner = {"group": "stable.example.com", "names": {"kind": kind}, "versions": versions, **more}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": inner}


def _text(folder: Path, *documents: Any, path: str = "v1/stable_example_com_v1_cron_tab.k") -> str:
    ran = imported(folder, "-m", "crd", "-f", "-", text=yaml.safe_dump_all(documents))
    assert ran.status == 0, ran.err
    return (folder / "models" / path).read_text()


def test_attributes_types_and_checks(tmp_path: Path) -> None:
    text = _text(tmp_path, _definition())
    declared = [line for line in text.splitlines() if line.startswith("    ") and ("?: " in line or '" = "' in line)]
    assert declared == [
        '    apiVersion: "stable.example.com/v1" = "stable.example.com/v1"',
        '    kind: "CronTab" = "CronTab"',
        "    metadata?: v1.ObjectMeta",
        "    spec?: StableExampleComV1CronTabSpec",
        "    free?: any",
        "    labels?: {str:str}",
        '    mode?: "Fast" | "Safe" = "Safe"',
        "    parts?: [StableExampleComV1CronTabSpecPartsItems0]",
        "    port?: int | str",
        "    tags?: [str]",
        "    $type?: str",
        "    name?: str",
    ]
    checks = text[text.index("    check:") : text.index("schema StableExampleComV1CronTabSpecPartsItems0")]
    assert [line.strip() for line in checks.strip().splitlines()[1:]] == [
        "_is_object(free) if free not in [None, Undefined]",
        "size >= 1 if size not in [None, Undefined]",
        "size <= 9 if size not in [None, Undefined]",
        "isunique(tags) if tags not in [None, Undefined]",
        "_length($type) <= 8 if $type not in [None, Undefined]",
        '_regex_match($type, r"^[a-z]+$") if $type not in [None, Undefined]',
    ]
    assert "    size : int, default is Undefined, required\n        How many.\n" in text
    assert "    What is wanted.\n" in text


def test_the_same_bytes_again_whatever_the_order_of_keys(tmp_path: Path) -> None:
    turned = {**_SPEC, "properties": dict(reversed(_SPEC["properties"].items()))}
    assert _text(tmp_path / ".", _definition()) == _text(tmp_path, _definition(turned))


def test_one_attribute_more_is_one_place_more(tmp_path: Path) -> None:
    more = {**_SPEC, "properties": {**_SPEC["properties"], "paused": {"type": "boolean", "description": "Whether."}}}
    before, after = _text(tmp_path, _definition()), _text(tmp_path, _definition(more))
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    assert [line for line in lines if line[0] == "-"] == []
    added = [line[2:] for line in lines if line[0] == "+" and line[2:]]
    assert added == ["    paused : bool, default is Undefined, optional", "        Whether.", "    paused?: bool"]


def test_versions_lists_and_the_notation_of_v1beta1(tmp_path: Path) -> None:
    old = _definition(kind="Old", version="v1beta1", versions=None)
    old["apiVersion"] = "apiextensions.k8s.io/v1beta1"
    old["spec"]["validation"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC}}}
    two = _definition()
    two["spec"]["versions"].append({**two["spec"]["versions"][0], "name": "v2"})
    ran = imported(tmp_path, "-m", "crd", "-", text=yaml.safe_dump({"kind": "List", "items": [old, two]}))
    assert ran.out.splitlines() == [
        "./models/v1/stable_example_com_v1_cron_tab.k",
        "./models/v1beta1/stable_example_com_v1beta1_old.k",
        "./models/v2/stable_example_com_v2_cron_tab.k",
    ]


def test_kinds_of_two_groups_get_their_full_names(tmp_path: Path) -> None:
    text = _text(tmp_path, _definition(), {**_definition(group="other.example.com")})
    assert "schema StableExampleComV1CronTab:" in text


def test_a_version_without_schema_is_open_and_told(tmp_path: Path) -> None:
    ran = imported(tmp_path, "-m", "crd", "-", text=yaml.safe_dump(_definition(versions=[{"name": "v1"}])))
    assert "has no schema: any content is accepted" in ran.err
    assert "[...str]: any" in (tmp_path / "models/v1/stable_example_com_v1_cron_tab.k").read_text()


def test_rules_that_are_not_checked_are_told_in_docstring_and_report(tmp_path: Path) -> None:
    spec = {**_SPEC, "x-kubernetes-validations": [{"rule": "self.size < oldSelf.size", "message": "too many"}]}
    ran = imported(tmp_path, "-m", "crd", "-", text=yaml.safe_dump(_definition(spec)))
    note = "since it compares with what was there before: self.size < oldSelf.size (too many)"
    assert note in ran.err
    assert note in (tmp_path / "models/v1/stable_example_com_v1_cron_tab.k").read_text()


def test_docstrings_and_texts_end_nowhere_else(tmp_path: Path) -> None:
    hostile = 'x """\nschema Evil:\n    a: int = 1 ${b} \\ \x1b[2J\u202e'
    spec = {"type": "object", "description": hostile, "properties": {"a": {"enum": [hostile, "b"], "default": hostile}}}
    text = _text(tmp_path, _definition(spec))
    assert "\nschema Evil" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("version", ["../../x", "v1/..", "", "a b", "v1\n", ".", "/etc"])
def test_hostile_names_write_nothing(version: str, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    for more in ({"versions": [{"name": version}]}, {"group": version or 3}, {"names": {"kind": version}}):
        ran = imported(inner, "-m", "crd", "-", text=yaml.safe_dump(_definition(**more)))
        assert ran.status == 1
        assert "is not a name" in ran.err
    assert [path for path in tmp_path.rglob("*") if path != inner] == []
