"""What is given on as it changes: one task finds out, whoever iterates gets what was found."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

Given = TypeVar("Given")


class Feed(AsyncIterator[Given]):
    """`run` finds out until it is cancelled, and says by `changed` that there is something to give."""

    def __init__(self) -> None:
        self._dirty = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def run(self) -> None: ...

    def changed(self) -> None:
        self._dirty.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[AsyncIterator[Given]]:
        self._task = task = asyncio.create_task(self.run())
        task.add_done_callback(lambda _: self.changed())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def wait(self) -> None:
        """Waits for a change; raises what ended `run`, and `StopAsyncIteration` where it just ended."""
        await self._dirty.wait()
        if self._task is not None and self._task.done():
            self._task.result()
            raise StopAsyncIteration
