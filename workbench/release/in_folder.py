"""What is kept in a folder of this machine, by the contract that clusters keep it by (`runtimes.base.records`).

    FOLDER/NAMESPACE/NAME.json     a secret
                    /NAME.lease    a lease
                    /guard         locked by whoever looks and writes: of two that write at once one is refused

Objects are as `stored` has them. A version is the digest of the content.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import anyio.to_thread

from kcl.records import replace
from kcl.regular import read_regular
from runtimes.base import Lease, Misconfigured, Moved, StoredSecret
from workbench.engine.errors import ReleaseFailure
from workbench.release import stored
from workbench.release.files import failure, make_folder, write_atomically
from workbench.release.lock import guarded
from workbench.release.objects import MOST_BYTES

_SECRET, _LEASE = ".json", ".lease"
_NAME = re.compile(r"[a-z0-9.-]{1,300}")
T = TypeVar("T")


class FolderKeeper:
    """See `runtimes.base.records.RecordKeeper`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def place(self) -> str:
        return "this machine"

    def within(self, namespace: str) -> str:
        return str(self._folder / namespace)

    def rights(self, namespace: str) -> str:
        return f"the folder {self.within(namespace)} has to be writable"

    async def secrets(self, namespace: str, labels: Mapping[str, str]) -> tuple[StoredSecret, ...]:
        return await self._on_disk(lambda: tuple(self._secrets(namespace, labels)))

    async def labels(self, namespace: str, labels: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
        return tuple(each.labels for each in await self.secrets(namespace, labels))

    async def create_secret(self, secret: StoredSecret) -> str:
        return await self._write(self._path(secret, _SECRET), stored.secret(secret), "")

    async def replace_secret(self, secret: StoredSecret) -> str:
        return await self._write(self._path(secret, _SECRET), stored.secret(secret), secret.version)

    async def delete_secret(self, namespace: str, name: str, version: str) -> None:
        path = self._folder / namespace / f"{name}{_SECRET}"

        def delete() -> None:
            with guarded(path.with_name("guard")):
                found = _content(path)
                if found is None:
                    return
                if version and _version(found) != version:
                    raise _moved(path)
                try:
                    path.unlink(missing_ok=True)
                except OSError as error:
                    raise failure("cannot be removed", path, error) from error

        await self._on_disk(delete)

    async def lease(self, namespace: str, name: str) -> Lease | None:
        path = self._folder / namespace / f"{name}{_LEASE}"
        data = await self._on_disk(lambda: _content(path))
        if data is None:
            return None
        version = _version(data)
        return stored.read_lease(data, namespace, name, version) or stored.unreadable_lease(namespace, name, version)

    async def write_lease(self, lease: Lease) -> Lease:
        written = await self._write(self._path(lease, _LEASE), stored.lease(lease), lease.version)
        return replace(lease, version=written)

    async def make_namespace(self, name: str) -> None:
        """Folders are made with what is first written there."""

    def _path(self, named: StoredSecret | Lease, ending: str) -> Path:
        return self._folder / named.namespace / f"{named.name}{ending}"

    def _secrets(self, namespace: str, labels: Mapping[str, str]) -> list[StoredSecret]:
        found: list[StoredSecret] = []
        folder = self._folder / namespace
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208 - names only
        except (FileNotFoundError, NotADirectoryError):
            return found
        except OSError as error:
            raise failure("cannot be read", folder, error) from error
        for each in names:
            name = each.removesuffix(_SECRET)
            if name == each or not _NAME.fullmatch(name):
                continue
            data = _content(folder / each)
            read = stored.read_secret(data, namespace, name, _version(data)) if data is not None else None
            if read is not None and (read.unreadable or labels.items() <= read.labels.items()):
                found.append(read)
        return found

    async def _write(self, path: Path, data: bytes, version: str) -> str:
        def write() -> str:
            make_folder(path.parent)
            with guarded(path.with_name("guard")):
                found = _content(path)
                if (_version(found) if found is not None else "") != version:
                    raise _moved(path)
                write_atomically(path, data)
            return _version(data)

        return await self._on_disk(write)

    async def _on_disk(self, work: Callable[[], T]) -> T:
        try:
            return await anyio.to_thread.run_sync(work)
        except ReleaseFailure as error:
            raise Misconfigured(error.message, target=error.where, hint=error.hint) from error


def _content(path: Path) -> bytes | None:
    """Returns None for no file. What is too large, or no file, is broken when it is parsed."""
    try:
        return read_regular(path, MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise failure("cannot be read", path, error) from error


def _version(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _moved(path: Path) -> Moved:
    return Moved("somebody else wrote it meanwhile", target=str(path))
