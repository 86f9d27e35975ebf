"""A cluster that answers slowly is waited for, one that is silent is not: by a clock that jumps while all sleep."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from runtimes.base.answer_listeners import notify
from workbench.engine.recovery.document import Limits
from workbench.engine.recovery.patience import patience

LIMITS = Limits(answer_seconds=30, deadline_seconds=400)


class _Loop(asyncio.SelectorEventLoop):
    """Has its own time: what it would wait for is over at once."""

    def __init__(self) -> None:
        super().__init__(_Selector(self))
        self.now = 0.0

    def time(self) -> float:
        return self.now


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: _Loop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        found = super().select(0)
        if not found and timeout:
            self._loop.now += timeout
        return found


def seconds_of(work: Callable[[], Awaitable[None]]) -> float:
    """Runs something; returns how long it took by the clock of its loop."""

    async def run() -> float:
        await work()
        return anyio.current_time()

    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(run())


async def answers(number: int, after: float) -> None:
    for _ in range(number):
        await anyio.sleep(after)
        notify()


def test_who_answers_late_and_answers_is_waited_for() -> None:
    async def look() -> None:
        with patience(LIMITS):
            await answers(4, after=25)

    assert seconds_of(look) == 100


def test_answers_to_what_was_begun_within_count() -> None:
    async def look() -> None:
        with patience(LIMITS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(answers, 3, 25)
                tasks.start_soon(anyio.sleep, 90)

    assert seconds_of(look) == 90


def test_silence_is_given_up_and_so_is_what_never_ends() -> None:
    async def silent() -> None:
        with pytest.raises(TimeoutError), patience(LIMITS):
            await answers(2, after=20)
            await anyio.sleep_forever()

    async def endless() -> None:
        with pytest.raises(TimeoutError), patience(LIMITS):
            await answers(1_000, after=25)

    async def short() -> None:
        with pytest.raises(TimeoutError), patience(replace(LIMITS, deadline_seconds=10)):
            await anyio.sleep_forever()

    assert [seconds_of(each) for each in (silent, endless, short)] == [70, 400, 10]


def test_answers_to_others_do_not_count_and_those_of_a_look_within_do() -> None:
    async def look() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answers, 20, 5)  # another's, begun outside
            with pytest.raises(TimeoutError), patience(LIMITS):
                with patience(replace(LIMITS, answer_seconds=60)):
                    await answers(1, after=20)
                await anyio.sleep_forever()
            assert anyio.current_time() == 50

    seconds_of(look)
