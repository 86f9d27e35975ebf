"""How deep a line stands: tabs and spaces, counted apart because their widths cannot be compared."""

from __future__ import annotations

from typing import Final

Level = tuple[int, int]
"""Tabs and spaces."""
INCOMPARABLE: Final = 2


def level_after(run: str) -> Level:
    """The indentation after the last line end in `run`."""
    blanks = run[run.rfind("\n") + 1 :]
    return blanks.count("\t"), blanks.count(" ")


def compare(level: Level, other: Level) -> int:
    """-1, 0, 1 for shallower, as deep, deeper; `INCOMPARABLE` when tabs and spaces disagree."""
    (tabs, spaces), (other_tabs, other_spaces) = level, other
    if tabs == other_tabs:
        return (spaces > other_spaces) - (spaces < other_spaces)
    if tabs < other_tabs:
        return -1 if spaces <= other_spaces else INCOMPARABLE
    return 1 if spaces >= other_spaces else INCOMPARABLE
