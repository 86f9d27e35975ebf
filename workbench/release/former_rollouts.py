"""Rollouts as older versions kept them: on the machine that began them, STATE/rollouts/REPOSITORY/ID.jsonl.

They are read as they are, and taken over by where rollouts are kept now when something is to be written to them: then
the file gets another name. Whoever ran one with an older version has locked ID.lock.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from kcl.regular import read_regular
from workbench.engine.rollout.values import Record
from workbench.release.encoding import BrokenRecord
from workbench.release.files import failure, write_atomically
from workbench.release.rollout_packing import ID_FORM, decoded

_MOST_BYTES = 64_000_000
_TAKEN_OVER = ".jsonl.taken-over"


class FormerRollouts:
    """Those of one repository on this machine. Blocks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ids(self) -> tuple[str, ...]:
        """Raises `ReleaseFailure`."""
        try:
            found = sorted(self._folder.glob("*.jsonl"), key=lambda each: -each.stat().st_mtime_ns)
        except OSError as error:
            raise failure("cannot be read", self._folder, error) from error
        return tuple(each.stem for each in found if ID_FORM.fullmatch(each.stem))

    def path(self, id_: str) -> Path:
        assert ID_FORM.fullmatch(id_), "who asks has looked"
        return self._folder / f"{id_}.jsonl"

    def records(self, id_: str) -> tuple[Record, ...] | None:
        """Returns None where there is no such rollout; raises `BrokenRecord` or `ReleaseFailure`."""
        path = self.path(id_)
        try:
            data = read_regular(path, _MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise failure("cannot be read", path, error) from error
        if len(data) > _MOST_BYTES:
            raise BrokenRecord(f"has more than {_MOST_BYTES} bytes")
        return tuple(decoded(data))

    def is_running(self, id_: str) -> bool:
        """Tells whether a process of an older version carries it out now."""
        try:
            handle = os.open(self.path(id_).with_suffix(".lock"), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(handle)
        return False

    def taken_over(self, id_: str) -> None:
        """Takes note that it is kept elsewhere by now; raises `ReleaseFailure`."""
        path = self.path(id_)
        try:
            write_atomically(path.with_suffix(_TAKEN_OVER), read_regular(path))
            path.unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            raise failure("cannot be renamed", path, error) from error
