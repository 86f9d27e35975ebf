"""The command line of `kcl test`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from kcl import whole_file
from kcl.bounded import Allowance, BadAllowance, parse_deadline, parse_memory
from kcl.command_line import HelpPrinted, UsageError, parser_class
from kcl.evaluator.coverage import Reached
from kcl.records import replace
from kcl.stdlib.matching import tried
from kcl.stdlib.patterns import PatternError, compiled
from kcl.tools.coverage import report as coverage_report
from kcl.tools.test import reporting
from kcl.tools.test.cases import Case
from kcl.tools.test.pool import run_all
from kcl.tools.test.suites import BadPath, Test, find

OK, FAILED, USAGE, NO_TESTS = 0, 1, 2, 5
_MOST_JOBS: Final = 64


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
    add("-j", "--jobs", type=int, default=1, metavar="N", help="run tests in N processes at a time")
    add("--deadline", metavar="SECONDS", help="how long one test may take; else KCL_DEADLINE, else 60")
    add("--max-memory", "--max_memory", metavar="SIZE", help="such as 512M or 2G; else KCL_MAX_MEMORY, else 2G")
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


def _run(
    arguments: argparse.Namespace, cwd: str, environment: Mapping[str, str], stdout: TextIO, stderr: TextIO
) -> int:
    if not 1 <= arguments.jobs <= _MOST_JOBS:
        raise UsageError(f"kcl test: -j takes a number from 1 to {_MOST_JOBS}, got {arguments.jobs}")
    wants_coverage = arguments.coverage or coverage_report.is_asked(arguments)
    allowance = _allowance(arguments, environment)
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
    cases = [Case(each.folder, each.files, each.name, wants_coverage) for each in chosen]
    reached: dict[str, Reached] = {}
    stops = arguments.fail_fast and results
    for index, outcome in run_all(
        [] if stops else cases, allowance, environment, arguments.jobs, fail_fast=arguments.fail_fast
    ):
        test = chosen[index]
        result = reporting.Result(
            _shown(test.path, cwd),
            _shown(test.folder, cwd),
            test.name,
            outcome.seconds,
            outcome.failure,
            outcome.printed,
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


def _nothing(arguments: argparse.Namespace, tests: Sequence[Test]) -> str:
    where = " ".join(arguments.paths or ["."])
    if tests:
        return f"kcl test: none of {len(tests)} tests in {where} matches {arguments.run}: nothing was run\n"
    return f"kcl test: no test files in {where}: nothing was run (`PATH/...` looks in the folders below PATH too)\n"


def _allowance(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Allowance:
    allowance = Allowance.of_environment(environment)
    if arguments.deadline is not None:
        allowance = replace(allowance, deadline_seconds=parse_deadline(arguments.deadline, "--deadline"))
    if arguments.max_memory is not None:
        allowance = replace(allowance, max_memory_bytes=parse_memory(arguments.max_memory, "--max-memory"))
    return allowance


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
