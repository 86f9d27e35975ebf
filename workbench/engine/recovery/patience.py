"""How long one cluster is waited for where it is asked several things in a row."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from runtimes.base.answer_listeners import listening
from workbench.engine.recovery.document import Limits


def clock() -> float:
    """Returns seconds that go on while the machine sleeps, unlike `time.monotonic` on Linux: pods that were to be
    restarted an hour ago are not restarted when somebody opens the lid."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@contextmanager
def patience(limits: Limits) -> Iterator[None]:
    """Raises `TimeoutError` once nothing was answered for `answer_seconds`, or after `deadline_seconds` in any case.

    The second is for a server that answers one page after the other and never comes to an end.
    """
    last = anyio.current_time() + limits.deadline_seconds
    with anyio.fail_after(min(limits.answer_seconds, limits.deadline_seconds)) as scope:

        def wait_on() -> None:
            scope.deadline = min(anyio.current_time() + limits.answer_seconds, last)

        with listening(wait_on):
            yield
