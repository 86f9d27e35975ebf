"""A stack's KCL → its Spec.

The language is synchronous and pure; what comes back is complete: the Spec, warnings, and every file it was read from
(which later tells what an edit touches). Sessions have it done in another process: see `shipped`.

What a stack is made of: the files its kcl.yaml lists, else the entries that its own kcl.mod names, else base/*.k of its
project and its own. Besides the options of
kcl.yaml, of settings files and of the command line it is told `project`, `stack` and, where its placement has a rule
for namespaces, `namespace_by`; what anybody else says wins over these. Definitions under PROJECT/crd/ belong to the
stack as well, as in Kusion (https://github.com/KusionStack/kusion/issues/152).
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from kcl import api
from kcl.diagnostics import Diagnostic, position
from kcl.memo.inputs import Clock, now
from kcl.reach import is_below
from kcl.records import dataclass, field, replace
from kcl.secrecy.rules import BUILT_IN, MASK, SecretRules
from kcl.tools.query.unrendered import unrendered
from runtimes.base.documents import DocumentError, load_all_yaml, load_yaml, read_text
from runtimes.base.secret_texts import telling, texts
from workbench.engine.chains import lookup_in, paths_of
from workbench.engine.compiled import CompiledStack, CompileFailed, CompileInputs
from workbench.engine.errors import EngineError, SpecInvalid
from workbench.engine.frames import MOST_BYTES
from workbench.engine.masking import secret_texts_in
from workbench.engine.scrubbing import masked_text
from workbench.engine.secret_options import fed_secrets, named_secret
from workbench.engine.secret_references import uses
from workbench.engine.spec import Spec, build
from workbench.project import Stack, checkout, named, refuse_foreign, top

ParseCache = api.ParseCache
PluginFinder = api.PluginFinder
_STACK_SETTINGS, _MODULE = "kcl.yaml", "kcl.mod"
_WRITTEN = re.compile(r"""(([A-Za-z_][\w.-]{0,60})["']?\s{0,3}[=:]\s{0,3}["'])([^"'\n]{3,})(["'])""")
"""A text that is given to a name, in a source line or in a value that a message quotes."""


def new_cache(*, results: bool = True, secrets: SecretRules = BUILT_IN, clock: Clock = now) -> ParseCache:
    """Returns a cache of parsed files, to be handed to every compilation of one repository.

    What it learns of shared packages it keeps on disk as well, unless `KCL_RUN_CACHE` says off; with `results` also
    what whole stacks amount to. `clock` is that of the files.
    """
    folder = api.folder_for(os.environ)
    store = None if folder is None else api.Store(folder)
    return api.ParseCache(store=store, results=results, secrets=secrets, clock=clock)


def compile_now(
    stack: Stack, inputs: CompileInputs, cache: ParseCache | None = None, plugins: PluginFinder | None = None
) -> CompiledStack:
    """Compiles here and now, in this process and without limits. Raises `CompileFailed` or `SpecInvalid`.

    Without `plugins` no Python function can be called from KCL. `shipped.compile_stack` does it where it can be ended.
    """
    return compiled_with_result(stack, inputs, cache, plugins)[0]


def compiled_with_result(
    stack: Stack, inputs: CompileInputs, cache: ParseCache | None = None, plugins: PluginFinder | None = None
) -> tuple[CompiledStack, api.RunResult]:
    """As `compile_now`, and what the language says."""
    return _compiled(stack, inputs, cache, plugins, 0)


def compiled_with_variables(
    stack: Stack, inputs: CompileInputs, cache: ParseCache | None = None, plugins: PluginFinder | None = None
) -> tuple[CompiledStack, api.RunResult]:
    """As `compiled_with_result`; the first document of the result is what the variables of the program hold."""
    return _compiled(stack, inputs, cache, plugins, 1)


def _compiled(
    stack: Stack, inputs: CompileInputs, cache: ParseCache | None, plugins: PluginFinder | None, before: int
) -> tuple[CompiledStack, api.RunResult]:
    return api.in_deep_thread(lambda: _compiled_here(stack, inputs, cache, plugins, before))


def _compiled_here(
    stack: Stack, inputs: CompileInputs, cache: ParseCache | None, plugins: PluginFinder | None, before: int
) -> tuple[CompiledStack, api.RunResult]:
    """`before` is how many documents come before those of the Spec: one, where variables were asked for."""
    started = perf_counter()
    program = program_of(stack, inputs, now if cache is None else cache.clock)
    listening = None if plugins is None else Listening(plugins, stack.secrets)
    try:
        result = api.run(
            program.files,
            work_dir=stack.directory,
            settings=program.settings,
            options=program.options,
            file_system=program.read_from,
            plugins=listening,
            cache=cache,
            variables=bool(before),
            vendor_dir=api.downloaded_folder(os.environ),
            needs_sums=True,
        )
    except api.ProgramError as error:
        raise failed(
            error, str(stack.directory), with_settings(stack, inputs), stack.secrets, heard(listening)
        ) from None

    _check_size(result.documents, stack)
    _check_rendered(stack, program.read_from, result)
    spec = build(
        [*result.documents[before:], *_definitions(stack, inputs)],
        stack=str(stack.path),
        lookup=lookup_in(result.provenance, before),
        drop_empty_lists=result.dialect == api.KONFIG_2023 or result.manifest.omit_empty_lists,
        rules=stack.secrets,
    )
    uses(spec)  # references to secrets that stand where they may not are found before anything is asked
    options = with_settings(stack, inputs).options
    of_plugins = secret_texts_in(heard(listening), spec)
    of_options = named_secret(options, stack.secrets) | fed_secrets(spec, options)
    spec = replace(spec, secrets=spec.secrets | of_options | of_plugins)
    seconds = perf_counter() - started
    dependencies = paths_of(result.dependency_names)
    printed = masked_text(result.printed, spec.secrets, spec.rules) if result.printed else ""
    diagnostics = tuple(_without_secrets(each, spec) for each in result.diagnostics)
    return CompiledStack(spec, diagnostics, dependencies, seconds, printed), result


_CONTAINERS: Final = (list, dict)


def _check_size(documents: Sequence[Any], stack: Stack) -> None:
    """One long text in many places is little to hand over, and more than any memory once somebody writes it out."""
    size = 0
    pending: list[Any] = [documents]
    while pending:
        values = pending.pop()
        if isinstance(values, dict):
            size += sum(map(len, map(str, values)))
            values = values.values()
        size += len(values)
        for value in values:
            if isinstance(value, str):
                size += len(value)
            elif isinstance(value, _CONTAINERS):
                pending.append(value)
        if size > MOST_BYTES:
            raise SpecInvalid(
                f"what the program evaluates to, written out, is larger than the limit of {MOST_BYTES >> 20} MB",
                where=str(stack.directory),
                hint="no cluster takes that much: make it smaller",
            )


def _check_rendered(stack: Stack, file_system: api.FileSystem, result: api.RunResult) -> None:
    """Raises `SpecInvalid` for a component that compiles and is in no output: a plan would take its objects away."""
    own, read = result.provenance.user_files, result.sources

    def texts_of(names: Iterable[str]) -> Iterator[tuple[str, str]]:
        for name in names:
            with contextlib.suppress(OSError, UnicodeDecodeError):
                try:
                    yield name, read[name]
                except api.SourceChanged:
                    yield name, file_system.read_text(name)

    def imported() -> Iterator[str]:
        return (text for _, text in texts_of(each for each in read if each not in own))

    found = unrendered(texts_of(each for each in read if each in own), imported, result.trees)
    if found:
        first = found[0]
        more = f", and so are {len(found) - 1} more" if len(found) > 1 else ""
        raise SpecInvalid(
            f"{first.variable} is a {first.schema}, of which no file asks for instances{more}: its objects are missing",
            where=f"{first.file}:{first.line}",
            hint=f"render it in {_in_repository(first.asked_in, stack)}; what is only to be read begins with _",
        )


def _in_repository(file: str, stack: Stack) -> str:
    root = checkout(stack.directory) if stack.root is None else stack.root
    return file.removeprefix(f"{root}/")


@dataclass(slots=True)
class Listening:
    """Finds plugins, and hears of what is secret in their settings and in what they return."""

    finder: PluginFinder
    rules: SecretRules
    found: set[str] = field(default_factory=set, repr=False)

    def find(self, name: str) -> api.PluginCode:
        code = self.finder.find(name)
        self.found |= code.secrets | named_secret(code.settings, self.rules)
        return replace(code, on_secret=lambda answer: self.found.update(texts(answer)))


def heard(listening: Listening | None) -> frozenset[str]:
    return frozenset() if listening is None else frozenset(listening.found)


def _without_secrets(diagnostic: Diagnostic, spec: Spec) -> Diagnostic:
    return replace(diagnostic, message=masked_text(diagnostic.message, spec.secrets, spec.rules))


@dataclass(frozen=True, slots=True)
class StackProgram:
    """What the language is given for a stack: files (none where kcl.yaml or kcl.mod lists them), settings, options.

    `read_from` is for one run.
    """

    files: tuple[str, ...]
    settings: tuple[str | api.Settings, ...]
    options: Mapping[str, Any] = field(repr=False)
    read_from: api.FileSystem = field(repr=False)


def program_of(stack: Stack, inputs: CompileInputs, clock: Clock = now) -> StackProgram:
    """Raises `EngineError` for a settings file that is not there, `SpecInvalid` for a stack without any KCL.

    Raises `OutsideRepository` where a file of the stack is a link out of the repository.
    """
    if (finding := stack.unmasked) is not None:
        raise EngineError(finding.message, where=finding.where, hint=finding.hint or "correct the file")
    for name in (_STACK_SETTINGS, _MODULE):
        refuse_foreign(stack.directory / name, stack.directory)
    settings = stack.directory / _STACK_SETTINGS
    has_settings = settings.is_file() or inputs.overlaid(settings) is not None
    for each in inputs.settings:
        path = stack.directory / each
        if not path.is_file() and inputs.overlaid(path) is None:
            raise EngineError(
                "there is no such settings file", where=str(path), hint="-Y is read from the stack's folder"
            )
    around = top(stack.directory) if stack.root is None else checkout(stack.root)
    file_system = read_from(around, stack.directory, inputs, clock)
    return StackProgram(
        () if has_settings or api.names_entries(stack.directory, file_system) else tuple(_own_files(stack, inputs)),
        (_told(stack), *([_STACK_SETTINGS] if has_settings else []), *inputs.settings),
        {name: api.argument_value(text) for name, text in inputs.options.items()},
        file_system,
    )


def evaluated(
    file: Path, around: Path, rules: SecretRules, cache: ParseCache, options: Mapping[str, Any] | None = None
) -> Sequence[Any]:
    """Returns the documents of one KCL file that is no stack's, evaluated in this process and without limits.

    It is read as stacks are: what lies in `around`, and packages whose checksums are known. Raises `CompileFailed`,
    whose texts have nothing in them that a source gives to a name which says that it is secret.
    """
    inputs = CompileInputs()
    try:
        return api.run(
            [str(file)],
            work_dir=file.parent,
            options=options,
            file_system=read_from(around, file.parent, inputs),
            cache=cache,
            vendor_dir=api.downloaded_folder(os.environ),
            needs_sums=True,
        ).documents
    except api.ProgramError as error:
        written = frozenset(text for each in error.sources.values() for text in written_secrets(each, rules))
        raise failed(error, str(file), inputs, rules, written) from None


def read_from(checkout: Path, folder: Path, inputs: CompileInputs, clock: Clock = now) -> api.FileSystem:
    """What a program in `folder` of a repository may be read from, with the overlay over it; for one run.

    That is the checkout, downloaded packages, and settings that the user named, with what those outside name in turn.
    Raises `OutsideRepository` where such settings are a link out of the repository.
    """
    typed = [str(named(Path(each), folder)) for each in inputs.settings]
    granted = [each for path in typed if not is_below(path, str(checkout)) for each in _granted(path, folder)]
    disk = api.BoundedFileSystem(api.Bounds(str(checkout), api.downloaded_folder(os.environ), tuple(granted)), clock)
    overlay = {str(path): text for path, text in inputs.overlay.items()}
    return api.OverlayFileSystem(disk, overlay) if overlay else disk


def _granted(settings: str, folder: Path) -> Iterator[str]:
    """Settings that do not lie in the repository are the user's, and so is what they name."""
    yield settings
    with contextlib.suppress(api.KclError):  # which the compilation tells
        said = api.load_settings(settings, api.OsFileSystem())
        paths = (*said.files, *said.package_maps.values())
        yield from (str(folder / each) for each in paths if not each.startswith("${"))


def with_settings(stack: Stack, inputs: CompileInputs) -> CompileInputs:
    """Returns inputs that say what kcl.yaml and files given with `-Y` say too: their options may be secret as well.

    What cannot be read is left to the compilation, which tells.
    """
    return with_settings_of(stack.directory, (_STACK_SETTINGS, *inputs.settings), inputs)


def with_settings_of(folder: Path, files: Iterable[str], inputs: CompileInputs) -> CompileInputs:
    """The same for the settings files of any program, relative to its folder."""
    told: dict[str, str] = {}
    for each in files:
        path = folder / each
        with contextlib.suppress(OSError, UnicodeDecodeError, DocumentError):
            text = inputs.overlaid(path)
            told |= _text_options(read_text(path) if text is None else text)
    return replace(inputs, options={**told, **inputs.options}) if told else inputs


@lru_cache(maxsize=16)
def _text_options(settings: str) -> Mapping[str, str]:
    """Texts in the values of options, of a settings file that is the same in all compilations of a session."""
    with contextlib.suppress(DocumentError):  # the language says what is wrong with its settings
        match load_yaml(settings):
            case {"kcl_options": list(options)}:
                given = {
                    str(one["key"]): one.get("value") for one in options if isinstance(one, Mapping) and "key" in one
                }
                return dict(_named_texts(given))
    return {}


def _named_texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yields the texts in the values of options, each with the names that lead to it."""
    match value:
        case Mapping():
            for key, each in value.items():
                yield from _named_texts(each, f"{name}.{key}" if name else str(key))
        case list():
            for number, each in enumerate(value):
                yield from _named_texts(each, f"{name}.{number}")
        case str():
            yield name, value


def failed(
    error: api.ProgramError,
    where: str,
    inputs: CompileInputs,
    rules: SecretRules = BUILT_IN,
    of_plugins: frozenset[str] = frozenset(),
) -> CompileFailed:
    """Takes the language's first finding as the message, and its place: `where` if it tells none.

    Messages quote values, also those of options: where an option's name says that it is secret, its value is masked.
    The language's own error is not kept as the cause, for the same reason.
    """
    first = error.diagnostics[0]
    hidden = partial(shown, inputs=inputs, rules=rules, more=of_plugins)
    if first.primary is not None:
        place = position(error.sources.get(first.primary.path, ""), first.primary.start)
        where = f"{first.primary.path}:{place.line}:{place.column}"

    message = hidden(f"{first.code.title}: {first.message}")
    diagnostics = tuple(replace(each, message=hidden(each.message), hints=()) for each in error.diagnostics)
    said = "\n\n".join(each.rstrip("\n") for each in (error.render(guided=True), error.printed) if each)
    places = tuple(
        None if each.primary is None else position(error.sources.get(each.primary.path, ""), each.primary.start)
        for each in error.diagnostics
    )
    return CompileFailed(message, where=where, diagnostics=diagnostics, rendered=hidden(said), places=places)


def shown(text: str, inputs: CompileInputs, rules: SecretRules = BUILT_IN, more: frozenset[str] = frozenset()) -> str:
    """The text of a message without what is secret by name or look: in options, and in the source lines it quotes."""
    options = named_secret(inputs.options, rules)
    for value in options:
        text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", MASK, text)
    text = _WRITTEN.sub(lambda found: found[1] + MASK + found[4] if rules.names_secret(found[2]) else found[0], text)
    return masked_text(text, telling(options | more), rules)


def written_secrets(source: str, rules: SecretRules = BUILT_IN) -> frozenset[str]:
    """Returns the texts that source gives to names that say that they are secret, wherever it uses them then."""
    found = (each for each in _WRITTEN.finditer(source) if rules.names_secret(each[2]))
    return frozenset(each[3] for each in found if "$" not in each[3])


def _own_files(stack: Stack, inputs: CompileInputs) -> list[str]:
    base = stack.project_directory / "base"
    refuse_foreign(base, stack.project_directory)
    files = [*_kcl_files(base, inputs), *_kcl_files(stack.directory, inputs)]
    for each in files:
        refuse_foreign(Path(each), stack.project_directory)
    if not files:
        raise SpecInvalid("has neither kcl.yaml nor KCL files", where=str(stack.directory), hint="add a main.k")
    return files


def _kcl_files(folder: Path, inputs: CompileInputs) -> list[str]:
    found = set(inputs.overlaid_in(folder))
    if folder.is_dir():
        found |= set(folder.iterdir())
    return [str(each) for each in sorted(found) if each.suffix == ".k" and not each.stem.endswith("_test")]


def _told(stack: Stack) -> api.Settings:
    """The options that the workbench gives where nobody else does, as the weakest of all settings."""
    told = [("project", str(stack.path.project)), ("stack", str(stack.path.stack))]
    if stack.placement is not None and stack.placement.namespace is not None:
        told.append(("namespace_by", stack.placement.namespace.by.value))
    return api.Settings(options=tuple(told), is_public=True)


def _definitions(stack: Stack, inputs: CompileInputs) -> Iterator[Any]:
    """Yields the custom resource definitions kept beside the stacks of a project."""
    folder = stack.project_directory / "crd"
    refuse_foreign(folder, stack.project_directory)
    found = {*(folder.iterdir() if folder.is_dir() else ()), *inputs.overlaid_in(folder)}
    for file in sorted(each for each in found if fnmatchcase(each.name, "*.y*ml")):
        refuse_foreign(file, stack.project_directory)
        try:
            text = inputs.overlaid(file)
            yield from pickle.loads(_definitions_in(read_text(file) if text is None else text))
        except DocumentError as error:
            message = f"cannot be read as YAML: {error.problem}"
            raise SpecInvalid(message, where=error.place(str(file)), hint="correct the file") from error
        except (OSError, ValueError) as error:
            raise SpecInvalid("cannot be read as YAML", where=str(file)) from error


@lru_cache(maxsize=16)
def _definitions_in(text: str) -> bytes:
    """Pickled, so that every stack has its own. Reading YAML takes longer than compiling, and definitions are long.

    Raises DocumentError for what is no YAML.
    """
    return pickle.dumps([each for each in load_all_yaml(text, as_kubernetes=True) if each])
