"""The official service by the names of its methods: `call("KclService.ExecProgram", {...})`.

The one way in for whoever has messages as JSON: a server, another process. What is answered is what `API` answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kcl.compat.api import API
from kcl.compat.json_form import document, message
from kcl.compat.messages import (
    ExecProgramArgs,
    FormatCodeArgs,
    FormatPathArgs,
    FormatTestReportArgs,
    GenerateKclArgs,
    GenerateTomlArgs,
    LintPathArgs,
    ListVariablesArgs,
    LoadSettingsFilesArgs,
    OverrideFileArgs,
    ParseFileArgs,
    ParseProgramArgs,
    PingArgs,
    RenameArgs,
    RenameCodeArgs,
    TestArgs,
    UpdateDependenciesArgs,
    ValidateCodeArgs,
)
from kcl.compat.type_messages import GetSchemaTypeMappingArgs, LoadPackageArgs
from kcl.records import dataclass

_BUILT_IN: Final = "BuiltinService."
_KCL: Final = "KclService."


class UnknownMethod(KeyError):
    """No method of that name is here; the text says what is there instead, where something is."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Method:
    """`takes` is the message that is sent, None for an empty one. `writes`: it changes files, whatever it is sent."""

    name: str
    takes: Any
    answer: Callable[[API, Any], object]
    writes: bool = False


METHODS: Final[Mapping[str, Method]] = {
    each.name: each
    for each in (
        Method(_BUILT_IN + "Ping", PingArgs, API.ping),
        Method(_BUILT_IN + "ListMethod", None, lambda api, sent: api.list_method()),
        Method(_KCL + "Ping", PingArgs, API.ping),
        Method(_KCL + "GetVersion", None, lambda api, sent: api.get_version()),
        Method(_KCL + "ParseProgram", ParseProgramArgs, API.parse_program),
        Method(_KCL + "ParseFile", ParseFileArgs, API.parse_file),
        Method(_KCL + "LoadPackage", LoadPackageArgs, API.load_package),
        Method(_KCL + "ListOptions", ParseProgramArgs, API.list_options),
        Method(_KCL + "ListVariables", ListVariablesArgs, API.list_variables),
        Method(_KCL + "ExecProgram", ExecProgramArgs, API.exec_program),
        Method(_KCL + "OverrideFile", OverrideFileArgs, API.override_file, writes=True),
        Method(_KCL + "GetSchemaTypeMapping", GetSchemaTypeMappingArgs, API.get_schema_type_mapping),
        Method(
            _KCL + "GetSchemaTypeMappingUnderPath", GetSchemaTypeMappingArgs, API.get_schema_type_mapping_under_path
        ),
        Method(_KCL + "FormatCode", FormatCodeArgs, API.format_code),
        Method(_KCL + "FormatPath", FormatPathArgs, API.format_path, writes=True),
        Method(_KCL + "LintPath", LintPathArgs, API.lint_path),
        Method(_KCL + "ValidateCode", ValidateCodeArgs, API.validate_code),
        Method(_KCL + "LoadSettingsFiles", LoadSettingsFilesArgs, API.load_settings_files),
        Method(_KCL + "Rename", RenameArgs, API.rename, writes=True),
        Method(_KCL + "RenameCode", RenameCodeArgs, API.rename_code),
        Method(_KCL + "Test", TestArgs, API.test),
        Method(_KCL + "FormatTestReport", FormatTestReportArgs, API.format_test_report),
        Method(_KCL + "GenerateToml", GenerateTomlArgs, API.generate_toml),
        Method(_KCL + "GenerateKcl", GenerateKclArgs, API.generate_kcl),
        Method(_KCL + "UpdateDependencies", UpdateDependenciesArgs, API.update_dependencies, writes=True),
    )
}

INSTEAD: Final[Mapping[str, str]] = {
    _KCL + "GenerateOpenAPI": "kcl doc --format openapi writes the document of a package",
    _KCL + "GenerateProto": "KclService.GetSchemaTypeMapping tells the types of schemas",
    _KCL + "GenerateDoc": "kcl doc writes the pages of a package",
}
"""Official methods that are not here, and what there is."""


def writes(method: str, params: object) -> bool:
    """Whether a call may change files."""
    asked = params if isinstance(params, Mapping) else {}
    if any(asked.get(each) is True for each in ("print_override_ast", "printOverrideAst")):
        return True
    is_dry = any(asked.get(each) is True for each in ("dry_run", "dryRun"))
    return METHODS[method].writes and not is_dry


def call(method: str, params: object, api: API | None = None) -> dict[str, Any]:
    """Answers one call. `params` and the answer are plain data, in the shape of the official messages.

    Raises `UnknownMethod`, `BadMessage` where the parameters are not the message that the method takes, and
    `ServiceError` where it fails, whose text is the report.
    """
    found = METHODS.get(method)
    if found is None:
        instead = f"; {INSTEAD[method]}" if method in INSTEAD else ""
        raise UnknownMethod(f"there is no method {method!r}{instead}")
    sent = None if found.takes is None else message(found.takes, {} if params is None else params)
    return document(found.answer(api or API(), sent))
