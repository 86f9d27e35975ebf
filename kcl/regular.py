"""Reading files that somebody else has put there: regular ones only, and no more of them than is wanted.

Who opens a pipe waits until somebody writes into it, and a device may have no end. Imports nothing of ours, so that
everything that reads for a repository can ask here.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_READING: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_AT_ONCE: Final = 1 << 16
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_OPEN_FILES: Final = "/proc/self/fd"
_GIVEN: Final = ("/dev/stdin", "/dev/null")
_GIVEN_BELOW: Final = ("/dev/fd/", "/proc/self/fd/")
_TELLS_PATHS: Final = os.path.isdir(_OPEN_FILES)  # noqa: PTH112 - pathlib is not imported by who only reads


def read_regular(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """Returns what a file holds, the first `most` bytes of it. Raises OSError, also for what is no regular file."""
    with os.fdopen(open_regular(path), "rb") as file:
        if most <= _AT_ONCE:
            return file.read(most)
        content = file.read(_AT_ONCE)  # room for all that may come is not made for what is small most often
        return content if len(content) < _AT_ONCE else content + file.read(most - _AT_ONCE)


def read_regular_text(path: str | os.PathLike[str], most: int = -1, *, encoding: str = "utf-8") -> str:
    """As `read_regular`, with line ends as Python has them. Raises UnicodeDecodeError as well."""
    return read_regular(path, most).decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def is_given(path: str) -> bool:
    """Tells whether a path names what the process was started with, such as a pipe of the user's shell: `<(...)`."""
    return path[0:1] == "/" and (path in _GIVEN or path.startswith(_GIVEN_BELOW))


def read_given(path: str) -> bytes:
    """Returns what comes until it ends, which is waited for: see `is_given`. Raises OSError."""
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib is not imported by who only reads
        return file.read()


def why_none(path: str | os.PathLike[str]) -> str:
    """Says what is there instead of a regular file, or that nothing is."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - pathlib is not imported by who only reads
    except FileNotFoundError:
        return "there is no such file"
    except OSError as problem:
        return f"it cannot be looked at: {problem.strerror}"
    return "it is a folder, not a file" if stat.S_ISDIR(mode) else "it is no regular file"


def open_regular(path: str | os.PathLike[str], more: int = 0) -> int:
    """Opens a file to be read. Raises OSError, also for what is no regular file."""
    opened = os.open(path, _READING | more)
    mode = os.fstat(opened).st_mode
    if stat.S_ISREG(mode):
        return opened
    os.close(opened)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))


def open_there(real: str) -> tuple[int, str]:
    """As `open_regular`, of a path that no link was on a moment ago. Returns also where the file lies that was opened.

    That is the path itself where the system does not tell.
    """
    opened = open_regular(real, _NO_LINK)
    if not _TELLS_PATHS:
        return opened, real
    place = os.readlink(f"{_OPEN_FILES}/{opened}")  # noqa: PTH115 - pathlib is not imported by who only reads
    return opened, place.removesuffix(" (deleted)")
