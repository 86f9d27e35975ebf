"""Tests handed to workers: each test runs in a process that is ended when it takes too long, and then replaced."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence

from kcl.bounded import Allowance
from kcl.bounded.search_path import search_path
from kcl.bounded.watchdog import GRACE_SECONDS
from kcl.tools.test.cases import Case, Outcome

_STARTING_SECONDS = 30.0
"""What loading the language may take, beside the test itself, on a machine that is busy."""


def run_all(
    cases: Sequence[Case], allowance: Allowance, environment: Mapping[str, str], jobs: int, *, fail_fast: bool = False
) -> Iterator[tuple[int, Outcome]]:
    """The outcome of each case with its index, in order; with `fail_fast` none after the first that failed."""
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(cases)):
        todo.put(index)
    done: queue.SimpleQueue[tuple[int, Outcome | BaseException]] = queue.SimpleQueue()
    over = threading.Event()
    threads = [
        threading.Thread(target=_work, args=(cases, todo, done, over, allowance, environment), daemon=True)
        for _ in range(max(1, min(jobs, len(cases))))
    ]
    for thread in threads:
        thread.start()
    waiting: dict[int, Outcome | BaseException] = {}
    try:
        for index in range(len(cases)):
            while index not in waiting:
                at, outcome = done.get()
                waiting[at] = outcome
            found = waiting.pop(index)
            if isinstance(found, BaseException):
                raise found
            yield index, found
            if fail_fast and not found.passed:
                return
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _work(
    cases: Sequence[Case],
    todo: queue.SimpleQueue[int],
    done: queue.SimpleQueue[tuple[int, Outcome | BaseException]],
    over: threading.Event,
    allowance: Allowance,
    environment: Mapping[str, str],
) -> None:
    worker: _Worker | None = None
    try:
        while not over.is_set():
            try:
                index = todo.get_nowait()
            except queue.Empty:
                return
            try:
                if worker is None:
                    worker = _Worker(allowance, environment)
                outcome = worker.run(cases[index], over)
                if worker.has_ended:
                    worker.stop()
                    worker = None
                done.put((index, outcome))
            except BaseException as problem:
                done.put((index, problem))
                return
    finally:
        if worker is not None:
            worker.stop()


class _Worker:
    """A process that runs tests."""

    def __init__(self, allowance: Allowance, environment: Mapping[str, str]) -> None:
        self._allowance = allowance
        self.has_ended = False
        command = [sys.executable, "-P", "-m", "kcl.tools.test.worker"]
        self._process = subprocess.Popen(
            [*command, repr(allowance.deadline_seconds), str(allowance.max_memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={
                **environment,
                "PYTHONPATH": os.pathsep.join(dict.fromkeys(search_path())),
                "PYTHONIOENCODING": "utf-8",
            },
        )
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._said: list[str] = []
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._listen, self._overhear)]
        for thread in self._threads:
            thread.start()

    def run(self, case: Case, over: threading.Event) -> Outcome:
        started = time.monotonic()
        ends_at = started + self._allowance.deadline_seconds + GRACE_SECONDS + _STARTING_SECONDS
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(case.data()) + "\n")
            self._process.stdin.flush()
        except OSError:
            return self._died(started)
        while True:
            try:
                line = self._answers.get(timeout=0.2)
                break
            except queue.Empty:
                if over.is_set() or time.monotonic() > ends_at:
                    self.has_ended = True
                    self._process.kill()
                    said = f"error: {self._allowance.deadline_problem}\n = {self._allowance.deadline_hint}\n"
                    return Outcome(time.monotonic() - started, said)
        if not line:
            return self._died(started)
        outcome = Outcome.of(json.loads(line))
        if outcome.failure.startswith("error: "):  # what else fails has a code; it ends after this
            self.has_ended = True
        return outcome

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join()
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError:
            return

    def _died(self, started: float) -> Outcome:
        self.has_ended = True
        status = self._process.wait()
        self._threads[1].join()
        said = "".join(self._said)[-2000:]
        why = f"ended by signal {-status}" if status < 0 else f"status {status}"
        return Outcome(time.monotonic() - started, f"error: the process of the test ended ({why})\n{said}")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            for line in stream:
                self._answers.put(line)
        self._answers.put("")

    def _overhear(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in stream:
                self._said.append(line)
                del self._said[:-100]
