"""Packages kept between loads, taken again while nothing they were read from has changed.

A package is known with the stamp of everything its loading looked at: its files, and the files and folders its imports
were looked for in. A stamp is a `stat` on a real disk, so a load whose files are all known reads none of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kcl.diagnostics import Span
from kcl.source import FileSystem

if TYPE_CHECKING:
    from kcl.loader.load import Found
    from kcl.loader.program import Package


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


@dataclass(slots=True)
class KnownPackages:
    """Safe to share between threads (an entry is replaced whole)."""

    entries: dict[tuple[Found, bool, Hashable], Known] = field(default_factory=dict)
    """By where a package was found and whether its strings lose their indentation."""
    places: dict[Hashable, tuple[Found | None, Mapping[str, Hashable | None]]] = field(default_factory=dict)
    """Where imports lead and what that rests on, by the import and where it stands."""


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
        return all(self.of(path) == stamp for path, stamp in stamps.items())
