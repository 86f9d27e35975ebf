"""`kcl cover`: which lines and branches whole programs reach."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from kcl.api import Coverage, Observation, OsFileSystem, ParseCache, ProgramError, downloaded_folder, run
from kcl.command_line import HelpPrinted, UsageError, parser_class
from kcl.diagnostics import KclError, render
from kcl.evaluator.coverage import Reached
from kcl.loader import default_settings_file
from kcl.terminal import harmless_lines
from kcl.tools.coverage import report

OK, FAILED, USAGE, NO_PROGRAMS = 0, 1, 2, 5


def _parser(stdout: TextIO) -> argparse.ArgumentParser:
    parser = parser_class(stdout)(
        prog="kcl cover",
        description="Run programs and report which lines and branches of KCL they reach.",
        epilog="exit status: 0 done, 1 a program failed or too little is reached, 2 the command line is wrong, "
        "5 there are no programs",
    )
    parser.add_argument(
        "folders",
        nargs="+",
        metavar="FOLDER",
        help="what `kcl run` in it runs; with /... all folders below that have a kcl.yaml",
    )
    parser.add_argument(
        "-Y",
        "--setting",
        action="append",
        default=[],
        metavar="FILE",
        help="a settings file in each folder that has it, such as ci-test/settings.yaml",
    )
    report.add_options(parser)
    return parser


def main(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Runs the programs one after the other and answers the exit status."""
    folder = os.path.abspath(cwd)
    try:
        arguments = _parser(stdout).parse_args(list(argv))
        programs = list(dict.fromkeys(_programs(arguments.folders, folder)))
    except HelpPrinted:
        return OK
    except UsageError as found:
        stderr.write(f"{found}\n")
        return USAGE
    if not programs:
        stderr.write("kcl cover: no folder below has a kcl.yaml that says what is run: nothing was run\n")
        return NO_PROGRAMS
    return _cover(arguments, programs, folder, environment or {}, stdout, stderr)


def _cover(
    arguments: argparse.Namespace,
    programs: Sequence[str],
    cwd: str,
    environment: Mapping[str, str],
    stdout: TextIO,
    stderr: TextIO,
) -> int:
    coverage, cache = Coverage(), ParseCache()
    observation = Observation(coverage=coverage)
    failed = 0
    for program in programs:
        try:
            run(
                (),
                work_dir=program,
                settings=_settings(program, arguments.setting),
                vendor_dir=downloaded_folder(environment),
                cache=cache,
                observation=observation,
            )
        except KclError as found:
            failed += 1
            sources = found.sources if isinstance(found, ProgramError) else {}
            stderr.write(
                harmless_lines(
                    f"{os.path.relpath(program, cwd)}: failed\n{render(found.diagnostics, sources, guided=True)}"
                )
            )
    reached: dict[str, Reached] = coverage.taken()
    stdout.write(f"{len(programs)} programs, {failed} failed\n")
    well = report.write(arguments, "kcl cover", programs, reached, cwd, stdout, stderr)
    return OK if well and not failed else FAILED


def _settings(folder: str, names: Sequence[str]) -> list[str]:
    """The settings files of a folder: its own, which say what is run, and those of these names that it has."""
    files = OsFileSystem()
    own = default_settings_file(folder, files)
    there = [name for name in names if files.is_file(os.path.join(folder, name))]
    return [*([] if own is None else [os.path.basename(own)]), *there] if there else []


def _programs(paths: Sequence[str], cwd: str) -> Iterator[str]:
    files = OsFileSystem()
    for path in paths:
        base, dots, rest = path.partition("...")
        start = os.path.normpath(os.path.join(cwd, base))
        if rest.strip("/"):
            raise UsageError(f"kcl cover: {path}: `...` stands at the end of a path, for all folders below it")
        if not os.path.isdir(start):
            raise UsageError(f"kcl cover: {path}: there is no such folder")
        if not dots:
            yield start
            continue
        for folder, below, _ in os.walk(start):
            below[:] = sorted(name for name in below if not name.startswith("."))
            if default_settings_file(folder, files) is not None:
                yield folder
