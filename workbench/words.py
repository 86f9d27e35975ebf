"""Words of messages that all faces use."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str, plural: str = "") -> str:
    """Returns `1 file`, `2 files`; `plural` where an s at the end does not make it."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def few(names: Sequence[str], most: int) -> str:
    """Returns `a, b and 3 more`: what is left out of a message is counted."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def bounded(texts: Sequence[str], most: int = 20, longest: int = 400) -> tuple[str, ...]:
    """Returns what a record has room for: each text once and not too long, then how many there are besides."""
    said = [each if len(each) <= longest else f"{each[: longest - 1]}…" for each in dict.fromkeys(texts)]
    more = len(said) - most
    return (*said[:most], f"and {more} more") if more > 0 else tuple(said)


def restarting(number: int) -> str:
    """Returns `1 restarts pods`, `2 restart pods`."""
    return f"{number} restart{'s' if number == 1 else ''} pods"
