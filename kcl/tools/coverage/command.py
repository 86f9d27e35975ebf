"""`kcl cover`: which lines and branches whole programs reach."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from kcl.bounded import BadAllowance
from kcl.command_line import HelpPrinted, UsageError, parser_class
from kcl.diagnostics import KclError, render
from kcl.evaluator.coverage import Reached
from kcl.terminal import harmless_lines
from kcl.tools.coverage import report
from kcl.tools.coverage.programs import NoFolder, programs, run_programs
from kcl.tools.coverage.tested import Tests, run_tests, tests
from kcl.tools.test.bounds import add_options, allowance_of, jobs_of
from kcl.tools.test.suites import BadPath

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
    parser.add_argument(
        "--tests",
        action="append",
        default=[],
        metavar="PATH",
        help="count what the tests of `kcl test PATH` reach too",
    )
    parser.add_argument(
        "-D",
        "--argument",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a top-level argument of those tests; programs have theirs from their settings",
    )
    add_options(parser, "program")
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
    """Runs the programs and answers the exit status."""
    folder = os.path.abspath(cwd)
    try:
        arguments = _parser(stdout).parse_args(list(argv))
        folders = programs(arguments.folders, folder)
        wanted = tests(arguments.tests, arguments.argument, folder)
        if arguments.tests and not wanted.found and not wanted.unreadable:
            stderr.write(f"kcl cover: no tests in {' '.join(arguments.tests)}: nothing was run\n")
            return NO_PROGRAMS
        if folders:
            return _cover(arguments, folders, wanted, folder, environment or {}, stdout, stderr)
    except HelpPrinted:
        return OK
    except UsageError as problem:
        stderr.write(f"{problem}\n")
        return USAGE
    except (NoFolder, BadPath, BadAllowance) as problem:
        stderr.write(f"kcl cover: {problem}\n")
        return USAGE
    except KclError as problem:  # of an argument
        stderr.write(harmless_lines(render(problem.diagnostics, {})))
        return USAGE
    stderr.write("kcl cover: no folder below has a kcl.yaml that says what is run: nothing was run\n")
    return NO_PROGRAMS


def _cover(
    arguments: argparse.Namespace,
    folders: Sequence[str],
    wanted: Tests,
    cwd: str,
    environment: Mapping[str, str],
    stdout: TextIO,
    stderr: TextIO,
) -> int:
    allowance = allowance_of(arguments, environment)
    jobs = jobs_of(arguments, "kcl cover")
    reached, failed = run_programs(folders, arguments.setting, allowance, environment, jobs, cwd, stderr)
    stdout.write(f"{len(folders)} programs, {failed} failed\n")
    if arguments.tests:
        also, failed_tests = run_tests(wanted, allowance, environment, jobs, cwd, stderr)
        for path, each in also.items():
            reached.setdefault(path, Reached()).add(each)
        stdout.write(f"{len(wanted.found) + len(wanted.unreadable)} tests, {failed_tests} failed\n")
        failed += failed_tests
    well = report.write(arguments, "kcl cover", folders, reached, cwd, stdout, stderr)
    return OK if well and not failed else FAILED
