"""How large values may grow, so that a program which asks for too much ends in a diagnostic.

The limits are far above what a configuration needs and low enough that a machine of a developer holds them.
"""

from __future__ import annotations

from typing import Any, Final

from kcl.evaluator.value import ValueFailure

MOST_CHARACTERS: Final = 1 << 28
"""Of one string."""
MOST_ITEMS: Final = 10_000_000
"""Of one list."""
MOST_VALUES: Final = 20_000_000
"""Values of a result, those in several places counted in each."""
MOST_BITS: Final = 4_096
"""Of a number that an operation would make before it is found too large."""
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


def text_of(length: int) -> None:
    """Raises ValueFailure if no string may have so many characters."""
    if length > MOST_CHARACTERS:
        raise ValueFailure(f"a string of {length} characters is longer than the {MOST_CHARACTERS} that are allowed")


def items_of(count: int) -> None:
    """Raises ValueFailure if no list may have so many items."""
    if count > MOST_ITEMS:
        raise ValueFailure(f"a list of {count} items is longer than the {MOST_ITEMS} that are allowed")


def expanded(value: Any) -> None:
    """Raises ValueFailure if `value`, written out, has too many values.

    A container that stands in many places is one object here and many in the text; twenty that each hold the next
    twice are a million.
    """
    if isinstance(value, (dict, list)) and _size(value, {}) > MOST_VALUES:
        raise ValueFailure(f"written out this has more than the {MOST_VALUES} values that are allowed")


def _size(value: Any, known: dict[int, int]) -> int:
    size = known.get(id(value))
    if size is None:
        known[id(value)] = MOST_VALUES + 1  # what contains itself has no end
        items = value.values() if isinstance(value, dict) else value
        size = 1 + len(items)
        if not _SCALARS.issuperset(map(type, items)):
            size += sum(_size(item, known) - 1 for item in items if isinstance(item, (dict, list)))
        known[id(value)] = size
    return size
