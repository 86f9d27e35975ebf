"""What is there of any kind, as the infrastructure itself would list it: the contract of a runtime that can say.

Which columns there are and what stands in them is up to the server, for kinds that it got a definition of as well: that
is what `kubectl get` shows. Nothing is changed by any of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol, runtime_checkable

from kcl.records import dataclass, field
from runtimes.base.errors import RuntimeFailure
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
class LiveKinds:
    """What is served as lists, each kind once. `silent` are versions of which nobody knows what they have, and why: the
    server behind them is away.
    """

    kinds: tuple[LiveKind, ...]
    silent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiveColumn:
    """`is_wide`: it is of interest only to somebody who has the room. `text_type` is integer, number, date, string."""

    name: str
    text_type: str = "string"
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class LiveRow:
    """One object: `cells` as the server fills them, one a column.

    A cell that counts time stands still until the server fills it again. `created_at` is there where that of the
    column Age counts from it, by the clock of this machine: then its reader can count on.
    """

    id: KubernetesId
    uid: str
    cells: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LiveTable:
    """`is_whole` is False where there are more objects than were read."""

    kind: LiveKind
    columns: tuple[LiveColumn, ...]
    rows: tuple[LiveRow, ...] = ()
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class TableReport:
    """What is known of a kind: `table` as it was `at` a time, None where nothing was ever listed.

    `is_watched`: every change until then is in it; otherwise it is a list, which is read again. While `is_listing`, the
    rest of the first list is on its way. `failure` is why nothing is known since `at`, None while the server is heard.
    """

    table: LiveTable | None = None
    at: datetime | None = None
    is_watched: bool = False
    is_listing: bool = False
    failure: RuntimeFailure | None = None


@runtime_checkable
class Listable(Protocol):
    """A runtime that lists objects of any kind that it serves."""

    async def kinds(self) -> LiveKinds:
        """Returns what is served as lists, whether or not its user may list it."""

    async def events(self, id_: KubernetesId, uid: str) -> tuple[Occurrence, ...]:
        """Returns what was reported of one object, in no order. Raises `Forbidden`, ..."""

    def follow(
        self, kind: LiveKind, namespaces: Collection[str] = (), *, most: int = 20_000
    ) -> AbstractAsyncContextManager[AsyncIterator[TableReport]]:
        """Lists the namespaces, all of them where none is named, and keeps the list up to date while it is open.

        Gives a report after each change, the latest alone to a slow reader. Raises nothing: what a server refuses or
        does not answer is in the reports. Of more than `most` objects the first are read.
        """
