"""The loader's queries: packages, and the targets of imports, cached while nothing they were read from has changed.

They depend on the stamps of every path that was looked at, files, folders and paths where nothing was found, and on the
links that lead to these folders. A stamp stands for the content, so a load whose packages are all cached reads none of
their files. How packages are found and parsed is provided by each load (`load.py`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Final

from kcl.diagnostics import Span
from kcl.memo.queries import Input, Query
from kcl.records import dataclass, field

if TYPE_CHECKING:
    from kcl.loader.folders import Found
    from kcl.loader.program import Imported, Package

_MOST_CLOSURES: Final = 256
"""Each is a few hundred paths with their stamps; what its packages are made of is shared."""

Surroundings = tuple[str, frozenset[tuple[str, str]]]
"""What dotted imports depend on beside the root of their own package: the program's, and packages outside of it."""


ImportKey = tuple[str, int, tuple[str, ...], str, str, str | None]
"""The key of an import: the folder it starts from, the dots it begins with, and the names in it; the root and the
prefix of the package that imports; the folder outside of the program that the first name means, None for none."""


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """Where an import leads, None if nothing is there, and the paths that were looked at."""

    found: Found | None
    is_ambiguous: bool
    """Whether the names mean a package of the program and one outside of it."""
    looked_at: frozenset[str]


@dataclass(slots=True)
class Files:
    """What was found while files were loaded, in order. Those of a cached package are never changed."""

    imported: dict[Found, None] = field(default_factory=dict)
    """The packages they import."""
    importers: dict[str, list[tuple[Found, Span]]] = field(default_factory=dict)
    """By file, the packages it imports, with the places of the imports."""
    sources: dict[str, str] = field(default_factory=dict)
    looked_at: set[str] = field(default_factory=set)

    def add(self, others: Files) -> None:
        """Adds what came up with others, whose imports are somebody else's."""
        for path, targets in others.importers.items():
            self.importers.setdefault(path, []).extend(targets)
        self.sources.update(others.sources)
        self.looked_at |= others.looked_at


@dataclass(frozen=True, slots=True)
class LoadedPackage:
    """One package, and what was found while it was loaded."""

    package: Package
    files: Files


@dataclass(frozen=True, slots=True)
class LoadedImports:
    """All imported packages of a program, and what was found while they were loaded."""

    imported: Imported
    files: Files
    has_circles: bool
    """Whether some of them import one another."""


PackageKey = tuple["Found", bool, Surroundings]
"""Where a package was found, whether its strings lose their indentation, and among which others it is."""


def _is_same_fact(before: Hashable | None, now: Hashable | None) -> bool:
    return before is not None and before == now


def _is_of_disk(stamp: Hashable | None) -> bool:
    """Whether a stamp is of a file, a folder or nothing on disk, and not of what somebody holds in memory."""
    return stamp is False or (isinstance(stamp, tuple) and len(stamp) == 5 and all(type(each) is int for each in stamp))


STAMP: Final[Input[str, Hashable | None]] = Input("stamp", _is_same_fact, at_once=True, is_lasting=_is_of_disk)
"""As `FileSystem.stamp`, of a path that needs no normalizing."""
ODD_STAMP: Final[Input[str, Hashable | None]] = Input("stamp of an odd path", _is_same_fact, is_lasting=_is_of_disk)
"""The same of any other path."""
LEAD: Final[Input[str, str]] = Input("lead", at_once=True)
"""Where a folder leads that a path lies in, or a link among them: a package may get out of its root so."""


def _is_same_package(before: LoadedPackage, now: LoadedPackage) -> bool:
    mine, other = before.package, now.package
    return mine.directory == other.directory and mine.is_same(other) and before.files == now.files


def _are_same_imports(before: LoadedImports, now: LoadedImports) -> bool:
    mine, other = before.imported.packages, now.imported.packages
    return [*map(id, mine.values())] == [*map(id, other.values())] and before.files == now.files


IMPORT_TARGET: Final[Query[ImportKey, ImportTarget]] = Query("place of an import")
PACKAGE: Final[Query[PackageKey, LoadedPackage]] = Query("package", is_same=_is_same_package)
IMPORTED: Final[Query[tuple[tuple[Found, ...], bool, Surroundings], LoadedImports]] = Query(
    "imported packages", is_same=_are_same_imports, most=_MOST_CLOSURES
)
"""All that main packages import, by what they import themselves."""
