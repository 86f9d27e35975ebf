"""The hashes that entries are named, checked and sealed by."""

try:  # the same functions without loading OpenSSL, which takes longer than a look-up
    from _blake2 import blake2b
    from _sha3 import shake_256  # type: ignore[import-not-found]
except ImportError:
    from hashlib import blake2b, shake_256

__all__ = ["blake2b", "shake_256"]
