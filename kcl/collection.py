"""Python's garbage collector, while much is made that will be kept."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
            if not gc.get_freeze_count():  # else somebody means to keep what is frozen
                gc.freeze()
                gc.unfreeze()
            gc.enable()
