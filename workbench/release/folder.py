"""The releases of a stack in a folder of this machine, by the contract that clusters keep them by.

`ReleaseStore` knows the files. A version is the digest of a record's content: of two that replace one, the second finds
another than it read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kcl.regular import read_regular
from workbench.engine.release import Release
from workbench.project import StackPath
from workbench.release.contract import Entry, Holder, Overtaken
from workbench.release.encoding import BrokenRecord, encode
from workbench.release.files import failure, write_atomically
from workbench.release.lock import Lock, guarded
from workbench.release.store import ReleaseStore, record_of


class FolderLock:
    """See `workbench.release.contract.HeldLock`."""

    def __init__(self, lock: Lock) -> None:
        self.lock = lock

    @property
    def token(self) -> str:
        return self.lock.token

    def verify(self) -> None:
        self.lock.verify()

    async def check(self) -> None:
        self.lock.verify()

    async def renew(self) -> None:
        self.lock.renew()

    async def release(self) -> None:
        self.lock.release()


class FolderRecords:
    """See `workbench.release.contract.Records`."""

    def __init__(self, store: ReleaseStore, stack: StackPath) -> None:
        self._store, self._stack = store, stack

    @property
    def where(self) -> str:
        return str(self._store.folder(self._stack))

    async def entries(self) -> Sequence[Entry]:
        return [self._entry(each) for each in reversed(self._store.revisions(self._stack))]

    async def create(self, release: Release, *, home: str = "") -> str:
        return self._write(release, "")

    async def replace(self, release: Release, version: str, *, home: str = "") -> str:
        return self._write(release, version)

    async def delete(self, entry: Entry) -> None:
        path = Path(entry.where)
        with guarded(path.with_name("records.guard")):
            if (now := _version(path)) not in (entry.version, ""):
                raise self._overtaken(entry.revision, now)
            for each in (path, path.with_suffix(".log")):
                try:
                    each.unlink(missing_ok=True)
                except OSError as error:
                    raise failure("cannot be removed", each, error) from error

    async def lock(self, holder: Holder) -> FolderLock:
        return FolderLock(self._store.lock(self._stack, user=holder.user, host=holder.host, clusters=holder.clusters))

    def _write(self, release: Release, version: str) -> str:
        path, data = self._store.record_path(self._stack, release.revision), encode(release)
        with guarded(path.with_name("records.guard")):
            if _version(path) != version:
                raise self._overtaken(release.revision, version)
            write_atomically(path, data)
        return _digest(data)

    def _entry(self, revision: int) -> Entry:
        path = self._store.record_path(self._stack, revision)
        return Entry(revision, _version(path), str(path), partial(_read, self._stack, path))

    def _overtaken(self, revision: int, _version: str) -> Overtaken:
        return Overtaken(
            f"release {revision} was written by somebody else meanwhile", where=self.where, hint="plan again"
        )


def _read(stack: StackPath, path: Path) -> Release:
    try:
        return record_of(stack, path)
    except OSError as error:
        raise BrokenRecord(f"cannot be read ({error.strerror})") from error


def _version(path: Path) -> str:
    """Returns "" for none."""
    try:
        return _digest(read_regular(path))
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise failure("cannot be read", path, error) from error


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
