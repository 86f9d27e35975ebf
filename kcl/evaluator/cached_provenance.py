"""Look-ups in provenance that was packed: in another process or an earlier run. See `kcl.results.places`, which packs.

It stands on nothing that evaluates: a process that asks another for its values reads it, too.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import Any, Final

from kcl.diagnostics import Span
from kcl.evaluator.sites import Site, SiteKind, ranked

SCALAR: Final = -1
"""Stands for a node where a value is no container."""
NOTHING: Final = -2
"""The node of a value that is Undefined, which an output document does not show."""


def _site(plain: tuple[Any, ...]) -> Site:
    file, line, column, start, end, kind, literal, option, given_by = plain
    written = None if literal is None else Span(file, *literal)
    return Site(file, line, column, SiteKind(kind), Span(file, start, end), written, option, given_by)


class CachedProvenance:
    """Stands for a provenance that was packed, with the same answers; unpacked at the first look-up."""

    __slots__ = ("_packed", "_ranked", "_unpacked", "user_files")

    def __init__(self, packed: bytes, user_files: frozenset[str]) -> None:
        self.user_files: Final = user_files
        self._packed = packed
        self._unpacked: tuple[Any, Any, Any, Any] | None = None
        self._ranked: dict[tuple[int, ...], tuple[Site, ...]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return CachedProvenance, (self._packed, self.user_files)

    def lookup(self, document: int, path: Sequence[str | int]) -> tuple[Site, ...]:
        """As `kcl.evaluator.provenance.Provenance.lookup`."""
        roots, nodes, chains, sites = self._tables()
        if not 0 <= document < len(roots):
            return ()
        at: int = roots[document]
        found: tuple[int, ...] = ()
        for step in path:
            if at < 0:
                return ()
            keys, children, own, _ = nodes[at]
            if keys is None:
                index = _at([index for index, child in enumerate(children) if child != NOTHING], step)
            else:
                index = _at_key(keys, step)
            if index is None:
                return ()
            found = (chains[own[index]] if own else ()) or found
            at = children[index]
        places = self._ranked.get(found)  # elements that one line makes have the same
        if places is None:
            places = self._ranked[found] = ranked([_site(sites[index]) for index in found], self.user_files)
        return places

    def schema(self, document: int, path: Sequence[str | int]) -> str | None:
        """As `kcl.evaluator.provenance.Provenance.schema`."""
        roots, nodes, *_ = self._tables()
        at: int = roots[document] if 0 <= document < len(roots) else SCALAR
        for step in path:
            if at < 0:
                return None
            keys, children, _, _ = nodes[at]
            index = _at(range(len(children)), step) if keys is None else _at_key(keys, step)
            if index is None:
                return None
            at = children[index]
        name: str | None = nodes[at][3] if at >= 0 else None
        return name

    def _tables(self) -> tuple[Any, Any, Any, Any]:
        if self._unpacked is None:
            self._unpacked = marshal.loads(self._packed)
        return self._unpacked


def _at(indexes: Sequence[int], step: str | int) -> int | None:
    return indexes[step] if isinstance(step, int) and -len(indexes) <= step < len(indexes) else None


def _at_key(keys: tuple[Any, ...], step: str | int) -> int | None:
    return keys.index(step) if step in keys else None
