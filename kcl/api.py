"""The language as other programs use it: parse a text, run a program.

`run` is a function of its arguments: the files it reads come through the file system it is given, nothing is kept
between calls but what a `ParseCache` handed in by the caller keeps, and several threads may run at once.

    result = run(["main.k"], work_dir="/repo/stack", options={"env": "dev"})
    result.documents            # plain values, one a YAML document
    result.yaml()               # as the official tools print them
    result.provenance.lookup(0, ("spec", "replicas"))   # the source lines that decided it

What is wrong with a program is raised as `ProgramError`, a `KclError` that can also print itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from kcl.cache.store import Store, folder_for
from kcl.caches import ParseCache
from kcl.collection import paused_for_run
from kcl.compiler import GENERATED
from kcl.diagnostics import Code, Diagnostic, Hint, KclError, Severity, Span, error, render
from kcl.emit import yaml_text
from kcl.emit.planning import PlanOptions, plan, plan_documents
from kcl.emit.selection import select, selector_path
from kcl.evaluator.coverage import Coverage
from kcl.evaluator.deep_threads import in_deep_thread
from kcl.evaluator.dialect import KCL, KCL_0_12, KONFIG_2023, PRESETS, Dialect, dialect_of
from kcl.evaluator.evaluate import Evaluation, evaluate, findings
from kcl.evaluator.observing import Observation
from kcl.evaluator.prepared import without_plugins
from kcl.evaluator.runtime import Compiling, Limits
from kcl.evaluator.sites import Site, SiteKind
from kcl.evaluator.whereabouts import raised_at as _raised_at
from kcl.evaluator.whereabouts import whereabouts as _whereabouts
from kcl.loader import (
    MANIFEST_NAME,
    Loaded,
    LoadRequest,
    Manifest,
    Settings,
    argument_value,
    default_settings_file,
    downloaded_folder,
    find_root,
    has_errors,
    load,
    load_settings,
    merge_settings,
    overridden_texts,
    profile_run,
    read_manifest,
)
from kcl.loader.texts import reading
from kcl.memo.inputs import Stamp
from kcl.memo.queries import Memo
from kcl.plugins.code import EntryPointCode, FileCode, PluginCode, PluginFinder, PluginRefused
from kcl.records import replace
from kcl.results import CachedProvenance, Failure, Provenance, RunRequest, RunResult, SourceChanged, portable
from kcl.secrecy.rules import BUILT_IN
from kcl.source import (
    BoundedFileSystem,
    Bounds,
    FileSystem,
    InMemoryFileSystem,
    OsFileSystem,
    OverlayFileSystem,
    RecordingFileSystem,
    SourceFile,
    StampingFileSystem,
    bounds_of,
    is_disk,
)
from kcl.stdlib import Access, build_library, to_value
from kcl.syntax import ParseResult
from kcl.syntax import parse as _parse
from kcl.syntax.edit import expression_text, replace_value
from kcl.syntax.removal import remove_value
from kcl.syntax.sites import (
    Enclosing,
    Written,
    attributes_of,
    configured,
    enclosing_at,
    literals_at,
    literals_named,
    replace_at,
    written_at,
)

if TYPE_CHECKING:
    from pathlib import Path

    from kcl.evaluator.value import Library
    from kcl.plugins.host import PluginModules

__all__ = [
    "KCL",
    "KCL_0_12",
    "KONFIG_2023",
    "PRESETS",
    "Access",
    "BoundedFileSystem",
    "Bounds",
    "CachedProvenance",
    "Code",
    "Coverage",
    "Diagnostic",
    "Dialect",
    "Enclosing",
    "EntryPointCode",
    "FileCode",
    "FileSystem",
    "Hint",
    "InMemoryFileSystem",
    "KclError",
    "Manifest",
    "Observation",
    "OsFileSystem",
    "OverlayFileSystem",
    "ParseCache",
    "ParseResult",
    "PlanOptions",
    "PluginCode",
    "PluginFinder",
    "PluginRefused",
    "ProgramError",
    "Provenance",
    "RunResult",
    "Settings",
    "Severity",
    "Site",
    "SiteKind",
    "SourceChanged",
    "Span",
    "Store",
    "Written",
    "argument_value",
    "attributes_of",
    "configured",
    "downloaded_folder",
    "enclosing_at",
    "expression_text",
    "finding",
    "folder_for",
    "in_deep_thread",
    "literals_at",
    "literals_named",
    "load_settings",
    "names_entries",
    "parse",
    "portable",
    "raised_at",
    "remove_value",
    "replace_at",
    "replace_value",
    "run",
    "taught",
    "whereabouts",
    "written_at",
    "yaml_text",
]

COMPILING: Compiling | None = GENERATED
"""What gets generated code; None for nothing. Nothing depends on it but the time a run takes."""


class ProgramError(KclError):
    """The program is wrong. Carries the texts that its diagnostics point into, and what was printed before.

    `dependency_names` are the paths of all that this rests on, None where that is not known.
    """

    def __init__(
        self,
        diagnostics: tuple[Diagnostic, ...],
        sources: Mapping[str, str] | None = None,
        printed: str = "",
        dependency_names: frozenset[str] | None = None,
    ) -> None:
        super().__init__(diagnostics)
        self.sources = sources or {}
        self.printed = printed
        self.dependency_names = dependency_names

    @property
    def is_of_files(self) -> bool:
        """Whether the files alone say that the program is wrong, whenever they are read.

        What a run finds may have to do with more: how long something took, or what another process did.
        """
        is_found_before = all(each.code is not Code.EVALUATION for each in self.diagnostics)
        return self.dependency_names is not None and not self.printed and is_found_before

    def render(self, *, official_columns: bool = False, guided: bool = False) -> str:
        """The diagnostics with source lines and carets; `guided` as people want to read them, with hints."""
        return render(self.diagnostics, self.sources, official_columns=official_columns, guided=guided)


def parse(text: str, path: str = "main.k", *, dedent: bool = True) -> ParseResult:
    """The syntax tree of one file's text and what is wrong with it. Reads nothing, raises nothing."""
    return _parse(SourceFile(path, text), dedent=dedent)


def names_entries(folder: str | Path, file_system: FileSystem | None = None) -> bool:
    """Whether the kcl.mod of a folder says which files are run; True as well for one that cannot be read.

    Such a folder is run without naming files, and `run` says what is wrong with its kcl.mod.
    """
    try:
        return bool(read_manifest(os.path.abspath(folder), file_system or OsFileSystem()).entries)
    except KclError:
        return True


def run(
    files: Sequence[str] = (),
    *,
    work_dir: str | Path,
    options: Mapping[str, Any] | None = None,
    settings: Sequence[str | Settings] = (),
    texts: Mapping[str, str] | None = None,
    dialect: Dialect | None = None,
    file_system: FileSystem | None = None,
    package_maps: Mapping[str, str] | None = None,
    vendor_dir: str | None = None,
    vendored: bool = False,
    needs_sums: bool = False,
    output: PlanOptions | None = None,
    sort_keys: bool = False,
    path_selector: Sequence[str] = (),
    overrides: Sequence[str] = (),
    variables: bool = False,
    limits: Limits | None = None,
    access: Callable[[Access], Access] | None = None,
    plugins: PluginFinder | None = None,
    cache: ParseCache | None = None,
    observation: Observation | None = None,
) -> RunResult:
    """Loads and evaluates a program. Raises ProgramError when it is wrong.

    `files` are relative to `work_dir`; without any, those of the settings, of `kcl.yaml` in `work_dir` or of the
    entries in kcl.mod are taken, the last with all that its `[profile]` says. `settings` are settings files (paths
    relative to `work_dir`) or values, merged from the first to the last; `options` are put over theirs. `texts`
    gives the text of some files by name instead of reading them. `dialect` defaults to what kcl.mod asks for.
    `output`, `sort_keys` and `path_selector` say what of the result to show, `overrides` (`path=value`) what to
    change in the main files for this run; they are put over the settings. Packages with a version are looked for in
    the folder `vendor` beside kcl.mod and in `vendor_dir`, with `vendored` only in the first; with `needs_sums` none
    is taken whose checksum kcl.mod.lock does not tell, which `kcl run` does not ask for. By default a program
    may read files below its root and `work_dir`, and write none; `access` is given those capabilities and answers
    others. With a `BoundedFileSystem` nothing outside its bounds is read, whatever files, settings, kcl.mod or the
    program name. `plugins` finds what `import kcl_plugin.NAME` may mean; without it no plugin is found.
    `observation` is told what the evaluation does. With `variables` the first document is what the variables of the
    main package hold, also where the program makes an output of its own; the others follow.

    What a store in `cache` holds of an earlier run of the same is answered, and nothing evaluated, while all that the
    result rests on has not changed; see `kcl.results.result_cache`.
    """
    request = RunRequest(
        files=tuple(files),
        folder=os.path.abspath(work_dir),
        options=options or {},
        settings=tuple(settings),
        texts=texts or {},
        dialect=dialect,
        package_maps=package_maps or {},
        vendor_dir=vendor_dir,
        vendored=vendored,
        needs_sums=needs_sums,
        output=output,
        sort_keys=sort_keys,
        path_selector=tuple(path_selector),
        overrides=tuple(overrides),
        limits=limits,
        variables=variables,
    )
    return in_deep_thread(lambda: _answered(request, file_system, access, plugins, cache, observation))


def _answered(
    request: RunRequest,
    file_system: FileSystem | None,
    access: Callable[[Access], Access] | None,
    plugins: PluginFinder | None,
    cache: ParseCache | None,
    observation: Observation | None,
) -> RunResult:
    """The result of an earlier run of the same, if a store has it, or that of this one."""
    variables = request.variables
    read_from = file_system or (OsFileSystem() if cache is None else OsFileSystem(cache.clock))
    bounds = bounds_of(read_from)
    if bounds is not None:
        request = replace(request, bounds=bounds)
    results = (
        cache.results if cache is not None and access is None and observation is None and is_disk(read_from) else None
    )
    name = None if results is None else request.name(cache.secrets if cache is not None else BUILT_IN)
    if cache is None or results is None or name is None:
        more: list[str] = []
        watched = _noting(access, more) if variables else access
        reading_once = RecordingFileSystem(read_from)
        result = _run(request, reading_once, watched, plugins, cache, more.append, observation)
        return replace(result, is_of_files=not more) if variables else result
    found = results.look_up(name)
    if found is not None:
        return replace(found, is_of_files=True) if variables else found
    failed = results.look_up_failure(name)
    if failed is not None:
        raise ProgramError(failed.diagnostics, failed.sources, "", failed.dependency_names)
    started, uses, reader = cache.clock(), list[str](), StampingFileSystem(read_from)
    stamps = cast("dict[str, Stamp | None]", reader.taken)  # the disk has no others
    try:
        result = _run(
            request, reader, lambda granted: replace(granted, on_use=uses.append), plugins, cache, uses.append
        )
    except ProgramError as problem:
        if not uses and problem.is_of_files and problem.dependency_names is not None:
            failure = Failure(problem.diagnostics, problem.sources, problem.dependency_names)
            results.store_failure(name, request, failure, started, stamps)
        raise
    if not uses:
        results.store(name, request, result, started, stamps)
    return replace(result, is_of_files=not uses) if variables else result


def _noting(access: Callable[[Access], Access] | None, uses: list[str]) -> Callable[[Access], Access]:
    """As `access`, and what is asked of the world is noted."""
    return lambda granted: replace(access(granted) if access is not None else granted, on_use=uses.append)


def whereabouts() -> str:
    """`FILE:LINE` of what is being evaluated in this process, "" where nothing is or it is not known."""
    return str(_whereabouts() or "")


def raised_at(error: BaseException) -> str:
    """The same of what was evaluated when an exception was raised."""
    return str(_raised_at(error) or "")


def finding(message: str) -> Diagnostic:
    """What is said of an evaluation as a whole, as an error among the others."""
    return error(Code.EVALUATION, message, None)


def _nobody(use: str) -> None:
    """Nobody wants to know."""


def _run(
    request: RunRequest,
    reader: RecordingFileSystem,
    access: Callable[[Access], Access] | None,
    plugins: PluginFinder | None,
    cache: ParseCache | None,
    on_more: Callable[[str], None] = _nobody,
    observation: Observation | None = None,
) -> RunResult:
    """As `run`. `on_more` is told when the result is a matter of more than files, what is asked and `access`."""
    folder, dialect = request.folder, request.dialect
    sources: dict[str, str] = {}
    extensions: PluginModules | None = None
    known = cache or ParseCache()
    reached: Loaded | None = None
    with paused_for_run(known.files):
        try:
            merged, givers = _settings(request.files, request.settings, folder, reader, known.memo)
            givers.update(dict.fromkeys(request.options, "-D"))
            to_load = LoadRequest(
                files=request.files or merged.files,
                work_dir=folder,
                texts=request.texts,
                package_maps={**merged.package_maps, **request.package_maps},
                vendor_dir=request.vendor_dir,
                vendored=request.vendored,
                needs_sums=request.needs_sums,
                dedent_strings=None if dialect is None else dialect.dedent_triple_quoted,
            )
            loaded = load(to_load, reader, known.memo)
            sources.update(loaded.sources)
            reached = loaded
            if has_errors(loaded.diagnostics):
                raise KclError(
                    _with_findings(loaded, folder, reader, dialect or dialect_of(loaded.manifest), known.memo)
                )
            changes = request.overrides or merged.overrides
            if changes:
                on_more("overrides")
                to_load = replace(to_load, texts={**to_load.texts, **overridden_texts(loaded.program, changes)})
                loaded = load(to_load, reader, known.memo)
                sources.update(loaded.sources)
            chosen = dialect or dialect_of(loaded.manifest)
            given = {**merged.option_values(), **request.options}
            granted = _access(loaded, folder, reader, access)
            used: frozenset[str] = frozenset()
            values = {key: to_value(value) for key, value in given.items()}
            bounds = request.limits or _limits(merged)
            has_plugins = not without_plugins(loaded.program, known.memo)
            if has_plugins:
                on_more("plugins")
            if cache is not None and not has_plugins:
                with cache.prepared(granted) as prepared:
                    evaluation = evaluate(
                        loaded.program,
                        prepared.library,
                        values,
                        chosen,
                        bounds,
                        cache.memo,
                        prepared,
                        cache.compiling(COMPILING),
                        observation,
                    )
            else:
                with _library(granted, plugins) as (library, extensions):
                    compiling = None if has_plugins else COMPILING  # calls must not be made twice
                    evaluation = evaluate(
                        loaded.program,
                        library,
                        values,
                        chosen,
                        bounds,
                        known.memo,
                        compiling=compiling,
                        observation=observation,
                    )
                    used = extensions.files if extensions is not None else used
            shown = request.output or PlanOptions(
                show_hidden=bool(merged.show_hidden), disable_none=bool(merged.disable_none), omit_empty_lists=False
            )
            documents = _documents(evaluation, shown, request.path_selector or merged.path_selector)
            behind = evaluation.provenance
            if request.variables:
                documents = (plan(evaluation.value, shown), *documents)
                behind = replace(behind, documents=(evaluation.value, *behind.documents))
            if cache is not None:
                cache.write()
        except KclError as problem:
            if cache is not None:
                cache.write()
            printed = extensions.printed if extensions is not None else ""
            texts = _with_texts(sources, problem.diagnostics, reader)
            told = taught(problem.diagnostics, texts, reached, reader)
            rests = None if reached is None else _watched(reached.program.dependencies | reader.seen, request.bounds)
            raise ProgramError(told, texts, printed, rests) from None
    return RunResult(
        documents=documents,
        provenance=replace(behind, givers=givers),
        diagnostics=(*loaded.diagnostics, *evaluation.warnings),
        sources=sources,
        dependency_names=_watched(loaded.program.dependencies | reader.seen, request.bounds) | used,
        printed=evaluation.printed + (extensions.printed if extensions is not None else ""),
        dialect=chosen,
        manifest=loaded.manifest,
        emitted=None if shown.omit_empty_lists else evaluation.emitted,
        sort_keys=request.sort_keys or bool(merged.sort_keys),
        trees={module.source.path: module.tree for module in loaded.program.main.modules},
    )


def _watched(paths: frozenset[str], bounds: Bounds | None) -> frozenset[str]:
    """The paths that a result rests on: what lies outside of the bounds was asked for and not looked at."""
    if bounds is None:
        return paths
    folders = tuple(folder.rstrip(os.sep) + os.sep for folder in (bounds.root, bounds.packages) if folder)
    elsewhere = [path for path in paths if not path.startswith(folders)]  # mostly none
    refused = {path for path in elsewhere if bounds.refusal(path) is not None}
    return paths - refused if refused else paths


def _with_findings(
    loaded: Loaded, folder: str, reader: FileSystem, dialect: Dialect, memo: Memo
) -> tuple[Diagnostic, ...]:
    """What is wrong with the files, and what the checker says of what could be read of them."""
    if any(item.code is Code.RECURSIVE_LOAD for item in loaded.diagnostics):
        return loaded.diagnostics
    found = findings(loaded.program, build_library(_access(loaded, folder, reader, None)), dialect, memo)
    return (*(item for item in loaded.diagnostics if item not in found), *found)


def taught(
    diagnostics: tuple[Diagnostic, ...],
    sources: Mapping[str, str],
    loaded: Loaded | None = None,
    file_system: FileSystem | None = None,
) -> tuple[Diagnostic, ...]:
    """The diagnostics with hints on what mends them, and with those marked that follow from others; see kcl.teaching.

    `sources` maps their paths to texts. What could be imported is looked for around the program `loaded`.
    """
    # Programs without errors need none of it.
    from kcl.loader.neighbours import Neighbours
    from kcl.teaching import taught as _taught

    around = None
    if loaded is not None and file_system is not None:
        around = Neighbours(loaded.program.root, loaded.externals, file_system)
    return _taught(diagnostics, sources, around)


def _with_texts(
    sources: Mapping[str, str], diagnostics: Sequence[Diagnostic], file_system: FileSystem
) -> Mapping[str, str]:
    """`sources` and the other files that diagnostics point into, such as kcl.mod."""
    places = [
        span
        for item in diagnostics
        for span in (
            item.primary,
            *(label.span for label in item.labels),
            *(label.span for hint in item.hints for label in hint.labels),
        )
        if span
    ]
    texts = dict(sources)
    for path in {span.path for span in places} - texts.keys():
        with suppress(OSError, UnicodeDecodeError, KclError):
            texts[path] = file_system.read_text(path)
    return texts


@contextmanager
def _library(access: Access, finder: PluginFinder | None) -> Iterator[tuple[Library, PluginModules | None]]:
    """Everything a program finds without importing a file; the processes of plugins end with the context."""
    library = build_library(access)
    if finder is None:
        yield library, None
        return
    from kcl.plugins.host import Joined, PluginModules  # only few programs need processes

    with PluginModules(finder) as extensions:
        yield replace(library, modules=Joined(library.modules, extensions)), extensions


def _settings(
    files: Sequence[str],
    settings: Sequence[str | Settings],
    folder: str,
    file_system: FileSystem,
    memo: Memo,
) -> tuple[Settings, dict[str, str]]:
    """The settings merged, and for each option the file that gave it its value; "" for settings without a file."""
    request = reading(memo, file_system.read_text)
    given = [
        (item, "")
        if isinstance(item, Settings)
        else (load_settings(os.path.join(folder, item), file_system, shown_as=item, request=request), item)
        for item in settings
    ]
    merged = merge_settings(item for item, _ in given)
    if not files and not merged.files:
        default = default_settings_file(folder, file_system)
        if default is not None and default not in [os.path.join(folder, str(item)) for item in settings]:
            found = load_settings(default, file_system, request=request)
            given.insert(0, (found, os.path.basename(default)))
            merged = merge_settings(item for item, _ in given)
        root = find_root(folder, file_system) if default is None else None
        profile = profile_run(root, file_system, request) if root is not None else None
        if profile is not None:
            given.insert(0, (profile.settings, MANIFEST_NAME))
            merged = merge_settings(item for item, _ in given)
    return merged, {key: name for item, name in given for key, _ in item.options}


def _limits(settings: Settings) -> Limits:
    return Limits(strict_range_check=bool(settings.strict_range_check), debug=bool(settings.debug))


def _access(loaded: Loaded, folder: str, file_system: FileSystem, change: Callable[[Access], Access] | None) -> Access:
    root = loaded.program.root
    granted = Access(
        file_system=file_system,
        read_roots=(root, folder),
        work_dir=folder,
        root=root,
        base=folder,
    )
    return change(granted) if change is not None else granted


def _documents(evaluation: Evaluation, options: PlanOptions, selectors: Sequence[str]) -> tuple[Any, ...]:
    if evaluation.documents is not None:
        return tuple(plan(value, options) for value in evaluation.documents)
    documents = plan_documents(evaluation.value, options)
    if not selectors:
        return tuple(documents)
    whole = documents[0] if len(documents) == 1 else documents
    found = [_selected(whole, selector) for selector in selectors]
    return tuple(plan_documents(found[0] if len(found) == 1 else found, options))


def _selected(document: Any, selector: str) -> Any:
    try:
        return select(document, selector_path(selector))
    except ValueError as problem:
        message = str(problem)
    except LookupError as problem:
        message = f"invalid path selector '{selector}', nothing at '{problem.args[0]}'"
    raise KclError((error(Code.EVALUATION, message, None),))
