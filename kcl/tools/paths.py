"""Which .k files the paths of a command line name; the same for all tools."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from kcl.terminal import harmless

BELOW: Final = "..."
"""As the last part of a path: the folder and all below it."""
_SUFFIX: Final = ".k"


class NoFiles(Exception):
    """A path names no file, or a folder cannot be read; the message says which, and why."""


def found(path: str, cwd: str, *, recursive: bool) -> list[str]:
    """The files that a path of the command line names, in order, as they are shown. Raises `NoFiles`.

    Of a folder those in it, and those below it where the path ends in `...`. Folders whose names begin with a dot are
    left out, and links to folders are not followed. What cannot be read as a file, such as a pipe, is for the reader to
    refuse: it is not left out.
    """
    named = path
    head, tail = os.path.split(path)
    if tail == BELOW:
        path, recursive = head or os.curdir, True
    there = os.path.join(cwd, path)
    if not os.path.isdir(there):
        if os.path.lexists(there):
            return [path]
        raise NoFiles(f"{harmless(named)}: there is no such file or folder")
    files = list(files_in(there, path, recursive=recursive))
    if not files:
        below = "in or below it" if recursive else f"in it; for folders below it say {os.path.join(path, BELOW)}"
        raise NoFiles(f"{harmless(named)}: there is no file that ends in {_SUFFIX} {below}")
    return files


def files_in(folder: str, shown: str, *, recursive: bool) -> Iterator[str]:
    """The files in a folder as `found` answers them, `shown` being what messages call it. Raises `NoFiles`."""
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda each: each.name)
    except OSError as problem:
        raise NoFiles(f"{harmless(shown)}: {problem.strerror}") from None
    for each in entries:
        name = each.name if shown == os.curdir else os.path.join(shown, each.name)
        if each.is_dir():
            if recursive and not each.name.startswith(".") and not each.is_symlink():
                yield from files_in(each.path, name, recursive=True)
        elif each.name.endswith(_SUFFIX):
            yield name
