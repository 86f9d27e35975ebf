"""Files of the state folder, with failures that say what to do about them."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from kcl import whole_file
from workbench.engine.errors import ReleaseFailure


def make_folder(folder: Path) -> None:
    """Makes a folder that only its owner may enter; raises `ReleaseFailure`."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise failure("cannot be made", folder, error) from error


def write_atomically(path: Path, data: bytes) -> None:
    """Writes a file for its owner's eyes (0600) that survives a crash right after; raises `ReleaseFailure`."""
    make_folder(path.parent)
    try:
        whole_file.write(path, data)
    except OSError as error:
        raise failure("cannot be written", path, error) from error


def append_line(handle: int, line: bytes, path: Path) -> None:
    """Adds a line to a file open for appending: on disk when this returns, or not there; raises `ReleaseFailure`."""
    size = -1
    try:
        size = os.fstat(handle).st_size
        if os.write(handle, line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(handle)
    except OSError as error:
        if size >= 0:
            with suppress(OSError):  # half a line in the middle would make the whole file unreadable
                os.ftruncate(handle, size)
        raise failure("cannot be written", path, error) from error


def end_torn_line(handle: int) -> None:
    """Cuts what a crash left of the last line: it was never reported to anybody."""
    size = os.fstat(handle).st_size
    data = os.pread(handle, size, 0)
    whole = data.rfind(b"\n") + 1
    if whole != size:
        os.ftruncate(handle, whole)


def failure(what: str, path: Path, error: OSError) -> ReleaseFailure:
    """Returns the failure for an error of the operating system, with what to do about the usual ones."""
    hints = {
        errno.ENOSPC: "free some space, or set WB_STATE_DIR to another disk",
        errno.EDQUOT: "free some of your quota, or set WB_STATE_DIR to another disk",
        errno.EACCES: "make it writable for you, or set WB_STATE_DIR",
        errno.EROFS: "set WB_STATE_DIR to a folder that can be written to",
    }
    hint = hints.get(error.errno or 0, "set WB_STATE_DIR to another folder if this one is broken")
    return ReleaseFailure(f"{what}: {error.strerror or error}", where=str(path), hint=hint)
