"""What every comparison asks first may be asked ahead: once, for the next one who wants to know."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtimes.base import Preparable, Unreachable
from runtimes.kubernetes import discovery
from runtimes.kubernetes.single_flight import SingleFlight
from tests.runtimes.kubernetes.conftest import Place


class Question:
    """Answered when it is let; counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = asyncio.Event()
        self.failure: Exception | None = None

    async def __call__(self) -> int:
        self.asked += 1
        asked = self.asked
        await self.may_answer.wait()
        if self.failure is not None:
            raise self.failure
        return asked


async def test_who_asks_meanwhile_gets_the_answer_that_is_on_its_way() -> None:
    question = Question()
    flight = SingleFlight(question)
    asks = [asyncio.ensure_future(flight.result()) for _ in range(3)]
    await asyncio.sleep(0)
    asks[0].cancel()
    question.may_answer.set()
    assert await asyncio.gather(*asks[1:]) == [1, 1], "who gave up took the answer from nobody"
    assert await flight.result() == 2, "an answer is not kept, unless somebody says so"


async def test_a_failure_is_everybodys_who_waited_and_nobodys_after() -> None:
    question = Question()
    flight = SingleFlight(question, caches=True)
    question.failure = Unreachable("away")
    question.may_answer.set()
    with pytest.raises(Unreachable):
        await flight.result()
    question.failure = None
    assert [await flight.result(), await flight.result()] == [2, 2]


async def test_what_is_given_up_is_not_asked_on() -> None:
    question = Question()
    flight = SingleFlight(question)
    waits = asyncio.ensure_future(flight.result())
    await asyncio.sleep(0)
    await flight.close()
    with pytest.raises(asyncio.CancelledError):
        await waits


def paths(place: Place, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    transport, found = place.runtime._client.transport, []
    call = transport.call

    async def noted(method: str, path: str, **rest: Any) -> Any:
        found.append(path)
        return await call(method, path, **rest)

    monkeypatch.setattr(transport, "call", noted)
    return found


async def test_a_cluster_that_was_asked_ahead_is_asked_the_same_once(
    sandboxed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = paths(sandboxed, monkeypatch)
    assert isinstance(sandboxed.runtime, Preparable)
    preparing = asyncio.ensure_future(sandboxed.runtime.prepare(dict))
    identity = await sandboxed.runtime.identify()
    await preparing
    assert identity.uid
    served = sandboxed.runtime._client.discovery.served
    first = await served()
    assert sorted(asked) == ["/api", "/api/v1/namespaces/kube-system", "/apis"]
    assert await served() == first
    assert sorted(asked) == ["/api", "/api", "/api/v1/namespaces/kube-system", "/apis", "/apis"], (
        "that answer was for the one who asked next: later there may be other kinds"
    )


async def test_kinds_that_were_asked_for_long_ago_are_asked_for_again(
    sandboxed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = paths(sandboxed, monkeypatch)
    await sandboxed.runtime.prepare(dict)
    monkeypatch.setattr(discovery, "_EXPECTED_SECONDS", 0.0)
    await sandboxed.runtime._client.discovery.served()
    assert asked.count("/apis") == 2


async def test_what_nobody_waits_for_any_more_ends_with_the_connection(
    sandboxed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it was forgotten, or taken by somebody who was cancelled: a loop that ends would tear what it does."""
    discovery = sandboxed.runtime._client.discovery
    begun, hangs = asyncio.Event(), asyncio.Event()
    ended = []

    async def hanging(*_: Any, **__: Any) -> Any:
        begun.set()
        try:
            await hangs.wait()
        finally:
            ended.append(True)

    monkeypatch.setattr(discovery, "_every", hanging)
    for forgets in (True, False):
        expecting = asyncio.ensure_future(discovery.expect())
        await begun.wait()
        if forgets:
            discovery.forget_expected()
        else:
            taking = asyncio.ensure_future(discovery.served())
            await asyncio.sleep(0)
            taking.cancel()
        expecting.cancel()
        await asyncio.gather(expecting, return_exceptions=True)
        await discovery.close()
        assert ended == [True]
        begun.clear()
        ended.clear()
