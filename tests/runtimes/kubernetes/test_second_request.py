"""An overdue read is sent once more; what comes first counts, and a server that is slow altogether is left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from runtimes.kubernetes import second_request
from runtimes.kubernetes.second_request import Budget, first_answer

LOST = (OSError, TimeoutError)


@pytest.fixture(autouse=True)
def overdue_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_request, "OVERDUE_SECONDS", 0.0)


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


async def first(server: Callable[[], Coroutine[Any, Any, str]], budget: Budget | None = None) -> str:
    async with asyncio.timeout(5):
        return await first_answer(server, budget or Budget(), LOST)


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
    with pytest.raises(OSError, match="both"):
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


async def test_who_gives_up_leaves_nothing_behind() -> None:
    server = Server(None, None)
    task = asyncio.create_task(first(server))
    await server.both.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert server.given_up == 2


async def test_a_server_that_is_slow_altogether_gets_few_second_requests() -> None:
    budget = Budget()
    servers = [Server("late", "late") for _ in range(100)]
    assert await asyncio.gather(*(first(each, budget) for each in servers)) == ["late"] * 100
    assert sum(each.asked for each in servers) == 110
    assert sum(budget.spend() for _ in range(100)) in (4, 5), "a hundred answers pay for five"
