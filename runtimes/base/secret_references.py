"""References from a field to a secret that is stored elsewhere: `ref://STORE/PATH`, as Kusion writes them.

    ref://env/DB_PASSWORD                          a variable of the environment, named WB_SECRET_DB_PASSWORD there
    ref://file/checkout/db-password                a file below the folder that WB_SECRETS_DIR names
    ref://vault/secret/checkout/db/password        mount, path and property of a secret of Vault; `?version=3` pins it

A repository names secrets, never the places where they are: those are of its user's environment. A text that is a
reference stands whole for the secret. In a longer text it is in braces: `postgres://app:{{ref://env/DB_PASSWORD}}@db`.
A segment of a path may be percent-encoded. (https://github.com/KusionStack/kusion/tree/main/pkg/secrets)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, Protocol
from urllib.parse import quote, unquote

from kcl.records import dataclass
from runtimes.base.errors import RuntimeFailure

SCHEME: Final = "ref://"
STORES: Final = ("env", "file", "vault")
_IN_BRACES = re.compile(r"\{\{\s*(ref://[^{}]*?)\s*\}\}")
_BARE = re.compile(rf"{SCHEME}(?:{'|'.join(STORES)})/")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VERSION = re.compile(r"version=([1-9][0-9]{0,8})")
_LONGEST: Final = 1024
_FORMS: Final = {
    "env": "ref://env/NAME",
    "file": "ref://file/PATH",
    "vault": "ref://vault/MOUNT/PATH/PROPERTY, and ?version=NUMBER behind it to pin one",
}


class InvalidSecretReference(ValueError):
    """A text that begins as a reference to a secret and is none. The message quotes nothing of it but its store."""


@dataclass(frozen=True, slots=True, order=True)
class SecretReference:
    """`path` has one segment for `env`, at least three for `vault`; `version` 0 is the newest."""

    store: str
    path: tuple[str, ...]
    version: int = 0

    def __str__(self) -> str:
        path = "/".join(quote(each, safe="@:+=.-_~ ") for each in self.path)
        return f"{SCHEME}{self.store}/{path}" + (f"?version={self.version}" if self.version else "")


class SecretStore(Protocol):
    """Where secrets are stored. Reads, and writes nothing."""

    async def read(self, references: Collection[SecretReference]) -> Mapping[SecretReference, str | RuntimeFailure]:
        """Returns each secret, or why there is none; an empty one counts as none. Raises nothing. May be cancelled."""
        ...


def may_hold_secret_reference(text: str) -> bool:
    """Whether `secret_parts` may find anything in the text."""
    return SCHEME in text


def secret_parts(text: str) -> tuple[str | SecretReference, ...]:
    """Returns a text in its parts, one of which is a reference or more; empty where there is none in it.

    Raises `InvalidSecretReference`.
    """
    if text.startswith(SCHEME):
        return (parse_secret_reference(text),)
    if not may_hold_secret_reference(text):
        return ()
    found = tuple(_parts(text))
    if any(isinstance(each, str) and _BARE.search(each) for each in found):
        raise InvalidSecretReference("in a longer text a reference stands in braces: {{ref://...}}")
    return found if any(isinstance(each, SecretReference) for each in found) else ()


def _parts(text: str) -> Iterator[str | SecretReference]:
    end = 0
    for each in _IN_BRACES.finditer(text):
        if each.start() > end:
            yield text[end : each.start()]
        yield parse_secret_reference(each[1])
        end = each.end()
    if end < len(text):
        yield text[end:]


def parse_secret_reference(text: str) -> SecretReference:
    """Raises `InvalidSecretReference`, saying what is expected."""
    if len(text) > _LONGEST:
        raise InvalidSecretReference(f"a reference has at most {_LONGEST} characters")
    written, has_query, query = text.removeprefix(SCHEME).partition("?")
    store, _, rest = written.partition("/")
    if store not in STORES:
        raise InvalidSecretReference(f"there is no store of that name: {', '.join(_FORMS.values())}")
    path = tuple(unquote(each) for each in rest.split("/"))
    if not all(each and each.isprintable() and each not in (".", "..") and "/" not in each for each in path):
        raise InvalidSecretReference(f"the path has a segment that is empty or none: {_FORMS[store]}")
    version = 0
    if has_query:
        found = _VERSION.fullmatch(query)
        if found is None or store != "vault":
            raise InvalidSecretReference(f"what stands behind ? is not understood: {_FORMS[store]}")
        version = int(found[1])
    if (store == "env" and (len(path) != 1 or not _VARIABLE.fullmatch(path[0]))) or (
        store == "vault" and len(path) < 3
    ):
        raise InvalidSecretReference(f"expected {_FORMS[store]}")
    return SecretReference(store, path, version)
