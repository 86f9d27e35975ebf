"""The methods of the official service: their names, the messages they take, and which of them change files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

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
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Method:
    """`takes` is the message that is sent, None for an empty one. `writes`: it changes files, whatever it is sent."""

    name: str
    takes: Any
    writes: bool = False

    def answer(self, api: object, message: object) -> Any:
        """Calls the method of `api` with this name in snake_case, as the official clients spell it."""
        function = getattr(api, _WORD.sub("_", self.name.rpartition(".")[2]).lower())
        return function() if self.takes is None else function(message)


METHODS: Final[Mapping[str, Method]] = {
    each.name: each
    for each in (
        Method(_BUILT_IN + "Ping", PingArgs),
        Method(_BUILT_IN + "ListMethod", None),
        Method(_KCL + "Ping", PingArgs),
        Method(_KCL + "GetVersion", None),
        Method(_KCL + "ParseProgram", ParseProgramArgs),
        Method(_KCL + "ParseFile", ParseFileArgs),
        Method(_KCL + "LoadPackage", LoadPackageArgs),
        Method(_KCL + "ListOptions", ParseProgramArgs),
        Method(_KCL + "ListVariables", ListVariablesArgs),
        Method(_KCL + "ExecProgram", ExecProgramArgs),
        Method(_KCL + "OverrideFile", OverrideFileArgs, writes=True),
        Method(_KCL + "GetSchemaTypeMapping", GetSchemaTypeMappingArgs),
        Method(_KCL + "GetSchemaTypeMappingUnderPath", GetSchemaTypeMappingArgs),
        Method(_KCL + "FormatCode", FormatCodeArgs),
        Method(_KCL + "FormatPath", FormatPathArgs, writes=True),
        Method(_KCL + "LintPath", LintPathArgs),
        Method(_KCL + "ValidateCode", ValidateCodeArgs),
        Method(_KCL + "LoadSettingsFiles", LoadSettingsFilesArgs),
        Method(_KCL + "Rename", RenameArgs, writes=True),
        Method(_KCL + "RenameCode", RenameCodeArgs),
        Method(_KCL + "Test", TestArgs),
        Method(_KCL + "FormatTestReport", FormatTestReportArgs),
        Method(_KCL + "GenerateToml", GenerateTomlArgs),
        Method(_KCL + "GenerateKcl", GenerateKclArgs),
        Method(_KCL + "UpdateDependencies", UpdateDependenciesArgs, writes=True),
    )
}

INSTEAD: Final[Mapping[str, str]] = {
    _KCL + "GenerateOpenAPI": "kcl doc --format openapi writes the document of a package",
    _KCL + "GenerateProto": "KclService.GetSchemaTypeMapping tells the types of schemas",
    _KCL + "GenerateDoc": "kcl doc writes the pages of a package",
}
"""Official methods that are not here, and what there is."""
