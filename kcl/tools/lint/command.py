"""`kcl lint`: the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TextIO

from kcl import whole_file
from kcl.bounded import Allowance, BadAllowance
from kcl.command_line import HelpPrinted, UsageError, parser_class
from kcl.diagnostics import Code, Severity
from kcl.evaluator.coverage import Reached
from kcl.loader import downloaded_folder
from kcl.reports import FORMATS, report
from kcl.source import FileSystem, OsFileSystem
from kcl.tools.coverage.programs import NoFolder, programs, run_programs
from kcl.tools.lint.fixing import fixes
from kcl.tools.lint.linting import Linted, Unread, files_of, lint
from kcl.tools.lint.rules import RULES

_CLEAN, _FOUND, _USAGE = 0, 1, 2
_BY_NAME: Final = {name: code for code in RULES for name in (code.number, code.title)}


def main(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Prints what is found on stdout, and on stderr how many, or what could not be read."""
    parser = parser_class(stdout)(
        prog="kcl lint",
        description="Find what is allowed and yet unwise, and the errors of the programs that files belong to.",
        epilog="exit status: 0 nothing found, 1 something found, 2 something could not be looked at",
    )
    add = parser.add_argument
    add(
        "paths",
        nargs="*",
        default=["."],
        metavar="PATH",
        help="files, folders, FOLDER/... with all below; . if left out",
    )
    add("-R", "--recursive", action="store_true", help="folders with all below them")
    add("--select", action="append", default=[], metavar="CODES", help="these rules and no others, by code or name")
    add("--ignore", action="append", default=[], metavar="CODES", help="not these rules")
    add("--fix", action="store_true", help="mend what can be mended safely, and tell the rest")
    add(
        "--stacks",
        action="append",
        default=[],
        metavar="FOLDER",
        help="run what `kcl run` in it runs, with /... all stacks below, and find what all of them override",
    )
    add("--error_format", "--error-format", choices=FORMATS, default="pretty", help="how findings are written")
    add("--rules", action="store_true", help="list the rules")
    try:
        arguments = parser.parse_args(list(argv))
        select, ignore = _codes(arguments.select), _codes(arguments.ignore)
    except UsageError as problem:
        stderr.write(f"{problem}\n")
        return _USAGE
    except HelpPrinted:
        return _CLEAN
    if arguments.rules:
        stdout.writelines(f"{code.number}  {code.title}\n" for code in RULES)
        return _CLEAN
    folder = os.path.abspath(cwd)
    paths, missing = files_of(arguments.paths, folder, recursive=arguments.recursive)
    if not paths:
        _tell_unread(missing, folder, stderr)
        return _USAGE
    try:
        reached, unknown = _reached(arguments.stacks, folder, environment or {}, stderr)
    except (NoFolder, BadAllowance) as problem:
        stderr.write(f"kcl lint: {problem}\n")
        return _USAGE
    files = OsFileSystem()
    look = partial(
        lint,
        select=frozenset(select) if arguments.select else None,
        ignore=frozenset(ignore),
        packages=downloaded_folder(environment or {}),
        reached=reached,
    )
    linted = look(paths, files)
    if arguments.fix:
        linted, failed = _fix(linted, partial(look, paths, files), files, environment or {}, folder, stderr)
        if failed:
            return _USAGE
    form = arguments.error_format
    if linted.diagnostics or form in ("arcanist", "sarif"):
        stdout.write(report(linted.diagnostics, linted.texts, form))
    unread = (*missing, *linted.unread, *unknown)
    _tell_unread(unread, folder, stderr)
    if linted.apart:
        names = ", ".join(_shown(each, folder) for each in linted.apart)
        stderr.write(f"looked at one by one, as they declare the same names and are no package together: {names}\n")
    shown = [each for each in linted.diagnostics if not each.follows]
    errors = sum(each.severity is Severity.ERROR for each in shown)
    warnings = len(shown) - errors
    stderr.write(f"{len(linted.files)} files: {errors} errors, {warnings} warnings\n")
    if unread:
        return _USAGE
    return _FOUND if linted.diagnostics else _CLEAN


def _reached(
    stacks: Sequence[str], folder: str, environment: Mapping[str, str], stderr: TextIO
) -> tuple[dict[str, Reached] | None, tuple[Unread, ...]]:
    """What stacks reach: None where none are named, or where what one of them would reach is not known."""
    if not stacks:
        return None, ()
    found = programs(stacks, folder)
    if not found:
        return None, (Unread(f"{' '.join(stacks)}: no folder below has a kcl.yaml that says what is run"),)
    reached, failed = run_programs(found, (), Allowance.of_environment(environment), environment, 1, folder, stderr)
    if failed:
        why = f"{failed} of {len(found)} stacks failed: what all of them override is not known"
        return None, (Unread(why),)
    return reached, ()


def _fix(
    linted: Linted,
    look: Callable[[], Linted],
    files: FileSystem,
    environment: Mapping[str, str],
    folder: str,
    stderr: TextIO,
) -> tuple[Linted, bool]:
    """Writes the fixes, and looks again; True where a file could not be written."""
    fixed = fixes(linted, files, downloaded_folder(environment))
    if fixed.refused:
        stderr.write(f"kcl lint: nothing was changed: {fixed.refused}\n")
        return linted, False
    for path, text in sorted(fixed.texts.items()):
        try:
            if files.read_text(path) != linted.texts[path]:
                stderr.write(f"kcl lint: {_shown(path, folder)} changed meanwhile and was left as it is: try again\n")
                return linted, True
            mark = b"\xef\xbb\xbf" if files.read_bytes(path).startswith(b"\xef\xbb\xbf") else b""
            whole_file.save(path, mark + text.encode())
        except OSError as problem:
            stderr.write(f"kcl lint: cannot write {_shown(path, folder)}: {problem.strerror}\n")
            return linted, True
    if not fixed.texts:
        return linted, False
    stderr.write(f"{fixed.count} fixed in {len(fixed.texts)} files\n")
    return look(), False


def _codes(given: Sequence[str]) -> list[Code]:
    found = []
    for name in (each for text in given for each in text.split(",") if each):
        code = _BY_NAME.get(name)
        if code is None:
            raise UsageError(f"kcl lint: there is no rule '{name}': `kcl lint --rules` lists them")
        found.append(code)
    return found


def _tell_unread(unread: Sequence[Unread], folder: str, stderr: TextIO) -> None:
    for each in unread:
        stderr.write(f"kcl lint: {_shown(each.text, folder)}\n")


def _shown(path: str, folder: str) -> str:
    return path.removeprefix(f"{folder}/")
