"""The clock of files, for tests of what is cached: nothing has to be waited for."""

from __future__ import annotations

import os
import time
from pathlib import Path

from kcl.memo.inputs import SETTLED_NANOSECONDS, Moment, now

_HOUR = 3_600_000_000_000


def later() -> Moment:
    """A clock by which what was written just now was written long ago."""
    wall, steady = now()
    return wall + _HOUR, steady + _HOUR


def wait_until_settled() -> None:
    """For what another process is asked, or what changes during a run: there the clock of this machine has to do."""
    time.sleep(1.1 * SETTLED_NANOSECONDS / 1e9)


def let_tick(folder: Path) -> None:
    """Returns once the clock of the file system has ticked, some milliseconds: another write has another time then."""
    probe = folder / ".tick"
    probe.touch()
    first = probe.stat().st_ctime_ns
    while probe.stat().st_ctime_ns == first:
        os.utime(probe)
    probe.unlink()
