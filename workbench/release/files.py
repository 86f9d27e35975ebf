"""Files of the state folder, with failures that say what to do about them."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from kcl import whole_file
from kcl.regular import open_regular
from workbench.engine.errors import ReleaseFailure

_TAIL_BYTES: Final = 64 * 1024


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


def open_to_append(path: Path) -> int:
    """Opens a file for `append_line`, making it (0600) if there is none; raises `ReleaseFailure`. To be closed."""
    try:
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        raise failure("cannot be opened", path, error) from error


def append_line(handle: int, line: bytes, path: Path) -> None:
    """Adds a line to a file that `open_to_append` opened: on disk when this returns, or not there at all.

    It begins on a line of its own even where a crash left half a line before it. Raises `ReleaseFailure`.
    """
    size = -1
    try:
        size = os.fstat(handle).st_size
        is_torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        data = (b"\n" if is_torn else b"") + line
        if os.write(handle, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(handle)
        if not size:
            whole_file.sync_folder(path.parent)  # the name of a new file has to outlive a power failure as well
    except OSError as error:
        if size >= 0:
            with suppress(OSError):  # half a line in the middle would make the whole file unreadable
                os.ftruncate(handle, size)
        raise failure("cannot be written", path, error) from error


def end_torn_line(handle: int) -> None:
    """Cuts what a crash left of the last line: it was never reported to anybody. Raises `OSError`."""
    size = whole = os.fstat(handle).st_size
    while whole:
        start = max(0, whole - _TAIL_BYTES)
        end = os.pread(handle, whole - start, start).rfind(b"\n") + 1
        if end:
            whole = start + end
            break
        whole = start
    if whole != size:
        os.ftruncate(handle, whole)


def lines(path: Path, most_bytes: int) -> Iterator[bytes]:
    """Yields the lines of a file one at a time, without their ends; of one longer than `most_bytes` only its begin.

    Raises `OSError`, as `open_regular`.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        for line in lines_of(file, most_bytes):
            yield line.removesuffix(b"\n")


def lines_of(file: BinaryIO, most_bytes: int, size: float = math.inf) -> Iterator[bytes]:
    """Yields the lines of the first `size` bytes of a file, with their ends; of one that is too long only its begin."""

    def read() -> bytes:
        nonlocal size
        line = file.readline(int(min(most_bytes, size)))
        size -= len(line)
        return line

    while line := read():
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = read()
        yield line


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
