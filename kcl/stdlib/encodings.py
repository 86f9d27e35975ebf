"""`import base64`, `import base32` and `import crypto`: bytes as text."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Final

from kcl.evaluator.value import CallContext, ValueFailure
from kcl.stdlib.access import Access
from kcl.stdlib.blake3 import blake3_hex
from kcl.stdlib.declaration import Module

BASE64: Final = Module("base64")
BASE32: Final = Module("base32")
CRYPTO: Final = Module("crypto")


def _bytes(value: str, encoding: str) -> bytes:
    try:
        return value.encode(encoding)
    except (LookupError, UnicodeEncodeError) as problem:
        raise ValueFailure(f"cannot encode the text as {encoding}: {problem}") from None


def _decoded(function: Callable[[str], bytes], value: str, what: str) -> str:
    try:
        return function(value).decode("utf-8")
    except (binascii.Error, ValueError) as problem:
        raise ValueFailure(f"the text is not {what} of UTF-8: {problem}") from None


@BASE64.function("encode(value: str, encoding?: str) -> str")
def base64_encode(value: str, encoding: str = "utf-8") -> str:
    return base64.b64encode(_bytes(value, encoding)).decode("ascii")


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


def _declare_hash(name: str) -> None:
    def digest(value: str, encoding: str = "utf-8") -> str:
        import hashlib  # loads OpenSSL, which takes longer than most programs

        return hashlib.new(name, _bytes(value, encoding), usedforsecurity=False).hexdigest()

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
