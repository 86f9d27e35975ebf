"""What clusters keep of records and leases, as the bytes of an object: in a bucket, or in a folder of this machine.

An object is JSON with a checksum, and with a random text that tells one write from every other.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Mapping
from typing import Any, Final

from runtimes.base import Lease, StoredSecret
from runtimes.base.documents import load_json
from workbench.release.objects import MOST_BYTES

_FORMAT = 1
_DELETED: Final = "deleted"
_BROKEN: Final = (ValueError, KeyError, TypeError, AttributeError)


def secret(content: StoredSecret) -> bytes:
    told = {
        "type": content.type,
        "labels": dict(content.labels),
        "annotations": dict(content.annotations),
        "data": {name: base64.b64encode(data).decode() for name, data in content.data.items()},
    }
    return _content("secret", told)


def lease(content: Lease) -> bytes:
    told = {
        "holder": content.holder,
        "transitions": content.transitions,
        "acquired": content.acquired,
        "renewed": content.renewed,
        "lifetimeSeconds": content.lifetime_seconds,
    }
    return _content("lease", told)


def deleted() -> bytes:
    """Returns what marks an object that is about to be removed."""
    return _content(_DELETED, {})


def read_secret(data: bytes, namespace: str, name: str, version: str) -> StoredSecret | None:
    """Returns None for one that is marked as deleted; one that can't be read says why."""
    try:
        if len(data) > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        kind, told = _parsed(data)
        if kind == _DELETED:
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
    except _BROKEN as error:
        why = str(error) if type(error) is ValueError else "it is no object of the workbench"
        return unreadable(namespace, name, why, version)


def unreadable(namespace: str, name: str, why: str, version: str = "") -> StoredSecret:
    return StoredSecret(namespace, name, "", {}, {}, version=version, unreadable=why)


def read_lease(data: bytes, namespace: str, name: str, version: str) -> Lease | None:
    """Returns None for what is no lease."""
    try:
        kind, told = _parsed(data)
        return _lease(namespace, name, told if kind == "lease" else {}, version)
    except _BROKEN:
        return None


def unreadable_lease(namespace: str, name: str, version: str) -> Lease:
    """It may be somebody's who works: as one that tells no time it is taken when it stays as it is for long."""
    return Lease(namespace, name, "somebody whose lease can't be read", 0, "", "", 1, version)


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
