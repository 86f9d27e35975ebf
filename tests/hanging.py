"""What hangs becomes a failure with a name, and every run ends.

A test that takes longer than `LONGEST` fails where it stands, with the stacks of all threads and tasks, and the others
go on. Where that does not reach it (it waits in C, or catches everything) its process ends after `GRACE` more: then
pytest-xdist says which test it was, and the run ends. Where not even that happens, or nobody has anything left to do
and pytest-xdist waits nevertheless, the process that hands out the tests says what it waits for, and ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import IO, Final

import pytest

from tests.sizes import size

LONGEST: Final = size(300, 4 * 3600)
"""Seconds: several times what the longest test takes on a busy machine."""
GRACE: Final = 60
_NAMES_SHOWN: Final = 20


class Bounded:
    """A plugin of pytest for a process that runs tests."""

    def __init__(self, longest: float = LONGEST, grace: float = GRACE) -> None:
        self._longest, self._grace = longest, grace
        self._stderr: IO[bytes] | None = None  # that of the process, whatever a test makes of sys.stderr

    def pytest_configure(self) -> None:
        self._stderr = os.fdopen(os.dup(2), "wb", buffering=0)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        before = None
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGALRM, self._fail)
            signal.setitimer(signal.ITIMER_REAL, self._longest, self._grace)
        self._end_after(self._longest + self._grace)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()
            if before is not None:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)

    @pytest.hookimpl(trylast=True)
    def pytest_exception_interact(self) -> None:
        """pytest itself has just called it off; what comes after a failure may hang as well."""
        self._end_after(self._longest + self._grace)

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Iterator[None]:
        """From here to the end of the process, threads that are waited for included."""
        self._end_after(self._longest)
        return (yield)

    def _end_after(self, seconds: float) -> None:
        assert self._stderr is not None
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._stderr)

    def _fail(self, number: int, frame: FrameType | None) -> None:
        pytest.fail(f"hangs: it took longer than {self._longest:g} seconds\n\n{stacks()}", pytrace=False)


def stacks() -> str:
    """Where each thread stands, and each task of the loop that runs in this one."""
    names = {each.ident: each.name for each in threading.enumerate()}
    parts = []
    for ident, frame in sys._current_frames().items():
        parts.append(f"thread {names.get(ident, ident)}:\n{''.join(traceback.format_stack(frame))}")
    with contextlib.suppress(RuntimeError):  # no loop runs
        for task in asyncio.all_tasks():
            lines = [f"task {task.get_name()}: {task.get_coro()}\n"]
            for frame in task.get_stack():
                lines += traceback.format_list(traceback.extract_stack(frame, limit=1))
            parts.append("".join(lines))
    return "\n".join(parts)


class Watched:
    """A plugin of pytest for the process that hands out the tests: it ends where nothing has happened for too long."""

    def __init__(self, most_seconds: float = LONGEST + 3 * GRACE) -> None:
        self._most_seconds = most_seconds
        self._collected: tuple[str, ...] = ()
        self._started: set[str] = set()
        self._ended: set[str] = set()
        self._heard = time.monotonic()

    def pytest_configure(self) -> None:
        threading.Thread(target=self._watch, name="watches the run", daemon=True).start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._collected, self._heard = tuple(ids), time.monotonic()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._started.add(nodeid)
        self._heard = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._ended.add(nodeid)
        self._heard = time.monotonic()

    def _watch(self) -> None:
        while (left := self._heard + self._most_seconds - time.monotonic()) > 0:
            time.sleep(left)
        message = f"\nnothing has happened for {self._most_seconds:g} seconds: this run ends.\n{self.waits_for()}"
        os.write(2, message.encode())
        os._exit(pytest.ExitCode.INTERNAL_ERROR)

    def waits_for(self) -> str:
        running = sorted(self._started - self._ended)
        never = [each for each in self._collected if each not in self._started]
        told = [f"began, and did not end: {each}" for each in running[:_NAMES_SHOWN]]
        told += [f"never began: {each}" for each in never[:_NAMES_SHOWN]]
        if len(running) > _NAMES_SHOWN or len(never) > _NAMES_SHOWN:
            told.append(f"of {len(running)} that did not end and {len(never)} that never began")
        return "\n".join(told or ["All tests ended; what waits is a process that ran them."]) + "\n"
