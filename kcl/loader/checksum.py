"""The checksum of a package, as kpm computes it: SHA-256 over the contents of all files, in base64.

The files follow one another without names or lengths between them, in the order of a walk that visits the entries of
each folder by name. Whatever has `.git` or `.tar` in its path is left out.
"""

from __future__ import annotations

import base64
import hashlib
import os.path
from collections.abc import Iterator
from typing import Final

from kcl.source import FileSystem

_LEFT_OUT: Final = (".git", ".tar")


def package_files(folder: str, file_system: FileSystem) -> Iterator[str]:
    """Paths relative to `folder` of all files that belong to the package there, in the order of the checksum."""
    yield from _walk(folder, "", file_system)


def _walk(root: str, inside: str, file_system: FileSystem) -> Iterator[str]:
    names = file_system.list_dir(os.path.join(root, inside))
    for name in sorted(names, key=str.encode):
        relative = os.path.join(inside, name)
        if any(part in name for part in _LEFT_OUT):
            continue
        if file_system.is_dir(os.path.join(root, relative)):
            yield from _walk(root, relative, file_system)
        else:
            yield relative


def uncovered_files(folder: str, file_system: FileSystem) -> Iterator[str]:
    """Paths relative to `folder` of KCL files that a package is made of and its checksum says nothing about.

    Below a folder that is left out there are none: no import can name it.
    """
    yield from _uncovered(folder, "", file_system)


def _uncovered(root: str, inside: str, file_system: FileSystem) -> Iterator[str]:
    for name in sorted(file_system.list_dir(os.path.join(root, inside))):
        relative = os.path.join(inside, name)
        is_left_out = any(part in name for part in _LEFT_OUT)
        if not file_system.is_dir(os.path.join(root, relative)):
            if is_left_out and name.endswith(".k"):
                yield relative
        elif not is_left_out:
            yield from _uncovered(root, relative, file_system)


def checksum(folder: str, file_system: FileSystem) -> str:
    """Raises OSError when a file cannot be read."""
    digest = hashlib.sha256()
    for relative in package_files(folder, file_system):
        digest.update(file_system.read_bytes(os.path.join(folder, relative)))
    return base64.b64encode(digest.digest()).decode("ascii")
