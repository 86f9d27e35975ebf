"""`kcl`: the official command line over `kcl.api`.

    kcl run [FILE]... [-D key=value] [-Y settings.yaml...] [-S path] [-O path=value] [-o FILE] [--format yaml|json] ...
    kcl mod COMMAND ...            packages: the only command that reaches other machines
    kcl fmt | lint | test | ...    the tools below kcl.tools, where they are there

`run` prints what the official command prints: the program's output on stdout, diagnostics on stderr; exit status 0, 1
when the program is wrong, 2 when the command line is.

Nothing here is kept between calls or belongs to the process, so one process can run thousands, several at a time.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, TextIO, cast

from kcl import whole_file
from kcl.api import (
    KCL,
    PRESETS,
    Access,
    Diagnostic,
    KclError,
    ParseCache,
    PlanOptions,
    ProgramError,
    RunResult,
    Settings,
    run,
)
from kcl.bounded import Allowance, BadAllowance
from kcl.bounded.supervising import supervised
from kcl.cache.runs import failed, keep, key_of, look_up
from kcl.cache.store import Store, folder_for
from kcl.command_line import HelpPrinted, UsageError, external_packages, parser_class
from kcl.evaluator.runtime import Limits
from kcl.evaluator.whereabouts import whereabouts
from kcl.loader import (
    MANIFEST_NAME,
    ProfileRun,
    default_settings_file,
    downloaded_folder,
    find_root,
    load_settings,
    merge_settings,
    parse_argument,
    profile_run,
)
from kcl.loader.texts import reading
from kcl.memo.inputs import Clock, now
from kcl.options import Option, Takes, plainly_read
from kcl.records import replace
from kcl.reports import FORMATS, report
from kcl.source import FileSystem, OsFileSystem, StampingFileSystem
from kcl.terminal import WithoutOrders

if TYPE_CHECKING:
    import argparse
    from pathlib import Path
    from types import SimpleNamespace

    from kcl.memo.inputs import Stamp

    _Arguments = argparse.Namespace | SimpleNamespace

OK, FAILED, USAGE = 0, 1, 2
_STDIN_NAME: Final = "stdin.k"
_ELSEWHERE: Final[Mapping[str, tuple[str, str]]] = {
    "mod": ("kcl.packages.commands", "packages: what this one needs, and where it comes from"),
    "fmt": ("kcl.tools.fmt", "lay out files"),
    "lint": ("kcl.tools.lint", "find what is allowed and yet unwise"),
    "test": ("kcl.tools.test", "run the tests of packages"),
    "cover": ("kcl.tools.coverage", "report which lines programs reach"),
    "vet": ("kcl.tools.vet", "hold data against a schema"),
    "doc": ("kcl.tools.doc", "make pages out of schemas"),
    "import": ("kcl.tools.imports", "make schemas out of other formats"),
    "query": ("kcl.tools.query.command", "read variables, schemas and arguments of files"),
    "set": ("kcl.tools.set", "set values in a file"),
    "explain": ("kcl.tools.explain", "tell more about the code of a diagnostic"),
    "lsp": ("kcl.tools.lsp", "serve editors"),
}
"""Commands of their own: the module whose `main(argv, *, cwd, stdin, stdout, stderr, environment)` runs it, and what
it is about. A module is imported when its command is called."""

_EVALUATING: Final = frozenset({"vet"})
"""Those of them that evaluate programs in the process that they are started in."""


_FILES: Final = "files"


def _options() -> tuple[Option, ...]:
    """Those of `run`."""
    flag, count, one, each, some = Takes.NOTHING, Takes.COUNTED, Takes.ONE, Takes.ONE_EACH, Takes.SOME
    return (
        Option(("-D", "--argument"), each, "a top-level argument", "KEY=VALUE"),
        Option(("-Y", "--setting"), some, "settings files", "FILE"),
        Option(("-S", "--path_selector"), each, "print only this part", "PATH"),
        Option(("-O", "--overrides"), each, "another value for this run", "PATH=VALUE"),
        Option(("-E", "--external"), each, "the folder of a package", "NAME=FOLDER"),
        Option(("-o", "--output"), one, "write the result to a file", "FILE"),
        Option(("-f", "--format"), one, "", choices=("yaml", "json"), default="yaml", in_any_case=True),
        Option(("-n", "--disable_none"), flag, "leave out what is None"),
        Option(("-r", "--strict_range_check"), flag, "check numbers against 32 bits"),
        Option(("-d", "--debug"), flag, "check numbers against 64 bits as well"),
        Option(("-k", "--sort_keys"), flag, ""),
        Option(("-H", "--show_hidden"), flag, "print names that begin with _"),
        Option(("--allow_read",), each, "let programs read files below it as well", "FOLDER"),
        Option(("-V", "--vendor"), flag, "load packages from the folder vendor only"),
        Option(("-p", "--profile"), flag, "accepted for compatibility"),
        Option(("-v", "--verbose"), count, "name the files that were read"),
        Option(("-q", "--quiet"), flag, "say nothing of warnings"),
        Option(("--error_format",), one, "how diagnostics are written", choices=tuple(FORMATS), default="pretty"),
        Option(("--all_errors", "--all-errors"), flag, "print all official messages, and nothing of ours"),
        Option(("--no_style",), flag, "accepted for compatibility"),
        Option(("--deadline",), one, "how long the program may take; else KCL_DEADLINE, else 60", "SECONDS"),
        Option(("--max_memory", "--max-memory"), one, "such as 512M or 2G; else KCL_MAX_MEMORY, else 2G", "SIZE"),
        Option(
            ("--dialect",),
            one,
            f"by default what kcl.mod asks for, else {KCL.name}",
            choices=tuple(sorted(PRESETS)),
        ),
    )


def _arguments(words: Sequence[str], stdout: TextIO) -> _Arguments:
    """What the command line says. Raises UsageError, and HelpPrinted."""
    plain = plainly_read(words[1:], _options(), _FILES) if words[:1] == ["run"] else None
    return plain or _parser(stdout).parse_args(list(words))


def _parser(stdout: TextIO) -> argparse.ArgumentParser:
    import argparse  # takes as long as all that a small program does

    listed = "\n".join(f"  {name:<8} {about}" for name, (_, about) in _ELSEWHERE.items())

    parser = parser_class(stdout)(
        prog="kcl",
        description="Run KCL programs.",
        epilog=f"other commands, each with --help:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # What commands are called is said, or a whole usage would be put together to find it out.
    commands = parser.add_subparsers(prog=parser.prog, dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser("run", help="evaluate files and print the result")
    command.add_argument(_FILES, nargs="*", metavar="FILE", help="files or folders; - reads standard input")
    for each in _options():
        each.declare(command)
    return parser


def _nobody(allowance: Allowance) -> None:
    """Nobody ends the evaluation."""


def main(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    environment: Mapping[str, str] | None = None,
    cache: ParseCache | None = None,
    store: Store | None = None,
    begin: Callable[[Allowance], None] = _nobody,
    clock: Clock = now,
) -> int:
    """Runs one command and answers its exit status. Touches nothing of the process but the given streams and files.

    `begin` is told what a program may take before it is loaded; who calls sees to it that it takes no more.

    With a `store`, what a run prints is kept there, and taken from there while nothing it rests on has changed; so are
    the packages it imports, parsed and checked, unless a `cache` is given, which says itself where it keeps them.
    """
    folder = os.path.abspath(cwd)
    if argv and argv[0] in _ELSEWHERE:
        return _elsewhere(argv, folder, stdin, stdout, stderr, environment or {})
    if argv and argv[0].endswith(".k"):
        argv = ["run", *argv]  # as officially
    started = clock()
    key = None if store is None else key_of(argv, folder, environment or {})
    if store is not None and key is not None:
        kept = look_up(store, key)
        if kept is not None:
            stdout.write(kept)
            return OK
        said = look_up(store, failed(key))
        if said is not None:
            stderr.write(said)
            return FAILED
    try:
        arguments = _arguments(list(argv), stdout)
    except UsageError as problem:
        stderr.write(f"{problem}\n")
        return USAGE
    except HelpPrinted:
        return OK
    files = StampingFileSystem(OsFileSystem(clock))
    taken = cast("dict[str, Stamp | None]", files.taken)  # the disk has no others
    uses: list[str] = []
    if cache is None and store is not None:
        cache = ParseCache(store=store, clock=clock)
    try:
        begin(_allowance(arguments, environment or {}))
        result, output = _run(arguments, folder, stdin, environment, cache, files, uses.append)
    except ProgramError as problem:
        stdout.write(problem.printed)
        said = _reported(problem.diagnostics, problem.sources, arguments)
        stderr.write(said)
        if store is not None and key is not None and not uses and problem.is_of_files:
            paths = files.seen | (problem.dependency_names or frozenset())
            only_files = not any("=" in each for each in argv)
            keep(store, failed(key), said, paths, started, taken, only_files=only_files, clock=clock)
        return FAILED
    except KclError as problem:
        stderr.write(_reported(problem.diagnostics, {}, arguments))
        return FAILED
    except UsageError as problem:
        stderr.write(f"{problem}\n")
        return USAGE
    if result.diagnostics and not arguments.quiet:
        stderr.write(_reported(result.diagnostics, result.sources, arguments))
    if arguments.verbose:
        stderr.write("".join(f"read {path}\n" for path in sorted(result.sources)))
    text = result.json() if arguments.format == "json" else result.yaml()
    if cache is not None:
        cache.write()  # once more: writing YAML compiles what this has told no process yet
    if output:
        return _write(result.printed, text, os.path.join(folder, output), stdout, stderr)
    stdout.write(result.printed + text)
    if store is not None and key is not None and not (uses or result.diagnostics or arguments.verbose):
        paths = files.seen | result.dependency_names
        only_files = not any("=" in each for each in argv)
        keep(store, key, result.printed + text, paths, started, taken, only_files=only_files, clock=clock)
    return OK


def _reported(diagnostics: Sequence[Diagnostic], sources: Mapping[str, str], arguments: _Arguments) -> str:
    """Who names the dialect of a compiler compares with it, and gets its words as they are."""
    official_only = arguments.all_errors or arguments.dialect is not None
    return report(diagnostics, sources, arguments.error_format, official_only=official_only)


def _elsewhere(
    argv: Sequence[str], cwd: str, stdin: TextIO, stdout: TextIO, stderr: TextIO, environment: Mapping[str, str]
) -> int:
    """A command that has a module of its own."""
    module, _ = _ELSEWHERE[argv[0]]
    run_command = import_module(module).main
    return int(run_command(argv[1:], cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, environment=environment))


def _allowance(arguments: _Arguments, environment: Mapping[str, str]) -> Allowance:
    try:
        return Allowance.of_environment(environment).limited(arguments.deadline, arguments.max_memory)
    except BadAllowance as problem:
        raise UsageError(f"kcl run: {problem}") from None


def _run(
    arguments: _Arguments,
    cwd: str,
    stdin: TextIO,
    environment: Mapping[str, str] | None,
    cache: ParseCache | None,
    file_system: FileSystem,
    on_use: Callable[[str], None],
) -> tuple[RunResult, str | None]:
    """The result, and the file it belongs into, None for stdout."""
    files, texts = list(arguments.files), {}
    if files == ["-"]:
        files, texts = [_STDIN_NAME], {_STDIN_NAME: stdin.read()}
    request = None if cache is None else reading(cache.memo, file_system.read_text)
    given = [
        load_settings(os.path.join(cwd, name), file_system, shown_as=name, request=request)
        for name in arguments.setting
    ]
    folder = cwd
    profile = None if given else _profile(files, cwd, file_system)
    if profile is not None:
        files, given, folder = list(profile.files), [profile.settings], profile.folder
    elif not (given or files) and _is_package(cwd, file_system):
        files = ["."]  # a package without entries is its own folder
    flags = Settings(
        options=tuple(parse_argument(text) for text in arguments.argument),
        output=arguments.output,
        overrides=tuple(arguments.overrides),
        path_selector=tuple(arguments.path_selector),
        package_maps=external_packages("kcl run", arguments.external, cwd),
        disable_none=arguments.disable_none or None,
        strict_range_check=arguments.strict_range_check or None,
        debug=arguments.debug or None,
        sort_keys=arguments.sort_keys or None,
        show_hidden=arguments.show_hidden or None,
    )
    merged = merge_settings([*given, flags])
    result = run(
        files,
        work_dir=folder,
        settings=[merged],
        texts=texts,
        dialect=PRESETS[arguments.dialect] if arguments.dialect else None,
        vendor_dir=downloaded_folder(environment or {}),
        vendored=arguments.vendor,
        output=PlanOptions(show_hidden=bool(merged.show_hidden), disable_none=bool(merged.disable_none)),
        limits=Limits(strict_range_check=bool(merged.strict_range_check), debug=bool(merged.debug)),
        file_system=file_system,
        access=lambda granted: replace(_granted(granted, cwd, environment, arguments.allow_read), on_use=on_use),
        cache=cache,
    )
    return result, merged.output


def _profile(files: Sequence[str], cwd: str, file_system: FileSystem) -> ProfileRun | None:
    """What `[profile]` of kcl.mod says is run and how, when a package is named, or nothing in one."""
    if files:
        folder = os.path.normpath(os.path.join(cwd, files[0]))
        is_package = len(files) == 1 and file_system.is_file(os.path.join(folder, MANIFEST_NAME))
        return profile_run(folder, file_system) if is_package else None
    root = find_root(cwd, file_system) if default_settings_file(cwd, file_system) is None else None
    return profile_run(root, file_system) if root is not None else None


def _is_package(folder: str, file_system: FileSystem) -> bool:
    """Whether a folder has a kcl.mod and no settings that say what is run."""
    is_marked = file_system.is_file(os.path.join(folder, MANIFEST_NAME))
    return is_marked and default_settings_file(folder, file_system) is None


def _granted(access: Access, cwd: str, environment: Mapping[str, str] | None, readable: Sequence[str]) -> Access:
    """As officially, files read and write below their own folders, and what the command line says may be read.

    The official command reports no working folder to programs, hence the empty `work_dir`.
    """
    return replace(
        access,
        read_roots=tuple(os.path.abspath(os.path.join(cwd, folder)) for folder in readable),
        write_roots=(cwd, access.root),
        own_folder_only=True,
        environment=environment or {},
        work_dir="",
        base=cwd,
    )


def _write(printed: str, text: str, path: str, stdout: TextIO, stderr: TextIO) -> int:
    stdout.write(printed)
    try:
        whole_file.save(path, text.encode())
    except OSError as problem:
        stderr.write(f"kcl run: cannot write {path}: {problem.strerror}\n")
        return FAILED
    return OK


def entry() -> int:
    """The command of this process."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in _EVALUATING:
        return supervised(_of_environment, cast(TextIO, WithoutOrders(sys.stderr)), lambda: str(whereabouts() or ""))
    if arguments and arguments[0] in _ELSEWHERE:
        return of_this_process(_nobody)
    return supervised(of_this_process, cast(TextIO, WithoutOrders(sys.stderr)), lambda: str(whereabouts() or ""))


def _of_environment(begin: Callable[[Allowance], None]) -> int:
    """A command that evaluates programs in this process: all of it takes what the environment allows."""
    try:
        begin(Allowance.of_environment(os.environ))
    except BadAllowance as problem:
        sys.stderr.write(f"kcl {sys.argv[1]}: {problem}\n")
        return USAGE
    return of_this_process(_nobody)


def of_this_process(begin: Callable[[Allowance], None]) -> int:
    """As `main`, with what belongs to this process."""
    # A run builds many small objects and then ends: looking for garbage among them early and often costs a tenth of it.
    gc.set_threshold(200_000, 50, 50)
    kept_in = folder_for(os.environ)
    return main(
        sys.argv[1:],
        cwd=os.getcwd(),
        stdin=sys.stdin,
        stdout=cast(TextIO, WithoutOrders(sys.stdout)) if sys.stdout.isatty() else sys.stdout,
        stderr=cast(TextIO, WithoutOrders(sys.stderr)),
        environment=os.environ,
        store=None if kept_in is None else Store(kept_in),
        begin=begin,
    )
