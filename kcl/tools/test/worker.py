"""The process that runs tests: a line of JSON in for each, one out. It ends when one takes too long.

python -m kcl.tools.test.worker DEADLINE_SECONDS MAX_MEMORY_BYTES
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, TextIO

from kcl.api import (
    Access,
    Coverage,
    Observation,
    ParseCache,
    ProgramError,
    RunResult,
    downloaded_folder,
    run,
    whereabouts,
)
from kcl.bounded import Allowance
from kcl.bounded.watchdog import Exceeded, Watchdog, give_room_to_report, is_out_of_memory, problem
from kcl.diagnostics import KclError, render
from kcl.loader import parse_argument
from kcl.records import replace
from kcl.tools.test.cases import Case, Outcome

CALLER = "_kcl_test_case.k"
"""The file, nowhere on the disk, that calls a test in one line, or is the program of a case."""


class Runner:
    """Runs tests. What was compiled of a package for one serves the next; values are computed again."""

    def __init__(self) -> None:
        self._caches: dict[bool, tuple[ParseCache, Observation]] = {}

    def run(self, case: Case) -> Outcome:
        if case.covered not in self._caches:
            coverage = Coverage() if case.covered else None
            observation = Observation(coverage=coverage, explains_assertions=True)
            self._caches[case.covered] = ParseCache(), observation
        cache, observation = self._caches[case.covered]
        started = time.perf_counter()
        failure = ""
        try:
            printed = _run(case, cache, observation).printed
        except ProgramError as found:
            printed = found.printed or observation.printed()
            failure = render(found.diagnostics, found.sources, guided=True)
        except KclError as found:
            printed, failure = "", render(found.diagnostics, {})
        seconds = time.perf_counter() - started
        observation.forget()
        reached = observation.coverage.taken() if observation.coverage is not None else {}
        return Outcome(seconds, failure, printed, reached)


def _run(case: Case, cache: ParseCache, observation: Observation) -> RunResult:
    packages = downloaded_folder(os.environ)
    if case.is_whole:
        return run(
            (),
            work_dir=case.folder,
            settings=case.settings,
            vendor_dir=packages,
            cache=cache,
            observation=observation,
        )
    return run(
        [*case.files, CALLER],
        work_dir=case.folder,
        options=dict(parse_argument(each) for each in case.arguments),
        settings=case.settings,
        texts={CALLER: f"{case.name}()\n" if case.program is None else case.program},
        package_maps=case.packages,
        vendor_dir=packages,
        access=lambda granted: _granted(granted, case.folder, writes=case.program is None),
        cache=cache,
        observation=observation,
    )


def _granted(access: Access, folder: str, *, writes: bool) -> Access:
    """As `kcl run` in the folder of the package: files are read and written below it."""
    return replace(
        access,
        write_roots=(folder, access.root) if writes else (),
        own_folder_only=True,
        environment=os.environ,
        work_dir="",
        base=folder,
    )


def _answer(stream: TextIO, outcome: Outcome) -> None:
    stream.write(json.dumps(outcome.data()) + "\n")
    stream.flush()


def _ended(what: Exceeded, allowance: Allowance, where: str, seconds: float) -> Outcome:
    said, hint = problem(what, allowance)
    return Outcome(seconds, f"error: {said}\n" + (f" --> {where}\n" if where else "") + f" = {hint}\n")


def main() -> None:
    allowance = Allowance(float(sys.argv[1]), int(sys.argv[2]))
    answers = sys.stdout
    sys.stdout = sys.stderr
    started = time.perf_counter()
    parent = os.getppid()

    def exceeded(what: Exceeded, allowed: Allowance, where: str) -> None:
        _answer(answers, _ended(what, allowed, where, time.perf_counter() - started))

    watchdog = Watchdog(exceeded, whereabouts, lambda: os.getppid() != parent)
    runner = Runner()
    for line in sys.stdin:
        data: Any = json.loads(line)
        started = time.perf_counter()
        watchdog.begin(allowance)
        try:
            outcome = runner.run(Case.of(data))
        except Exception as error:
            if not is_out_of_memory(error, allowance):
                raise
            give_room_to_report()
            _answer(answers, _ended(Exceeded.MEMORY, allowance, "", time.perf_counter() - started))
            os._exit(1)
        watchdog.end()
        _answer(answers, outcome)


if __name__ == "__main__":
    main()
