"""`import base64`, `import base32` and `import crypto`: bytes as text."""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, Final

from kcl.evaluator.value import CallContext, ValueFailure
from kcl.stdlib.access import Access
from kcl.stdlib.blake3 import blake3_hex
from kcl.stdlib.declaration import Module

BASE64: Final = Module("base64")
BASE32: Final = Module("base32")
CRYPTO: Final = Module("crypto")
_SHORT_BYTES: Final = 1 << 16
"""Of a text that Python's own functions hash as fast as others."""
_SHA2: Final = (
    dict.fromkeys(("sha224", "sha256", "sha384", "sha512"), "_sha2")
    if sys.version_info >= (3, 12)
    else {"sha224": "_sha256", "sha256": "_sha256", "sha384": "_sha512", "sha512": "_sha512"}
)
_OWN_HASHES: Final = {"md5": "_md5", "sha1": "_sha1", **_SHA2}
"""The modules of Python that have them."""


_AS_BROWSERS: Final = {
    **dict.fromkeys(("ascii", "us-ascii", "latin1", "iso-8859-1"), "cp1252"),
    **dict.fromkeys(("utf-16", "utf-16le", "utf-16be"), "utf-8"),
}
"""Names of encodings that mean another one officially, as https://encoding.spec.whatwg.org says of them."""


def _bytes(value: str, encoding: str) -> bytes:
    try:
        return value.encode(_AS_BROWSERS.get(encoding.lower(), encoding))
    except (LookupError, UnicodeEncodeError) as problem:
        raise ValueFailure(f"cannot encode the text as {encoding}: {problem}") from None


def _decoded(function: Callable[[str], bytes], value: str, what: str) -> str:
    try:
        return function(value).decode("utf-8")
    except (binascii.Error, ValueError) as problem:
        raise ValueFailure(f"the text is not {what} of UTF-8: {problem}") from None


@BASE64.function("encode(value: str, encoding?: str) -> str")
def base64_encode(value: str, encoding: str = "utf-8") -> str:
    """The text is UTF-8, whatever `encoding` says, as officially."""
    return base64.b64encode(value.encode()).decode("ascii")


@BASE64.function("decode(value: str) -> str")
def base64_decode(value: str) -> str:
    def decode(text: str) -> bytes:
        if text.endswith("===") or (text.endswith("=") and len(text) % 4):
            raise ValueError("wrong padding")
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)

    return _decoded(decode, value, "base64")


@BASE32.function("encode(value: str, encoding?: str) -> str")
def base32_encode(value: str, encoding: str = "utf-8") -> str:
    return base64.b32encode(_bytes(value, encoding)).decode("ascii")


@BASE32.function("decode(value: str) -> str")
def base32_decode(value: str) -> str:
    def decode(text: str) -> bytes:
        digits = text.rstrip("=")
        return base64.b32decode(digits + "=" * (-len(digits) % 8), casefold=True)

    return _decoded(decode, value, "base32")


@lru_cache
def _own_hash(name: str) -> Any:
    """Python's own function, None where it has none. hashlib loads OpenSSL, which takes longer than most programs and
    gains something for long texts only."""
    try:
        return getattr(import_module(_OWN_HASHES[name]), name)
    except (ImportError, AttributeError):
        return None


def _declare_hash(name: str) -> None:
    def digest(value: str, encoding: str = "utf-8") -> str:
        data = _bytes(value, encoding)
        new = _own_hash(name) if len(data) <= _SHORT_BYTES else None
        if new is None:
            import hashlib

            new = partial(hashlib.new, name)
        digest: str = new(data, usedforsecurity=False).hexdigest()
        return digest

    CRYPTO.function(f"{name}(value: str, encoding?: str) -> str")(digest)


for _name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512"):
    _declare_hash(_name)


@CRYPTO.function("blake3(value: str, encoding?: str) -> str")
def blake3(value: str, encoding: str = "utf-8") -> str:
    return blake3_hex(_bytes(value, encoding))


@CRYPTO.function("uuid() -> str", capture="random")
def random_uuid() -> str:
    from uuid import uuid4  # looks for libraries of the system when it is loaded

    return str(uuid4())


@CRYPTO.function("filesha256(filepath: str) -> str", contextual=True, needs_access=True, capture="file")
def filesha256(access: Access, context: CallContext, filepath: str) -> str:
    """Of a file relative to the working folder."""
    path = access.readable(filepath, access.base)
    try:
        import hashlib

        return hashlib.sha256(access.file_system.read_bytes(path)).hexdigest()
    except OSError as problem:
        reason = f"{problem.strerror} (os error {problem.errno})"
        raise ValueFailure(f"failed to access file '{filepath}': {reason}") from None
