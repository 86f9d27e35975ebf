"""So many at a time, and who only waits holds up nobody: counted by what has a turn, without a clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from runtimes.base import limiter
from runtimes.base.limiter import Limiter, awaiting_answer


async def settled() -> None:
    """Lets every task go on until none can."""
    for _ in range(20):
        await asyncio.sleep(0)


class Bench:
    """Tasks that take turns; `at_work` are those that have one now, `order` those that ever had, in their order."""

    def __init__(self, at_once: int) -> None:
        self.limiter, self.order, self.at_work = Limiter(at_once), list[str](), set[str]()
        self.gates: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, name: str, *, awaits: bool = False) -> None:
        self.gates[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._run(name, awaits))

    async def _run(self, name: str, awaits: bool) -> None:
        async with self.limiter.slot():
            self.order.append(name)
            self.at_work.add(name)
            if awaits:
                async with awaiting_answer():
                    await self.gates[name].wait()
                self.order.append(f"{name} again")
            else:
                await self.gates[name].wait()
            self.at_work.discard(name)

    async def end(self) -> None:
        for each in self.gates.values():
            each.set()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)


@pytest.fixture
def overdue_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limiter, "OVERDUE_SECONDS", 0.0)


async def test_no_more_have_a_turn_than_may() -> None:
    bench = Bench(2)
    for name in "abcd":
        bench.start(name)
    await settled()
    assert bench.order == ["a", "b"]
    bench.gates["b"].set()
    await settled()
    assert bench.order == ["a", "b", "c"]
    await bench.end()
    assert bench.order == ["a", "b", "c", "d"]


async def test_who_pauses_is_no_longer_counted_and_comes_back_first() -> None:
    found, order, goes_on = Limiter(1), list[str](), asyncio.Event()

    async def pausing() -> None:
        async with found.slot():
            order.append("asks")
            await limiter.pause(0)
            order.append("asks again")

    async def others(name: str) -> None:
        async with found.slot():
            order.append(name)
            await goes_on.wait()

    tasks = [asyncio.create_task(each) for each in (pausing(), others("second"), others("third"))]
    await settled()
    assert order == ["asks", "second"]
    goes_on.set()
    await asyncio.gather(*tasks)
    assert order == ["asks", "second", "asks again", "third"]


@pytest.mark.usefixtures("overdue_at_once")
async def test_of_overdue_answers_half_as_many_as_there_are_turns_give_theirs_away() -> None:
    bench = Bench(4)
    for name in "abcdefgh":
        bench.start(name, awaits=True)
    await settled()
    assert bench.order == [*"abcdef"], "four that are counted, and two whose turns were given away"
    bench.gates["a"].set()
    await settled()
    assert bench.order == [*"abcdef"], "its answer is there, and it has no turn to go on with"
    bench.gates["c"].set()
    await settled()
    assert bench.order[6:9] == ["c again", "a again", "g"], "who comes back is served first"
    await bench.end()
    assert {f"{each} again" for each in "abcdefgh"} <= {*bench.order}


async def test_answers_that_come_in_time_pay_for_more_that_are_overdue_and_few_can_be_saved_up() -> None:
    found = Limiter(2)
    assert [found.begin_overdue() for _ in range(2)] == [True, False], "half as many as there are turns, for nothing"
    for _ in range(20):
        async with found.slot(), limiter.awaiting_answer():
            await asyncio.sleep(0)
    assert [found.begin_overdue() for _ in range(2)] == [True, False], "twenty answers pay for one"
    for _ in range(1000):
        found.earn()
    assert [found.begin_overdue() for _ in range(3)] == [True, True, False], "and a thousand for two"
    for _ in range(1000):
        found.earn()
    assert [found.begin_overdue() for _ in range(3)] == [True, True, False], "six at the most, of two turns"


@pytest.mark.usefixtures("overdue_at_once")
async def test_an_answer_that_is_overdue_pays_for_nothing() -> None:
    found = Limiter(2)
    for _ in range(40):
        async with found.slot(), limiter.awaiting_answer():
            await settled()
    assert [found.begin_overdue() for _ in range(2)] == [True, False]


@pytest.mark.usefixtures("overdue_at_once")
@pytest.mark.parametrize("is_overdue", [False, True])
async def test_who_is_cancelled_leaves_as_many_turns_as_there_were(is_overdue: bool) -> None:
    bench = Bench(2)
    for name in "abc":
        bench.start(name, awaits=is_overdue)
    await settled()
    for each in bench.tasks.values():
        each.cancel()
    await asyncio.gather(*bench.tasks.values(), return_exceptions=True)
    bench.order.clear()
    for name in "xyz":
        bench.start(name)
    await settled()
    assert bench.order == ["x", "y"]
    await bench.end()


async def test_who_is_cancelled_as_a_slot_is_given_back_ends_cancelled() -> None:
    """Many wait when an interrupted survey of a large stack ends: what they raised was told as a bug."""
    found = Limiter(1)
    async with found.slot():
        waiting = asyncio.create_task(found.take())
        await settled()
        waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(5), found.slot():
        pass


@pytest.mark.parametrize("act", [lambda: limiter.pause(0), lambda: _answered()], ids=["pause", "answer"])
async def test_what_has_no_turn_of_its_own_gives_none_away(act: Callable[[], object]) -> None:
    """A task that was started within a turn may go on when that is over."""
    found, began = Limiter(1), list[str]()

    async def other() -> None:
        async with found.slot():
            began.append("other")

    async with found.slot():
        waiting = asyncio.create_task(other())
        await asyncio.create_task(act())  # type: ignore[arg-type]  # a coroutine of either kind
        await settled()
        assert began == []
    await waiting
    assert began == ["other"]


async def _answered() -> None:
    async with awaiting_answer():
        await settled()
