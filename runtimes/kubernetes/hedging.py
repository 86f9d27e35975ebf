"""Hedged requests: one whose answer is overdue is sent once more, or twice, and the first answer counts.

A hedge that is refused as one too many, or is lost, is no answer, and another takes its place: else the request that is
stuck would be waited for.

Where one of many connections, or one of several API servers, is stuck, everything that needs its answer would wait for
it. What is overdue depends on the server: twice what nine of ten of its answers take. A server that is slow altogether
must not be asked twice for it: a second request is paid for by twenty answers, and few can be saved up.

Only what may happen twice is sent so: what changes nothing, and a write that is bound to one version of its object
(uid and resourceVersion). Of two such writes the server carries out one: the first that it carries out moves the
version, which no version ever is again, and the other is refused (409) whenever it comes; where neither changes
anything, neither matters. That one was refused says nothing while the other is unanswered, as that may be why: so
where two were sent, success is the answer of either, and a refusal only that of both. A creation is bound to no
version: done a second time, late, it would bring back what somebody deleted in between. So of a creation never two are
under way. One that is overdue can be given up: its connection is closed, upon which an API server drops what it does
for it, be that a call of a webhook whose failure would be ignored. Whoever gave it up looks whether the object is there
before it is sent again, with more patience, and at last with all of it: a slow webhook would never come to its end. A
deletion is sent once.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

_INITIALLY_SAVED: Final = 10.0
_MOST_SAVED: Final = 25.0
_FOR_AN_ANSWER: Final = 0.05
_MOST_OTHERS: Final = 2
"""So many hedges of one request are under way at a time."""
_MOST_HEDGES: Final = 6
_AFTER_REFUSALS_SECONDS: Final = 1.0
"""Servers that are overloaded ask for as long a pause, most often."""
_ENOUGH_ANSWERS: Final = 8
_ANSWERS_KNOWN: Final = 40
_TIMES_USUAL: Final = 2.0

T = TypeVar("T")


class HedgeBudget:
    """How many hedges, second requests, may be sent now."""

    def __init__(self) -> None:
        self._saved = _INITIALLY_SAVED

    def earn(self) -> None:
        self._saved = min(_MOST_SAVED, self._saved + _FOR_AN_ANSWER)

    def spend(self) -> bool:
        """Returns whether one may be sent, which is then paid for."""
        if self._saved < 1:
            return False
        self._saved -= 1
        return True


class LatencyEstimate:
    """After how long an answer is overdue, between two bounds: the upper one until enough answers were measured.

    By what nine of the last ten took: a mean and its deviation, as TCP smooths them for its timer
    (https://www.rfc-editor.org/rfc/rfc6298), make one stuck answer a reason to wait for the next one much longer.
    """

    def __init__(self, least_seconds: float, most_seconds: float) -> None:
        self._least, self._most = least_seconds, most_seconds
        self._last: deque[float] = deque(maxlen=_ANSWERS_KNOWN)

    def learn(self, seconds: float) -> None:
        """Is told what an answer took, or how long one was waited for that was given up."""
        self._last.append(seconds)

    @property
    def seconds(self) -> float:
        if len(self._last) < _ENOUGH_ANSWERS:
            return self._most
        usual = sorted(self._last)[len(self._last) * 9 // 10]
        return min(max(_TIMES_USUAL * usual, self._least), self._most)


def _any(_: object) -> bool:
    return True


class GivenUp(TimeoutError):
    """An answer was overdue, and its connection was closed after `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:.1f} s")
        self.seconds = seconds


async def timely_answer(
    ask: Callable[[], Coroutine[Any, Any, T]], budget: HedgeBudget, latency: LatencyEstimate, times: float = 1.0
) -> T:
    """Asks, and raises `GivenUp` where one more request may be paid for and the answer is overdue, `times` over."""
    if times == math.inf:
        return await ask()
    loop = asyncio.get_running_loop()
    began, overdue_seconds = loop.time(), times * latency.seconds
    timer: asyncio.TimerHandle | None = None

    # it is handed itself: by its name it would hold itself, and with it the request, and nobody looks for cycles while
    # thousands are sent
    def give_up(again: Callable[[Any], None]) -> None:
        nonlocal timer
        if budget.spend():
            scope.reschedule(loop.time())
        else:
            timer = loop.call_later(overdue_seconds, again, again)

    timer = loop.call_later(overdue_seconds, give_up, give_up)
    try:
        async with asyncio.timeout(None) as scope:
            found = await ask()
    except TimeoutError:
        if scope.expired():
            raise GivenUp(loop.time() - began) from None
        raise
    finally:
        timer.cancel()
        latency.learn(loop.time() - began)
    budget.earn()
    return found


async def first_answer(
    ask: Callable[[], Coroutine[Any, Any, T]],
    budget: HedgeBudget,
    lost: tuple[type[Exception], ...],
    latency: LatencyEstimate,
    *,
    counts: Callable[[T], bool] = _any,
) -> T:
    """Asks, and again where no answer came for long. `lost` are errors of one connection: then another counts.

    `counts` tells whether an answer is that of all requests; where it is not, the others' are waited for.
    """
    loop = asyncio.get_running_loop()
    began, overdue_seconds = loop.time(), latency.seconds
    others: list[asyncio.Task[T]] = []
    is_waiting = True
    timer: asyncio.TimerHandle | None = None

    def ask_again(again: Callable[[Any], None]) -> None:  # see `timely_answer`
        nonlocal timer
        if sum(not each.done() for each in others) < _MOST_OTHERS and budget.spend():
            others.append(loop.create_task(ask()))
            others[-1].add_done_callback(answered)
        if len(others) < _MOST_HEDGES:
            later = overdue_seconds * 2 ** min(len(others), _MOST_OTHERS)
            # from here on one is sent only in the place of one that was refused, or lost
            pause = later if len(others) < _MOST_OTHERS else max(later, _AFTER_REFUSALS_SECONDS)
            timer = loop.call_later(pause, again, again)

    def answered(task: asyncio.Task[T]) -> None:
        is_answer = not task.cancelled() and task.exception() is None and counts(task.result())
        if is_answer and is_waiting and not scope.expired():
            scope.reschedule(loop.time())

    timer = loop.call_later(overdue_seconds, ask_again, ask_again)
    try:
        found: T | Exception
        try:
            async with asyncio.timeout(None) as scope:
                try:
                    found = await ask()
                finally:
                    is_waiting = False
                    timer.cancel()
                    latency.learn(loop.time() - began)
        except lost as error:
            if not others:
                raise
            found = error
        else:
            budget.earn()
            if not others or counts(found):
                return found
        return await _ended(found, others, lost, counts)
    finally:
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)


async def _ended(
    found: T | Exception, others: list[asyncio.Task[T]], lost: tuple[type[Exception], ...], counts: Callable[[T], bool]
) -> T:
    """Returns, or raises, what several requests come to of which the first was lost or refused.

    Where none succeeded, one that was lost may have been carried out: that is how it ended.
    """
    waiting = set(others)
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            error = each.exception()
            if error is None and counts(each.result()):
                return each.result()
            if error is not None and not (isinstance(error, lost) and isinstance(found, Exception)):
                assert isinstance(error, Exception), "who is cancelled is cancelled with all"
                found = error
    if isinstance(found, Exception):
        raise found
    return found
