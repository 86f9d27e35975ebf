"""Packages kept on disk from one process to the next: parsed, with the stamps of all they were read from.

An entry is taken as it is while its stamps hold. Where they do not, each of its trees still stands for its text, so
files that only have other times (a fresh checkout, say) are read and not parsed.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Final

from kcl.cache.entries import entry_name
from kcl.cache.objects import BROKEN, from_bytes, to_bytes
from kcl.diagnostics import Span
from kcl.loader.known import Known

if TYPE_CHECKING:
    from kcl.cache.entries import Entries
    from kcl.loader.folders import Found

_MODULES: Final = ("kcl.diagnostics.", "kcl.loader.", "kcl.source.", "kcl.syntax.")


class KeptPackages:
    """The packages in a store."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    def read(self, found: Found, dedent: bool, surroundings: Hashable) -> Known | None:
        """What was kept of the package at a place; whether it still holds is for the caller to see."""
        data = self._entries.read(self._name(found, dedent, surroundings))
        if data is None:
            return None
        try:
            known = from_bytes(data, _MODULES)
        except BROKEN:
            return None
        return known if isinstance(known, Known) else None

    def keep(self, found: Found, dedent: bool, surroundings: Hashable, known: Known) -> None:
        """Notes a package that was read from disk; what was read from elsewhere is nobody else's business."""
        if all(map(_is_of_disk, known.rests.stamps.values())):
            self._entries.note(self._name(found, dedent, surroundings), lambda: to_bytes(known, {Span: _reduced_span}))

    def _name(self, found: Found, dedent: bool, surroundings: Hashable) -> str:
        place = (found.path, found.directory, found.files, found.root, found.prefix, found.is_folder)
        root, externals = surroundings if isinstance(surroundings, tuple) else (surroundings, ())
        return entry_name("parsed", place, dedent, root, sorted(externals))


def _reduced_span(span: Span) -> object:
    return Span, (span.path, span.start, span.end)


def _is_of_disk(stamp: Hashable) -> bool:
    """Whether a stamp is of a file, a folder or nothing on disk, and not of what somebody holds in memory."""
    return stamp is False or (isinstance(stamp, tuple) and len(stamp) == 5 and all(type(each) is int for each in stamp))
