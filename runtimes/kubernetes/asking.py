"""A question that several want the answer of: it is asked once, and all of them get the answer that is on its way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Asking(Generic[T]):
    """Safe to share between tasks of one event loop. `close` gives up what is on its way.

    `keeps`: an answer is asked for once and for all, and only a failure is followed by another question.
    """

    def __init__(self, ask: Callable[[], Awaitable[T]], *, keeps: bool = False) -> None:
        self._ask, self._keeps = ask, keeps
        self._asked: asyncio.Future[T] | None = None

    async def answer(self) -> T:
        """Returns the answer that is on its way, or asks; raises what asking raises.

        Who is cancelled meanwhile takes the answer from nobody else.
        """
        if self._asked is None or (self._asked.done() and not self._is_kept(self._asked)):
            self._asked = asyncio.ensure_future(self._ask())
        return await asyncio.shield(self._asked)

    def _is_kept(self, asked: asyncio.Future[T]) -> bool:
        return self._keeps and not asked.cancelled() and asked.exception() is None

    async def close(self) -> None:
        if self._asked is not None:
            self._asked.cancel()
            await asyncio.gather(self._asked, return_exceptions=True)
