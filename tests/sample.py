"""The sample repository for a test to edit: one copy a process, made what it was again before each test.

At one place, since what evaluates keeps what it learned of the files that are as they were.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final, NamedTuple

SAMPLE: Final = Path(__file__).parents[1] / "sample-konfig"


class _Stamp(NamedTuple):
    inode: int
    mode: int
    size: int
    changed_ns: int


class SampleCopy:
    """A copy in `folder`, which does not exist yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(SAMPLE, folder)
        self._stamps = dict(self._found())

    def restored(self) -> Path:
        """Makes it as it was, whatever was changed, made, renamed, linked or taken away; returns its folder."""
        self.folder.mkdir(exist_ok=True)
        found = dict(self._found())
        for path in sorted(found.keys() - self._stamps.keys(), reverse=True):
            _remove(self.folder / path)
        for path, stamp in self._stamps.items():
            if found.get(path) != stamp:
                self._restore(path)
        return self.folder

    def _restore(self, path: str) -> None:
        source, target = SAMPLE / path, self.folder / path
        if source.is_dir():
            if not target.is_dir() or target.is_symlink():
                _remove(target)
                target.mkdir()
            shutil.copystat(source, target)
        else:
            _remove(target)
            shutil.copy2(source, target)
        self._stamps[path] = _stamp(target)

    def _found(self) -> list[tuple[str, _Stamp]]:
        """What there is, each folder before what is in it. Of a folder its kind and mode count."""
        found = []
        for at, folders, files in os.walk(self.folder):
            for name in sorted(folders) + files:
                path = Path(at, name)
                found.append((path.relative_to(self.folder).as_posix(), _stamp(path)))
        return found


def _stamp(path: Path) -> _Stamp:
    status = path.lstat()
    if path.is_dir() and not path.is_symlink():
        return _Stamp(0, status.st_mode, 0, 0)
    return _Stamp(status.st_ino, status.st_mode, status.st_size, status.st_ctime_ns)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
