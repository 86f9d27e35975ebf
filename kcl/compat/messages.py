"""The messages of the official service, as plain records: the same names, fields and empty values."""

from __future__ import annotations

from kcl.records import dataclass, field


@dataclass(slots=True)
class Argument:
    name: str = ""
    value: str = ""


@dataclass(slots=True)
class ExternalPkg:
    pkg_name: str = ""
    pkg_path: str = ""


@dataclass(slots=True)
class Position:
    """`line` counts from 1, `column` from 1; 0 where it is not known."""

    line: int = 0
    column: int = 0
    filename: str = ""


@dataclass(slots=True)
class Message:
    msg: str = ""
    pos: Position = field(default_factory=Position)


@dataclass(slots=True)
class Error:
    level: str = ""
    code: str = ""
    messages: list[Message] = field(default_factory=list)


@dataclass(slots=True)
class PingArgs:
    value: str = ""


@dataclass(slots=True)
class PingResult:
    value: str = ""


@dataclass(slots=True)
class GetVersionResult:
    version: str = ""
    version_info: str = ""


@dataclass(slots=True)
class ListMethodResult:
    method_name_list: list[str] = field(default_factory=list)


@dataclass(slots=True)
class GetVersionArgs:
    pass


@dataclass(slots=True)
class ListMethodArgs:
    pass


@dataclass(slots=True)
class GenerateKclArgs:
    source: str = ""
    filename: str = ""
    format: str = ""


@dataclass(slots=True)
class GenerateKclResult:
    kcl: str = ""


@dataclass(slots=True)
class ParseFileArgs:
    path: str = ""
    source: str = ""
    external_pkgs: list[ExternalPkg] = field(default_factory=list)


@dataclass(slots=True)
class ParseFileResult:
    """`deps` are the files of the packages that the file imports from its own.

    `ast_json` is empty where a file cannot be read as a whole; the errors say why.
    """

    ast_json: str = ""
    deps: list[str] = field(default_factory=list)
    errors: list[Error] = field(default_factory=list)


@dataclass(slots=True)
class ParseProgramArgs:
    paths: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    external_pkgs: list[ExternalPkg] = field(default_factory=list)


@dataclass(slots=True)
class ParseProgramResult:
    """`paths` are all files of the program, those that a file rests on before it.

    `ast_json` is empty where a file cannot be read as a whole; the errors say why.
    """

    ast_json: str = ""
    paths: list[str] = field(default_factory=list)
    errors: list[Error] = field(default_factory=list)


@dataclass(slots=True)
class OptionHelp:
    name: str = ""
    type: str = ""
    required: bool = False
    default_value: str = ""
    help: str = ""


@dataclass(slots=True)
class ListOptionsResult:
    options: list[OptionHelp] = field(default_factory=list)


@dataclass(slots=True)
class ExecProgramArgs:
    """Heeded by no run are `verbose`, and `fast_eval`, which only says how."""

    work_dir: str = ""
    k_filename_list: list[str] = field(default_factory=list)
    k_code_list: list[str] = field(default_factory=list)
    args: list[Argument] = field(default_factory=list)
    overrides: list[str] = field(default_factory=list)
    disable_yaml_result: bool = False
    print_override_ast: bool = False
    strict_range_check: bool = False
    disable_none: bool = False
    verbose: int = 0
    debug: int = 0
    sort_keys: bool = False
    external_pkgs: list[ExternalPkg] = field(default_factory=list)
    include_schema_type_path: bool = False
    compile_only: bool = False
    show_hidden: bool = False
    path_selector: list[str] = field(default_factory=list)
    fast_eval: bool = False
    error_format: str = ""
    format: str = ""
    emit_attribute_metadata: bool = False
    sourcemap_output: str = ""


@dataclass(slots=True)
class ExecProgramResult:
    json_result: str = ""
    yaml_result: str = ""
    log_message: str = ""
    err_message: str = ""
    sourcemap: str = ""


@dataclass(slots=True)
class FormatCodeArgs:
    source: str = ""


@dataclass(slots=True)
class FormatCodeResult:
    formatted: bytes = b""


@dataclass(slots=True)
class FormatPathArgs:
    path: str = ""
    dry_run: bool = False


@dataclass(slots=True)
class FormatPathResult:
    changed_paths: list[str] = field(default_factory=list)


@dataclass(slots=True)
class LintPathArgs:
    paths: list[str] = field(default_factory=list)


@dataclass(slots=True)
class LintPathResult:
    results: list[str] = field(default_factory=list)


@dataclass(slots=True)
class GenerateTomlArgs:
    exec_args: ExecProgramArgs = field(default_factory=ExecProgramArgs)
    sort_keys: bool = False


@dataclass(slots=True)
class GenerateTomlResult:
    toml: str = ""


@dataclass(slots=True)
class OverrideFileArgs:
    file: str = ""
    specs: list[str] = field(default_factory=list)
    import_paths: list[str] = field(default_factory=list)


@dataclass(slots=True)
class OverrideFileResult:
    result: bool = False
    parse_errors: list[Error] = field(default_factory=list)


@dataclass(slots=True)
class Variable:
    value: str = ""
    type_name: str = ""
    op_sym: str = ""
    list_items: list[Variable] = field(default_factory=list)
    dict_entries: list[MapEntry] = field(default_factory=list)


@dataclass(slots=True)
class MapEntry:
    key: str = ""
    value: Variable = field(default_factory=Variable)


@dataclass(slots=True)
class VariableList:
    variables: list[Variable] = field(default_factory=list)


@dataclass(slots=True)
class ListVariablesOptions:
    merge_program: bool = False


@dataclass(slots=True)
class ListVariablesArgs:
    files: list[str] = field(default_factory=list)
    specs: list[str] = field(default_factory=list)
    options: ListVariablesOptions = field(default_factory=ListVariablesOptions)


@dataclass(slots=True)
class ListVariablesResult:
    variables: dict[str, VariableList] = field(default_factory=dict)
    parse_errors: list[Error] = field(default_factory=list)


@dataclass(slots=True)
class ValidateCodeArgs:
    datafile: str = ""
    data: str = ""
    file: str = ""
    code: str = ""
    schema: str = ""
    attribute_name: str = ""
    format: str = ""
    external_pkgs: list[ExternalPkg] = field(default_factory=list)


@dataclass(slots=True)
class ValidateCodeResult:
    success: bool = False
    err_message: str = ""


@dataclass(slots=True)
class KeyValuePair:
    """`value` is JSON."""

    key: str = ""
    value: str = ""


@dataclass(slots=True)
class CliConfig:
    files: list[str] = field(default_factory=list)
    output: str = ""
    overrides: list[str] = field(default_factory=list)
    path_selector: list[str] = field(default_factory=list)
    strict_range_check: bool = False
    disable_none: bool = False
    debug: bool = False
    sort_keys: bool = False
    show_hidden: bool = False


@dataclass(slots=True)
class LoadSettingsFilesArgs:
    work_dir: str = ""
    files: list[str] = field(default_factory=list)


@dataclass(slots=True)
class LoadSettingsFilesResult:
    kcl_cli_configs: CliConfig = field(default_factory=CliConfig)
    kcl_options: list[KeyValuePair] = field(default_factory=list)


@dataclass(slots=True)
class RenameArgs:
    package_root: str = ""
    symbol_path: str = ""
    file_paths: list[str] = field(default_factory=list)
    new_name: str = ""


@dataclass(slots=True)
class RenameResult:
    changed_files: list[str] = field(default_factory=list)


@dataclass(slots=True)
class RenameCodeArgs:
    package_root: str = ""
    symbol_path: str = ""
    source_codes: dict[str, str] = field(default_factory=dict)
    new_name: str = ""


@dataclass(slots=True)
class RenameCodeResult:
    changed_codes: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class TestArgs:
    exec_args: ExecProgramArgs = field(default_factory=ExecProgramArgs)
    pkg_list: list[str] = field(default_factory=list)
    run_regexp: str = ""
    fail_fast: bool = False
    coverage: bool = False


@dataclass(slots=True)
class TestCaseInfo:
    """`duration` is in microseconds; `error` is "" where the test passed; `line_hits` counts by `FILE:LINE`."""

    name: str = ""
    error: str = ""
    duration: int = 0
    log_message: str = ""
    line_hits: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class FileCoverage:
    """`line_hits` counts the lines that were reached, from 1."""

    filename: str = ""
    covered_lines: list[int] = field(default_factory=list)
    executable_lines: list[int] = field(default_factory=list)
    line_hits: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class CoverageSummary:
    covered: int = 0
    executable: int = 0
    percent: float = 0.0


@dataclass(slots=True)
class TestCoverageReport:
    files: dict[str, FileCoverage] = field(default_factory=dict)
    summary: CoverageSummary = field(default_factory=CoverageSummary)


@dataclass(slots=True)
class TestResult:
    """`coverage` is there where it was asked for."""

    info: list[TestCaseInfo] = field(default_factory=list)
    coverage: TestCoverageReport | None = None


@dataclass(slots=True)
class FormatTestReportArgs:
    result: TestResult = field(default_factory=TestResult)


@dataclass(slots=True)
class FormatTestReportResult:
    report: str = ""


@dataclass(slots=True)
class UpdateDependenciesArgs:
    manifest_path: str = ""
    vendor: bool = False


@dataclass(slots=True)
class UpdateDependenciesResult:
    external_pkgs: list[ExternalPkg] = field(default_factory=list)
