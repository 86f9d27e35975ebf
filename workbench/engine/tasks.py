"""Background work that ends with a `with` block."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio


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


def _only(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
