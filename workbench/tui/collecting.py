"""When cycles of objects are looked for: while nobody types.

Looking takes 30 to 40 ms over the fifty thousand objects that some hundred keys leave, and everything waits for it: of
a hundred keys in ten thousand rows the slowest were those. Half a second without a key comes soon enough. Who types on
without a pause waits for it at last, so that memory has a bound.
"""

from __future__ import annotations

import asyncio
import gc
from typing import Final, Protocol

MOST_YOUNG: Final = 150_000
"""So many new objects are looked through even while somebody types."""
FEW: Final = 5_000
"""So few are left for later."""
QUIET_SECONDS: Final = 0.5
REST_SECONDS, ALL_EVERY_SECONDS = 10.0, 600.0
"""Everything is looked through so often, where nobody typed for a while."""


class Typing(Protocol):
    @property
    def quiet_seconds(self) -> float: ...


async def collect_while_quiet(typing: Typing) -> None:
    """Goes on until it is cancelled, which leaves the collector as it was."""
    before = gc.get_threshold()
    gc.set_threshold(MOST_YOUNG, *before[1:])
    since_all = 0.0
    try:
        while True:
            await asyncio.sleep(QUIET_SECONDS)
            since_all += QUIET_SECONDS
            if look(typing.quiet_seconds, is_due=since_all >= ALL_EVERY_SECONDS):
                since_all = 0.0
    finally:
        gc.set_threshold(*before)


def look(quiet_seconds: float, *, is_due: bool) -> bool:
    """Looks through what is new, or through all where that `is_due`, if nobody types; returns whether it was all."""
    if is_due and quiet_seconds >= REST_SECONDS:
        gc.collect()
        return True
    if quiet_seconds >= QUIET_SECONDS and gc.get_count()[0] >= FEW:
        gc.collect(1)
    return False
