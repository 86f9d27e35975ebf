"""Packages kept between loads, taken again while nothing they were read from has changed.

A package is known with the stamp of everything its loading looked at: its files, and the files and folders its imports
were looked for in. A stamp is a `stat` on a real disk, so a load whose files are all known reads none of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from kcl.diagnostics import Span
from kcl.memo.inputs import Leads
from kcl.records import dataclass, field
from kcl.source import FileSystem, is_normal

if TYPE_CHECKING:
    from kcl.loader.folders import Found
    from kcl.loader.program import Imported, Package

_MOST_CLOSURES: Final = 256
"""Each is a few hundred paths with their stamps; what its packages are made of is shared."""


@dataclass(frozen=True, slots=True)
class Rests:
    """What something known rests on; `Stamps.hold` says whether it still does."""

    stamps: Mapping[str, Hashable | None]
    """By each path looked at."""
    leads: Mapping[str, str]
    """Where the folders lead that these paths lie in, and links among them: a package may get out of its root so."""
    is_normal: bool = False
    """Whether none of those paths needs to be normalized."""


@dataclass(frozen=True, slots=True)
class Known:
    """What loading one package gave."""

    package: Package
    imported: tuple[Found, ...]
    """The packages its files import, in order."""
    importers: Mapping[str, tuple[tuple[str, Span], ...]]
    """For each of its files the single files it imports, with the places of the imports."""
    sources: Mapping[str, str]
    rests: Rests


@dataclass(frozen=True, slots=True)
class KnownImports:
    """What loading all imported packages of a program gave."""

    imported: Imported
    importers: Mapping[str, tuple[tuple[str, Span], ...]]
    sources: Mapping[str, str]
    rests: Rests


def joined(imported: Imported, parts: Sequence[Known]) -> KnownImports:
    """What is known of several packages together, whose paths are all normal."""
    importers: dict[str, tuple[tuple[str, Span], ...]] = {}
    sources: dict[str, str] = {}
    stamps: dict[str, Hashable] = {}
    leads: dict[str, str] = {}
    for part in parts:
        for path, targets in part.importers.items():
            importers[path] = (*importers.get(path, ()), *targets)
        sources.update(part.sources)
        stamps.update(part.rests.stamps)
        leads.update(part.rests.leads)
    return KnownImports(imported, importers, sources, Rests(stamps, leads, is_normal=True))


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
    places: dict[Hashable, tuple[Found | None, Rests]] = field(default_factory=dict)
    """Where imports lead, by the import and where it stands."""
    closures: dict[Hashable, KnownImports] = field(default_factory=dict)
    """All that main packages import, by what they import themselves; the last one kept is the last."""

    def keep(self, key: Hashable, known: KnownImports) -> None:
        """Keeps what a main package imports; of very many such lists the oldest go."""
        self.closures.pop(key, None)
        while len(self.closures) >= _MOST_CLOSURES:
            self.closures.pop(next(iter(self.closures)), None)
        self.closures[key] = known


class Stamps:
    """The stamps of one load, whose request gives these `texts`: a path is looked at once, whatever rests on it."""

    def __init__(self, file_system: FileSystem, texts: Mapping[str, str], leads: Leads) -> None:
        self._fs = file_system
        self._texts = texts
        self._leads = leads
        self._taken: dict[str, Hashable | None] = {}

    def of(self, path: str) -> Hashable | None:
        """As `FileSystem.stamp`, the first time it was asked in this load."""
        if path not in self._taken:
            self._taken[path] = self._fs.stamp(path)
        return self._taken[path]

    def look_at(self, paths: Iterable[str]) -> None:
        """Looks at paths that need no normalizing at once, as far as they were not asked for yet."""
        taken = self._taken
        taken.update(self._fs.stamps([path for path in paths if path not in taken]))

    def rests(self, stamps: Mapping[str, Hashable | None], others: Iterable[str] = ()) -> Rests | None:
        """What rests on these paths, and on where `others` lie; None for what no later load could tell to be so."""
        if None in stamps.values() or self._is_given(stamps):
            return None
        return Rests({**stamps}, self._leads.around((*stamps, *others)), all(map(is_normal, stamps)))

    def hold(self, rests: Rests) -> bool:
        """Whether nothing is given as a text instead, all stamps are those of now, and folders lead where they led."""
        stamps, taken = rests.stamps, self._taken
        if self._is_given(stamps):
            return False
        if not stamps.keys() <= taken.keys():
            if rests.is_normal:
                self.look_at(stamps)
            elif not all(self.of(path) == stamp for path, stamp in stamps.items()):
                return False
        return stamps.items() <= taken.items() and self._leads.hold(rests.leads)

    def _is_given(self, paths: Mapping[str, object]) -> bool:
        return bool(self._texts) and not self._texts.keys().isdisjoint(paths)
