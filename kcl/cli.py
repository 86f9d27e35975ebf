"""`python -m kcl`: the official command line over `kcl.api`.

    kcl run [FILE]... [-D key=value] [-Y settings.yaml...] [-S path] [-o FILE] [--format yaml|json] ...

Prints what the official command prints: the program's output on stdout, diagnostics on stderr; exit status 0, 1 when
the program is wrong, 2 when the command line is.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, TextIO

from kcl.api import KCL, PRESETS, Access, KclError, ParseCache, PlanOptions, ProgramError, RunResult, Settings, run
from kcl.diagnostics import render
from kcl.evaluator.runtime import Limits
from kcl.loader import load_settings, merge_settings, parse_argument
from kcl.source import FileSystem, OsFileSystem

OK, FAILED, USAGE = 0, 1, 2
_STDIN_NAME = "stdin.k"


class _UsageError(Exception):
    """The command line makes no sense; the text is the whole message."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{self.format_usage()}{self.prog}: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="kcl", description="Run KCL programs.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    command = commands.add_parser("run", help="evaluate files and print the result")
    add = command.add_argument
    add("files", nargs="*", metavar="FILE", help="files or folders; - reads standard input")
    add("-D", "--argument", action="append", default=[], metavar="KEY=VALUE", help="a top-level argument")
    add("-Y", "--setting", action="extend", nargs="+", default=[], metavar="FILE", help="settings files")
    add("-S", "--path_selector", action="append", default=[], metavar="PATH", help="print only this part")
    add("-O", "--overrides", action="append", default=[], metavar="PATH=VALUE", help="another value for this run")
    add("-E", "--external", action="append", default=[], metavar="NAME=FOLDER", help="the folder of a package")
    add("-o", "--output", metavar="FILE", help="write the result to a file")
    add("-f", "--format", choices=("yaml", "json"), default="yaml")
    add("-n", "--disable_none", action="store_true", help="leave out what is None")
    add("-r", "--strict_range_check", action="store_true", help="check numbers against 32 bits")
    add("-d", "--debug", action="store_true", help="check numbers against 64 bits as well")
    add("-k", "--sort_keys", action="store_true")
    add("-H", "--show_hidden", action="store_true", help="print names that begin with _")
    add("-p", "--profile", action="store_true", help="accepted for compatibility")
    add("-v", "--verbose", action="count", default=0)
    add("-q", "--quiet", action="store_true")
    add("--no_style", action="store_true", help="accepted for compatibility")
    add("--dialect", choices=sorted(PRESETS), help=f"by default what kcl.mod asks for, else {KCL.name}")
    return parser


def main(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    environment: Mapping[str, str] | None = None,
    cache: ParseCache | None = None,
) -> int:
    """Runs one command and answers its exit status. Touches nothing of the process but the given streams and files."""
    try:
        arguments = _parser().parse_args(list(argv))
    except _UsageError as problem:
        stderr.write(str(problem))
        return USAGE
    except SystemExit:  # --help was printed
        return OK
    try:
        result = _run(arguments, os.path.abspath(cwd), stdin, environment, cache)
    except ProgramError as problem:
        stdout.write(problem.printed)
        stderr.write(problem.render(official_columns=True))
        return FAILED
    except KclError as problem:
        stderr.write(render(problem.diagnostics, {}))
        return FAILED
    except _UsageError as problem:
        stderr.write(f"{problem}\n")
        return USAGE
    if result.diagnostics and not arguments.quiet:
        stderr.write(render(result.diagnostics, result.sources, official_columns=True))
    return _write(result, arguments, os.path.abspath(cwd), stdout, stderr)


def _run(
    arguments: argparse.Namespace,
    cwd: str,
    stdin: TextIO,
    environment: Mapping[str, str] | None,
    cache: ParseCache | None,
) -> RunResult:
    files, texts = list(arguments.files), {}
    if files == ["-"]:
        files, texts = [_STDIN_NAME], {_STDIN_NAME: stdin.read()}
    file_system: FileSystem = OsFileSystem()
    settings = merge_settings(
        load_settings(os.path.join(cwd, name), file_system, shown_as=name) for name in arguments.setting
    )
    flags = Settings(
        options=tuple(parse_argument(text) for text in arguments.argument),
        package_maps=_packages(arguments.external),
        disable_none=arguments.disable_none or None,
        strict_range_check=arguments.strict_range_check or None,
        debug=arguments.debug or None,
        sort_keys=arguments.sort_keys or None,
        show_hidden=arguments.show_hidden or None,
    )
    merged = settings.then(flags)
    return run(
        files,
        work_dir=cwd,
        settings=[merged],
        texts=texts,
        dialect=PRESETS[arguments.dialect] if arguments.dialect else None,
        vendor_dir=_vendor_dir(environment or {}),
        output=PlanOptions(show_hidden=bool(merged.show_hidden), disable_none=bool(merged.disable_none)),
        path_selector=arguments.path_selector,
        overrides=arguments.overrides,
        limits=Limits(strict_range_check=bool(merged.strict_range_check), debug=bool(merged.debug)),
        access=lambda granted: _granted(granted, cwd, environment),
        cache=cache,
    )


def _granted(access: Access, cwd: str, environment: Mapping[str, str] | None) -> Access:
    """Who runs a program by hand trusts it as officially: it may read anything, and write below where it runs.

    The official command reports no working folder to programs, hence the empty `work_dir`.
    """
    return replace(access, read_roots=None, write_roots=(cwd, access.root), environment=environment or {}, work_dir="")


def _packages(given: Sequence[str]) -> dict[str, str]:
    packages = {}
    for text in given:
        name, equals, folder = text.partition("=")
        if not equals or not name or not folder:
            raise _UsageError(f"kcl run: -E takes NAME=FOLDER, got '{text}'")
        packages[name] = folder
    return packages


def _vendor_dir(environment: Mapping[str, str]) -> str | None:
    """Where packages that were downloaded earlier lie."""
    if "KCL_PKG_PATH" in environment:
        return environment["KCL_PKG_PATH"]
    home = environment.get("HOME")
    return os.path.join(home, ".kcl", "kpm") if home else None


def _write(result: RunResult, arguments: argparse.Namespace, cwd: str, stdout: TextIO, stderr: TextIO) -> int:
    text = result.json() if arguments.format == "json" else result.yaml()
    stdout.write(result.printed)
    if arguments.output is None:
        stdout.write(text)
        return OK
    path = Path(cwd, arguments.output)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        stderr.write(f"kcl run: cannot write {path}: {problem.strerror}\n")
        return FAILED
    return OK


def entry() -> int:
    """The command of this process."""
    # A run builds many small objects and then ends: looking for garbage among them early and often costs a tenth of it.
    gc.set_threshold(200_000, 50, 50)
    return main(
        sys.argv[1:],
        cwd=os.getcwd(),
        stdin=sys.stdin,
        stdout=sys.stdout,
        stderr=sys.stderr,
        environment=os.environ,
    )
