"""What a program may touch outside itself, granted by whoever runs it.

Library functions that read files, the environment, the clock or names of the network ask here. What is not granted
fails with a message that says so; nothing is granted by default but reading the clock.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kcl.evaluator.value import ValueFailure
from kcl.reach import is_below, lies_in_git
from kcl.records import dataclass, field, fields
from kcl.source import FileSystem, InMemoryFileSystem

if TYPE_CHECKING:
    from datetime import datetime


def _local_now() -> datetime:
    from datetime import datetime  # few programs ask for the time

    return datetime.now().astimezone()


def _ignore(path: str) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class Access:
    """The capabilities of one run."""

    file_system: FileSystem = field(default_factory=lambda: InMemoryFileSystem({}))
    read_roots: tuple[str, ...] | None = ()
    """Folders below which files may be read; None for anywhere, () for nowhere."""
    write_roots: tuple[str, ...] = ()
    """Folders below which files may be written, on the real disk."""
    own_folder_only: bool = False
    """Whether a file may name only what lies below its own folder, without `..`, as officially.

    What lies below `read_roots` may be read all the same, by a path that is absolute or leads there.
    """
    environment: Mapping[str, str] | None = None
    """Environment variables a program may read; None when it may read none."""
    work_dir: str = ""
    """What `file.workdir()` answers."""
    root: str = ""
    """What `file.modpath()` answers: the folder of the program's kcl.mod."""
    base: str = ""
    """Folder that relative paths of process-wide functions start from."""
    now: Callable[[], datetime] = _local_now
    on_use: Callable[[str], None] = _ignore
    """Told the name of every function called whose answer, or effect, is not a matter of its arguments alone."""
    on_read: Callable[[str], None] = _ignore
    """Told the absolute path of every file looked at, so that a cache knows what an answer rests on."""

    def become(self, other: Access) -> None:
        """Makes a library that is bound to this one reach what `other` may, for the next run that has it to itself."""
        for each in fields(self):
            object.__setattr__(self, each.name, getattr(other, each.name))

    def readable(self, path: str, folder: str) -> str:
        """The absolute form of `path`, which is relative to `folder`. Raises ValueFailure when it may not be read."""
        absolute = self.absolute(path, folder)
        if self.own_folder_only:
            pass  # `absolute` has looked
        elif not self._may_read(absolute):
            raise ValueFailure(f"reading '{path}' is not allowed: it lies outside of {_shown(self.read_roots or ())}")
        refusal = self.file_system.refusal(absolute)
        if refusal is not None:
            raise ValueFailure(f"reading '{path}' is not allowed: it {refusal.reason}")
        self.on_read(absolute)
        return absolute

    def absolute(self, path: str, folder: str) -> str:
        """The absolute form of `path`. Raises ValueFailure when it may not be named."""
        absolute = os.path.normpath(os.path.join(folder, path))
        if self.own_folder_only and not _is_below(path, folder) and not self._may_read(absolute):
            raise _escapes(path, folder)
        return absolute

    def _may_read(self, absolute: str) -> bool:
        roots = self.read_roots
        return roots is None or (
            "\0" not in absolute and _inside(absolute, roots) and _inside(os.path.realpath(absolute), _real(roots))
        )

    def writable(self, path: str, folder: str) -> str:
        """The absolute form of `path`. Raises ValueFailure when it may not be written."""
        if "\0" in path:
            raise ValueFailure(f"writing {path!r} is not allowed: a path has no zero byte")
        if self.own_folder_only and not _is_below(path, folder):
            raise _escapes(path, folder)
        absolute = os.path.realpath(os.path.join(folder, path))
        if not _inside(absolute, _real(self.write_roots)):
            where = (
                f"it lies outside of {_shown(self.write_roots)}" if self.write_roots else "this run may write nothing"
            )
            raise ValueFailure(f"writing '{path}' is not allowed: {where}")
        named = os.path.normpath(os.path.join(folder, path))
        if _in_git(absolute, _real(self.write_roots)) or _in_git(named, self.write_roots):
            raise ValueFailure(f"writing '{path}' is not allowed: it belongs to git, which runs what is written there")
        return absolute


def _is_below(path: str, folder: str) -> bool:
    """Whether a path leads from a folder to something in it, links included, and never upwards."""
    if "\0" in path:
        return False
    there = os.path.realpath(os.path.join(folder, path))
    return os.pardir not in path.split(os.sep) and _inside(there, (os.path.realpath(folder),))


def _escapes(path: str, folder: str) -> ValueFailure:
    return ValueFailure(f"path '{path}' escapes module root '{folder}'")


def _inside(path: str, roots: tuple[str, ...]) -> bool:
    return any(is_below(path, root) for root in roots)


def _in_git(path: str, roots: tuple[str, ...]) -> bool:
    """Whether a path leads into a `.git` of a root that holds it."""
    return any(is_below(path, root) and lies_in_git(path, root) for root in roots)


def _real(roots: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(os.path.realpath, roots))


def _shown(roots: tuple[str, ...]) -> str:
    return " and ".join(roots) or "what this run may read"
