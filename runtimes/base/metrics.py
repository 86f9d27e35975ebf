"""How much pods and nodes use: the contract of a runtime that may know."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol, runtime_checkable

from kcl.records import dataclass
from runtimes.base.tables import LiveKind


@dataclass(frozen=True, slots=True)
class Usage:
    """Over the last moments: thousandths of a CPU, and bytes of memory."""

    cpu_millis: int
    memory_bytes: int


@runtime_checkable
class Measurable(Protocol):
    """A runtime that may know what pods and nodes use."""

    async def usage(self, kind: LiveKind, namespaces: Collection[str] = ()) -> Mapping[tuple[str, str], Usage] | None:
        """Returns it by namespace and name, of all namespaces where none is named; None where nothing measures it,
        or nobody would for this kind. Raises `RuntimeFailure`."""
