"""Ends a plugin with everything it started, also when the program that asked is killed.

The process that was started is a guard: the plugin is its child. On Linux what the plugin starts becomes the guard's
too once its own parent is gone, even in a session of its own, so nothing gets away from it by forking twice. Elsewhere
the guard ends the process group.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, NoReturn

_BECOME_REAPER: Final = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h
_POLL_SECONDS: Final = 0.005
_LONGEST_SECONDS: Final = 4.0
_ENDED: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def guarded(work: Callable[[], int], alive: int, memory_bytes: int) -> NoReturn:
    """Does the work in a child, and ends it when the pipe `alive` is closed or the work is done; ends with its code."""
    _adopt_orphans()
    child_alive, childs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(child_alive)
        os.close(alive)
        _limit_memory(memory_bytes)
        os._exit(_worked(work))
    os.close(childs)
    for number in (0, 1, 2):  # the child's alone: who reads them shall see its end
        _close_to(number)
    for each in _ENDED:
        signal.signal(each, lambda *_: _exit_after(child))
    # whichever ends first, the child or the program that asked
    select.select([alive, _end_of(child, child_alive)], [], [])
    os._exit(_end(child))  # whoever waits for this has nothing of a tidy end


def _exit_after(child: int) -> None:
    _end(child)
    os._exit(1)


def _end_of(child: int, pipe: int) -> int:
    """Returns what can be read once the child has ended. The pipe's other end may be held by what it forked as well."""
    try:
        return os.pidfd_open(child)
    except (AttributeError, OSError):  # not Linux, or an old one
        return pipe


def _worked(work: Callable[[], int]) -> int:
    try:
        return work()
    except BaseException:
        return 1
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()


def _close_to(number: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, number)
    os.close(nothing)


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(_BECOME_REAPER, 1, 0, 0, 0)


def _limit_memory(memory_bytes: int) -> None:
    for what, most in ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(OSError, ValueError):  # not every system has such a limit
            hard = resource.getrlimit(what)[1]
            own = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (own, own))


def _end(child: int) -> int:
    """Kills the child and all that came of it, until there is none; returns the child's exit code."""
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    deadline = time.monotonic() + _LONGEST_SECONDS
    while _has_children() and time.monotonic() < deadline:
        # whoever was left by the child is one of this process now
        for pid in _descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)
    return max(code, 0)


def _has_children() -> bool:
    """Whether any child is there still, after those that have ended were collected."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _descendants(ancestor: int) -> Collection[int]:
    """Returns the processes below one, none where the system can't list them."""
    children: dict[int, list[int]] = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # the second field is the program's name in parentheses and may hold anything
            parent = each.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(each.parent.name))
    found, open_ = [], [ancestor]
    while open_:
        below = children.get(open_.pop(), [])
        found += below
        open_ += below
    return found
