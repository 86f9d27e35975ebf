"""Programs that are started whole: whoever is cancelled at whatever moment leaves none, and no pipe of one."""

from __future__ import annotations

import asyncio
import gc
import warnings

import pytest

from runtimes.base.programs import ended, started, undisturbed

PIPE = asyncio.subprocess.PIPE


async def _said() -> bytes:
    process = await started("/bin/sh", "-c", "sleep 300; echo x", stdout=PIPE, stderr=PIPE)
    assert process.stdout is not None
    try:
        return await process.stdout.read()
    finally:
        await ended(process)


async def _cancelled(times: int, after: int) -> None:
    asking = asyncio.create_task(_said())
    for _ in range(after):
        await asyncio.sleep(0)
    for _ in range(times):
        asking.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.parametrize("times", [1, 2, 3])
def test_nothing_is_left_by_who_is_cancelled_while_it_starts(times: int) -> None:
    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always")
        for after in range(10):
            asyncio.run(_cancelled(times, after))
        gc.collect()
    assert [str(each.message) for each in left] == []


async def test_what_is_not_there_is_said() -> None:
    with pytest.raises(FileNotFoundError):
        await started("/there/is/none")


async def test_a_cancellation_is_raised_once_what_is_waited_for_has_ended() -> None:
    gate, seen = asyncio.Event(), []

    async def ends() -> None:
        await gate.wait()
        seen.append("ended")

    waiting = asyncio.create_task(undisturbed(ends()))
    for _ in range(3):
        await asyncio.sleep(0)
        waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert seen == ["ended"]
