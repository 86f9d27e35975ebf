"""A disk that fails: the n-th thing that writes to a folder raises, once or from then on; or a process dies there."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_WRITING = os.O_WRONLY | os.O_RDWR
_BY_HANDLE = ("write", "pwrite", "fsync", "ftruncate")
_BY_PATH = ("open", "link", "rename", "replace")


@dataclass
class FaultyDisk:
    """`operations` are those that were tried below the folder, in order; number `fails_at` is the first to fail.

    A write fails half-way, as on a full disk: what fits is written.
    """

    folder: Path
    fails_at: int
    is_for_good: bool
    operations: list[str] = field(default_factory=list)
    fails_at_name: str = ""
    """What the operation that fails first begins with, where its number is not known."""

    @property
    def has_failed(self) -> bool:
        return len(self.operations) > self.fails_at

    def is_failing(self, name: str) -> bool:
        number = len(self.operations)
        if self.fails_at_name and name.startswith(self.fails_at_name) and number < self.fails_at:
            self.fails_at = number
        self.operations.append(name)
        return number >= self.fails_at if self.is_for_good else number == self.fails_at

    def holds(self, path: object) -> bool:
        return isinstance(path, str | os.PathLike) and os.path.abspath(path).startswith(str(self.folder) + os.sep)


def is_full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def faulty_disk(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    fails_at: int,
    *,
    is_for_good: bool = False,
    fault: Callable[[], None] = is_full,
) -> Iterator[FaultyDisk]:
    """`fault` is what happens in place of the operation; it does not return."""
    disk = FaultyDisk(folder.resolve(), fails_at, is_for_good)

    def by_handle(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(handle: int, *arguments: Any) -> Any:
            try:
                path = os.readlink(f"/proc/self/fd/{handle}")
            except OSError:
                path = ""
            if disk.holds(path) and disk.is_failing(f"{name} {Path(path).name}"):
                if name in ("write", "pwrite"):
                    data, *rest = arguments
                    real(handle, data[: len(data) // 2], *rest)
                fault()
            # flushing for real would only cost time here
            return None if name == "fsync" else real(handle, *arguments)

        return operation

    def by_path(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(path: Any, *arguments: Any, **more: Any) -> Any:
            writes = name != "open" or bool((arguments[0] if arguments else 0) & _WRITING)
            if writes and disk.holds(path) and disk.is_failing(f"{name} {Path(path).name}"):
                fault()
            return real(path, *arguments, **more)

        return operation

    with monkeypatch.context() as patched:
        for name in _BY_HANDLE:
            patched.setattr(os, name, by_handle(name, getattr(os, name)))
        for name in _BY_PATH:
            patched.setattr(os, name, by_path(name, getattr(os, name)))
        yield disk
