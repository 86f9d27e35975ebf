"""Which packages an import could have named: looked for only to say what was probably meant."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Final

from kcl.diagnostics import KclError
from kcl.loader.folders import is_package_file
from kcl.loader.load import SYSTEM_MODULES
from kcl.source import FileSystem

_MOST_FOLDERS: Final = 3_000
_DEEPEST: Final = 12


class Neighbours:
    """The packages below the root of a program and in the packages it depends on, by the path that imports them."""

    def __init__(self, root: str, externals: Mapping[str, str], file_system: FileSystem) -> None:
        self._roots = {"": root, **externals}
        self._fs = file_system
        self._packages: dict[str, tuple[str, ...]] | None = None

    def packages(self) -> Mapping[str, tuple[str, ...]]:
        """The files of each, those of single files as well; of very many folders the first."""
        if self._packages is None:
            self._packages = {}
            left = _MOST_FOLDERS
            for name, folder in self._roots.items():
                left = self._walk(folder, name, left)
        return self._packages

    def modules(self) -> Collection[str]:
        """The names of the system modules."""
        return SYSTEM_MODULES

    def text(self, path: str) -> str:
        """The text of a file, "" for one that cannot be read."""
        with suppress(OSError, UnicodeDecodeError, KclError):
            return self._fs.read_text(path)
        return ""

    def _walk(self, root: str, prefix: str, left: int) -> int:
        assert self._packages is not None
        folders = [(root, prefix, 0)]
        while folders and left:
            folder, dotted, depth = folders.pop(0)
            left -= 1
            names: list[str] = []
            with suppress(OSError, KclError):
                names = self._fs.list_dir(folder)
            files = tuple(os.path.join(folder, name) for name in names if is_package_file(name))
            if files and dotted:
                self._packages[dotted] = files
            for file in files:
                self._packages.setdefault(_below(dotted, os.path.basename(file)[:-2]), (file,))
            if depth < _DEEPEST:
                for name in names:
                    if name.isidentifier() and self._is_folder(os.path.join(folder, name)):
                        folders.append((os.path.join(folder, name), _below(dotted, name), depth + 1))
        return left

    def _is_folder(self, path: str) -> bool:
        with suppress(OSError, KclError):
            return self._fs.is_dir(path) and not os.path.islink(path)
        return False


def _below(dotted: str, name: str) -> str:
    return f"{dotted}.{name}" if dotted else name
