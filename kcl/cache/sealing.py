"""What holds secrets, kept so that it takes the very files it was made of to read it again.

A run that rests on files alone can be repeated by whoever has all of them. What it came to is encrypted with a key made
of their contents, which is kept nowhere: an entry tells nothing to somebody who could not have run the program, and
once a file is changed or gone nobody can open it any more.

The stream is SHAKE-256 of the key and a salt of its own for each entry, the seal a keyed BLAKE2b over salt and stream.
What is sealed is compressed first: resources are alike, and the stream takes longer than anything else here.
"""

from __future__ import annotations

import os
import zlib

from kcl.memo.digest import blake2b, shake_256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Final

_SALT_BYTES: Final = 16
_SEAL_BYTES: Final = 32
_QUICKLY: Final = 1


def digest_of(path: str) -> bytes | None:
    """What a file says, as far as a key is concerned; None for one that cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return blake2b(file.read()).digest()
    except OSError:
        return None


def key_from(name: str, paths: Iterable[str], digest_of: Callable[[str], bytes | None] = digest_of) -> bytes | None:
    """The key that these files make for the entry of this name; None when one cannot be read."""
    whole = blake2b(name.encode(), digest_size=32)
    for path in paths:
        digest = digest_of(path)
        if digest is None:
            return None
        whole.update(digest)
    return whole.digest()


def seal(data: bytes, key: bytes) -> bytes:
    """The data as only `opened` with the same key can read it."""
    salt = os.urandom(_SALT_BYTES)
    hidden = salt + _mixed(zlib.compress(data, _QUICKLY), key, salt)
    return blake2b(hidden, digest_size=_SEAL_BYTES, key=key).digest() + hidden


def opened(sealed: bytes, key: bytes) -> bytes | None:
    """What was sealed; None under another key, or when a byte of it is another."""
    hidden = sealed[_SEAL_BYTES:]
    if blake2b(hidden, digest_size=_SEAL_BYTES, key=key).digest() != sealed[:_SEAL_BYTES]:
        return None
    return zlib.decompress(_mixed(hidden[_SALT_BYTES:], key, hidden[:_SALT_BYTES]))


def _mixed(data: bytes, key: bytes, salt: bytes) -> bytes:
    stream = shake_256(key + salt).digest(len(data))
    return (int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")).to_bytes(len(data), "little")
