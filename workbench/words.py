"""Words of messages that all faces use."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Returns `1 file`, `2 files`; for nouns that have an s in the plural."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
