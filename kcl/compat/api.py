"""`kcl_lib.api`: the calls of the official client, each answered here.

Calls raise `ServiceError`, whose text is the report, where the official ones raise. A relative path is one of the
process's folder. A field that asks for what is not there is refused, by `ServiceError` too: an answer would look as if
it were heeded.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

from kcl import whole_file
from kcl.api import PlanOptions, ProgramError, RunResult, Settings, run
from kcl.bounded import Allowance
from kcl.compat import tested
from kcl.compat.generated import kcl_text, toml_text
from kcl.compat.messages import (
    Argument,
    CliConfig,
    CoverageSummary,
    Error,
    ExecProgramArgs,
    ExecProgramResult,
    ExternalPkg,
    FileCoverage,
    FormatCodeArgs,
    FormatCodeResult,
    FormatPathArgs,
    FormatPathResult,
    FormatTestReportArgs,
    FormatTestReportResult,
    GenerateKclArgs,
    GenerateKclResult,
    GenerateTomlArgs,
    GenerateTomlResult,
    GetVersionArgs,
    GetVersionResult,
    KeyValuePair,
    LintPathArgs,
    LintPathResult,
    ListMethodArgs,
    ListMethodResult,
    ListOptionsResult,
    ListVariablesArgs,
    ListVariablesOptions,
    ListVariablesResult,
    LoadSettingsFilesArgs,
    LoadSettingsFilesResult,
    MapEntry,
    Message,
    OptionHelp,
    OverrideFileArgs,
    OverrideFileResult,
    ParseFileArgs,
    ParseFileResult,
    ParseProgramArgs,
    ParseProgramResult,
    PingArgs,
    PingResult,
    Position,
    RenameArgs,
    RenameCodeArgs,
    RenameCodeResult,
    RenameResult,
    TestArgs,
    TestCaseInfo,
    TestCoverageReport,
    TestResult,
    UpdateDependenciesArgs,
    UpdateDependenciesResult,
    ValidateCodeArgs,
    ValidateCodeResult,
    Variable,
    VariableList,
)
from kcl.compat.methods import METHODS
from kcl.compat.parsing import read_program
from kcl.compat.plugin import REGISTERED, Registered
from kcl.compat.programs import ServiceError, as_error, checked, refuse_errors
from kcl.compat.renaming import renamed_texts
from kcl.compat.schema_types import by_package, mapping, symbols
from kcl.compat.sourcemaps import sourcemap
from kcl.compat.type_messages import (
    Decorator,
    Example,
    FunctionType,
    GetSchemaTypeMappingArgs,
    GetSchemaTypeMappingResult,
    GetSchemaTypeMappingUnderPathResult,
    IndexSignature,
    KclType,
    LoadPackageArgs,
    LoadPackageResult,
    Parameter,
    SchemaTypes,
    Scope,
    ScopeIndex,
    Symbol,
    SymbolIndex,
)
from kcl.diagnostics import Code, KclError
from kcl.evaluator.runtime import Limits
from kcl.loader import load_settings, merge_settings, overridden_text, parse_argument
from kcl.records import replace
from kcl.reports import report
from kcl.source import OsFileSystem, SourceFile
from kcl.stdlib.matching import tried
from kcl.stdlib.patterns import PatternError, compiled
from kcl.tools.fmt import formatted
from kcl.tools.fmt.files import Wish, lay_out
from kcl.tools.fmt.formatting import Refused
from kcl.tools.lint import lint
from kcl.tools.lint.linting import files_of
from kcl.tools.lsp.views import View
from kcl.tools.paths import found
from kcl.tools.query import variables as listing
from kcl.tools.query.arguments import arguments
from kcl.tools.query.reading import Unreadable, source, sources
from kcl.tools.test.given import Given, secret_texts
from kcl.tools.test.pool import run_all
from kcl.tools.test.suites import find
from kcl.tools.vet import data as vetted
from kcl.tools.vet.validation import SchemaFile, Validator, schemas

__all__ = [
    "API",
    "Argument",
    "CliConfig",
    "CoverageSummary",
    "Decorator",
    "Error",
    "Example",
    "ExecProgramArgs",
    "ExecProgramResult",
    "ExternalPkg",
    "FileCoverage",
    "FormatCodeArgs",
    "FormatCodeResult",
    "FormatPathArgs",
    "FormatPathResult",
    "FormatTestReportArgs",
    "FormatTestReportResult",
    "FunctionType",
    "GenerateKclArgs",
    "GenerateKclResult",
    "GenerateTomlArgs",
    "GenerateTomlResult",
    "GetSchemaTypeMappingArgs",
    "GetSchemaTypeMappingResult",
    "GetSchemaTypeMappingUnderPathResult",
    "GetVersionArgs",
    "GetVersionResult",
    "IndexSignature",
    "KclType",
    "KeyValuePair",
    "LintPathArgs",
    "LintPathResult",
    "ListMethodArgs",
    "ListMethodResult",
    "ListOptionsResult",
    "ListVariablesArgs",
    "ListVariablesOptions",
    "ListVariablesResult",
    "LoadPackageArgs",
    "LoadPackageResult",
    "LoadSettingsFilesArgs",
    "LoadSettingsFilesResult",
    "MapEntry",
    "Message",
    "OptionHelp",
    "OverrideFileArgs",
    "OverrideFileResult",
    "Parameter",
    "ParseFileArgs",
    "ParseFileResult",
    "ParseProgramArgs",
    "ParseProgramResult",
    "PingArgs",
    "PingResult",
    "Position",
    "RenameArgs",
    "RenameCodeArgs",
    "RenameCodeResult",
    "RenameResult",
    "SchemaTypes",
    "Scope",
    "ScopeIndex",
    "ServiceError",
    "Symbol",
    "SymbolIndex",
    "TestArgs",
    "TestCaseInfo",
    "TestCoverageReport",
    "TestResult",
    "UpdateDependenciesArgs",
    "UpdateDependenciesResult",
    "ValidateCodeArgs",
    "ValidateCodeResult",
    "Variable",
    "VariableList",
]

_OFFICIAL: Final = "0.13.2"
"""The version of the official compiler that this implementation is held against."""


class API:
    """The service. Calls keep nothing from one to the next."""

    def __init__(self, plugins: Registered | None = None) -> None:
        """`plugins` are those that programs may import, by default what `kcl.compat.plugin` was told of."""
        self._plugins = REGISTERED if plugins is None else plugins

    def ping(self, args: PingArgs) -> PingResult:
        return PingResult(args.value)

    def list_method(self) -> ListMethodResult:
        return ListMethodResult(list(METHODS))

    def call(self, name: str, args: Any) -> Any:
        """Answers the method of that name of the service, such as `KclService.Ping`. Raises `ServiceError`."""
        if name not in METHODS:
            raise ServiceError(f"there is no method {name!r}")
        return METHODS[name].answer(self, args)

    def get_version(self) -> GetVersionResult:
        ours = version("konfig-workbench")
        told = f"Version: {_OFFICIAL} (konfig-workbench {ours})\nPlatform: python\nGitCommit: unknown"
        return GetVersionResult(_OFFICIAL, told)

    def exec_program(self, args: ExecProgramArgs) -> ExecProgramResult:
        """Runs a program. A failure of the run itself is the result's `err_message`; all else is raised.

        With `compile_only` it is checked and not run. With `print_override_ast` the overrides are written into the
        files as well, once the program has run with them.
        """
        form = _one_of(args.error_format or "pretty", _FORMS, "error_format")
        shown = _one_of(args.format, _OUTPUTS, "format")
        if args.compile_only:
            _refuse(args, _OF_A_RUN)
            _understood(args)
            return ExecProgramResult()
        folder = os.path.abspath(args.work_dir or os.curdir)
        names = [os.path.join(folder, each) for each in args.k_filename_list]
        texts = dict(zip(args.k_filename_list, args.k_code_list, strict=False))
        settings = Settings(
            options=tuple(parse_argument(f"{each.name}={each.value}") for each in args.args),
            overrides=tuple(args.overrides),
            path_selector=tuple(args.path_selector),
            package_maps=_maps(args.external_pkgs),
            sort_keys=args.sort_keys or None,
        )
        try:
            result = run(
                list(args.k_filename_list) if args.k_code_list else names,
                work_dir=folder,
                settings=[settings],
                texts=texts,
                output=PlanOptions(
                    show_hidden=args.show_hidden,
                    disable_none=args.disable_none,
                    schema_types=args.include_schema_type_path,
                    attribute_roles=args.emit_attribute_metadata,
                ),
                limits=Limits(strict_range_check=args.strict_range_check, debug=bool(args.debug)),
                plugins=self._plugins,
            )
        except ProgramError as problem:
            text = report(problem.diagnostics, problem.sources, form, official_only=True)
            if all(each.code is Code.EVALUATION for each in problem.diagnostics):
                return ExecProgramResult(log_message=problem.printed, err_message=text)
            raise ServiceError(text) from None
        except KclError as problem:
            raise ServiceError(report(problem.diagnostics, {}, form, official_only=True)) from None
        given = {os.path.join(folder, each): each for each in texts}
        if args.print_override_ast and args.overrides:
            _write_overrides(result, given.keys())
        has_yaml = shown == "yaml" or not (shown or args.disable_yaml_result)
        answer = ExecProgramResult(log_message=result.printed)
        answer.json_result = "" if shown == "yaml" else _on_one_line(result.json())
        answer.yaml_result = result.yaml().removesuffix("\n") if has_yaml else ""
        if args.sourcemap_output and has_yaml:
            answer.sourcemap = sourcemap(result, args.sourcemap_output, given, is_selected=bool(args.path_selector))
        return answer

    def generate_toml(self, args: GenerateTomlArgs) -> GenerateTomlResult:
        """Runs a program, and answers its one document as TOML. What fails is raised."""
        _refuse(args.exec_args, ("print_override_ast", "sourcemap_output"))
        said = self.exec_program(replace(args.exec_args, format="json"))
        if said.err_message:
            raise ServiceError(said.err_message)
        try:
            value = json.loads(said.json_result)
        except ValueError:
            raise ServiceError("TOML holds one document, and this program answers none or several") from None
        return GenerateTomlResult(toml_text(value, sort_keys=args.sort_keys))

    def generate_kcl(self, args: GenerateKclArgs) -> GenerateKclResult:
        """KCL that prints as data of JSON, YAML or TOML."""
        return GenerateKclResult(kcl_text(args))

    def parse_file(self, args: ParseFileArgs) -> ParseFileResult:
        texts = {args.path: args.source} if args.source else {}
        loaded = read_program([args.path], texts, _maps(args.external_pkgs))
        return ParseFileResult(loaded.file_tree(), loaded.imported_files(), loaded.errors)

    def parse_program(self, args: ParseProgramArgs) -> ParseProgramResult:
        texts = dict(zip(args.paths, args.sources, strict=False))
        loaded = read_program(args.paths, texts, _maps(args.external_pkgs))
        return ParseProgramResult(loaded.program_tree(), loaded.files(), loaded.errors)

    def load_package(self, args: LoadPackageArgs) -> LoadPackageResult:
        """Symbols and scopes of all packages of a program; what is wrong with it is in the answer."""
        _refuse(args, ("load_builtin", "with_ast_index"))
        given = args.parse_args
        texts = dict(zip(given.paths, given.sources, strict=False))
        analysis, view = checked(given.paths, texts, given.external_pkgs, os.getcwd())
        answer = LoadPackageResult()
        for each in analysis.diagnostics:
            is_parsed = each.code is Code.INVALID_SYNTAX or view is None
            (answer.parse_errors if is_parsed else answer.type_errors).append(as_error(each, analysis.sources))
        if view is not None:
            answer.paths = [each.source.path for each in view.program.main.modules]
            symbols(view, {os.path.abspath(each): each for each in texts}, answer)
        return answer

    def get_schema_type_mapping(self, args: GetSchemaTypeMappingArgs) -> GetSchemaTypeMappingResult:
        """The schemas of the main package and what holds one; raises `ServiceError` where the program is wrong."""
        _refuse(args.exec_args, _OF_A_RUN)
        return GetSchemaTypeMappingResult(mapping(*_understood(args.exec_args), args.schema_name))

    def get_schema_type_mapping_under_path(self, args: GetSchemaTypeMappingArgs) -> GetSchemaTypeMappingUnderPathResult:
        """The schemas of every package that the program consists of."""
        _refuse(args.exec_args, _OF_A_RUN)
        return GetSchemaTypeMappingUnderPathResult(by_package(*_understood(args.exec_args), args.schema_name))

    def list_options(self, args: ParseProgramArgs) -> ListOptionsResult:
        texts = dict(zip(args.paths, args.sources, strict=False))
        try:
            files = [
                each
                for name in args.paths or [os.curdir]
                for each in ([SourceFile(name, texts[name])] if name in texts else sources([name], os.getcwd()))
            ]
            calls = arguments(files)
        except Unreadable as problem:
            raise ServiceError(str(problem)) from None
        told = [OptionHelp(each.name, each.type, each.is_required, each.default, each.help) for each in calls]
        return ListOptionsResult(told)

    def list_variables(self, args: ListVariablesArgs) -> ListVariablesResult:
        _refuse(args.options, ("merge_program",))
        try:
            every = listing.variables(sources(args.files, os.getcwd()))
        except Unreadable as problem:
            return ListVariablesResult(parse_errors=[_error(str(problem))])
        chosen: Mapping[str, list[listing.Variable]] = every
        if args.specs:
            chosen = {each: listing.at_path(every, each.split(".")) for each in args.specs}
        return ListVariablesResult({name: VariableList(list(map(_variable, each))) for name, each in chosen.items()})

    def override_file(self, args: OverrideFileArgs) -> OverrideFileResult:
        """Writes values into a file; all else in it stays as it is."""
        path = os.path.abspath(args.file)
        try:
            file = source(path, os.curdir)
            text = overridden_text(file, args.specs, args.import_paths)
        except (Unreadable, KclError) as problem:
            return OverrideFileResult(False, [_error(str(problem))])
        if text != file.text:
            whole_file.save(path, text.encode())
        return OverrideFileResult(True)

    def format_code(self, args: FormatCodeArgs) -> FormatCodeResult:
        try:
            return FormatCodeResult(formatted(args.source).encode())
        except Refused as problem:
            raise ServiceError(str(problem)) from None

    def format_path(self, args: FormatPathArgs) -> FormatPathResult:
        cwd = os.getcwd()
        outcomes = [
            lay_out(each, cwd, Wish(writes=not args.dry_run, diff=False))
            for each in found(args.path, cwd, recursive=False)
        ]
        failed = [each.problem for each in outcomes if each.problem]
        if failed:
            raise ServiceError("\n".join(failed))
        return FormatPathResult([each.path for each in outcomes if each.is_changed])

    def lint_path(self, args: LintPathArgs) -> LintPathResult:
        paths, missing = files_of(args.paths, os.getcwd())
        linted = lint(paths, OsFileSystem())
        unread = [each.text for each in (*missing, *linted.unread)]
        if unread:
            raise ServiceError("\n".join(unread))
        return LintPathResult([each.message for each in linted.diagnostics])

    def validate_code(self, args: ValidateCodeArgs) -> ValidateCodeResult:
        """Holds data against a schema, the first of the code where none is named."""
        text, name = args.data, "data"
        if args.datafile:
            file = source(args.datafile, os.getcwd())
            text, name = file.text, file.path
        try:
            documents = vetted.documents(text, args.format.lower() or "json")
        except vetted.BadData as problem:
            return ValidateCodeResult(False, str(problem))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.abspath(args.file) if args.file else os.path.join(folder, "schema.k")
            code = args.code or source(path, os.curdir).text
            if not args.file:
                whole_file.save(path, code.encode())
            known = schemas(code, path)
            if not known:
                raise ServiceError("there is no schema in the code")
            schema = SchemaFile(path, code, args.schema or known[0], args.attribute_name or "value")
            validator = Validator(schema, {}, _maps(args.external_pkgs))
            said = []
            for document in documents:
                findings = validator.validate(document, name, text)
                said.append(report(findings.diagnostics, findings.sources, "pretty", official_only=True))
        message = "".join(said)
        return ValidateCodeResult(not message, message)

    def rename(self, args: RenameArgs) -> RenameResult:
        """Renames a variable or schema of a package in its files. Raises `ServiceError` where that is not safe."""
        texts = {os.path.abspath(each): source(each, os.getcwd()).text for each in args.file_paths}
        changed = renamed_texts(
            os.path.abspath(args.package_root), args.symbol_path, texts, args.new_name, on_disk=True
        )
        for path, text in changed.items():
            whole_file.save(path, text.encode())
        return RenameResult(sorted(changed))

    def rename_code(self, args: RenameCodeArgs) -> RenameCodeResult:
        root, codes = os.path.abspath(args.package_root), args.source_codes
        return RenameCodeResult(renamed_texts(root, args.symbol_path, codes, args.new_name, on_disk=False))

    def test(self, args: TestArgs) -> TestResult:
        """Runs tests; raises `ServiceError` where a file cannot be read or there are none.

        Of `exec_args` they are given the options and the packages.
        """
        if replace(args.exec_args, args=[], external_pkgs=[]) != ExecProgramArgs():
            raise ServiceError("exec_args: tests are given its args and external_pkgs, and nothing else of it")
        tests, unreadable = find(args.pkg_list, os.getcwd())
        if unreadable:
            raise ServiceError("\n".join(f"{each.path}: {each.reason}" for each in unreadable))
        if args.run_regexp:
            try:
                pattern = compiled(args.run_regexp)
            except PatternError as problem:
                raise ServiceError(f"{args.run_regexp!r} is no regular expression: {problem}") from None
            tests = [each for each in tests if tried(pattern, each.name).search(each.name)]
        if not tests:
            raise ServiceError(f"there are no tests in {' '.join(args.pkg_list)}")
        given = _handed_to_tests(args.exec_args)
        cases = [given.case(each, args.coverage) for each in tests]
        outcomes = run_all(cases, Allowance(), os.environ, 1, fail_fast=args.fail_fast)
        told = (
            (
                tests[index].name,
                replace(each, failure=given.masked(each.failure), printed=given.masked(each.printed)),
            )
            for index, each in outcomes
        )
        return tested.result(told, covered=args.coverage)

    def format_test_report(self, args: FormatTestReportArgs) -> FormatTestReportResult:
        """The result of tests as lines for a person, as the official command prints it."""
        return FormatTestReportResult(tested.report(args.result))

    def load_settings_files(self, args: LoadSettingsFilesArgs) -> LoadSettingsFilesResult:
        files = OsFileSystem()
        try:
            read = [load_settings(os.path.abspath(each), files, shown_as=each) for each in args.files]
        except KclError as problem:
            raise ServiceError(report(problem.diagnostics, {}, "pretty", official_only=True)) from None
        merged = merge_settings(read)
        options = [KeyValuePair(key, json.dumps(value, ensure_ascii=False)) for key, value in merged.options]
        config = CliConfig(
            list(merged.files),
            merged.output or "",
            list(merged.overrides),
            list(merged.path_selector),
            bool(merged.strict_range_check),
            bool(merged.disable_none),
            bool(merged.debug),
            bool(merged.sort_keys),
            bool(merged.show_hidden),
        )
        return LoadSettingsFilesResult(config, options)

    def update_dependencies(self, args: UpdateDependenciesArgs) -> UpdateDependenciesResult:
        """Downloads what kcl.mod asks for; raises `ServiceError` where that fails."""
        from kcl.packages.commands import main

        said = ""
        for words in (["update"], *([["vendor"]] if args.vendor else []), ["metadata"]):
            out, complaint = io.StringIO(), io.StringIO()
            folder = os.path.abspath(args.manifest_path)
            if main(words, cwd=folder, stdin=io.StringIO(), stdout=out, stderr=complaint, environment=os.environ):
                raise ServiceError(complaint.getvalue())
            said = out.getvalue()
        packages = json.loads(said)["packages"]
        told = [ExternalPkg(name, each["manifest_path"]) for name, each in packages.items()]
        return UpdateDependenciesResult(told)


_FORMS: Final = ("pretty", "short", "arcanist", "sarif", "github")
_OUTPUTS: Final = ("", "json", "yaml")
_OF_A_RUN: Final = ("overrides", "print_override_ast", "sourcemap_output")
"""What a program that is only looked into would not heed."""


def _one_of(given: str, known: Sequence[str], name: str) -> str:
    if given not in known:
        raise ServiceError(f"{name}: there is {', '.join(each for each in known if each)}, not {given!r}")
    return given


def _write_overrides(result: RunResult, texts: Collection[str]) -> None:
    """Writes the main files of a program as it ran, with its overrides; not those that were given as text."""
    files = OsFileSystem()
    for path in result.trees:
        if path not in texts and result.sources[path] != files.read_text(path):
            mark = b"\xef\xbb\xbf" if files.read_bytes(path).startswith(b"\xef\xbb\xbf") else b""
            whole_file.save(path, mark + result.sources[path].encode())


def _refuse(args: object, names: Iterable[str]) -> None:
    """Raises `ServiceError` for fields that are given and would not be heeded."""
    if given := [each for each in names if getattr(args, each)]:
        raise ServiceError(f"{', '.join(given)}: there is no such thing here; leave it out")


def _understood(args: ExecProgramArgs) -> tuple[View, dict[str, str]]:
    """The checked program that a run with these arguments would be of, and what files given as text are called."""
    folder = os.path.abspath(args.work_dir or os.curdir)
    texts = dict(zip(args.k_filename_list, args.k_code_list, strict=False))
    analysis, view = checked(args.k_filename_list, texts, args.external_pkgs, folder)
    refuse_errors(analysis)
    if view is None:
        raise ServiceError("there are no files to look into")
    return view, {os.path.join(folder, each): each for each in texts}


def _handed_to_tests(given: ExecProgramArgs) -> Given:
    packages = {name: os.path.abspath(path) for name, path in _maps(given.external_pkgs).items()}
    arguments = tuple(f"{each.name}={each.value}" for each in given.args)
    secrets = tuple(secret_texts(dict(map(parse_argument, arguments))))
    return Given(arguments, (), packages, secrets)


def _maps(packages: Iterable[ExternalPkg]) -> dict[str, str]:
    return {each.pkg_name: each.pkg_path for each in packages}


def _on_one_line(text: str) -> str:
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:  # several documents
        return text.removesuffix("\n")


def _error(text: str) -> Error:
    return Error("error", Code.INVALID_SYNTAX.number, [Message(text)])


def _variable(each: listing.Variable) -> Variable:
    return Variable(
        each.text,
        each.type,
        each.operator,
        list(map(_variable, each.items)),
        [MapEntry(key, _variable(value)) for key, value in each.entries],
    )
