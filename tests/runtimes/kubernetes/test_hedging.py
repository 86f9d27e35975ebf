"""An overdue read is sent once more; what comes first counts, and a server that is slow altogether is left alone."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

import pytest

from runtimes.kubernetes import hedging
from runtimes.kubernetes.hedging import GivenUp, HedgeBudget, LatencyEstimate, first_answer, timely_answer

LOST = (OSError, TimeoutError)


AT_ONCE = LatencyEstimate(0.0, 0.0)


@pytest.fixture(autouse=True)
def others(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more request, where a test does not say how many."""
    monkeypatch.setattr(hedging, "_MOST_OTHERS", getattr(request, "param", 1))


class Server:
    """Gives each request what `answers` has for it, in their order: a text, an error, or None for silence."""

    def __init__(self, *answers: str | Exception | None) -> None:
        self.answers, self.asked, self.given_up = answers, 0, 0
        self.both = asyncio.Event()

    async def __call__(self) -> str:
        answer = self.answers[self.asked]
        self.asked += 1
        if self.asked == 2:
            self.both.set()
        try:
            await (asyncio.sleep(0.01) if answer is not None else asyncio.Event().wait())
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        if isinstance(answer, Exception):
            raise answer
        return answer or ""


async def first(server: Callable[[], Coroutine[Any, Any, str]], budget: HedgeBudget | None = None) -> str:
    async with asyncio.timeout(5):
        return await first_answer(server, budget or HedgeBudget(), LOST, AT_ONCE)


async def written(server: Callable[[], Coroutine[Any, Any, str]]) -> str:
    """As a write is: what says "refused" is an answer only if both requests say so, or were lost."""
    async with asyncio.timeout(5):
        return await first_answer(server, HedgeBudget(), LOST, AT_ONCE, counts=lambda answer: "refused" not in answer)


async def test_where_the_first_says_nothing_the_second_counts_and_the_first_is_given_up() -> None:
    server = Server(None, "second")
    assert await first(server) == "second"
    assert (server.asked, server.given_up) == (2, 1)


async def test_where_the_first_is_answered_the_second_is_given_up() -> None:
    server = Server("first", None)
    assert await first(server) == "first"
    assert (server.asked, server.given_up) == (2, 1)


async def test_a_connection_that_breaks_leaves_the_other_one() -> None:
    assert await first(Server(OSError("reset"), "second")) == "second"
    with pytest.raises(OSError, match="one"):
        await first(Server(OSError("one"), OSError("both")))


async def test_what_the_server_refuses_is_not_asked_for_otherwise() -> None:
    with pytest.raises(ValueError, match="refused"):
        await first(Server(ValueError("refused"), None))


async def test_a_second_that_breaks_leaves_the_first() -> None:
    has_broken = asyncio.Event()
    asked = iter(["first", "second"])

    async def server() -> str:
        if next(asked) == "first":
            await has_broken.wait()
            return "first"
        has_broken.set()
        raise OSError("reset")

    assert await first(server) == "first"


@pytest.mark.parametrize("others", [2], indirect=True)
async def test_where_the_second_says_nothing_either_or_breaks_a_third_counts() -> None:
    server = Server(None, None, "third")
    assert await first(server) == "third"
    assert (server.asked, server.given_up) == (3, 2)
    assert await first(Server(None, OSError("reset"), "third")) == "third"


@pytest.mark.parametrize("others", [2], indirect=True)
async def test_nobody_is_asked_more_than_three_times() -> None:
    server = Server(None, None, None, "fourth")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await first_answer(server, HedgeBudget(), LOST, AT_ONCE)
    assert (server.asked, server.given_up) == (3, 3)


@pytest.mark.parametrize("others", [2], indirect=True)
async def test_another_takes_the_place_of_those_that_were_refused_while_the_first_is_stuck(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hedging, "_AFTER_REFUSALS_SECONDS", 0.02)
    server = Server(None, "refused", OSError("reset"), "refused", "done")
    assert await written(server) == "done"
    assert (server.asked, server.given_up) == (5, 1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await first_answer(Server(None, *["refused"] * 9), HedgeBudget(), LOST, AT_ONCE, counts=lambda _: False)


async def test_who_gives_up_leaves_nothing_behind() -> None:
    server = Server(None, None)
    task = asyncio.create_task(first(server))
    await server.both.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert server.given_up == 2


async def test_a_server_that_is_slow_altogether_gets_few_hedges() -> None:
    paid = 0

    class Counted(HedgeBudget):
        def spend(self) -> bool:
            nonlocal paid
            may = super().spend()
            paid += may
            return may

    budget = Counted()
    servers = [Server("late", "late") for _ in range(100)]
    assert await asyncio.gather(*(first(each, budget) for each in servers)) == ["late"] * 100
    assert 110 <= sum(each.asked for each in servers) <= 100 + paid <= 115
    while budget.spend():
        pass
    assert paid in (14, 15), "ten for nothing, and a hundred answers pay for five"


class Pair:
    """Two requests of which the first is answered once the second was, or the other way round."""

    def __init__(self, first: str | Exception, second: str | Exception, *, second_ends_first: bool) -> None:
        self.waits, self.ended = iter([second_ends_first, not second_ends_first]), asyncio.Event()
        self.answers: Iterator[str | Exception] = iter([first, second])
        self.asked, self.both = 0, asyncio.Event()

    async def __call__(self) -> str:
        answer, waits = next(self.answers), next(self.waits)
        self.asked += 1
        if self.asked == 2:
            self.both.set()
        await self.both.wait()
        if waits:
            await self.ended.wait()
        self.ended.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize("second_ends_first", [True, False])
@pytest.mark.parametrize(
    ("first", "second", "end"),
    [
        ("done", "refused: it has moved", "done"),
        ("refused: it has moved", "done", "done"),
        ("refused: too many", "refused: it has moved", "refused: too many"),
        (OSError("reset"), "done", "done"),
        ("done", OSError("reset"), "done"),
    ],
)
async def test_of_two_writes_success_counts_and_a_refusal_only_of_both(
    first: str | Exception, second: str | Exception, end: str, second_ends_first: bool
) -> None:
    assert await written(Pair(first, second, second_ends_first=second_ends_first)) == end


@pytest.mark.parametrize("second_ends_first", [True, False])
@pytest.mark.parametrize("answers", [("refused: it has moved", OSError("reset")), (OSError("reset"), "refused")])
async def test_of_two_writes_one_that_was_lost_may_have_been_done(
    answers: tuple[str | Exception, str | Exception], second_ends_first: bool
) -> None:
    with pytest.raises(OSError, match="reset"):
        await written(Pair(*answers, second_ends_first=second_ends_first))


def test_what_is_overdue_depends_on_what_answers_take() -> None:
    latency = LatencyEstimate(0.5, 10.0)
    assert latency.seconds == 10.0, "nothing is known yet"
    for _ in range(40):
        latency.learn(0.02)
    assert latency.seconds == 0.5
    for _ in range(40):
        latency.learn(2.0)
    assert 4.0 <= latency.seconds < 5.0, "a server that has become slow is not asked twice for it"
    for _ in range(40):
        latency.learn(9.0)
    assert latency.seconds == 10.0


def test_one_stuck_answer_makes_nobody_wait_longer() -> None:
    latency = LatencyEstimate(0.5, 10.0)
    for _ in range(39):
        latency.learn(0.02)
    latency.learn(6.0)
    assert latency.seconds == 0.5


async def test_what_is_overdue_is_given_up_where_another_request_may_be_paid_for() -> None:
    server, budget = Server(None, "first"), HedgeBudget()
    with pytest.raises(GivenUp) as given_up:
        await timely_answer(server, budget, LatencyEstimate(0.02, 0.02))
    assert given_up.value.seconds >= 0.02 and server.asked == server.given_up == 1
    while budget.spend():
        pass
    server = Server("late")
    assert await timely_answer(server, budget, LatencyEstimate(0.001, 0.001)) == "late", "it takes 0.01 s"
    assert await timely_answer(Server("late"), HedgeBudget(), LatencyEstimate(0.001, 0.001), 1000) == "late"


async def test_an_error_of_the_connection_is_not_given_up() -> None:
    with pytest.raises(TimeoutError) as lost:
        await timely_answer(Server(TimeoutError()), HedgeBudget(), LatencyEstimate(1.0, 1.0))
    assert not isinstance(lost.value, GivenUp)


@pytest.mark.parametrize("is_read", [True, False])
async def test_what_was_answered_is_kept_by_nothing(is_read: bool) -> None:
    """A comparison of thousands looks for no cycles: each request would stay in memory, with its body."""

    class Body:
        pass

    async def ask(body: Body) -> str:
        await asyncio.sleep(0)
        return "answer"

    body = Body()
    kept = weakref.ref(body)
    gc.disable()
    try:
        if is_read:
            await first_answer(partial(ask, body), HedgeBudget(), LOST, LatencyEstimate(1.0, 1.0))
        else:
            await timely_answer(partial(ask, body), HedgeBudget(), LatencyEstimate(1.0, 1.0))
        del body
        await asyncio.sleep(0)
        assert kept() is None
    finally:
        gc.enable()
