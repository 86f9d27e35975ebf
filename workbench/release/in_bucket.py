"""What is kept in a bucket (`objects`), by the contract that clusters keep it by (`runtimes.base.records`).

    PREFIX/wb-release-PROJECT-STACK-DIGEST/     what there is of a stack; here called its namespace
        NAME.json                               a secret: a release, or a further piece of one
        NAME.lease                              a lease

An object is as `stored` has it. To delete is two writes, as stores delete without asking for a version: the object is
marked as deleted, bound to its version, and then removed. Nobody ever writes over one that is marked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

import anyio

from kcl.records import replace
from runtimes.base import Lease, NotThere, RuntimeFailure, StoredSecret
from workbench.bucket_url import BucketUrl
from workbench.release import stored
from workbench.release.objects import MOST_BYTES, Objects
from workbench.release.packing import STACK_NAMES

_SECRET, _LEASE = ".json", ".lease"
_NAME = re.compile(r"[a-z0-9.-]{1,300}")
_AT_ONCE = 16


class BucketKeeper:
    """See `runtimes.base.records.RecordKeeper`."""

    def __init__(self, url: BucketUrl) -> None:
        self._objects = Objects(url)
        self._deleted: set[str] = set()

    @property
    def place(self) -> str:
        return self._objects.place

    def within(self, namespace: str) -> str:
        return f"folder {namespace} of {self.place}"

    def rights(self, namespace: str) -> str:
        return "it takes the rights to list the bucket, and to read, write and delete objects below that prefix"

    async def namespaces(self) -> tuple[str, ...]:
        """Returns those of all stacks that have anything there, of whatever repository."""
        return await self._objects.folders(STACK_NAMES)

    async def secrets(self, namespace: str, labels: Mapping[str, str]) -> tuple[StoredSecret, ...]:
        found: list[StoredSecret] = []
        limiter = anyio.CapacityLimiter(_AT_ONCE)

        async def read(key: str, name: str, size: int) -> None:
            async with limiter:
                each = await self._secret(key, namespace, name, size)
            if each is not None and (each.unreadable or labels.items() <= each.labels.items()):
                found.append(each)

        try:
            async with anyio.create_task_group() as tasks:
                for each in await self._objects.list(namespace):
                    name = each.key.rpartition("/")[2].removesuffix(_SECRET)
                    if each.key.endswith(_SECRET) and _NAME.fullmatch(name):
                        tasks.start_soon(read, each.key, name, each.size)
        except BaseExceptionGroup as group:
            raise _first(group) from None
        return tuple(found)

    async def labels(self, namespace: str, labels: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
        return tuple(each.labels for each in await self.secrets(namespace, labels))

    async def create_secret(self, secret: StoredSecret) -> str:
        return await self._objects.write(_key(secret), stored.secret(secret))

    async def replace_secret(self, secret: StoredSecret) -> str:
        return await self._objects.write(_key(secret), stored.secret(secret), secret.version)

    async def delete_secret(self, namespace: str, name: str, version: str) -> None:
        key = f"{namespace}/{name}{_SECRET}"
        if not version:
            there = await self._objects.read(key)
            if there is None:
                return
            version = there[1]
        with suppress(NotThere):
            await self._objects.write(key, stored.deleted(), version)
            await self._objects.remove(key)
        for left in tuple(self._deleted):  # whoever marked it was killed before it removed it
            await self._objects.remove(left)
            self._deleted.discard(left)

    async def lease(self, namespace: str, name: str) -> Lease | None:
        there = await self._objects.read(f"{namespace}/{name}{_LEASE}")
        if there is None:
            return None
        content, version = there
        found = stored.read_lease(content, namespace, name, version)
        if found is None:
            await self._objects.prove(namespace)  # what answers may be no store at all
            return stored.unreadable_lease(namespace, name, version)
        return found

    async def write_lease(self, lease: Lease) -> Lease:
        await self._objects.prove(lease.namespace)
        key = f"{lease.namespace}/{lease.name}{_LEASE}"
        return replace(lease, version=await self._objects.write(key, stored.lease(lease), lease.version))

    async def make_namespace(self, name: str) -> None:
        """Folders are there as soon as something is in them."""

    async def _secret(self, key: str, namespace: str, name: str, size: int) -> StoredSecret | None:
        """Returns None for what is gone, or deleted and not yet removed."""
        if size > MOST_BYTES:
            return stored.unreadable(namespace, name, f"it has {size} bytes, and {MOST_BYTES} may be read")
        there = await self._objects.read(key)
        if there is None:
            return None
        found = stored.read_secret(there[0], namespace, name, there[1])
        if found is None:
            self._deleted.add(key)
        return found


def _key(secret: StoredSecret) -> str:
    return f"{secret.namespace}/{secret.name}{_SECRET}"


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Of several failures of one listing the first is as good as any; what is no failure of the store comes first."""
    odd = next((each for each in group.exceptions if not isinstance(each, RuntimeFailure)), None)
    chosen = odd or group.exceptions[0]
    return _first(chosen) if isinstance(chosen, BaseExceptionGroup) else chosen
