"""Requests that are in flight together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def together(*requests: Awaitable[T]) -> list[T]:
    """Returns all answers. The first failure is raised once the other requests have ended as well.

    `asyncio.gather` leaves those to themselves: they go on asking, over connections that are opened again after whoever
    met the failure has closed them.
    """
    tasks = [asyncio.ensure_future(each) for each in requests]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
