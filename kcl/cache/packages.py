"""Packages kept on disk from one process to the next: parsed, with the stamps of all they were read from.

An entry is taken as it is while its stamps hold. Where they do not, each of its trees still stands for its text, so
files that only have other times (a fresh checkout, say) are read and not parsed.
"""

from __future__ import annotations

import marshal
from collections.abc import Hashable
from typing import TYPE_CHECKING, Final

from kcl.cache.objects import BROKEN, from_bytes, taken_out, to_bytes
from kcl.cache.runs import compiler
from kcl.diagnostics import Span
from kcl.loader.known import Known
from kcl.memo.digest import blake2b

if TYPE_CHECKING:
    from kcl.cache.store import Store
    from kcl.loader.folders import Found

_MODULES: Final = ("kcl.diagnostics.", "kcl.loader.", "kcl.source.", "kcl.syntax.")


class KeptPackages:
    """The packages in a store, and those that are to be written there once the run is over."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._compiler = compiler()
        self._unwritten: dict[str, Known] = {}

    def read(self, found: Found, dedent: bool, surroundings: Hashable) -> Known | None:
        """What was kept of the package at a place; whether it still holds is for the caller to see."""
        data = self._store.read(self._name(found, dedent, surroundings))
        if data is None:
            return None
        try:
            known = from_bytes(data, _MODULES)
        except BROKEN:
            return None
        return known if isinstance(known, Known) else None

    def keep(self, found: Found, dedent: bool, surroundings: Hashable, known: Known) -> None:
        """Notes a package that was read from disk; what was read from elsewhere is nobody else's business."""
        if all(map(_is_of_disk, known.stamps.values())):
            self._unwritten[self._name(found, dedent, surroundings)] = known

    def write(self) -> None:
        """Writes what was noted."""
        for name, known in taken_out(self._unwritten):
            self._store.write(name, to_bytes(known, {Span: _reduced_span}))

    def _name(self, found: Found, dedent: bool, surroundings: Hashable) -> str:
        place = (found.path, found.directory, found.files, found.root, found.prefix, found.is_folder)
        root, externals = surroundings if isinstance(surroundings, tuple) else (surroundings, ())
        whole = (self._compiler, place, dedent, root, sorted(externals))
        return "parsed-" + blake2b(marshal.dumps(whole, 2), digest_size=20).hexdigest()


def _reduced_span(span: Span) -> object:
    return Span, (span.path, span.start, span.end)


def _is_of_disk(stamp: Hashable) -> bool:
    """Whether a stamp is of a file, a folder or nothing on disk, and not of what somebody holds in memory."""
    return stamp is False or (isinstance(stamp, tuple) and len(stamp) == 5 and all(type(each) is int for each in stamp))
