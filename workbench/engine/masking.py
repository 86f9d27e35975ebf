"""Secrets as the engine carries them: never in clear, yet equal values still look equal.

A `Seal` turns a value into a keyed digest. One with a random key lives as long as a session and feeds what is shown;
one with a key kept in a file feeds release records, so that the next session can tell whether a secret changed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runtimes.base import (
    UNKNOWN,
    Body,
    FieldPath,
    KubernetesId,
    ListKey,
    PartlyUnknown,
    Resource,
    ResourceId,
    Unknown,
    sensitive,
    starts_with,
)

_DIGEST_CHARACTERS = 16
_SHOWN_CHARACTERS = 4
_MARK = "sealed:"
LAST_APPLIED = sensitive.LAST_APPLIED


@dataclass(frozen=True, slots=True)
class Masked:
    """Stands for a value that is never shown. Two are equal exactly if the values were."""

    digest: str

    def __str__(self) -> str:
        return self._shown(_SHOWN_CHARACTERS)

    def told_from(self, other: Masked) -> str:
        """Returns the mask with as many characters as tell it from the other, where their values differ."""
        lengths = range(_SHOWN_CHARACTERS, len(self.digest))
        shortest = next((each for each in lengths if self.digest[:each] != other.digest[:each]), len(self.digest))
        return self._shown(shortest)

    def _shown(self, characters: int) -> str:
        return f"«masked#{self.digest[:characters]}»"


class Seal:
    """Digests values with a key of at least 16 bytes; its repr shows neither.

    It may know texts that are secret wherever they turn up, such as the values of secret options.
    """

    __slots__ = ("_key", "_known")

    def __init__(self, key: bytes, known: frozenset[str] = frozenset()) -> None:
        if len(key) < 16:
            raise ValueError("a seal needs a key of at least 16 bytes")
        self._key, self._known = key, known

    def knowing(self, secrets: frozenset[str]) -> Seal:
        """Returns a seal with the same key, so the same digests, that hides these texts too."""
        return Seal(self._key, self._known | secrets) if secrets else self

    def hides(self, value: Any) -> bool:
        return bool(self._known) and isinstance(value, str) and any(each in value for each in self._known)

    @classmethod
    def random(cls) -> Seal:
        return cls(secrets.token_bytes(32))

    def digest(self, value: Any) -> str:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[
            :_DIGEST_CHARACTERS
        ]

    def mask(self, value: Any) -> Masked:
        return Masked(self.digest(value))

    def __repr__(self) -> str:
        return "Seal()"


def sensitive_paths(id_: ResourceId, body: Body) -> tuple[FieldPath, ...]:
    """Returns what is secret by the resource's content alone, before any runtime was asked."""
    if not isinstance(id_, KubernetesId):
        return tuple(secret_names(body))
    named = {"apiVersion": id_.api_version, "kind": id_.kind}
    return (*sensitive.sensitive_paths({**body, **named}), ("metadata", "annotations", LAST_APPLIED))


def resource_paths(resource: Resource) -> tuple[FieldPath, ...]:
    """As `sensitive_paths`, with what the resource itself names in `extensions.sensitive`."""
    named = resource.extensions.get("sensitive") or ()
    own = (tuple(each.split(".")) for each in named if isinstance(each, str)) if isinstance(named, list | tuple) else ()
    return (*sensitive_paths(resource.id, resource.attributes), *own)


def secret_names(value: Any, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yields attributes whose names say that they are secret: the most that is known before Terraform was asked."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            if sensitive.is_secret_name(str(key)):
                yield (*path, key)
            else:
                yield from secret_names(each, (*path, key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from secret_names(each, (*path, index))


def is_sensitive(path: FieldPath, sensitive: Iterable[FieldPath]) -> bool:
    return any(starts_with(path, each) for each in sensitive)


def masked(value: Any, sensitive: tuple[FieldPath, ...], seal: Seal, path: FieldPath = ()) -> Any:
    """Returns the value with all at and below sensitive paths, and all the seal knows, as `Masked`, leaf by leaf."""
    hidden = is_sensitive(path, sensitive)
    if isinstance(value, Mapping):
        return {key: masked(each, sensitive, seal, (*path, key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_masked_item(each, index, sensitive, seal, path) for index, each in enumerate(value)]
    if isinstance(value, Unknown):
        return value
    if isinstance(value, PartlyUnknown) and (hidden or seal.hides(value)):
        return UNKNOWN  # a digest would say that it is known
    return seal.mask(value) if value is not None and (hidden or seal.hides(value)) else value


def _masked_item(item: Any, index: int, sensitive: tuple[FieldPath, ...], seal: Seal, path: FieldPath) -> Any:
    """Steps into a list element by whichever step the sensitive paths use for it: its index or its keys."""
    for each in sensitive:
        if len(each) > len(path) and each[: len(path)] == path:
            step = each[len(path)]
            if isinstance(step, ListKey) and step.matches(item):
                return masked(item, sensitive, seal, (*path, step))
    return masked(item, sensitive, seal, (*path, index))


def sealed(value: Any, sensitive: tuple[FieldPath, ...], seal: Seal) -> Any:
    """Returns plain data for a record: as `masked`, with text `sealed:DIGEST` in place of each secret."""
    return _plain(masked(value, sensitive, seal))


def _plain(value: Any) -> Any:
    match value:
        case Masked():
            return _MARK + value.digest
        case Unknown():
            return str(value)
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case _:
            return value
