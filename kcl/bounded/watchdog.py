"""Ends the process of an evaluation that takes more than it is allowed to.

A thread looks at the clock and at the memory of the process. It cannot run while a single call into C goes on, so the
system is told the limits as well, and whoever started the process has a clock of its own (`supervising`).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Final

from kcl.bounded.allowance import Allowance, put_in_force
from kcl.call_stack import DEEP_STACK_BYTES

GRACE_SECONDS: Final = 1.0
"""After the deadline, until the process is ended from outside or by the system."""
_TICK_SECONDS: Final = 0.05
_AWAKE_SECONDS: Final = 10.0
"""How long the thread goes on looking at the clock when nothing is watched: waking it for each of many evaluations that
follow each other closely would take more of their time."""
_SPARE_BYTES: Final = 48 << 20
"""Of address space beyond the limit: the stack of an evaluation takes 64 MB of it and hardly any memory, what is mapped
from files takes memory and is not counted."""

_RESERVED_BYTES: Final = 1 << 20
_RESERVE: Final[list[bytearray]] = []
"""Address space that is given back first where none is left: lifting the limit takes some."""


class Exceeded(StrEnum):
    DEADLINE = "deadline"
    MEMORY = "memory"


OnExceeded = Callable[[Exceeded, Allowance, str], None]
"""Is told what was exceeded and where in the program that was, in the thread of the watchdog; then the process ends."""


class Watchdog:
    """Watches over one evaluation after the other in this process, between `begin` and `end`.

    `on_exceeded` reports, and need not return; `where` says where in the program the evaluation is, "" for unknown.
    `is_orphan` says whether nobody waits for this process any more.
    """

    def __init__(
        self, on_exceeded: OnExceeded, where: Callable[[], str], is_orphan: Callable[[], bool] = lambda: False
    ) -> None:
        self._on_exceeded = on_exceeded
        self._where = where
        self._is_orphan = is_orphan
        self._changed = threading.Condition()
        self._allowance: Allowance | None = None
        self._ends_at = 0.0
        self._is_awake = False
        threading.Thread(target=self._watch, name="kcl-watchdog", daemon=True).start()

    def begin(self, allowance: Allowance) -> None:
        if not _RESERVE:
            _RESERVE.append(bytearray(_RESERVED_BYTES))
        _tell_system(allowance)
        put_in_force(allowance)
        with self._changed:
            self._allowance = allowance
            self._ends_at = time.monotonic() + allowance.deadline_seconds
            if not self._is_awake:
                self._changed.notify()

    def end(self) -> None:
        """Nothing is watched until the next `begin`. Does not return while the end of the process is under way."""
        with self._changed:
            self._allowance = None

    def _watch(self) -> None:
        sleeps_at = 0.0
        with self._changed:
            while True:
                allowance = self._allowance
                if allowance is None:
                    self._is_awake = time.monotonic() < sleeps_at
                    self._changed.wait(_TICK_SECONDS if self._is_awake else None)
                    continue
                self._is_awake = True
                sleeps_at = time.monotonic() + _AWAKE_SECONDS
                left = self._ends_at - time.monotonic()
                if left <= 0:
                    self._exceeded(Exceeded.DEADLINE, allowance)
                if resident_bytes() > allowance.max_memory_bytes:
                    self._exceeded(Exceeded.MEMORY, allowance)
                if self._is_orphan():
                    os._exit(1)
                self._changed.wait(min(_TICK_SECONDS, max(left, 0.001)))

    def _exceeded(self, what: Exceeded, allowance: Allowance) -> None:
        give_room_to_report()
        try:
            self._on_exceeded(what, allowance, self._where())
        finally:
            os._exit(1)


def problem(what: Exceeded, allowance: Allowance) -> tuple[str, str]:
    """What is said of it, and what to do."""
    if what is Exceeded.DEADLINE:
        return allowance.deadline_problem, allowance.deadline_hint
    return allowance.memory_problem, allowance.memory_hint


def is_out_of_memory(error: BaseException, allowance: Allowance) -> bool:
    """Whether an exception of Python came of memory that was not given: not each of its parts says that it was that.

    Our own exceptions are about the program, and mean what they say.
    """
    if not isinstance(error, SystemError | LookupError | TypeError | AttributeError | RuntimeError):
        return isinstance(error, MemoryError)
    return max(peak_bytes(), _data_bytes()) > allowance.max_memory_bytes // 2


def resident_bytes() -> int:
    """The memory this process holds now; on systems that do not tell, the most it ever held; 0 where nothing does."""
    return _pages(1) or peak_bytes()


def is_crowded(allowance: Allowance) -> bool:
    """Whether what this process keeps would count too much against what it evaluates next.

    The stack of the thread that evaluates stays; what was ever used of it is memory that is held.
    """
    return max(resident_bytes(), _data_bytes() - DEEP_STACK_BYTES) > allowance.max_memory_bytes // 2


def _data_bytes() -> int:
    """What the system counts against `RLIMIT_DATA`, more than what is held; 0 where nothing tells."""
    return _pages(5)


def _pages(field: int) -> int:
    with suppress(OSError, ValueError, IndexError, MemoryError), open("/proc/self/statm", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def give_room_to_report() -> None:
    """Lets a process that has no memory left, and ends for that, have what saying so takes."""
    _RESERVE.clear()
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if soft != resource.RLIM_INFINITY:
            more = soft + _SPARE_BYTES
            resource.setrlimit(
                resource.RLIMIT_DATA, (more if hard == resource.RLIM_INFINITY else min(more, hard), hard)
            )


def peak_bytes() -> int:
    """The most memory this process ever held; 0 where nothing tells.

    Where Linux tells it of the program: what `getrusage` tells begins with that of the process which started this one,
    and a notebook's may be large.
    """
    with suppress(OSError, ValueError, IndexError, MemoryError), open("/proc/self/status", "rb") as file:  # noqa: PTH123
        for line in file:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    with suppress(ImportError):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return 0


def _tell_system(allowance: Allowance) -> None:
    """Allocations beyond the limit fail, and a call that never ends is ended by the time it computed."""
    try:
        import resource
    except ImportError:  # Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = used.ru_utime + used.ru_stime + 2 * (allowance.deadline_seconds + GRACE_SECONDS)  # of two threads
    for kind, limit in (
        (resource.RLIMIT_DATA, allowance.max_memory_bytes + _SPARE_BYTES),
        (resource.RLIMIT_CPU, int(seconds) + 2),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(OSError, ValueError):
            _, hard = resource.getrlimit(kind)
            resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
