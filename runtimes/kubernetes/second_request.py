"""A read whose answer is overdue is sent once more, and the answer that comes first counts.

Where one of many connections, or one of several API servers, is stuck, everything that needs its answer would wait for
it. A server that is slow altogether must not be asked twice for it: a second request is paid for by twenty answers,
and few can be saved up. For what changes nothing alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

OVERDUE_SECONDS: Final = 1.5
_MOST_SAVED: Final = 10.0
_FOR_AN_ANSWER: Final = 0.05

T = TypeVar("T")


class Budget:
    """How many second requests may be sent now."""

    def __init__(self) -> None:
        self._saved = _MOST_SAVED

    def earn(self) -> None:
        self._saved = min(_MOST_SAVED, self._saved + _FOR_AN_ANSWER)

    def spend(self) -> bool:
        """Returns whether one may be sent, which is then paid for."""
        if self._saved < 1:
            return False
        self._saved -= 1
        return True


async def first_answer(
    ask: Callable[[], Coroutine[Any, Any, T]], budget: Budget, lost: tuple[type[Exception], ...]
) -> T:
    """Asks, and once more where no answer came for long. `lost` are errors of one connection: then the other counts."""
    loop = asyncio.get_running_loop()
    second: asyncio.Task[T] | None = None
    is_waiting = True

    def ask_again() -> None:
        nonlocal second
        if budget.spend():
            second = loop.create_task(ask())
            second.add_done_callback(answered)

    def answered(task: asyncio.Task[T]) -> None:
        if not task.cancelled() and task.exception() is None and is_waiting and not scope.expired():
            scope.reschedule(loop.time())

    timer = loop.call_later(OVERDUE_SECONDS, ask_again)
    try:
        async with asyncio.timeout(None) as scope:
            try:
                found = await ask()
            finally:
                is_waiting = False
                timer.cancel()
        budget.earn()
        return found
    except lost:
        if second is None:
            raise
        return await second
    finally:
        if second is not None and not second.done():
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)
