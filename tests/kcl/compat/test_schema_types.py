"""Types of schemas as the official compiler tells them."""

from __future__ import annotations

from typing import Any

import pytest

from kcl.compat import api, service
from tests.kcl.conformance import corpus

PROGRAM = '''
schema Base:
    """What all have.

    Attributes
    ----------
    kind: str, default is "x", required.
        The kind.

    Examples
    --------
    b = Base {}
    """
    kind: str = "x"

schema Person(Base):
    """A person."""
    @deprecated(version="1.0", reason="older")
    name: str
    age?: int = 3
    tags: [str]
    labels: {str:int}
    choice: "a" | "b" | 3
    anything?: any
    function?: (int, str) -> bool
    always: True

schema ByName:
    [name: str]: Base

p = Person {name = "a", tags = [], labels = {}, choice = "a", always = True}
q: Person = p
d: ByName = {}
n = 1
'''


def asked(**more: Any) -> dict[str, Any]:
    return {"exec_args": {"k_filename_list": ["t.k"], "k_code_list": [PROGRAM]}, **more}


def without_empty(value: Any) -> Any:
    """A message as protobuf's JSON spells it: nothing that is empty, and no order of names."""
    match value:
        case dict():
            found = {key: without_empty(each) for key, each in value.items()}
            kept = {key: each for key, each in found.items() if each not in ("", 0, False, [], {})}
            return {key: sorted(each) if key == "required" else each for key, each in kept.items()}
        case list():
            return [without_empty(each) for each in value]
        case _:
            return value


def official(method: str, sent: dict[str, Any]) -> Any:
    kcl_lib = pytest.importorskip("kcl_lib.api")
    json_format = pytest.importorskip("google.protobuf.json_format")
    message = json_format.ParseDict(sent, kcl_lib.GetSchemaTypeMappingArgs())
    answer = kcl_lib.API().call(f"KclService.{method}", message)
    if method.endswith("UnderPath"):
        parsed = kcl_lib.GetSchemaTypeMappingUnderPathResult()
        parsed.ParseFromString(answer.SerializeToString())
        answer = parsed
    return json_format.MessageToDict(answer, preserving_proto_field_name=True)


@pytest.mark.parametrize("name", ["", "Person"])
def test_types_are_those_of_the_official_compiler(name: str) -> None:
    sent = asked(schema_name=name)
    answer = service.call("KclService.GetSchemaTypeMapping", sent)
    assert without_empty(answer) == without_empty(official("GetSchemaTypeMapping", sent))


def test_a_variable_of_an_imported_schema_tells_where_it_is_from() -> None:
    folder = corpus("kcl-lib-python").resolve() / "test_data" / "get_schema_ty"
    packages = [{"pkg_name": each, "pkg_path": str(folder / each)} for each in ("bbb", "ccc")]
    sent = {"exec_args": {"k_filename_list": [str(folder / "aaa" / "main.k")], "external_pkgs": packages}}
    answer = service.call("KclService.GetSchemaTypeMapping", sent)
    assert without_empty(answer) == without_empty(official("GetSchemaTypeMapping", sent))
    below = service.call("KclService.GetSchemaTypeMappingUnderPath", sent)["schema_type_mapping"]
    assert {path: [each["schema_name"] for each in found["schema_type"]] for path, found in below.items()} == {
        "bbb": ["B"],
        "ccc": ["C"],
    }


def test_a_schema_inside_itself_is_named_and_not_told_again() -> None:
    code = "schema Node:\n    name: str\n    next?: Node\n    others: {str:Node}\n"
    args = api.GetSchemaTypeMappingArgs(api.ExecProgramArgs(k_filename_list=["t.k"], k_code_list=[code]))
    node = api.API().get_schema_type_mapping(args).schema_type_mapping["Node"]
    inner = node.properties["next"]
    assert (inner.type, inner.schema_name, inner.properties) == ("schema", "Node", {})
    item = node.properties["others"].item
    assert item is not None
    assert item.schema_name == "Node"


def test_types_of_a_program_that_is_wrong_are_not_guessed() -> None:
    args = api.GetSchemaTypeMappingArgs(api.ExecProgramArgs(k_filename_list=["t.k"], k_code_list=["a: Missing = 1"]))
    with pytest.raises(api.ServiceError, match=r"t\.k:1"):
        api.API().get_schema_type_mapping(args)


def test_types_too_many_for_one_answer_are_refused() -> None:
    levels = [f"schema S{n}:\n    a: S{n + 1}\n    b: S{n + 1}\n    c: S{n + 1}\n" for n in range(14)]
    code = "".join(levels) + "schema S14:\n    end: int\n"
    args = api.GetSchemaTypeMappingArgs(api.ExecProgramArgs(k_filename_list=["t.k"], k_code_list=[code]), "S0")
    with pytest.raises(api.ServiceError, match="one answer"):
        api.API().get_schema_type_mapping(args)


def test_symbols_of_a_package() -> None:
    answer = service.call("KclService.LoadPackage", {"parse_args": {"paths": ["t.k"], "sources": [PROGRAM]}})
    assert (answer["parse_errors"], answer["type_errors"]) == ([], [])
    index = answer["fully_qualified_name_map"]["__main__.Person.name"]
    symbol = answer["symbols"][f'{{"i":{index["i"]},"g":0,"kind":"Attribute"}}']
    assert (symbol["name"], symbol["ty"]["type"]) == ("name", "str")
    top = answer["scopes"]['{"i":0,"g":0,"kind":"Root"}']
    assert {each["kind"] for each in top["defs"]} == {"Schema", "Value"}


def test_symbols_of_what_is_broken_come_with_what_is_wrong() -> None:
    answer = service.call(
        "KclService.LoadPackage", {"parse_args": {"paths": ["t.k"], "sources": ["a: int = 'x'\nb ="]}}
    )
    assert answer["parse_errors"] or answer["type_errors"]
    gone = service.call("KclService.LoadPackage", {"parse_args": {"paths": ["/nowhere/at/all.k"]}})
    assert gone["parse_errors"]
