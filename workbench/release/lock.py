"""One worker a stack at a time.

The lock is a file that says who holds it and until when; its holder renews it while it works. It is stale once that
time is past, or at once if its process on this machine is gone. Looking and taking happen under an flock on a file
beside it, so two cannot take the same stale lock. A holder that slept past its time finds, before its next write,
that the lock is no longer its own (`verify`): its late write is refused, and the new owner's lock stays.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from time import time
from types import MappingProxyType
from typing import Any

import anyio

from kcl.records import dataclass, field
from kcl.regular import read_regular
from runtimes.base import ClusterIdentity
from runtimes.base.documents import load_json
from workbench.engine.errors import Locked, ReleaseFailure
from workbench.engine.tasks import running
from workbench.release.files import failure, make_folder, write_atomically

LIFETIME_SECONDS = 90.0
RENEWAL_SECONDS = 20.0


@dataclass(slots=True)
class Lock:
    """A lock that is held. `release` gives it up; as a context it does so at the end."""

    path: Path
    user: str
    host: str
    token: str
    clusters: Mapping[str, ClusterIdentity] = field(default_factory=dict)
    ended: str = ""
    """The token of the holder before, where its process on this machine is gone."""

    @classmethod
    def acquire(
        cls, folder: Path, *, user: str, host: str, clusters: Mapping[str, ClusterIdentity] = MappingProxyType({})
    ) -> Lock:
        """Takes the lock of a folder; raises `Locked` with its holder, or `ReleaseFailure`.

        `clusters` are those its holder is at work on, for whoever is kept out.
        """
        make_folder(folder)
        lock = cls(folder / "lock", user, host, secrets.token_hex(8), clusters)
        with lock._guard():
            holder = lock._read()
            if holder is not None and not _is_stale(holder, host):
                raise Locked(_described(holder), where=str(folder))
            if holder is not None and _is_dead(holder, host):
                lock.ended = str(holder.get("token") or "")
            try:
                lock._write()
            except ReleaseFailure:
                lock._unwrite()  # it may be there all the same, and this process works on
                raise
        return lock

    @classmethod
    def gone(cls, folder: Path, host: str) -> str:
        """Returns the token of the holder of a folder's lock whose process on this machine is gone, empty for none."""
        holder = cls(folder / "lock", "", host, "")._read()
        return str(holder.get("token") or "") if holder is not None and _is_dead(holder, host) else ""

    def renew(self) -> None:
        """Moves the end of its time on; raises `ReleaseFailure` if it was lost."""
        with self._guard():
            self._check()
            self._write()

    def verify(self) -> None:
        """Raises `ReleaseFailure` if somebody else has taken the lock since."""
        with self._guard():
            self._check()

    def release(self) -> None:
        """Gives the lock up, if it is still ours. Never raises: the work is done, and a lock left goes stale."""
        with suppress(ReleaseFailure, OSError), self._guard():
            self._unwrite()

    def _unwrite(self) -> None:
        with suppress(ReleaseFailure, OSError):
            holder = self._read()
            if holder is not None and holder.get("token") == self.token:
                self.path.unlink(missing_ok=True)

    def _check(self) -> None:
        holder = self._read()
        if holder is None or holder.get("token") != self.token:
            if holder is None:
                raise ReleaseFailure(
                    "the lock is gone: somebody took it away while it was held",
                    where=str(self.path),
                    hint="whoever did may be at work now; look (wb release list STACK), and plan again",
                )
            raise ReleaseFailure(
                f"the lock was taken over by {_described(holder)}",
                where=str(self.path),
                hint="this process was held up for too long; plan again",
            )

    def _write(self) -> None:
        content = {
            "token": self.token,
            "user": self.user,
            "host": self.host,
            "pid": os.getpid(),
            "taken": time(),
            "until": time() + LIFETIME_SECONDS,
            "clusters": {name: each.to_mapping() for name, each in self.clusters.items()},
        }
        write_atomically(self.path, json.dumps(content).encode())

    def _read(self) -> dict[str, Any] | None:
        """Returns None for no lock, and for one that is not readable: nobody can renew such."""
        try:
            content = load_json(read_regular(self.path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise failure("cannot be read", self.path, error) from error
        except ValueError:
            return None
        return content if isinstance(content, dict) else None

    def _guard(self) -> AbstractContextManager[None]:
        return guarded(self.path.with_name("lock.guard"))


@contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Holds off every other process that asks for the same file; raises `ReleaseFailure`."""
    make_folder(path.parent)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise failure("cannot be opened", path, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def held(lock: Lock) -> Iterator[Lock]:
    """Releases a lock at the end; for what is over before it would have to be renewed."""
    try:
        yield lock
    finally:
        lock.release()


@asynccontextmanager
async def renewing(lock: Lock) -> AsyncIterator[None]:
    """Keeps the lock alive. A lost one is noticed by the journal's next write, which stops the apply."""

    async def renew() -> None:
        while True:
            await anyio.sleep(RENEWAL_SECONDS)
            try:
                await anyio.to_thread.run_sync(lock.renew)
            except ReleaseFailure:
                return

    async with running(renew):
        yield


def _is_stale(holder: dict[str, Any], host: str) -> bool:
    until = holder.get("until")
    if not isinstance(until, int | float) or until < time():
        return True
    return _is_dead(holder, host)


def _is_dead(holder: dict[str, Any], host: str) -> bool:
    pid = holder.get("pid")
    return holder.get("host") == host and isinstance(pid, int) and not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # or a number that no process has
        return False
    except PermissionError:
        return True
    return True


def _described(holder: dict[str, Any]) -> str:
    from datetime import UTC, datetime

    taken, since = holder.get("taken"), "?"
    with suppress(ValueError, OverflowError, OSError):
        if isinstance(taken, int | float):
            since = datetime.fromtimestamp(taken, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    who = f"{holder.get('user')}@{holder.get('host')} pid {holder.get('pid')} since {since}"
    said = f"{who}{_at_work_on(holder.get('clusters'))}"
    return "".join(each for each in said if each.isprintable())


def _at_work_on(clusters: Any) -> str:
    """Returns nothing for locks of older versions, and for what is no identity: only the holder matters then."""
    try:
        named = [f"{name} ({ClusterIdentity.of_mapping(each)})" for name, each in dict(clusters or {}).items()]
    except (TypeError, ValueError):
        return ""
    return f", at work on {', '.join(named)}" if named else ""
