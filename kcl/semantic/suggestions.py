"""Names that were probably meant, chosen and ordered as the official compiler does it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_LEAST: Final = 0.8
_LONGEST_NAME: Final = 200
"""Longer names are generated, not mistyped; comparing them takes time that grows with the square of their length."""

_MOST_NAMES: Final = 2000


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message that offers the names of `known` that are like `name`, "" for none."""
    return listed(similar(name, known))


def listed(names: Iterable[str]) -> str:
    shown = ", ".join(f'"{name}"' for name in names)
    return f", did you mean '[{shown}]'?" if shown else ""


def similar(name: str, known: Iterable[str]) -> list[str]:
    """Those of `known` that are like `name`, the most alike last; equally alike ones in the order given."""
    others = [other for other in known if len(other) <= _LONGEST_NAME]
    if len(name) > _LONGEST_NAME or len(others) > _MOST_NAMES:
        return []
    rated = [(likeness(name, other), other) for other in others]
    return [other for rate, other in sorted((pair for pair in rated if pair[0] > _LEAST), key=lambda pair: pair[0])]


def likeness(left: str, right: str) -> float:
    """The similarity of Jaro and Winkler, from 0 for nothing in common to 1 for equality.

    As in the library the official compiler uses, a transposition is a match before the one found last, and common
    beginnings of any length count.
    """
    if left == right:
        return 1.0
    reach = max(max(len(left), len(right)) // 2 - 1, 0)
    taken = [False] * len(right)
    count = turns = last = 0
    for index, char in enumerate(left):
        for place in range(max(0, index - reach), min(len(right), index + reach + 1)):
            if not taken[place] and right[place] == char:
                taken[place] = True
                count += 1
                turns += place < last
                last = place
                break
    if not count:
        return 0.0
    base = (count / len(left) + count / len(right) + (count - turns) / count) / 3
    prefix = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        prefix += 1
    return min(base + 0.1 * prefix * (1 - base), 1.0)
