"""What is there of any kind, as the infrastructure itself would list it: the contract of a runtime that can say.

Which columns there are and what stands in them is up to the server, for kinds that it got a definition of as well: that
is what `kubectl get` shows. Nothing is changed by any of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from runtimes.base.resource import KubernetesId
from runtimes.base.runtime import Occurrence


@dataclass(frozen=True, slots=True)
class LiveKind:
    """A kind that is served and can be listed. `plural` is its name, `aliases` are what else it goes by."""

    api_version: str
    kind: str
    plural: str
    is_namespaced: bool
    aliases: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def names(self) -> tuple[str, ...]:
        """All that somebody may call it: `deployments`, `deployment`, `deploy`, `deployments.apps`."""
        every = (self.plural, *self.aliases, self.kind.lower(), f"{self.plural}.{self.group}" if self.group else "")
        return tuple(dict.fromkeys(filter(None, every)))


@dataclass(frozen=True, slots=True)
class LiveColumn:
    """`is_wide`: it is of interest only to somebody who has the room. `text_type` is integer, number, date, string."""

    name: str
    text_type: str = "string"
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class LiveRow:
    """One object: `cells` as the server fills them, one a column."""

    id: KubernetesId
    uid: str
    cells: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiveTable:
    """`is_whole` is False where there are more objects than were read."""

    kind: LiveKind
    columns: tuple[LiveColumn, ...]
    rows: tuple[LiveRow, ...] = ()
    is_whole: bool = True


@runtime_checkable
class Listable(Protocol):
    """A runtime that lists objects of any kind that it serves."""

    async def kinds(self) -> tuple[LiveKind, ...]:
        """Returns what is served as lists, each kind once, whether or not its user may list it."""

    async def events(self, id_: KubernetesId, uid: str) -> tuple[Occurrence, ...]:
        """Returns what was reported of one object, in no order. Raises `Forbidden`, ..."""

    async def table(self, kind: LiveKind, namespace: str = "", *, most: int = 5000) -> LiveTable:
        """Lists a namespace, "" for all of them. Raises `Forbidden`, `NotThere` (no such kind any more), ..."""
