"""The official service by names of methods, with messages as JSON."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kcl.compat import api
from kcl.compat.json_form import BadMessage
from kcl.compat.plugin import Registered
from kcl.compat.service import INSTEAD, METHODS, UnknownMethod, call
from kcl.records import fields


def official_messages() -> Any:
    return pytest.importorskip("kcl_lib.api.spec_pb2")


def test_a_program_is_run() -> None:
    answer = call("KclService.ExecProgram", {"k_filename_list": ["t.k"], "k_code_list": ["a = option('n')"],
                                             "args": [{"name": "n", "value": "3"}]})  # fmt: skip
    assert answer == {"json_result": '{"a": 3}', "yaml_result": "a: 3", "log_message": "", "err_message": ""}


def test_names_may_be_written_as_protobuf_writes_them() -> None:
    answer = call("KclService.ExecProgram", {"kFilenameList": ["t.k"], "kCodeList": ["a = 1"], "debug": "1"})
    assert answer["yaml_result"] == "a: 1"


def test_bytes_are_base64() -> None:
    answer = call("KclService.FormatCode", {"source": "a  =  1\n"})
    assert base64.b64decode(answer["formatted"]) == b"a = 1\n"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ([], "needs to be an object, got a list"),
        ("text", "needs to be an object, got a text"),
        ({"k_filename_list": "t.k"}, "k_filename_list needs to be a list, got a text"),
        ({"k_filename_list": [1]}, r"k_filename_list\[0\] needs to be a text, got a number"),
        ({"args": [{"nam": "n"}]}, r"no field 'args\[0\].nam'"),
        ({"sort_keys": 1}, "sort_keys needs to be true or false, got a number"),
        ({"debug": True}, "debug needs to be a whole number, got true"),
        ({"debug": 10**40}, "debug needs to be a whole number"),
        ({"debug": "9" * 5000}, "debug needs to be a whole number"),
        ({"workDir": "a", "work_dir": "b"}, "given twice"),
    ],
)
def test_what_is_not_the_message_is_refused_with_its_place(sent: object, said: str) -> None:
    with pytest.raises(BadMessage, match=said):
        call("KclService.ExecProgram", sent)


@pytest.mark.parametrize("field", ["emit_attribute_metadata", "print_override_ast"])
def test_what_would_not_be_heeded_is_refused(field: str) -> None:
    with pytest.raises(api.ServiceError, match=field):
        call("KclService.ExecProgram", {"k_filename_list": ["t.k"], "k_code_list": ["a = 1"], field: True})


TYPED = """\
schema B:
    v: int = 1
schema A(B):
    b: B = B {}
    l: [B] = [B {v = 2}]
    d: {str:} = {q = B {}}
y = A {}
w = {k = B {}}
"""


def test_the_schema_of_each_instance_is_told_as_the_official_client_tells_it() -> None:
    sent = {"k_filename_list": ["t.k"], "k_code_list": [TYPED], "include_schema_type_path": True}
    b = {"v": 1, "_type": "B"}
    ours = call("KclService.ExecProgram", sent)
    assert json.loads(ours["json_result"]) == {
        "y": {"v": 1, "b": b, "l": [{"v": 2, "_type": "B"}], "d": {"q": b}, "_type": "A"},
        "w": {"k": b},
    }
    kcl_lib = pytest.importorskip("kcl_lib.api")
    theirs = kcl_lib.API().exec_program(kcl_lib.ExecProgramArgs(**sent))
    assert (theirs.json_result, theirs.yaml_result) == (ours["json_result"], ours["yaml_result"])


def test_a_program_that_is_only_compiled_is_not_run() -> None:
    code = "a = 1\nassert a == 2\n"
    sent = {"k_filename_list": ["t.k"], "k_code_list": [code], "compile_only": True}
    answer = call("KclService.ExecProgram", sent)
    assert (answer["yaml_result"], answer["err_message"]) == ("", "")
    with pytest.raises(api.ServiceError, match="expected int"):
        call("KclService.ExecProgram", sent | {"k_code_list": ["a: int = 'x'\n"]})


def test_a_report_of_tests_is_the_official_one() -> None:
    cases = [
        {"name": "test_a", "duration": 1234},
        {"name": "test_b", "error": "boom", "duration": 2500000, "log_message": "printed\n"},
    ]
    said = call("KclService.FormatTestReport", {"result": {"info": cases}})["report"]
    assert said == (f"test_a: PASS (1ms)\ntest_b: FAIL (2500ms)\nprinted\n\n{'-' * 80}\nPASS: 1/2\nFAIL: 1/2\n")
    assert call("KclService.FormatTestReport", {"result": {}})["report"] == "no test files\n"
    kcl_lib = pytest.importorskip("kcl_lib.api")
    result = kcl_lib.TestResult(info=[kcl_lib.TestCaseInfo(**each) for each in cases])
    assert kcl_lib.API().format_test_report(kcl_lib.FormatTestReportArgs(result=result)).report == said


def test_methods_that_are_not_there_name_what_is() -> None:
    with pytest.raises(UnknownMethod, match="kcl import"):
        call("KclService.GenerateKcl", {})
    with pytest.raises(UnknownMethod, match=r"no method 'KclService\.Nothing'"):
        call("KclService.Nothing", {})


def test_every_method_of_the_official_service_is_there_or_listed() -> None:
    services = official_messages().DESCRIPTOR.services_by_name
    official = {f"{name}.{each.name}" for name, service in services.items() for each in service.methods}
    assert official == METHODS.keys() | INSTEAD.keys()
    assert not METHODS.keys() & INSTEAD.keys()


def test_fields_of_requests_are_those_of_the_official_messages() -> None:
    messages = official_messages().DESCRIPTOR.message_types_by_name
    for method in METHODS.values():
        if method.takes is not None:
            named = {each.name for each in fields(method.takes)}
            assert named == {each.name for each in messages[method.takes.__name__].fields}, method.name


def test_answers_are_messages_of_the_official_client(tmp_path: Path) -> None:
    json_format = pytest.importorskip("google.protobuf.json_format")
    spec = official_messages()
    file = tmp_path / "main.k"
    file.write_text("import math\nschema S:\n    a: int\n\ns = S {a = 1}\nn = option('n')\n")
    path = str(file)
    asked: dict[str, Any] = {
        "Ping": {"value": "x"},
        "GetVersion": {},
        "ParseProgram": {"paths": [path]},
        "ParseFile": {"path": path},
        "LoadPackage": {"parse_args": {"paths": [path]}},
        "ListOptions": {"paths": [path]},
        "ListVariables": {"files": [path]},
        "ExecProgram": {"k_filename_list": [path]},
        "GetSchemaTypeMapping": {"exec_args": {"k_filename_list": [path]}},
        "GetSchemaTypeMappingUnderPath": {"exec_args": {"k_filename_list": [path]}},
        "FormatCode": {"source": "a = 1"},
        "LintPath": {"paths": [path]},
        "ValidateCode": {"code": "schema S:\n    a: int\n", "data": '{"a": 1}'},
        "LoadSettingsFiles": {"files": []},
        "RenameCode": {
            "package_root": "/p", "symbol_path": "a", "source_codes": {"/p/m.k": "a = 1"}, "new_name": "b"
        },
    }  # fmt: skip
    results = {each.name: each.output_type.name for each in spec.DESCRIPTOR.services_by_name["KclService"].methods}
    for method, sent in asked.items():
        json_format.ParseDict(call(f"KclService.{method}", sent), getattr(spec, results[method])())


def test_only_what_the_caller_registered_may_be_called() -> None:
    plugins = Registered()
    plugins.register("mine", {"twice": lambda x: 2 * x, "slow": lambda: None})
    sent = {"k_filename_list": ["t.k"], "k_code_list": ["import kcl_plugin.mine\na = mine.twice(21)\n"]}
    assert call("KclService.ExecProgram", sent, api.API(plugins))["yaml_result"] == "a: 42"
    said = call("KclService.ExecProgram", sent, api.API(Registered()))["err_message"]
    assert "no plugin 'mine' is registered" in said


def test_a_plugin_is_a_process_of_its_own() -> None:
    import os

    seen: list[int] = []
    plugins = Registered()
    plugins.register("mine", {"pid": lambda: seen.append(1) or os.getpid()})
    sent = {"k_filename_list": ["t.k"], "k_code_list": ["import kcl_plugin.mine\na = mine.pid()\n"]}
    answer = call("KclService.ExecProgram", sent, api.API(plugins))
    assert answer["yaml_result"] not in ("", f"a: {os.getpid()}")
    assert seen == []
