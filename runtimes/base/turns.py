"""So many things at a time, where who only waits gives its turn to another.

A request that is told to come back later is not at work meanwhile, and neither is one whose answer is overdue while
others are answered: with their turns held, a few of those hold up hundreds. Who comes back is served before those that
have not begun. Of overdue ones, half as many as there are turns give theirs away; each further one is paid for by
answers that came in time, of which few can be saved up: a server that is slow altogether does not get more to do.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar, Token
from typing import Any, Final

OVERDUE_SECONDS: Final = 1.0
_FOR_AN_ANSWER: Final = 0.05
_MOST_OVERDUE: Final = 3
"""So many times as many as there are turns may be overdue, where others are answered."""

_mine: ContextVar[Turn | None] = ContextVar("turn", default=None)


class Turns:
    """`at_once` have a turn; `async with turns.turn()` waits for one."""

    def __init__(self, at_once: int) -> None:
        self._free, self._at_once, self._overdue = at_once, at_once, 0
        self._saved = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def turn(self) -> Turn:
        return Turn(self)

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
        """Returns whether one more may give its turn away as its answer is overdue; then `end_overdue` is called."""
        if self._overdue >= self._at_once // 2:
            if self._saved < 1 or self._overdue >= _MOST_OVERDUE * self._at_once:
                return False
            self._saved -= 1
        self._overdue += 1
        return True

    def earn(self) -> None:
        """Is told of an answer that came in time."""
        self._saved = min(float(self._at_once), self._saved + _FOR_AN_ANSWER)

    def end_overdue(self) -> None:
        self._overdue -= 1


class Turn:
    """One turn, from entering to leaving. For the task that entered: what that starts beside itself has none."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._is_held, self._is_overdue, self._is_lent = False, False, False
        self._task: asyncio.Task[Any] | None = None
        self._token: Token[Turn | None] | None = None

    async def __aenter__(self) -> None:
        await self._turns.take()
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
            await self._turns.take(is_back=True)
            self._is_held = True

    def give(self) -> None:
        if self._is_held:
            self._is_held = False
            self._turns.give()

    def lend(self) -> None:
        """Gives it away as an answer is overdue, where not too many are."""
        self._is_overdue = True
        if self._is_held and not self._is_lent and self._turns.begin_overdue():
            self._is_lent = True
            self.give()

    def recall(self) -> None:
        if self._is_lent:
            self._is_lent = False
            self._turns.end_overdue()
        if not self._is_overdue:
            self._turns.earn()
        self._is_overdue = False


def _own() -> Turn | None:
    mine = _mine.get()
    return mine if mine is not None and mine.is_ours else None


async def pause(seconds: float) -> None:
    """Sleeps; the turn of this task, if it has one, is another's meanwhile."""
    mine = _own()
    if mine is not None:
        mine.give()
    await asyncio.sleep(seconds)
    if mine is not None:
        await mine.take()


@asynccontextmanager
async def awaiting_answer() -> AsyncIterator[None]:
    """Within it an answer is waited for: once that is overdue, the turn is another's until the answer is there."""
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
