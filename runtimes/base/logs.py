"""What containers write, as it comes: the contract of a runtime that can follow it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol, runtime_checkable

from kcl.records import dataclass, field
from runtimes.base.errors import RuntimeFailure
from runtimes.base.resource import KubernetesId


@dataclass(frozen=True, slots=True)
class LogQuery:
    """`id` is a Pod, or something that selects pods; `container` is one of them, empty for all.

    Of each container the last `tail_lines` are read, all there are where it is None, but none older than
    `since_seconds`. `is_previous`: those of the run before the last restart, which nothing follows.
    """

    id: KubernetesId
    container: str = ""
    is_previous: bool = False
    tail_lines: int | None = 500
    since_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class LogSource:
    pod: str
    container: str

    def __str__(self) -> str:
        return f"{self.pod}/{self.container}"


@dataclass(frozen=True, slots=True)
class LogLine:
    """`at` is when the container wrote it, None where that is not known. `cut_bytes` is what is missing at its end."""

    source: LogSource
    at: datetime | None
    text: str = field(repr=False)
    cut_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LogNote:
    """Where lines may be missing, and why; `source` is None where it is about all of them."""

    source: LogSource | None
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class LogReport:
    """What came since the last report, and how it stands: `sources` are followed or were read to their end.

    `failure` is why nothing is heard since `heard_at`, None while the server is.
    """

    entries: tuple[LogLine | LogNote, ...] = ()
    sources: tuple[LogSource, ...] = ()
    heard_at: datetime | None = None
    failure: RuntimeFailure | None = None


@runtime_checkable
class LogFollowable(Protocol):
    """A runtime that gives what containers write as it comes."""

    def follow_logs(self, query: LogQuery) -> AbstractAsyncContextManager[AsyncIterator[LogReport]]:
        """Raises nothing: what can't be read is in the notes and in `failure`. To a reader that is slower than the
        containers some lines are lost, and a note says how many."""
