"""The hash that entries are named and checked by."""

try:
    from _blake2 import blake2b  # the same function without loading OpenSSL, which takes longer than a look-up
except ImportError:
    from hashlib import blake2b

__all__ = ["blake2b"]
