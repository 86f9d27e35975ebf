"""The clock of files, for tests of what is cached: nothing has to be waited for."""

from __future__ import annotations

import os
from pathlib import Path

from kcl.memo.inputs import Moment, now

_HOUR = 3_600_000_000_000


def later() -> Moment:
    """A clock by which what was written just now was written long ago."""
    wall, steady = now()
    return wall + _HOUR, steady + _HOUR


def let_tick(folder: Path) -> None:
    """Returns once the clock of the file system has ticked, some milliseconds: another write has another time then."""
    probe = folder / ".tick"
    probe.touch()
    first = probe.stat().st_ctime_ns
    while probe.stat().st_ctime_ns == first:
        os.utime(probe)
    probe.unlink()
