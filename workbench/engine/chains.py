"""What a Spec is told of the lines behind its values: the provenance of an evaluation, wherever that was made."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.engine.spec import Chain, Lookup, SourceSite

if TYPE_CHECKING:
    # a process that asks another to compile reads what it is told, and loads nothing that evaluates
    from kcl import api

_OPTION: Final = "option"


def lookup_in(provenance: api.Provenance, before: int = 0) -> Lookup:
    """What a Spec asks for the chain behind a value; `before` documents of the result are none of its own."""

    made: dict[int, tuple[tuple[api.Site, ...], Chain]] = {}  # by the identity of what is beside it, and so stays

    def chain(document: int, path: tuple[str | int, ...]) -> Chain:
        found = provenance.lookup(document + before, path)
        known = made.get(id(found))
        if known is None or known[0] is not found:
            chain = tuple(SourceSite(path_of(each.file), each.line, each.column, _kind(each)) for each in found)
            known = made[id(found)] = found, chain
        return known[1]

    return chain


@lru_cache(maxsize=1 << 14)
def path_of(name: str) -> Path:
    """Of a stack's hundreds of files most are those of the compilation before; making and hashing a Path takes long."""
    return Path(name)


@lru_cache(maxsize=1 << 6)
def paths_of(names: frozenset[str]) -> frozenset[Path]:
    """The paths of a compilation, which are those of the one before unless an edit imports something else."""
    return frozenset(map(path_of, names))


def _kind(site: api.Site) -> str:
    """What a place did, in a word; of an option also its name and who gave it."""
    if site.kind != _OPTION or not site.option:
        return site.kind.value
    return f"option {site.option} from {site.given_by}" if site.given_by else f"option {site.option}"
