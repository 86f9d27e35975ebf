"""Programs in containers, and their ports: the contract of a runtime that can attach a terminal or forward a port."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from kcl.records import dataclass
from runtimes.base.operations import PodTarget


@dataclass(frozen=True, slots=True)
class ExecRequest:
    """`command` is started as it is, by no shell, in this container, with a terminal of so many columns and rows."""

    pod: PodTarget
    container: str
    command: tuple[str, ...]
    columns: int = 80
    rows: int = 24


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: its `exit_code`, None where it could not be started or nobody knows; `message` says why."""

    exit_code: int | None
    message: str = ""


class RemoteTerminal(Protocol):
    """A program with a terminal. What it writes is bytes for the terminal of its user, as they are."""

    async def read(self) -> bytes:
        """Returns what it wrote next, nothing where it ended. Raises `Unreachable` where the connection is lost."""

    async def write(self, typed: bytes) -> None: ...

    async def resize(self, columns: int, rows: int) -> None: ...

    @property
    def ended(self) -> Ended | None:
        """None while it runs."""


class RemotePort(Protocol):
    """One connection to a port of a pod."""

    async def read(self) -> bytes:
        """Returns what came next, nothing at its end. Raises `RuntimeFailure`, `Unreachable` among them."""

    async def write(self, sent: bytes) -> None: ...


@runtime_checkable
class Attachable(Protocol):
    """A runtime that starts programs in containers, and connects to ports of pods."""

    def execute(self, request: ExecRequest) -> AbstractAsyncContextManager[RemoteTerminal]:
        """Starts a program. Leaving ends the connection. Raises `RuntimeFailure` where it may not, or can't be."""

    def connect_port(self, pod: PodTarget, port: int) -> AbstractAsyncContextManager[RemotePort]:
        """Opens one connection to a port. Raises `RuntimeFailure` where it may not, or can't be."""
