"""The official service by names of methods, with messages as JSON."""

from __future__ import annotations

import base64
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kcl.compat import api
from kcl.compat.json_form import BadMessage
from kcl.compat.methods import INSTEAD, METHODS
from kcl.compat.plugin import Registered
from kcl.compat.service import UnknownMethod, call, writes
from kcl.records import fields
from kcl.tools.imports.documents import documents
from tests.kcl.conformance import ROOT


def official_messages() -> Any:
    return pytest.importorskip("kcl_lib.api.spec_pb2")


def test_a_program_is_run() -> None:
    answer = call("KclService.ExecProgram", {"k_filename_list": ["t.k"], "k_code_list": ["a = option('n')"],
                                             "args": [{"name": "n", "value": "3"}]})  # fmt: skip
    texts = {"json_result": '{"a": 3}', "yaml_result": "a: 3"}
    assert answer == texts | {"log_message": "", "err_message": "", "sourcemap": ""}


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


REFUSED: dict[str, dict[str, Any]] = {
    "LoadPackage load_builtin": {"parse_args": {"paths": ["t.k"], "sources": ["a = 1"]}, "load_builtin": True},
    "LoadPackage with_ast_index": {"parse_args": {"paths": ["t.k"], "sources": ["a = 1"]}, "with_ast_index": True},
    "ListVariables merge_program": {"files": [], "options": {"merge_program": True}},
    "ExecProgram format": {"k_filename_list": ["t.k"], "k_code_list": ["a = 1"], "format": "toml"},
    "ExecProgram error_format": {"k_filename_list": ["t.k"], "k_code_list": ["a = 1"], "error_format": "x"},
    "ExecProgram overrides": {
        "k_filename_list": ["t.k"], "k_code_list": ["a = 1"], "compile_only": True, "overrides": ["a=2"]
    },
    "GetSchemaTypeMapping overrides": {
        "exec_args": {"k_filename_list": ["t.k"], "k_code_list": ["a = 1"], "overrides": ["a=2"]}
    },
    "GetSchemaTypeMappingUnderPath sourcemap_output": {
        "exec_args": {"k_filename_list": ["t.k"], "k_code_list": ["a = 1"], "sourcemap_output": "m"}
    },
    "Test exec_args": {"pkg_list": [], "exec_args": {"sort_keys": True}},
}  # fmt: skip


@pytest.mark.parametrize("asked", REFUSED)
def test_what_would_not_be_heeded_is_refused(asked: str) -> None:
    method, field = asked.split()
    with pytest.raises(api.ServiceError, match=field):
        call(f"KclService.{method}", REFUSED[asked])


def test_the_documentation_says_of_every_field_whether_it_is_heeded() -> None:
    rows = [
        line.split("|")[1:5] for line in (ROOT / "docs" / "compat.md").read_text().splitlines() if "Args` |" in line
    ]
    rows += [["ListVariablesOptions", "", "`merge_program`", ""]]
    table = {row[0].strip(" `"): [set(re.findall(r"`(\w+)`", cell)) for cell in row[1:]] for row in rows}
    taken = {method.takes.__name__: method.takes for method in METHODS.values() if method.takes is not None}
    taken["ListVariablesOptions"] = api.ListVariablesOptions
    assert table.keys() == taken.keys()
    for name, (heeded, refused, rest) in table.items():
        assert heeded | refused | (rest - {"list_options"}) == {each.name for each in fields(taken[name])}, name
        assert not heeded & refused
    refused_fields = {each.split()[1] for each in REFUSED}
    assert {field for _, refused, _ in table.values() for field in refused} <= refused_fields


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


PLACED = """\
import math

schema S:
    x: int
    y?: int
b: S {x = 1}
b: S {
    y = 2
}
_hidden = 1
a = 'x\\ny'
if math.ceil(0.5) == 1:
    c = [1, {d = _hidden}]
e = {}
"""


@pytest.mark.parametrize("more", [{}, {"sort_keys": True}, {"path_selector": ["a"]}, {"format": "json"}], ids=str)
def test_lines_of_the_output_are_told_as_officially(more: dict[str, Any]) -> None:
    sent = {"k_filename_list": ["t.k"], "k_code_list": [PLACED], "sourcemap_output": "out.map", **more}
    ours = call("KclService.ExecProgram", sent)
    kcl_lib = pytest.importorskip("kcl_lib.api")
    theirs = kcl_lib.API().exec_program(kcl_lib.ExecProgramArgs(**sent))
    assert ours["sourcemap"] == theirs.sourcemap
    assert (theirs.json_result, theirs.yaml_result) == (ours["json_result"], ours["yaml_result"])
    assert bool(ours["sourcemap"]) is (more != {"format": "json"})


MARKED = """\
schema Base:
    @info(type="attr")
    b?: str = "b"
mixin XMixin:
    @info(type="attr")
    x?: str = "x"
schema M(Base):
    mixin [XMixin]
    @info(type="attr")
    m?: str = "m"
    @info(type="attr")
    unset?: str
    @info(type="attr")
    nothing?: str = None
    @info(type="attr")
    _p?: int = 1
    @info("attr")
    other?: int = 2
    inner?: [M]
a = M {inner = [M {}]}
b: M = {unset = "u"}
c = {k = M {m = "q"} | {m = "r"}}
"""


@pytest.mark.parametrize(
    "more",
    [{}, {"include_schema_type_path": True}, {"sort_keys": True}, {"disable_none": True}, {"show_hidden": True}],
    ids=str,
)
def test_attributes_for_xml_are_marked_as_officially(more: dict[str, Any]) -> None:
    sent = {"k_filename_list": ["t.k"], "k_code_list": [MARKED], "emit_attribute_metadata": True, **more}
    ours = call("KclService.ExecProgram", sent)
    assert '"__kcl_info_meta__": ["m"' in ours["json_result"] or "show_hidden" in more
    kcl_lib = pytest.importorskip("kcl_lib.api")
    theirs = kcl_lib.API().exec_program(kcl_lib.ExecProgramArgs(**sent))
    assert (theirs.json_result, theirs.yaml_result) == (ours["json_result"], ours["yaml_result"])


@pytest.mark.parametrize("form", ["", "json", "yaml"])
@pytest.mark.parametrize("without_yaml", [False, True])
def test_results_are_given_in_the_format_that_is_asked_for(form: str, without_yaml: bool) -> None:
    sent = {"k_filename_list": ["t.k"], "k_code_list": ["a = 1"], "format": form, "disable_yaml_result": without_yaml}
    ours = call("KclService.ExecProgram", sent)
    kcl_lib = pytest.importorskip("kcl_lib.api")
    theirs = kcl_lib.API().exec_program(kcl_lib.ExecProgramArgs(**sent))
    assert theirs.json_result == ours["json_result"]
    if form or not without_yaml:  # officially it is given all the same
        assert theirs.yaml_result == ours["yaml_result"]
    else:
        assert ours["yaml_result"] == ""


def test_overrides_are_written_where_that_is_asked_for(tmp_path: Path) -> None:
    main, other = tmp_path / "main.k", tmp_path / "other.k"
    main.write_text("# kept\na   = {b = 1}  # too\n")
    other.write_text("c = 1\n")
    sent = {"k_filename_list": [str(main), str(other)], "overrides": ["a.b=2"]}
    assert call("KclService.ExecProgram", sent)["yaml_result"] == "a:\n  b: 2\nc: 1"
    assert "b = 1" in main.read_text()
    assert not writes("KclService.ExecProgram", sent)
    written = sent | {"print_override_ast": True}
    assert call("KclService.ExecProgram", written)["yaml_result"] == "a:\n  b: 2\nc: 1"
    assert (main.read_text(), other.read_text()) == ("# kept\na   = {b = 2}  # too\n", "c = 1\n")
    assert writes("KclService.ExecProgram", written)
    wrong = written | {"overrides": ["a.b=3", "c=a.b.d.e"]}
    with pytest.raises(api.ServiceError):
        call("KclService.ExecProgram", wrong)
    assert main.read_text() == "# kept\na   = {b = 2}  # too\n"


def test_options_of_texts_and_packages_of_a_schema_are_heeded(tmp_path: Path) -> None:
    asked = {"paths": ["nowhere.k"], "sources": ["a = option('one', default=2)"]}
    (option,) = call("KclService.ListOptions", asked)["options"]
    assert (option["name"], option["default_value"]) == ("one", "2")
    (tmp_path / "part.k").write_text("schema P:\n    n: int\n")
    packages = [{"pkg_name": "part", "pkg_path": str(tmp_path)}]
    code = "import part\nschema S:\n    p: part.P\n"
    for number, expected in ((1, True), ("x", False)):
        sent = {"code": code, "data": json.dumps({"p": {"n": number}}), "schema": "S", "external_pkgs": packages}
        assert call("KclService.ValidateCode", sent)["success"] is expected


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


def test_tests_are_given_options_and_packages(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "kcl.mod").write_text('[package]\nname = "lib"\n')
    (tmp_path / "lib" / "a.k").write_text("a = 1\n")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "o_test.k").write_text(
        "import lib\n"
        'test_options = lambda {\n    assert [option("n"), option("password"), lib.a] == [7, "hunter2", 2]\n}\n'
    )
    sent = {
        "pkg_list": [str(tmp_path / "t")],
        "exec_args": {
            "args": [{"name": "n", "value": "7"}, {"name": "password", "value": '"hunter2"'}],
            "external_pkgs": [{"pkg_name": "lib", "pkg_path": str(tmp_path / "lib")}],
        },
    }
    (failed,) = call("KclService.Test", sent)["info"]
    assert failed["error"] and "hunter2" not in failed["error"]
    (tmp_path / "lib" / "a.k").write_text("a = 2\n")
    (passed,) = call("KclService.Test", sent)["info"]
    assert passed["error"] == ""


def test_every_name_of_the_official_client_is_there_or_listed() -> None:
    kcl_lib = pytest.importorskip("kcl_lib.api")
    missing = {name for name in dir(kcl_lib) if name[0].isupper() and not hasattr(api, name)}
    assert {re.sub("(Args|Result)$", "", name) for name in missing} == {
        "GenerateDoc", "GenerateOpenAPI", "GenerateProto"
    }  # fmt: skip


def test_lines_that_tests_reach_are_told(tmp_path: Path) -> None:
    code, tests = tmp_path / "code.k", tmp_path / "code_test.k"
    code.write_text("f = lambda n: int -> int {\n    _x = 0\n    if n > 1:\n        _x = 5\n    n + _x\n}\n")
    tests.write_text("test_f = lambda {\n    assert f(0) == 0\n}\n")
    result = call("KclService.Test", {"pkg_list": [str(tmp_path)], "coverage": True})
    (info,), files = result["info"], result["coverage"]["files"]
    assert info["error"] == ""
    assert info["line_hits"][f"{code}:5"] == 1
    reached = files[str(code)]
    assert 4 in reached["executable_lines"] and 4 not in reached["covered_lines"]
    assert {2, 3, 5} <= set(reached["covered_lines"])
    assert result["coverage"]["summary"]["executable"] == sum(len(each["executable_lines"]) for each in files.values())
    said = call("KclService.FormatTestReport", {"result": json.loads(json.dumps(result))})["report"]
    assert f"  {code}: " in said
    kcl_lib = pytest.importorskip("kcl_lib.api")
    json_format = pytest.importorskip("google.protobuf.json_format")
    theirs = json_format.ParseDict(result, kcl_lib.TestResult())
    assert kcl_lib.API().format_test_report(kcl_lib.FormatTestReportArgs(result=theirs)).report == said
    assert "coverage" not in call("KclService.Test", {"pkg_list": [str(tmp_path)]})


def _toml(code: str, **more: Any) -> str:
    made: str = call(
        "KclService.GenerateToml", {"exec_args": {"k_filename_list": ["t.k"], "k_code_list": [code]}} | more
    )["toml"]
    return made


def test_results_are_written_as_toml() -> None:
    code = (
        'b = {y = 1, x = [1, 2]}\na = "l\\n\\"q\\""\ng = [{x = 1}, {y = 2.5}]\nn = None\nt = True\n'
        'deep = {"a b" = {k = {}}}\nmixed = [1, {k = "v"}]\nlarge = 1e30\n'
    )
    expected = call("KclService.ExecProgram", {"k_filename_list": ["t.k"], "k_code_list": [code]})["json_result"]
    value = json.loads(expected)
    assert value.pop("n") is None
    assert tomllib.loads(_toml(code)) == value
    assert _toml("b = 1\na = 2\n", sort_keys=True) == "a = 2\nb = 1\n"


@pytest.mark.parametrize(
    "code", ["a = [None]\n", "import manifests\nmanifests.yaml_stream([{a = 1}, {b = 2}])\n", "a = 1 / 0\n"]
)
def test_what_toml_has_no_words_for_is_refused(code: str) -> None:
    with pytest.raises(api.ServiceError):
        _toml(code)


def test_generating_toml_writes_no_overrides(tmp_path: Path) -> None:
    path = tmp_path / "t.k"
    path.write_text("a = 1\n")
    sent = {"k_filename_list": [str(path)], "overrides": ["a=2"], "print_override_ast": True}
    with pytest.raises(api.ServiceError, match="print_override_ast"):
        call("KclService.GenerateToml", {"exec_args": sent})
    assert path.read_text() == "a = 1\n"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ('{"a": {"b": 1}, "c": [1, "x", null, true, 1.5], "if": "${x}"}', "d.json"),
        ("a: 1\nb: [x]\n", "d.yaml"),
        ("a = 1\n", "d.toml"),
    ],
)
def test_data_becomes_kcl_that_prints_as_it(source: str, name: str) -> None:
    made = call("KclService.GenerateKcl", {"source": source, "filename": name})["kcl"]
    printed = call("KclService.ExecProgram", {"k_filename_list": ["t.k"], "k_code_list": [made]})["json_result"]
    assert json.loads(printed) == documents(source, name, "d", "." + name.split(".")[1])[0].value
    with pytest.raises(api.ServiceError, match="format"):
        call("KclService.GenerateKcl", {"source": source, "format": "xml"})


def test_methods_are_called_by_name() -> None:
    service = api.API()
    assert service.call("KclService.Ping", api.PingArgs("x")).value == "x"
    assert "KclService.GenerateToml" in service.list_method().method_name_list
    with pytest.raises(api.ServiceError, match="Nothing"):
        service.call("KclService.Nothing", api.PingArgs())


def test_methods_that_are_not_there_name_what_is() -> None:
    with pytest.raises(UnknownMethod, match="kcl doc"):
        call("KclService.GenerateDoc", {})
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
