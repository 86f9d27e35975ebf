"""Words of messages that all faces use."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """Returns `1 file`, `2 files`; `plural` where an s at the end does not make it."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
