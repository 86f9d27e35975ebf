"""BLAKE3 in its plain hashing mode with 32 bytes of output. Python's hashlib does not have it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

_IV: Final = (
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
)  # fmt: skip
_PERMUTATION: Final = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
_LANES: Final = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip
_MASK: Final = 0xFFFFFFFF
_ROUNDS: Final = 7
_BLOCK: Final = 64
_CHUNK: Final = 1024
_CHUNK_START, _CHUNK_END, _PARENT, _ROOT = 1, 2, 4, 8


def _compress(chaining: Sequence[int], block: Sequence[int], counter: int, length: int, flags: int) -> list[int]:
    """Sixteen words from a chaining value and one block; the first eight are the next chaining value."""
    state = [*chaining, *_IV[:4], counter & _MASK, counter >> 32, length, flags]
    words = list(block)
    for round_number in range(_ROUNDS):
        for lane, (a, b, c, d) in enumerate(_LANES):
            for word, first, second in ((words[2 * lane], 16, 12), (words[2 * lane + 1], 8, 7)):
                state[a] = (state[a] + state[b] + word) & _MASK
                state[d] = _rotated(state[d] ^ state[a], first)
                state[c] = (state[c] + state[d]) & _MASK
                state[b] = _rotated(state[b] ^ state[c], second)
        if round_number < _ROUNDS - 1:
            words = [words[index] for index in _PERMUTATION]
    return [state[i] ^ state[i + 8] for i in range(8)] + [state[i + 8] ^ chaining[i] for i in range(8)]


def _rotated(word: int, by: int) -> int:
    return (word >> by | word << (32 - by)) & _MASK


def _words(block: bytes) -> tuple[int, ...]:
    return struct.unpack("<16I", block.ljust(_BLOCK, b"\0"))


def _chunk(data: bytes, counter: int, root: int) -> list[int]:
    """The chaining value of up to 1024 bytes; `root` is the root flag when they are the whole message."""
    chaining: Sequence[int] = _IV
    blocks = [data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK)] or [b""]
    for number, block in enumerate(blocks):
        flags = _CHUNK_START if number == 0 else 0
        if number == len(blocks) - 1:
            flags |= _CHUNK_END | root
        chaining = _compress(chaining, _words(block), counter, len(block), flags)[:8]
    return list(chaining)


def _tree(data: bytes, counter: int, root: int) -> list[int]:
    """The chaining value of any number of bytes: the left part is the largest power of two of chunks."""
    if len(data) <= _CHUNK:
        return _chunk(data, counter, root)
    chunks = (len(data) - 1) // _CHUNK
    left_chunks = 1 << (chunks.bit_length() - 1)
    left = _tree(data[: left_chunks * _CHUNK], counter, 0)
    right = _tree(data[left_chunks * _CHUNK :], counter + left_chunks, 0)
    return _compress(_IV, [*left, *right], 0, _BLOCK, _PARENT | root)[:8]


def blake3_hex(data: bytes) -> str:
    return struct.pack("<8I", *_tree(data, 0, _ROOT)).hex()
