"""Time as a parameter: what the sandbox waits for, it waits for on a clock it is given.

The real clock runs on the asyncio loop. The virtual one stands still until a test moves it, and then runs everything
that falls due, in the order of its time: ten simulated minutes of a stuck rollout cost some milliseconds.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

from kcl.records import dataclass, field


class Timer(Protocol):
    """A call that waits for its moment."""

    def cancel(self) -> None:
        """Forget the call. Harmless when it has run already."""


class Clock(Protocol):
    """What a cluster and its controllers need to know of time."""

    def now(self) -> datetime:
        """The present moment, with time zone (UTC) and microseconds."""

    def call_later(self, seconds: float, action: Callable[[], None]) -> Timer:
        """Run `action` once, `seconds` from now. Zero means: soon, not at once."""


class WallClock:
    """The time of the machine; waiting calls run on the asyncio loop that was running when they were made."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def call_later(self, seconds: float, action: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(max(seconds, 0.0), action)


@dataclass(order=True, slots=True)
class _Waiting:
    at: datetime
    order: int
    action: Callable[[], None] | None = field(compare=False)

    def cancel(self) -> None:
        self.action = None


class VirtualClock:
    """A time that moves only when told to."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2026, 1, 1, tzinfo=UTC)
        self._waiting: list[_Waiting] = []
        self._order = itertools.count()

    def now(self) -> datetime:
        return self._now

    def call_later(self, seconds: float, action: Callable[[], None]) -> Timer:
        waiting = _Waiting(self._now + timedelta(seconds=max(seconds, 0.0)), next(self._order), action)
        heapq.heappush(self._waiting, waiting)
        return waiting

    def advance(self, seconds: float) -> None:
        """Move the time forward, running on the way whatever falls due, including what those calls plan in turn."""
        end = self._now + timedelta(seconds=seconds)
        while self.step(end):
            pass
        self._now = end

    def step(self, until: datetime | None = None) -> bool:
        """Go to the next waiting call and run it. False, and time stands still, if none is due (before `until`)."""
        while self._waiting and self._waiting[0].action is None:
            heapq.heappop(self._waiting)
        if not self._waiting or (until is not None and self._waiting[0].at > until):
            return False
        waiting = heapq.heappop(self._waiting)
        action, waiting.action = waiting.action, None
        self._now = max(self._now, waiting.at)
        assert action is not None
        action()
        return True

    @property
    def next_at(self) -> datetime | None:
        """When the next call is due; None if nothing waits."""
        return min((waiting.at for waiting in self._waiting if waiting.action is not None), default=None)
