"""A command in a process that can be ended at any moment, whatever it is doing.

Python hears of a signal only between two steps of its own; a step may be a call into C that takes minutes. So the
command runs in a forked child, and the parent does nothing but wait: for the child, for a signal, for the clock.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Final, NoReturn, TextIO

from kcl.bounded.allowance import Allowance
from kcl.bounded.watchdog import GRACE_SECONDS, Exceeded, Watchdog, give_room_to_report, is_out_of_memory, problem
from kcl.streams import output_lost

FAILED: Final = 1
_ENDING: Final = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


Command = Callable[[Callable[[Allowance], None]], int]
"""Returns a status. Says what it is allowed before it begins in earnest."""


def supervised(command: Command, stderr: TextIO, where: Callable[[], str]) -> int:
    """Runs a command and returns its status; `where` says where in a program it is.

    What goes on longer, or needs more memory, is ended and said on `stderr`; the status is 1. SIGINT, SIGTERM and
    SIGHUP end it at once, and this process by the same signal. Where processes cannot be forked (Windows) only the
    watchdog ends it.
    """
    if not hasattr(os, "fork"):
        return command(Watchdog(_reporting(stderr), where).begin)
    sys.stdout.flush()
    sys.stderr.flush()
    allowances, told = os.pipe()
    taken = [each for each in _ENDING if signal.getsignal(each) in (signal.SIG_DFL, signal.default_int_handler)]
    child = os.fork()
    if child == 0:
        os.close(allowances)
        _be_child(command, told, stderr, where)
    os.close(told)
    before = [(each, signal.getsignal(each)) for each in taken]
    _forward(taken, child)
    try:
        return _wait(child, allowances, stderr)
    finally:
        for number, handler in before:  # who goes on after it is not ended by the next ^C
            signal.signal(number, handler)
        os.close(allowances)


def _without_output(error: OSError) -> int:
    try:
        return output_lost(error)
    except OSError:
        sys.excepthook(*sys.exc_info())
        return FAILED


def _be_child(command: Command, told: int, stderr: TextIO, where: Callable[[], str]) -> NoReturn:
    for each in _ENDING:
        if signal.getsignal(each) is signal.default_int_handler:
            signal.signal(each, signal.SIG_DFL)
    status = FAILED
    try:
        status = _as_child(command, told, stderr, where)
        sys.stdout.flush()
    except OSError as error:
        status = _without_output(error)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else FAILED
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            status = status or FAILED
        os._exit(status)


def _as_child(command: Command, told: int, stderr: TextIO, where: Callable[[], str]) -> int:
    parent = os.getppid()
    watchdog = Watchdog(_reporting(stderr), where, lambda: os.getppid() != parent)
    allowed = Allowance()

    def begin(allowance: Allowance) -> None:
        nonlocal allowed
        allowed = allowance
        os.write(told, f"{allowance.deadline_seconds!r} {allowance.max_memory_bytes}\n".encode())
        watchdog.begin(allowance)

    try:
        return command(begin)
    except Exception as error:
        if not is_out_of_memory(error, allowed):
            raise
        give_room_to_report()
        _report(stderr, Exceeded.MEMORY, allowed, "")
        return FAILED


def _reporting(stderr: TextIO) -> Callable[[Exceeded, Allowance, str], None]:
    return lambda what, allowance, where: _report(stderr, what, allowance, where)


def _report(stderr: TextIO, what: Exceeded, allowance: Allowance, where: str) -> None:
    told, hint = problem(what, allowance)
    stderr.write(f"error: {told}\n" + (f" --> {where}\n" if where else "") + f" = {hint}\n")
    stderr.flush()


def _forward(signals: list[signal.Signals], child: int) -> None:
    def end(number: int, frame: FrameType | None) -> None:
        _kill(child)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for each in signals:
        signal.signal(each, end)


def _kill(child: int) -> None:
    try:
        os.kill(child, signal.SIGKILL)
    except ProcessLookupError:
        return


def _wait(child: int, allowances: int, stderr: TextIO) -> int:
    """Waits until the pipe is closed, which the end of the child does, or until its time is up."""
    allowance = Allowance()
    ends_at: float | None = None
    while True:
        left = None if ends_at is None else max(ends_at - time.monotonic(), 0)
        if not select.select([allowances], [], [], left)[0]:
            _kill(child)
            os.waitpid(child, 0)
            _report(stderr, Exceeded.DEADLINE, allowance, "")
            return FAILED
        text = os.read(allowances, 200)
        if not text:
            break
        deadline, memory = text.decode().split("\n")[0].split()
        allowance = Allowance(float(deadline), int(memory), allowance.program)
        ends_at = time.monotonic() + allowance.deadline_seconds + GRACE_SECONDS
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    return _died(-code, allowance, stderr)


def _died(number: int, allowance: Allowance, stderr: TextIO) -> int:
    if number == getattr(signal, "SIGXCPU", None):
        _report(stderr, Exceeded.DEADLINE, allowance, "")
        return FAILED
    stderr.write(
        f"error: the process of the evaluation was ended by {signal.Signals(number).name}; "
        "it may have run out of memory\n"
    )
    return FAILED
