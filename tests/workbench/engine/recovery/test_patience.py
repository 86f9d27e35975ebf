"""A cluster that answers slowly is waited for, one that is silent is not: by a clock that jumps while all sleep."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from runtimes.base.answer_listeners import notify
from tests.virtual_time import seconds_of
from workbench.engine.recovery.document import Limits
from workbench.engine.recovery.patience import patience

LIMITS = Limits(answer_seconds=30, deadline_seconds=400)


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
