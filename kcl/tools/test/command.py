"""The command line of `kcl test`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from kcl import whole_file
from kcl.bounded import BadAllowance
from kcl.command_line import HelpPrinted, UsageError, external_packages, parser_class
from kcl.diagnostics import KclError, render
from kcl.evaluator.coverage import Reached
from kcl.loader import load_settings, merge_settings, parse_argument
from kcl.source import OsFileSystem
from kcl.stdlib.matching import tried
from kcl.stdlib.patterns import PatternError, compiled
from kcl.terminal import harmless_lines
from kcl.tools.coverage import report as coverage_report
from kcl.tools.test import bounds, reporting
from kcl.tools.test.given import Given, secret_texts
from kcl.tools.test.pool import run_all
from kcl.tools.test.suites import BadPath, Test, find

OK, FAILED, USAGE, NO_TESTS = 0, 1, 2, 5


def _parser(stdout: TextIO) -> argparse.ArgumentParser:
    parser = parser_class(stdout)(
        prog="kcl test",
        description="Run the lambdas named test_* in files named *_test.k.",
        epilog="exit status: 0 all passed, 1 some failed, 2 the command line is wrong, 5 there are no tests",
    )
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="folders, with /... those below too, or test files; by default .")
    add("--run", "-run", metavar="REGEX", help="run only tests whose name matches somewhere")
    add("--fail-fast", "--fail_fast", action="store_true", help="stop after the first test that fails")
    add("--junit", metavar="FILE", help="write the results as JUnit XML")
    add("-D", "--argument", action="append", default=[], metavar="KEY=VALUE", help="a top-level argument")
    add("-Y", "--setting", action="extend", nargs="+", default=[], metavar="FILE", help="settings files with arguments")
    add("-E", "--external", action="append", default=[], metavar="NAME=FOLDER", help="the folder of a package")
    bounds.add_options(parser, "test")
    add("--coverage", action="store_true", help="report which lines and branches the tests reach")
    coverage_report.add_options(parser)
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
    """Runs tests and answers the exit status."""
    try:
        arguments = _parser(stdout).parse_args(list(argv))
        return _run(arguments, os.path.abspath(cwd), environment or {}, stdout, stderr)
    except HelpPrinted:
        return OK
    except UsageError as problem:
        stderr.write(f"{problem}\n")
        return USAGE
    except (BadPath, BadAllowance) as problem:
        stderr.write(f"kcl test: {problem}\n")
        return USAGE
    except KclError as problem:  # of an argument or a settings file
        stderr.write(harmless_lines(render(problem.diagnostics, {})))
        return USAGE


def _run(
    arguments: argparse.Namespace, cwd: str, environment: Mapping[str, str], stdout: TextIO, stderr: TextIO
) -> int:
    jobs = bounds.jobs_of(arguments, "kcl test")
    given = _given(arguments, cwd)
    wants_coverage = arguments.coverage or coverage_report.is_asked(arguments)
    allowance = bounds.allowance_of(arguments, environment)
    matches = _matcher(arguments.run)
    tests, unreadable = find(arguments.paths or ["."], cwd)
    chosen = [each for each in tests if matches(each.name)]
    results = [
        reporting.Result(_shown(each.path, cwd), _shown(os.path.dirname(each.path), cwd), "(file)", 0, each.reason, "")
        for each in unreadable
    ]
    for result in results:
        stdout.write(f"{reporting.masked(result.path)}: FAIL\n{reporting.masked(result.failure)}\n")
    if not chosen and not results:
        stderr.write(_nothing(arguments, tests))
        return NO_TESTS
    cases = [given.case(each, wants_coverage) for each in chosen]
    reached: dict[str, Reached] = {}
    stops = arguments.fail_fast and results
    for index, outcome in run_all([] if stops else cases, allowance, environment, jobs, fail_fast=arguments.fail_fast):
        test = chosen[index]
        result = reporting.Result(
            _shown(test.path, cwd),
            _shown(test.folder, cwd),
            test.name,
            outcome.seconds,
            given.masked(outcome.failure),
            given.masked(outcome.printed),
        )
        results.append(result)
        stdout.write(reporting.text(result))
        for path, each in outcome.reached.items():
            reached.setdefault(path, Reached()).add(each)
    stdout.write(reporting.summary(results, len(cases) - len(results) + len(unreadable)))
    status = FAILED if any(each.failure for each in results) else OK
    if arguments.junit and not _write(os.path.join(cwd, arguments.junit), reporting.junit(results), stderr):
        status = FAILED
    if wants_coverage:
        folders = dict.fromkeys(test.folder for test in chosen)
        covered = coverage_report.write(arguments, "kcl test", folders, reached, cwd, stdout, stderr)
        status = status if covered else FAILED
    return status


def _given(arguments: argparse.Namespace, cwd: str) -> Given:
    """Raises UsageError, or KclError for what cannot be read."""
    files = tuple(os.path.join(cwd, name) for name in arguments.setting)
    settings = merge_settings([load_settings(each, OsFileSystem()) for each in files])
    options = [*settings.options, *(parse_argument(each) for each in arguments.argument)]
    packages = external_packages("kcl test", arguments.external, cwd)
    return Given(tuple(arguments.argument), files, packages, tuple(secret_texts(dict(options))))


def _nothing(arguments: argparse.Namespace, tests: Sequence[Test]) -> str:
    where = " ".join(arguments.paths or ["."])
    if tests:
        return f"kcl test: none of {len(tests)} tests in {where} matches {arguments.run}: nothing was run\n"
    return (
        f"kcl test: no tests in {where}: nothing was run (they are lambdas named test_... in files named *_test.k; "
        "`PATH/...` looks in the folders below PATH too)\n"
    )


def _matcher(expression: str | None) -> Callable[[str], bool]:
    if not expression:
        return lambda name: True
    try:
        found = compiled(expression)
    except PatternError as problem:
        raise UsageError(f"kcl test: --run takes a regular expression, got {expression!r}: {problem}") from None
    return lambda name: tried(found, name).search(name) is not None


def _shown(path: str, cwd: str) -> str:
    return os.path.relpath(path, cwd)


def _write(path: str, text: str, stderr: TextIO) -> bool:
    try:
        whole_file.save(path, text.encode())
    except OSError as problem:
        stderr.write(f"kcl test: cannot write {path}: {problem.strerror}\n")
        return False
    return True
