"""Writing a file as a whole or not at all: whoever reads, or comes after a crash, finds the old or the new.

The content is written beside the file under a name of its own and renamed. A rename replaces a link that stands in the
place of the file and follows none, and the unfinished file is made new (`O_EXCL`), so that nothing is written through
a link that somebody put there. Its name differs for each writer: two that write one file at once leave one of the two
contents, never a mixture. It is removed when writing fails; what a killed process leaves begins with a dot and ends
in `.unfinished`.

Imports nothing of ours, and little else, so that everything that writes can do it here.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, TypeAlias

    AnyPath: TypeAlias = str | os.PathLike[str]

_ENDING: Final = ".unfinished"
_RANDOM_BYTES: Final = 8
_LONGEST_NAME_BYTES: Final = 200
"""Of what the unfinished file takes from the name of the file: most file systems take 255 bytes for a whole name."""
_DEVICES: Final = frozenset({"/dev", "/dev/fd"})
_CREATING: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def write(
    path: AnyPath, data: bytes, *, mode: int = 0o600, durable: bool = True, unfinished_in: AnyPath | None = None
) -> None:
    """Replaces a file, or makes it; raises `OSError`, and the old file stays.

    `durable` waits until the disk has content and name, so that both are there after the power failed. Without it a
    crash of the process still leaves the old or the new, but a power failure may leave an empty file: only for what
    is computed again where it is missing or not what it should be (a cache, an index), since waiting for the disk
    costs more than computing. `unfinished_in` is another folder on the same file system, for a folder in which nobody
    may see an unfinished file.
    """
    _put(path, data, mode, durable, unfinished_in, os.replace)


def save(path: AnyPath, data: bytes, *, durable: bool = True) -> None:
    """Writes a file that a person or their program named: as `write` does, with the mode that opening it would leave.

    A new file has what the umask leaves, one that is there keeps its mode, and one that may not be written stays.

    What is not a file on a disk (a pipe, a terminal, `/dev/null`, `/dev/stdout`) takes the bytes as they come: a rename
    would put a file in its place.
    """
    target = os.fspath(path)
    if _is_stream(target):
        with open(target, "wb") as stream:
            stream.write(data)
    else:
        _put(target, data, _mode(target), durable, None, os.replace)


def create(path: AnyPath, data: bytes, *, mode: int = 0o600) -> None:
    """Makes a file that must not be there, durably; raises `FileExistsError`, so that one of two writers wins."""
    _put(path, data, mode, True, None, _link)


def remove_unfinished(folder: AnyPath, name: str = "", *, idle_seconds: float = 0) -> None:
    """Removes what killed writers left in a folder: of one file, or of all.

    Only under a lock that all writers hold, or else what nobody wrote for so many seconds that no writer is at it.
    """
    beginning = _beginning(name) if name else "."
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return
    for each in names:
        if each.startswith(beginning) and each.endswith(_ENDING):
            path = os.path.join(folder, each)
            if not idle_seconds or _is_idle(path, idle_seconds):
                _remove(path)


def _is_idle(path: str, seconds: float) -> bool:
    try:
        return abs(time.time() - os.lstat(path).st_mtime) > seconds
    except OSError:
        return False


def _put(
    path: AnyPath,
    data: bytes,
    mode: int | None,
    durable: bool,
    unfinished_in: AnyPath | None,
    publish: Callable[[str, str], None],
) -> None:
    target = os.fspath(path)
    folder, name = os.path.split(target)
    unfinished = os.path.join(
        folder if unfinished_in is None else unfinished_in,
        _beginning(name) + os.urandom(_RANDOM_BYTES).hex() + _ENDING,
    )
    handle = os.open(unfinished, _CREATING, 0o600 if mode is not None else 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is not None and sys.platform != "win32":
                os.fchmod(handle, mode)  # the umask is for what is made without a wish
            file.write(data)
            file.flush()
            if durable:
                os.fsync(handle)
        publish(unfinished, target)
    except BaseException:
        _remove(unfinished)
        raise
    if durable:
        sync_folder(folder or os.curdir)


def _is_stream(target: str) -> bool:
    """The links of `/dev` and of `/proc` lead to what a process has open, even where that is a file."""
    folder = os.path.realpath(os.path.dirname(target) or os.curdir)
    if folder in _DEVICES or folder.startswith("/proc/"):
        return True
    try:
        kind = os.lstat(target).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISLNK(kind) or stat.S_ISDIR(kind))


def _mode(target: str) -> int | None:
    """The mode of the file that is there. Raises `PermissionError` if it may not be written."""
    try:
        found = os.lstat(target).st_mode
    except OSError:
        return None
    if not stat.S_ISREG(found):
        return None
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    return stat.S_IMODE(found) & 0o777


def _beginning(name: str) -> str:
    """How the names of the unfinished files of a file begin. Of a long name it takes no more than fits."""
    return f".{os.fsencode(name)[:_LONGEST_NAME_BYTES].decode('utf-8', 'ignore')}."


def _link(unfinished: str, target: str) -> None:
    os.link(unfinished, target)
    os.unlink(unfinished)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # what was wrong with the file itself is the failure to report


def sync_folder(folder: AnyPath) -> None:
    """Waits until the disk has the names in a folder: a new file is durable when its folder is.

    Raises `OSError`. Does nothing on a system that opens no folders.
    """
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
