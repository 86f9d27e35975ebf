"""What a place has to do that keeps the releases of one stack: list, read, write once, replace, delete, lock.

A folder of this machine does it (`folder`), so do a cluster and a bucket (`kept`); one suite of tests holds for all.
Every write is bound to what was read: a release is made once, and replaced only by whoever read or wrote it last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from kcl.records import dataclass, field
from runtimes.base import ClusterIdentity
from workbench.engine.errors import ReleaseFailure
from workbench.engine.release import Release

KEPT_RELEASES = 20
"""How many a place keeps, besides the last one that succeeded."""


class Overtaken(ReleaseFailure):
    """Somebody else wrote it since it was read: nothing was written."""


class NotAllowed(ReleaseFailure):
    """The place does not let its user keep releases there; the hint says which rights that takes."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record as it was found. `load` reads it; raises `BrokenRecord`.

    `version` is what replacing or deleting it is bound to. `repository` says which one made it: nothing of another is
    ever used. `home` names the place that has the whole of a release, of which only a part is here.
    """

    revision: int
    version: str
    where: str
    load: Callable[[], Release] = field(repr=False, compare=False)
    repository: str = ""
    home: str = ""

    @property
    def is_whole(self) -> bool:
        return not self.home


@dataclass(frozen=True, slots=True)
class Holder:
    """Who asks for a lock. `clusters` are those to be worked on, for whoever is kept out.

    `token` tells this holding from every other one, a random one if it is empty. `ended` is the token of one of which
    this machine knows that its process is gone.
    """

    user: str
    host: str
    pid: int
    clusters: Mapping[str, ClusterIdentity] = field(default_factory=lambda: MappingProxyType({}))
    token: str = ""
    ended: str = ""


class HeldLock(Protocol):
    """A lock that is held."""

    @property
    def token(self) -> str: ...

    def verify(self) -> None:
        """Raises `ReleaseFailure` if it is, or may be, another's by now. Asks nobody further away than the disk."""

    async def check(self) -> None:
        """Asks whether it is still ours, unless that was asked a moment ago; raises `ReleaseFailure` if it is not.

        Where nobody answers, what is known has to do: see `verify`.
        """

    async def renew(self) -> None:
        """Keeps it; raises `ReleaseFailure` if it was lost, or if that can't be found out."""

    async def release(self) -> None:
        """Gives it up, if it is still ours. Never raises: a lock that is left ends by itself."""


class Records(Protocol):
    """The releases of one stack in one place."""

    @property
    def where(self) -> str: ...

    async def entries(self) -> Sequence[Entry]:
        """Returns what is there, newest first, of whatever repository; raises `ReleaseFailure`, `RuntimeFailure`."""

    async def create(self, release: Release, *, home: str = "") -> str:
        """Writes a release that is not there yet and returns its version; raises `Overtaken` if it is."""

    async def replace(self, release: Release, version: str, *, home: str = "") -> str:
        """Writes the release in the place of that version and returns the new one; raises `Overtaken`."""

    async def delete(self, entry: Entry) -> None:
        """Raises `Overtaken` where it was written since; gone already is success."""

    async def lock(self, holder: Holder) -> HeldLock:
        """Raises `Locked` with whoever holds it, or `ReleaseFailure`."""
