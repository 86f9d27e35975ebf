"""Documents as nobody should write them: names, values and several documents whose results come to one name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kcl.conformance import corpus
from tests.kcl.tools.imports.importing import K8S, imported, ours, theirs

_TEXT = {"type": "string"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _definition(spec: Any, kind: str = "Foo", group: str = "g.example.com", version: str = "v1") -> dict[str, Any]:
    versions = [{"name": version, "schema": {"openAPIV3Schema": spec}}]
    inner = {"group": group, "names": {"kind": kind, "plural": "foos"}, "versions": versions}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": inner}


def _problems(folder: Path, package: str = "models") -> list[str]:
    """What both compilers have against the files of a package, which import no other but k8s."""
    folders = {path.parent for path in (folder / package).rglob("*.k")}
    files = [sorted(each.glob("*.k")) for each in sorted(folders)]
    return [said for each in files for run in (ours, theirs) if (said := run(each, folder, {"k8s": K8S}))]


def _models(folder: Path, *documents: Any) -> str:
    """The text of what is made of definitions, which both compilers must take: they import the published k8s."""
    corpus("kcl-modules")
    ran = imported(folder, "-m", "crd", "-", text=yaml.safe_dump_all(documents))
    assert ran.status == 0, ran.err
    assert _problems(folder) == []
    return "\n".join(path.read_text() for path in sorted((folder / "models").rglob("*.k")))


def test_a_name_that_looks_like_a_value_put_in_is_one_like_others(tmp_path: Path) -> None:
    text = _models(tmp_path, _definition(_object(**{"${x}": _TEXT, 'a"${y}': _TEXT, "$z": _TEXT})))
    assert [line for line in text.splitlines() if "?: str" in line] == [
        '    "$z"?: str',
        '    r"${x}"?: str',
        "    r'a\"${y}'?: str",
    ]


def test_a_name_that_cannot_be_declared_is_refused_with_its_place(tmp_path: Path) -> None:
    ran = imported(tmp_path, "-m", "crd", "-", text=yaml.safe_dump(_definition(_object(**{"${x}\n": _TEXT}))))
    assert ran.status == 1
    assert "g.example.com/v1 Foo: '${x}\\n': cannot be the name of an attribute in KCL" in ran.err


def test_the_name_in_an_index_is_none_of_the_attributes(tmp_path: Path) -> None:
    names = {"propertyNames": {"pattern": "^a"}, "additionalProperties": _TEXT}
    part = {**_object(_name=_TEXT, _name_=_TEXT), **names}
    (tmp_path / "thing.json").write_text(json.dumps(_object(part=part)))
    ran = imported(tmp_path, "-m", "jsonschema", "thing.json")
    assert ran.status == 0, ran.err
    assert _problems(tmp_path) == []
    assert "[_name__: ...str]: str" in (tmp_path / "models" / "thing.k").read_text()


def test_a_default_beyond_64_bits_is_left_out_and_told(tmp_path: Path) -> None:
    whole = {"type": "integer", "default": 10**25}
    text = _models(
        tmp_path, _definition(_object(size=whole, at=_object(n={"type": "integer"}) | {"default": {"n": -(2**70)}}))
    )
    assert text.count("the default is left out, since KCL has no whole numbers of its size") == 2


def test_a_part_and_another_kind_of_one_name_are_two_schemas(tmp_path: Path) -> None:
    part = _definition(_object(status=_object(spec=_object(inner=_TEXT))), "Foo")
    other = _definition(_object(spec=_object(outer=_TEXT)), "FooStatus")
    text = _models(tmp_path, part, other)
    assert "schema GExampleComV1FooStatusSpec:" in text
    assert "schema GExampleComV1FooStatusSpec2:" in text
    turned = tmp_path / "turned"
    turned.mkdir()
    assert _models(turned, other, part) == text


@pytest.mark.parametrize(
    "others",
    [
        [{"group": "a-b.example.com"}, {"group": "a.b.example.com"}],
        [{"kind": "Foo"}, {"kind": "foo"}],
        [{"version": "v1-a"}, {"version": "v1.a"}],
    ],
)
def test_two_definitions_that_make_one_file_are_refused(others: list[dict[str, str]], tmp_path: Path) -> None:
    documents = [_definition(_object(a=_TEXT), **each) for each in others]
    ran = imported(tmp_path, "-m", "crd", "-", text=yaml.safe_dump_all(documents))
    assert ran.status == 1
    assert "import them into packages of their own (--package)" in ran.err
    assert not (tmp_path / "models").exists()


def test_a_failure_names_file_version_and_kind(tmp_path: Path) -> None:
    ran = imported(tmp_path, "-m", "crd", "-", text=yaml.safe_dump(_definition(_object(a=None))))
    assert ran.err == (
        "kcl import: standard input: g.example.com/v1 Foo: /properties/a: a schema is a mapping, not null\n"
    )


def test_blocks_of_a_resource_and_another_resource_of_one_name(tmp_path: Path) -> None:
    text = {"type": "string", "optional": True}
    rule = {"nesting_mode": "single", "block": {"attributes": {"inner": text}}}
    resources = {
        "aws_group": {"block": {"block_types": {"rule": rule}}},
        "aws_group_rule": {"block": {"attributes": {"outer": text}}},
    }
    document = {"provider_schemas": {"registry.terraform.io/hashicorp/aws": {"resource_schemas": resources}}}
    ran = imported(tmp_path, "-m", "terraform", "-", text=json.dumps(document))
    assert ran.status == 0, ran.err
    assert _problems(tmp_path) == []
    assert "    $rule?: AwsGroupRule2" in (tmp_path / "models" / "aws_group.k").read_text()
    assert "schema AwsGroupRule:" in (tmp_path / "models" / "aws_group_rule.k").read_text()


@pytest.mark.parametrize("mode", ["openapi", "jsonschema"])
def test_documents_with_definitions_of_one_name_share_a_package(mode: str, tmp_path: Path) -> None:
    for stem, kind in (("first", "integer"), ("second", "string")):
        nested = {"anyOf": [{"type": kind}, {"type": "array", "items": {"$ref": "#/definitions/Deep"}}]}
        definitions = {"Error": _object(code={"type": kind}, deep={"$ref": "#/definitions/Deep"}), "Deep": nested}
        head = (
            {"swagger": "2.0"}
            if mode == "openapi"
            else {"title": "Thing", **_object(e={"$ref": "#/definitions/Error"})}
        )
        (tmp_path / f"{stem}.json").write_text(json.dumps({**head, "definitions": definitions}))
    ran = imported(tmp_path, "-m", mode, "first.json", "second.json")
    assert ran.status == 0, ran.err
    assert _problems(tmp_path) == []
    for stem, name, good, bad in (("first", "Error", "[1]", '["x"]'), ("second", "Error2", '["x"]', "[1]")):
        assert f"schema {name}:" in (tmp_path / "models" / f"{stem}.k").read_text()
        for value, is_right in ((good, True), (bad, False)):
            main = tmp_path / "main.k"
            main.write_text(f"import models\nx = models.{name} {{deep = {value}}}\n")
            assert [run([main], tmp_path, {}) == "" for run in (ours, theirs)] == [is_right, is_right]


def test_an_enumeration_of_any_length_is_held_to(tmp_path: Path) -> None:
    sizes = {"type": "string", "enum": [f"size.{number}" for number in range(1500)]}
    (tmp_path / "thing.json").write_text(json.dumps(_object(size=sizes, sizes={"type": "array", "items": sizes})))
    ran = imported(tmp_path, "-m", "jsonschema", "thing.json")
    assert ran.status == 0 and "too long" not in ran.err, ran.err
    main = tmp_path / "main.k"
    for value, is_right in (("size.1499", True), ("size.1500", False)):
        for given in (f'size = "{value}"', f'sizes = ["size.0", "{value}"]'):
            main.write_text(f"import models\nx = models.Thing {{{given}}}\n")
            assert [run([main], tmp_path, {}) == "" for run in (ours, theirs)] == [is_right, is_right]


def test_what_an_anchor_is_merged_from_is_part_of_the_schema(tmp_path: Path) -> None:
    merging = yaml.safe_dump(_definition(_object(a=_TEXT))).replace("  - name: v1\n", "  - &one\n    name: v1\n")
    ran = imported(tmp_path, "-m", "crd", "-", text=f"{merging}  - <<: [*one]\n    name: v2\n")
    assert ran.status == 0, ran.err
    assert "has no schema" not in ran.err
    assert "    a?: str\n" in (tmp_path / "models/v2/g_example_com_v2_foo.k").read_text()


def test_data_keeps_what_the_compiler_reads(tmp_path: Path) -> None:
    ran = imported(tmp_path, "-m", "yaml", "-", text="a: &a {x: 1}\nb: {<<: *a}\n")
    assert ran.status == 0, ran.err
    assert '"<<" = ' in next((tmp_path / "models").glob("*.k")).read_text()
