"""What this program keeps about itself in a cluster, or a bucket: secrets with records, leases that hold others off.

The third, small contract of a runtime. Every write is sent once and is bound to the version that was read, so that of
two that write at the same time one is refused (`Moved`). A `Runtime` that can keep such things says so by being
`Keeping`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from kcl.records import dataclass, field


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """`version` is empty for one that is to be made. `data` of one that was read may be anything: others write, too.

    `unreadable` says why the content could not be decoded; `data` is empty then.
    """

    namespace: str
    name: str
    type: str
    labels: Mapping[str, str]
    data: Mapping[str, bytes] = field(repr=False)
    annotations: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class Lease:
    """`holder` is empty while nobody holds it. `transitions` counts its holders. `renewed` is RFC 3339, as told."""

    namespace: str
    name: str
    holder: str
    transitions: int
    acquired: str
    renewed: str
    lifetime_seconds: int
    version: str = ""


class RecordKeeper(Protocol):
    """All raise `RuntimeFailure` and nothing else."""

    @property
    def place(self) -> str: ...

    def within(self, namespace: str) -> str:
        """Returns the namespace as people know it."""

    def rights(self, namespace: str) -> str:
        """Says what it takes to keep all of this there."""

    async def secrets(self, namespace: str, labels: Mapping[str, str]) -> tuple[StoredSecret, ...]:
        """Returns all with these labels, in one request where they are few; none where there is no such namespace."""

    async def labels(self, namespace: str, labels: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
        """Returns all labels of each secret with these, however much is in the secrets."""

    async def create_secret(self, secret: StoredSecret) -> str:
        """Makes a secret and returns its version. Raises `Moved` where there is one, `NotThere` without namespace."""

    async def replace_secret(self, secret: StoredSecret) -> str:
        """Replaces that version of a secret and returns the new one. Raises `Moved` or `NotThere`."""

    async def delete_secret(self, namespace: str, name: str, version: str) -> None:
        """Deletes that version of a secret; absent already is success. Raises `Moved`."""

    async def lease(self, namespace: str, name: str) -> Lease | None:
        """Returns None if there is none, or no such namespace."""

    async def write_lease(self, lease: Lease) -> Lease:
        """Makes a lease, or replaces the version it has. Raises `Moved`, `NotThere` without namespace."""

    async def make_namespace(self, name: str) -> None:
        """There already is success."""


@runtime_checkable
class Keeping(Protocol):
    """A runtime that keeps records."""

    @property
    def records(self) -> RecordKeeper: ...
