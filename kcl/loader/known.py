"""Packages kept between loads, taken again while nothing they were read from has changed.

A package is known with the stamp of everything its loading looked at: its files, and the files and folders its imports
were looked for in. A stamp is a `stat` on a real disk, so a load whose files are all known reads none of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from kcl.diagnostics import Span
from kcl.records import dataclass, field
from kcl.source import FileSystem

if TYPE_CHECKING:
    from kcl.loader.folders import Found
    from kcl.loader.program import Imported, Package

_MOST_CLOSURES: Final = 256
"""Each is a few hundred paths with their stamps; what its packages are made of is shared."""


@dataclass(frozen=True, slots=True)
class Known:
    """What loading one package gave, and what that rests on."""

    package: Package
    imported: tuple[Found, ...]
    """The packages its files import, in order."""
    importers: Mapping[str, tuple[tuple[str, Span], ...]]
    """For each of its files the single files it imports, with the places of the imports."""
    sources: Mapping[str, str]
    stamps: Mapping[str, Hashable]
    """By each path looked at."""
    leads: Mapping[str, str]
    """Where the folders lead that these paths lie in, and links among them: a package may get out of its root so."""
    is_normal: bool = True
    """Whether none of those paths needs to be normalized."""


@dataclass(frozen=True, slots=True)
class KnownImports:
    """What loading all imported packages of a program gave, and what that rests on."""

    imported: Imported
    importers: Mapping[str, tuple[tuple[str, Span], ...]]
    sources: Mapping[str, str]
    stamps: Mapping[str, Hashable]
    """Those of all its packages; of paths that need no normalizing."""
    leads: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class KnownPlace:
    """Where an import leads, and what that rests on."""

    found: Found | None
    stamps: Mapping[str, Hashable | None]
    leads: Mapping[str, str]


def joined(imported: Imported, parts: Sequence[Known]) -> KnownImports:
    """What is known of several packages together."""
    importers: dict[str, tuple[tuple[str, Span], ...]] = {}
    sources: dict[str, str] = {}
    stamps: dict[str, Hashable] = {}
    leads: dict[str, str] = {}
    for part in parts:
        for path, targets in part.importers.items():
            importers[path] = (*importers.get(path, ()), *targets)
        sources.update(part.sources)
        stamps.update(part.stamps)
        leads.update(part.leads)
    return KnownImports(imported, importers, sources, stamps, leads)


class PackagesElsewhere(Protocol):
    """Packages that other processes loaded, by where they were found, how, and among which others."""

    def read(self, found: Found, dedent: bool, surroundings: Hashable) -> Known | None:
        """What was kept; whether it still holds is for the caller to see."""

    def keep(self, found: Found, dedent: bool, surroundings: Hashable, known: Known) -> None:
        """Notes one for them."""


@dataclass(slots=True)
class KnownPackages:
    """Safe to share between threads (an entry is replaced whole)."""

    entries: dict[tuple[Found, bool, Hashable], Known] = field(default_factory=dict)
    """By where a package was found and whether its strings lose their indentation."""
    places: dict[Hashable, KnownPlace] = field(default_factory=dict)
    """By the import and where it stands."""
    closures: dict[Hashable, KnownImports] = field(default_factory=dict)
    """All that main packages import, by what they import themselves; the last one kept is the last. Paths in it need no
    normalizing."""

    def keep(self, key: Hashable, known: KnownImports) -> None:
        """Keeps what a main package imports; of very many such lists the oldest go."""
        self.closures.pop(key, None)
        while len(self.closures) >= _MOST_CLOSURES:
            self.closures.pop(next(iter(self.closures)), None)
        self.closures[key] = known


class Stamps:
    """The stamps of one load: a path is asked for once, however many packages rest on it."""

    def __init__(self, file_system: FileSystem) -> None:
        self._fs = file_system
        self._taken: dict[str, Hashable | None] = {}

    def of(self, path: str) -> Hashable | None:
        """As `FileSystem.stamp`, the first time it was asked in this load."""
        if path not in self._taken:
            self._taken[path] = self._fs.stamp(path)
        return self._taken[path]

    def still(self, stamps: Mapping[str, Hashable | None]) -> bool:
        """Whether these are the stamps of now."""
        if stamps.keys() <= self._taken.keys():
            return stamps.items() <= self._taken.items()
        return all(self.of(path) == stamp for path, stamp in stamps.items())

    def unchanged(self, stamps: Mapping[str, Hashable | None]) -> bool:
        """As `still` for very many paths that need no normalizing."""
        self.look_at(stamps)
        return stamps.items() <= self._taken.items()

    def look_at(self, paths: Iterable[str]) -> None:
        """Looks at paths that need no normalizing at once, as far as they were not asked for yet."""
        taken = self._taken
        taken.update(self._fs.stamps([path for path in paths if path not in taken]))
