"""Runs what is asynchronous of a command to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


def outcome(function: Callable[[], Awaitable[T]]) -> T:
    """Returns what `function` does, which has an event loop of its own.

    It is no result of the loop's task: with Python 3.11 `asyncio.Runner` has `signal` write down what handles an
    interruption as it ends, and so the task with all that came of it. Of a large stack that is a text of megabytes,
    made more than once, and nobody reads it.
    """
    found: list[T] = []

    async def run() -> None:
        found.append(await function())

    anyio.run(run)
    return found[0]
