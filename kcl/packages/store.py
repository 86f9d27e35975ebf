"""The folder of downloaded packages: each in a folder of its own, named after package and version.

The place and the names are those of the official tool, so that both find what either downloaded.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from kcl.packages.failure import PackageFailure


class Store:
    """A folder of packages that grows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        if name in ("", ".", "..") or "/" in name or "\\" in name or "\0" in name:
            raise PackageFailure(f"'{name}' cannot be the name of a package's folder")
        return self.folder / name

    def put(self, name: str, fill: Callable[[Path], None]) -> Path:
        """The package that `fill` writes into the folder it is given; what was kept under that name is replaced.

        Nobody ever sees half a package: it is written beside the others and renamed.
        """
        target = self.path(name)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".part-", dir=self.folder) as work:
                fresh = Path(work, "new")
                fill(fresh)
                if target.exists():
                    target.replace(Path(work, "old"))
                try:
                    fresh.replace(target)
                except OSError:
                    if not target.is_dir():  # else another process was faster with the same package
                        raise
        except OSError as problem:
            raise PackageFailure(f"cannot keep a package in {self.folder}: {problem.strerror or problem}") from None
        return target

    def copy(self, source: Path, name: str) -> Path:
        return self.put(name, lambda target: _copied(source, target))


def _copied(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True)
