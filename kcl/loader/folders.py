"""Which files a package consists of, by the folder or file that its dotted path leads to.

The rules are the official compiler's. A folder is a package even without files of its own (`import k8s` of a package
that only has folders), and hides a file of the same name. The only file of a folder is that folder's package, whichever
of both is named, so its schemas are the same ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container

from kcl.memo.inputs import Leads
from kcl.records import dataclass, field
from kcl.source import FileSystem, OutsideBounds

Look = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Found:
    """A package that was located but not parsed yet.

    `root` is where its own dotted imports start, `prefix` what their package paths get before them: both differ from
    the program's for files of external packages.
    """

    path: str
    directory: str
    files: tuple[str, ...]
    root: str
    prefix: str
    is_folder: bool = False
    """Whether it was named as a folder, and not as a single file."""

    def __hash__(self) -> int:
        return hash(self.path)  # of few others: all fields would take some times as long, in each look-up


@dataclass(slots=True)
class PackageFolders:
    """Looks for packages, and calls `look` with every path that an answer rests on."""

    file_system: FileSystem
    texts: Container[str]
    """Paths of files whose text is given, and which need not be there."""
    leads: Leads = field(default_factory=Leads)
    _links: dict[str, frozenset[str]] = field(default_factory=dict)

    def inside(self, target: str, root: str, prefix: str, look: Look) -> Found | None:
        """The package of `root` at the path `target`, a folder or a file without its `.k`; None when there is none."""
        look(target)
        if self.file_system.is_dir(target):
            return self._folder(prefix + _dotted(target, root), target, root, prefix)
        file = target + ".k"
        look(file)
        if not self._is_there(file) or not self._lies_inside(file, root):
            return None
        folder = os.path.dirname(file)
        if folder != root:
            look(folder)
            if self._is_only_file(file, folder):
                files = tuple(package_files(folder, self.file_system))
                return Found(prefix + _dotted(folder, root), folder, files, root, prefix)
        return Found(prefix + _dotted(target, root), folder, (file,), root, prefix)

    def outside(self, path: str, target: str, root: str, prefix: str, look: Look) -> Found | None:
        """The package `path` of the external package in `root`, at `target`; None where links lead out of `root`.

        One that is not there has nothing in it: officially what is used of it is refused, and not the import.
        """
        look(target)
        if self.file_system.is_dir(target):
            return self._folder(path, target, root, prefix)
        file = target + ".k"
        look(file)
        if not self._is_there(file):
            return Found(path, target, (), root, prefix, is_folder=True)
        if not self._lies_inside(file, root):
            return None
        return Found(path, os.path.dirname(file), (file,), root, prefix)

    def _folder(self, path: str, folder: str, root: str, prefix: str) -> Found | None:
        """The package in a folder; None where links lead out of `root` with all files of it."""
        files = package_files(folder, self.file_system)
        own = tuple(file for file in files if self._lies_inside(file, root))
        return None if files and not own else Found(path, folder, own, root, prefix, is_folder=True)

    def _is_there(self, file: str) -> bool:
        return file in self.texts or self.file_system.is_file(file)

    def _is_only_file(self, file: str, folder: str) -> bool:
        names = self.file_system.list_dir(folder)
        return [name for name in names if name.endswith(".k") and not name.endswith("_test.k")] == [
            os.path.basename(file)
        ]

    def _lies_inside(self, path: str, root: str) -> bool:
        """Whether no link leads from the file `path` out of the folder `root`.

        Raises OutsideBounds where it leads further than may be looked, which is no mere matter of packages.
        """
        if self._stays_inside(path, root):
            return True
        refusal = self.file_system.refusal(path)
        if refusal is not None:
            raise OutsideBounds(path, refusal)
        return False

    def _stays_inside(self, path: str, root: str) -> bool:
        folder = os.path.dirname(path)
        real_root = self.leads.of(root).rstrip(os.sep) + os.sep
        if not (self.leads.of(folder) + os.sep).startswith(real_root):
            return False
        if folder not in self._links:
            self._links[folder] = _links_in(folder)
        return os.path.basename(path) not in self._links[folder] or os.path.realpath(path).startswith(real_root)


def package_files(folder: str, file_system: FileSystem) -> list[str]:
    """Paths of the files a package in `folder` consists of, sorted; [] when there are none."""
    return [os.path.join(folder, name) for name in file_system.list_dir(folder) if is_package_file(name)]


def is_package_file(name: str) -> bool:
    """Whether a file of this name belongs to the package of its folder: `_x.k` and tests do not."""
    return name.endswith(".k") and not name.endswith("_test.k") and not name.startswith("_")


def _dotted(path: str, root: str) -> str:
    inside = os.path.relpath(path, root)
    return "" if inside == os.curdir else inside.replace(os.sep, ".")


def _links_in(folder: str) -> frozenset[str]:
    """Names of links in a folder of the real disk: one look for all of its files."""
    try:
        with os.scandir(folder) as entries:
            return frozenset(entry.name for entry in entries if entry.is_symlink())
    except OSError:
        return frozenset()
