"""Background work that ends with a `with` block, and the stream of what it reports."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

import anyio
from anyio.abc import ObjectReceiveStream

E = TypeVar("E")


@asynccontextmanager
async def running(*work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Runs coroutines beside the body; cancels what still runs when the body ends, and waits for it.

    A single error comes out as itself, not as a group of one: who writes `except Refused` around a verb shall catch it.
    """
    try:
        async with anyio.create_task_group() as tasks:
            for each in work:
                tasks.start_soon(each)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise _only(group) from None


class EventStream(AsyncIterator[E]):
    """What something that runs tells, to be read once; it ends with the run."""

    def __init__(self, receive: ObjectReceiveStream[E]) -> None:
        self._receive = receive

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> E:
        try:
            return await self._receive.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise StopAsyncIteration from None


def _only(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
