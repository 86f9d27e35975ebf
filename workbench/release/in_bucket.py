"""What is kept in a bucket (`objects`), by the contract that clusters keep it by (`runtimes.base.records`).

    PREFIX/wb-release-PROJECT-STACK-DIGEST/     what there is of a stack; here called its namespace
        NAME.json                               a secret: a release, or a further piece of one
        NAME.lease                              a lease

An object is JSON with a checksum, and with a random text that tells one write from every other. To delete is two
writes, as stores delete without asking for a version: the object is marked as deleted, bound to its version, and then
removed. Nobody ever writes over one that is marked.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import anyio

from runtimes.base import Lease, NotThere, RuntimeFailure, StoredSecret
from runtimes.base.documents import load_json
from workbench.bucket_url import BucketUrl
from workbench.release.objects import MOST_BYTES, Objects

_FORMAT = 1
_SECRET, _LEASE = ".json", ".lease"
_NAME = re.compile(r"[a-z0-9.-]{1,300}")
_AT_ONCE = 16
_DELETED: Final = "deleted"


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

    async def create_secret(self, secret: StoredSecret) -> str:
        return await self._objects.write(_key(secret), _secret_content(secret))

    async def replace_secret(self, secret: StoredSecret) -> str:
        return await self._objects.write(_key(secret), _secret_content(secret), secret.version)

    async def delete_secret(self, namespace: str, name: str, version: str) -> None:
        key = f"{namespace}/{name}{_SECRET}"
        if not version:
            there = await self._objects.read(key)
            if there is None:
                return
            version = there[1]
        with suppress(NotThere):
            await self._objects.write(key, _content(_DELETED, {}), version)
            await self._objects.remove(key)
        for left in tuple(self._deleted):  # whoever marked it was killed before it removed it
            await self._objects.remove(left)
            self._deleted.discard(left)

    async def lease(self, namespace: str, name: str) -> Lease | None:
        there = await self._objects.read(f"{namespace}/{name}{_LEASE}")
        if there is None:
            return None
        content, version = there
        try:
            kind, told = _parsed(content)
            return _lease(namespace, name, told if kind == "lease" else {}, version)
        except (ValueError, KeyError, TypeError, AttributeError):
            await self._objects.prove(namespace)  # what answers may be no store at all
            # it may be somebody's who works: as one that tells no time it is taken when it stays as it is for long
            return Lease(namespace, name, "somebody whose lease can't be read", 0, "", "", 1, version)

    async def write_lease(self, lease: Lease) -> Lease:
        await self._objects.prove(lease.namespace)
        told = {
            "holder": lease.holder,
            "transitions": lease.transitions,
            "acquired": lease.acquired,
            "renewed": lease.renewed,
            "lifetimeSeconds": lease.lifetime_seconds,
        }
        key = f"{lease.namespace}/{lease.name}{_LEASE}"
        return replace(lease, version=await self._objects.write(key, _content("lease", told), lease.version))

    async def make_namespace(self, name: str) -> None:
        """Folders are there as soon as something is in them."""

    async def _secret(self, key: str, namespace: str, name: str, size: int) -> StoredSecret | None:
        """Returns None for what is gone, or deleted and not yet removed."""
        if size > MOST_BYTES:
            return _unreadable(namespace, name, f"it has {size} bytes, and {MOST_BYTES} may be read")
        there = await self._objects.read(key)
        if there is None:
            return None
        content, version = there
        try:
            if len(content) > MOST_BYTES:
                raise ValueError(f"it has more than {MOST_BYTES} bytes")
            kind, told = _parsed(content)
            if kind == _DELETED:
                self._deleted.add(key)
                return None
            if kind != "secret":
                raise ValueError(f"it is a {kind[:40]!r}")
            return StoredSecret(
                namespace,
                name,
                str(told["type"]),
                _texts(told["labels"]),
                {each: base64.b64decode(text, validate=True) for each, text in _texts(told["data"]).items()},
                _texts(told["annotations"]),
                version,
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = str(error) if type(error) is ValueError else "it is no object of the workbench"
            return _unreadable(namespace, name, why, version)


def _unreadable(namespace: str, name: str, why: str, version: str = "") -> StoredSecret:
    return StoredSecret(namespace, name, "", {}, {}, version=version, unreadable=why)


def _key(secret: StoredSecret) -> str:
    return f"{secret.namespace}/{secret.name}{_SECRET}"


def _secret_content(secret: StoredSecret) -> bytes:
    told = {
        "type": secret.type,
        "labels": dict(secret.labels),
        "annotations": dict(secret.annotations),
        "data": {name: base64.b64encode(data).decode() for name, data in secret.data.items()},
    }
    return _content("secret", told)


def _content(kind: str, told: Mapping[str, Any]) -> bytes:
    content = {"kind": kind, "write": secrets.token_hex(8), "content": told}
    return json.dumps({"format": _FORMAT, "checksum": _checksum(content), "object": content}).encode()


def _parsed(data: bytes) -> tuple[str, dict[str, Any]]:
    """Raises `ValueError` that says what is wrong, `KeyError`, `TypeError` or `AttributeError` for something else."""
    if not data:
        raise ValueError("it is empty")
    try:
        parsed = load_json(data)
    except ValueError:
        raise ValueError("it is no JSON, or torn") from None
    if parsed["format"] != _FORMAT:
        raise ValueError(f"it has format {str(parsed['format'])[:20]}, this version reads {_FORMAT}")
    content = parsed["object"]
    if parsed["checksum"] != _checksum(content):
        raise ValueError("it does not match its checksum")
    return str(content["kind"]), dict(content["content"])


def _checksum(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise TypeError("not texts by name")
    return value


def _lease(namespace: str, name: str, told: Mapping[str, Any], version: str) -> Lease:
    transitions, lifetime = told["transitions"], told["lifetimeSeconds"]
    texts = (told["holder"], told["acquired"], told["renewed"])
    if not all(isinstance(each, str) for each in texts) or not all(
        type(each) is int for each in (transitions, lifetime)
    ):
        raise TypeError("not a lease")
    return Lease(namespace, name, texts[0], transitions, texts[1], texts[2], lifetime, version)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Of several failures of one listing the first is as good as any; what is no failure of the store comes first."""
    odd = next((each for each in group.exceptions if not isinstance(each, RuntimeFailure)), None)
    chosen = odd or group.exceptions[0]
    return _first(chosen) if isinstance(chosen, BaseExceptionGroup) else chosen
