"""The history of a stack, read while the stack is still evaluated, for the comparison that waits for that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from workbench.release.history import History
from workbench.release.shared import ReleasePlaces


class HistoryAhead:
    """One reading at most, which the next who asks for the very same places takes over, with what it raises."""

    def __init__(self) -> None:
        self._begun: tuple[ReleasePlaces, asyncio.Task[History]] | None = None

    def begin(self, where: ReleasePlaces, read: Callable[[ReleasePlaces], Coroutine[Any, Any, History]]) -> None:
        """To be called on the event loop that will ask."""
        self.discard()
        task = asyncio.ensure_future(read(where))
        task.add_done_callback(_look_at)
        self._begun = where, task

    def take(self, where: ReleasePlaces) -> asyncio.Task[History] | None:
        """Returns the reading that was begun of these places, None without one; one of other places is given up."""
        if self._begun is None or self._begun[0] != where:
            self.discard()
            return None
        (_, task), self._begun = self._begun, None
        return task

    def discard(self) -> None:
        if self._begun is not None:
            self._begun[1].cancel()
            self._begun = None


def _look_at(task: asyncio.Task[History]) -> None:
    """Whoever takes it over gets what it raised; where nobody does, nobody misses it."""
    if not task.cancelled():
        task.exception()
