"""Python's garbage collector, while much is made that will be kept."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_MANY: Final = 8
"""New files among those kept for later runs, from which on what a run made counts as old."""
_MANY_OBJECTS: Final = 700
"""So many objects, made by a run for itself, Python would search right after it, which is to be waited for after each
edit: of a small stack for one part in twenty, and nothing is found, since results hold themselves in no circle."""
_ROOM: Final = 1_000_000
"""Blocks of memory that may come to be in use, garbage or not, before everything is searched after all."""
_EVERY: Final = 8
"""Edits after which blocks are counted: that goes through all memory, and leaves little in the processor's caches."""


@contextmanager
def paused() -> Iterator[None]:
    """Nothing is looked for in cycles meanwhile: that takes longer than making values of which nearly all are kept.

    What was made counts as old afterwards, or the next search would begin with all of it.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            _count_as_old()
            gc.enable()


@contextmanager
def paused_for_run(count: Callable[[], int]) -> Iterator[None]:
    """As `paused`, for a run among many. `count` tells how many files are kept for later runs.

    Only a run that made much has what it made count as old; what is garbage in it then stays for a while.
    """
    collecting = gc.isenabled()
    gc.disable()
    before = count()
    try:
        yield
    finally:
        if collecting:
            is_large = count() - before >= _MANY
            if is_large or gc.get_count()[0] >= _MANY_OBJECTS:
                _count_as_old()
                _search_if_grown(_EVERY if is_large else 1)
            gc.enable()


_runs = 0
"""Since blocks were counted; a large one is many."""
_most_blocks = 0
"""In use, before everything is searched again."""


def _search_if_grown(runs: int) -> None:
    global _runs, _most_blocks
    _runs += runs
    if _runs < _EVERY:
        return
    _runs = 0
    blocks = sys.getallocatedblocks()
    if blocks <= _most_blocks:
        return
    if _most_blocks:
        gc.collect()
        blocks = sys.getallocatedblocks()
    _most_blocks = max(2 * blocks, blocks + _ROOM)


_is_frozen = False
"""Somebody means to keep what is frozen. To ask again would count all of it, each time."""


def _count_as_old() -> None:
    """Moves everything out of what is searched and back into it, to where it is searched most seldom."""
    global _is_frozen
    _is_frozen = _is_frozen or gc.get_freeze_count() > 0
    if not _is_frozen:
        gc.freeze()
        gc.unfreeze()
