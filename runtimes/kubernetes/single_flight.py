"""Single flight: concurrent callers of the same request share one call and its result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Safe to share between tasks of one event loop. `close` cancels a call in flight.

    `caches`: a result is reused for ever, and only a failure is followed by another call.
    """

    def __init__(self, call: Callable[[], Awaitable[T]], *, caches: bool = False) -> None:
        self._call, self._caches = call, caches
        self._flight: asyncio.Future[T] | None = None

    async def result(self) -> T:
        """Returns the result of the call in flight, or calls; raises what the call raises.

        Cancelling one caller does not cancel the call for the others.
        """
        if self._flight is None or (self._flight.done() and not self._is_cached(self._flight)):
            self._flight = asyncio.ensure_future(self._call())
        return await asyncio.shield(self._flight)

    def _is_cached(self, flight: asyncio.Future[T]) -> bool:
        return self._caches and not flight.cancelled() and flight.exception() is None

    async def close(self) -> None:
        if self._flight is not None:
            self._flight.cancel()
            await asyncio.gather(self._flight, return_exceptions=True)
