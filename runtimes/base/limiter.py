"""A concurrency limiter whose slots are free while their holders only wait.

A request that was told to come back later (429) does no work meanwhile, and neither does one whose answer is overdue
while other requests are answered: if they held on to their slots, a few of those would hold up hundreds. A task that
comes back is served before those that have not begun. Up to half the slots may be lent because of overdue answers; each
further one is paid for by answers that came in time, of which few can be saved up, so that a server that is slow
altogether does not get more to do.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar, Token
from typing import Any, Final

OVERDUE_SECONDS: Final = 1.0
_FOR_AN_ANSWER: Final = 0.05
_MOST_OVERDUE: Final = 3
"""At most this many overdue requests per slot, while others are answered."""

_mine: ContextVar[Slot | None] = ContextVar("slot", default=None)


class Limiter:
    """Lets `at_once` tasks run at a time; `async with limiter.slot()` waits for a free slot."""

    def __init__(self, at_once: int) -> None:
        self._free, self._at_once, self._overdue = at_once, at_once, 0
        self._saved = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def slot(self) -> Slot:
        return Slot(self)

    async def take(self, *, is_back: bool = False) -> None:
        if self._free:
            self._free -= 1
            return
        granted = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if is_back else self._waiting.append)(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.give()
            else:
                with suppress(ValueError):  # whoever gave a slot back meanwhile has passed it over
                    self._waiting.remove(granted)
            raise

    def give(self) -> None:
        while self._waiting:
            granted = self._waiting.popleft()
            if not granted.done():
                granted.set_result(None)
                return
        self._free += 1

    def begin_overdue(self) -> bool:
        """Returns whether one more overdue request may lend its slot; if so, `end_overdue` has to be called later."""
        if self._overdue >= self._at_once // 2:
            if self._saved < 1 or self._overdue >= _MOST_OVERDUE * self._at_once:
                return False
            self._saved -= 1
        self._overdue += 1
        return True

    def earn(self) -> None:
        """Counts an answer that came in time."""
        self._saved = min(float(self._at_once), self._saved + _FOR_AN_ANSWER)

    def end_overdue(self) -> None:
        self._overdue -= 1


class Slot:
    """A slot, held from entering to leaving by the task that entered: tasks it starts have none."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._is_held, self._is_overdue, self._is_lent = False, False, False
        self._task: asyncio.Task[Any] | None = None
        self._token: Token[Slot | None] | None = None

    async def __aenter__(self) -> None:
        await self._limiter.take()
        self._is_held, self._task = True, asyncio.current_task()
        self._token = _mine.set(self)

    async def __aexit__(self, *_: object) -> None:
        assert self._token is not None
        _mine.reset(self._token)
        self.give()

    @property
    def is_ours(self) -> bool:
        return self._task is asyncio.current_task()

    async def take(self) -> None:
        if not self._is_held:
            await self._limiter.take(is_back=True)
            self._is_held = True

    def give(self) -> None:
        if self._is_held:
            self._is_held = False
            self._limiter.give()

    def lend(self) -> None:
        """Frees the slot because an answer is overdue, unless too many are."""
        self._is_overdue = True
        if self._is_held and not self._is_lent and self._limiter.begin_overdue():
            self._is_lent = True
            self.give()

    def recall(self) -> None:
        if self._is_lent:
            self._is_lent = False
            self._limiter.end_overdue()
        if not self._is_overdue:
            self._limiter.earn()
        self._is_overdue = False


def _own() -> Slot | None:
    mine = _mine.get()
    return mine if mine is not None and mine.is_ours else None


async def pause(seconds: float) -> None:
    """Sleeps; the slot of this task, if it has one, is free meanwhile."""
    mine = _own()
    if mine is not None:
        mine.give()
    await asyncio.sleep(seconds)
    if mine is not None:
        await mine.take()


@asynccontextmanager
async def awaiting_answer() -> AsyncIterator[None]:
    """Wraps waiting for an answer: once that is overdue, the slot is free until the answer comes."""
    mine = _own()
    if mine is None:
        yield
        return
    timer = asyncio.get_running_loop().call_later(OVERDUE_SECONDS, mine.lend)
    is_over = False
    try:
        yield
    except asyncio.CancelledError:
        is_over = True
        raise
    finally:
        timer.cancel()
        mine.recall()
        if not is_over:
            await mine.take()
