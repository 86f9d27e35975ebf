"""When a run lets Python look for garbage: not meanwhile, since nearly all it makes is needed to its end.

What a run has loaded for the runs after it is told to be old at once. Otherwise each of the next searches goes through
all of it once more, which takes several times as long as loading it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from typing import Final

_MANY: Final = 40
"""Files loaded by one run, from which on they are worth it."""
_MANY_OBJECTS: Final = 200_000
"""As many made since the last search as one large file makes."""


@contextmanager
def collecting_later(files: Sized) -> Iterator[None]:
    """`files` are those that are kept for later runs."""
    collecting = gc.isenabled()
    gc.disable()
    before = len(files)
    try:
        yield
    finally:
        if collecting:
            is_much = len(files) - before >= _MANY or gc.get_count()[0] >= _MANY_OBJECTS
            if is_much and not gc.get_freeze_count():
                # Out of what is searched and back into it, which is among what is searched most seldom.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
