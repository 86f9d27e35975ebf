"""What tests reach, to be counted together with what whole programs reach."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TextIO

from kcl.bounded import Allowance
from kcl.evaluator.coverage import Reached
from kcl.loader import parse_argument
from kcl.records import dataclass
from kcl.terminal import harmless_lines
from kcl.tools.test.given import Given, secret_texts
from kcl.tools.test.pool import run_all
from kcl.tools.test.suites import Test, Unreadable, find


@dataclass(frozen=True, slots=True)
class Tests:
    """The tests below some paths, files whose tests cannot be told, and what all of them are handed."""

    found: Sequence[Test]
    unreadable: Sequence[Unreadable]
    given: Given


def tests(paths: Sequence[str], arguments: Sequence[str], cwd: str) -> Tests:
    """`arguments` as given to `-D`. Raises BadPath, or KclError for an argument that is none."""
    options = dict(parse_argument(each) for each in arguments)
    found, unreadable = find(paths, cwd) if paths else ([], [])
    return Tests(found, unreadable, Given(tuple(arguments), (), {}, tuple(secret_texts(options))))


def run_tests(
    wanted: Tests, allowance: Allowance, environment: Mapping[str, str], jobs: int, cwd: str, stderr: TextIO
) -> tuple[dict[str, Reached], int]:
    """What they reach, by path, and how many failed: those are named on `stderr`, and what they reached counts."""
    reached: dict[str, Reached] = {}
    failed = 0
    for unreadable in wanted.unreadable:
        failed += 1
        _say(stderr, f"{os.path.relpath(unreadable.path, cwd)}: failed\n{unreadable.reason}", wanted.given)
    cases = [wanted.given.case(each, covered=True) for each in wanted.found]
    for index, outcome in run_all(cases, allowance, environment, jobs):
        for path, each in outcome.reached.items():
            reached.setdefault(path, Reached()).add(each)
        if outcome.failure:
            failed += 1
            test = wanted.found[index]
            _say(stderr, f"{os.path.relpath(test.path, cwd)}: {test.name}: failed\n{outcome.failure}", wanted.given)
    return reached, failed


def _say(stderr: TextIO, text: str, given: Given) -> None:
    stderr.write(harmless_lines(given.masked(text if text.endswith("\n") else text + "\n")))
