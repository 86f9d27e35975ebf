"""Provenance as plain data that `marshal` writes. Look-ups in it are in `kcl.evaluator.cached_provenance`.

A container is a node: its keys (None for a list), the nodes below it, the chain of places behind each of them (nothing
if none has any) and the name of its schema. What is shared is there once. Chains are lists of places, and a place is
what `Site` says, lines counted, so that no source file has to be there to answer.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable
from typing import Any, Final

from kcl.evaluator.cached_provenance import NOTHING, SCALAR, CachedProvenance
from kcl.evaluator.provenance import Provenance
from kcl.evaluator.value import UNDEFINED, KDict, KList, SchemaInstance, Sites, Value

_SCALARS: Final = frozenset({type(None), bool, int, float, str})


def packed(provenance: Provenance) -> bytes:
    """Raises ValueError for what has a key, or a name, that is no plain value."""
    return marshal.dumps(_Packing(provenance).whole())


class _Packing:
    """Packs the provenance of one evaluation."""

    def __init__(self, provenance: Provenance) -> None:
        self._provenance = provenance
        self._nodes: list[tuple[Any, ...] | None] = []
        self._numbers: dict[int, int] = {}
        """Of containers, by identity: the provenance holds on to them."""
        self._pending: list[tuple[int, Value]] = []
        self._chains: dict[Sites, int] = {(): 0}
        self._sites: dict[int, int] = {}
        self._keys: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def whole(self) -> tuple[Any, ...]:
        roots = tuple(self._node(each) for each in self._provenance.documents)
        while self._pending:
            number, value = self._pending.pop()
            self._nodes[number] = self._of_dict(value) if isinstance(value, dict) else self._of_list(value)
        chains = [tuple(self._sites.setdefault(site, len(self._sites)) for site in chain) for chain in self._chains]
        plain, givers = self._provenance.table.plain, self._provenance.givers
        sites = [(*each, givers.get(each[-1], "")) for each in map(plain, self._sites)]
        return roots, self._nodes, chains, sites

    def _node(self, value: Value) -> int:
        if not isinstance(value, dict | list):
            return NOTHING if value is UNDEFINED else SCALAR
        number = self._numbers.setdefault(id(value), len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append(None)
            self._pending.append((number, value))
        return number

    def _chain(self, sites: Sites) -> int:
        return self._chains.setdefault(sites, len(self._chains))

    def _of_dict(self, value: dict[Any, Value]) -> tuple[Any, ...]:
        keys = tuple(value)
        chains: tuple[int, ...] = ()
        if isinstance(value, KDict) and (value.sites or value.holder):
            chains = tuple([self._chain(value.sites_of(key)) for key in keys])
        schema = value.schema.name if isinstance(value, SchemaInstance) else None
        return self._keys.setdefault(keys, keys), self._children(value.values()), chains, schema

    def _of_list(self, value: list[Value]) -> tuple[Any, ...]:
        sites = value.sites if isinstance(value, KList) else None
        return None, self._children(value), tuple(map(self._chain, sites)) if sites else (), None

    def _children(self, values: Iterable[Value]) -> tuple[int, ...]:
        return tuple([SCALAR if type(value) in _SCALARS else self._node(value) for value in values])


def portable(provenance: object) -> CachedProvenance:
    """The provenance of a result for another process: it can be pickled, and holds on to no value."""
    if isinstance(provenance, CachedProvenance):
        return provenance
    assert isinstance(provenance, Provenance)
    return CachedProvenance(packed(provenance), provenance.user_files)
