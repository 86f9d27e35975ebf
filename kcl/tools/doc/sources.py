"""The files that are documented: which packages they make, what is in them, and where their imports lead."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kcl.diagnostics import KclError
from kcl.loader import MANIFEST_NAME, Manifest, find_root, read_manifest
from kcl.loader.dependencies import find_dependencies
from kcl.loader.folders import PackageFolders, is_package_file
from kcl.records import dataclass, field
from kcl.regular import read_regular
from kcl.source import FileSystem, OsFileSystem, OutsideBounds, SourceFile
from kcl.syntax import ast, parse
from kcl.terminal import harmless
from kcl.tools.doc.model import Problem
from kcl.tools.paths import BELOW, NoFiles, found

MOST_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Parsed:
    """One file without errors. `shown` is its path relative to the module; `imports` lead from aliases to files."""

    path: str
    shown: str
    source: SourceFile
    tree: ast.Module
    imports: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Folder:
    """A package on the disk, all paths absolute. `problems` are of files that are missing from `files`."""

    path: str
    root: str
    files: tuple[Parsed, ...]
    problems: tuple[Problem, ...]
    names: tuple[str, ...]
    """All files of it, also those that cannot be read, relative to the module."""


@dataclass(slots=True)
class Root:
    """A folder that imports start from, and what its kcl.mod says."""

    path: str
    manifest: Manifest
    packages: Mapping[str, str] = field(default_factory=dict)
    """Folders of other packages, by the names that imports have for them."""
    problem: Problem | None = None


class Sources:
    """Reads packages. What was read stays the same for as long as this lives."""

    def __init__(
        self,
        *,
        downloaded: str | None = None,
        packages: Mapping[str, str] | None = None,
        file_system: FileSystem | None = None,
    ) -> None:
        self._files = file_system or OsFileSystem()
        self._folders = PackageFolders(self._files, frozenset())
        self._downloaded = downloaded
        self._packages = packages or {}
        self.roots: dict[str, Root] = {}

    def folders(self, paths: Sequence[str], cwd: str) -> list[Folder]:
        """The packages that paths name, in the order of their paths. Raises NoFiles where there are none."""
        wanted: dict[str, dict[str, None]] = {}
        roots: dict[str, str] = {}
        for named in paths:
            start, files = named_files(named, cwd)
            for path in files:
                folder = os.path.dirname(path)
                wanted.setdefault(folder, {})[path] = None
                if folder not in roots:
                    roots[folder] = find_root(folder, self._files) or start
        return [self._folder(folder, roots[folder], sorted(files)) for folder, files in sorted(wanted.items())]

    def _folder(self, path: str, root: str, files: Sequence[str]) -> Folder:
        place = self._root(root)
        parsed: list[Parsed] = []
        problems: list[Problem] = []
        for each in files:
            read = self._read(each, place)
            if isinstance(read, Problem):
                problems.append(read)
            else:
                parsed.append(read)
        names = tuple(_shown(each, root) for each in files)
        return Folder(path, root, tuple(parsed), tuple(problems), names)

    def _root(self, path: str) -> Root:
        if path not in self.roots:
            self.roots[path] = self._read_root(path)
        return self.roots[path]

    def _read_root(self, path: str) -> Root:
        try:
            manifest = read_manifest(path, self._files)
            known = find_dependencies(path, manifest, self._files, downloaded=self._downloaded, vendored=False)
        except (KclError, OSError) as problem:
            message = problem.diagnostics[0].message if isinstance(problem, KclError) else str(problem)
            place = Problem(path, MANIFEST_NAME, 0, f"cannot be used: {harmless(message)}")
            return Root(path, Manifest(None), dict(self._packages), place)
        folders = {name: each.folder for name, each in known.items() if each.folder is not None}
        return Root(path, manifest, {**folders, **self._packages})

    def _read(self, path: str, root: Root) -> Parsed | Problem:
        shown = _shown(path, root.path)
        if not (os.path.realpath(path) + os.sep).startswith(os.path.realpath(root.path).rstrip(os.sep) + os.sep):
            return Problem(root.path, shown, 0, "is a link that leads out of the module, and is left out")
        try:
            data = read_regular(path, MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                return Problem(root.path, shown, 0, f"is larger than {MOST_BYTES >> 20} MiB, which no program is")
            source = SourceFile(shown, data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n"))
        except OSError as problem:
            return Problem(root.path, shown, 0, f"cannot be read: {problem.strerror}")
        except UnicodeDecodeError as problem:
            line = data.count(b"\n", 0, problem.start) + 1
            return Problem(
                root.path, shown, line, f"byte 0x{data[problem.start]:02x} is not UTF-8; save the file as UTF-8"
            )
        result = parse(source)
        if result.diagnostics:
            first = result.diagnostics[0]
            line = source.position(first.primary.start).line if first.primary is not None else 0
            return Problem(root.path, shown, line, harmless(" ".join(first.message.split())))
        return Parsed(path, shown, source, result.module, dict(self._imports(path, root, result.module)))

    def _imports(self, path: str, root: Root, tree: ast.Module) -> Iterator[tuple[str, frozenset[str]]]:
        for statement in tree.imports():
            if statement.names:
                try:
                    yield statement.name, frozenset(self._imported(statement, path, root))
                except (OutsideBounds, OSError, ValueError):
                    continue  # what lies elsewhere has no page

    def _imported(self, statement: ast.Import, path: str, root: Root) -> Sequence[str]:
        """The files that an import leads to, by the rules of the loader: a package's own folders come first."""
        names = statement.names
        if statement.level:
            start = os.path.dirname(path)
            for _ in range(statement.level - 1):
                start = os.path.dirname(start)
            inside = self._folders.inside(os.path.join(start, *names), root.path, "", _nothing)
            return () if inside is None else inside.files
        own = self._folders.inside(os.path.join(root.path, *names), root.path, "", _nothing)
        if own is not None:
            return own.files
        outside = root.packages.get(names[0])
        if outside is None:
            return ()
        other = self._folders.outside(".".join(names), os.path.join(outside, *names[1:]), outside, "", _nothing)
        return () if other is None else other.files


def named_files(named: str, cwd: str) -> tuple[str, list[str]]:
    """The folder that a path names, and the files of packages in it, or below it; a file is taken as it is."""
    start = os.path.normpath(os.path.join(cwd, named.removesuffix(BELOW) or os.curdir))
    files = [os.path.normpath(os.path.join(cwd, each)) for each in found(named, cwd, recursive=False)]
    if not os.path.isdir(start):
        if not start.endswith(".k"):
            raise NoFiles(f"{harmless(named)}: is no file that ends in .k")
        return os.path.dirname(start), files
    of_packages = [each for each in files if is_package_file(os.path.basename(each))]
    if not of_packages:
        raise NoFiles(f"{harmless(named)}: there is no package: only tests, and files whose names begin with _")
    return start, of_packages


def _shown(path: str, root: str) -> str:
    return harmless(os.path.relpath(path, root).replace(os.sep, "/"))


def _nothing(path: str) -> None:
    """Nobody wants to know what an import rests on."""
