"""An event loop whose clock stands still while anybody works, and jumps where all wait: what takes seconds costs none.

So a test says how long something takes, whatever else its machine does: only what is waited for counts, which is what
a server takes to answer and what it asks for. Work in a thread, or in a process that compiles, is waited for as it is.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, ParamSpec, TypeVar, TypeVarTuple, Unpack

import anyio.to_thread
import pytest

from workbench.engine.evaluator import EvaluationRequest

P = ParamSpec("P")
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

_LOOK_SECONDS = 0.002


class VirtualLoop(asyncio.SelectorEventLoop):
    """`at_work` are those whose end is waited for before the clock jumps."""

    def __init__(self) -> None:
        super().__init__(_Selector(self))
        self.now = 0.0
        self.at_work = 0

    def time(self) -> float:
        return self.now

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Arguments]], T], *args: *Arguments
    ) -> asyncio.Future[T]:
        found = super().run_in_executor(executor, func, *args)
        self.at_work += 1
        found.add_done_callback(self._worked)
        return found

    def _worked(self, _: object) -> None:
        self.at_work -= 1


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        found = super().select(0)
        if timeout == 0:  # something is to be done at once
            return found
        if not found and timeout is None:
            return super().select(None)
        while not found and self._loop.at_work:
            found = super().select(_LOOK_SECONDS)
        if not found and timeout:
            self._loop.now += timeout
        return found


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs something on a loop of its own; what works in threads has to be `counted`."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work())


def seconds_of(work: Callable[[], Awaitable[None]]) -> float:
    """Runs something; returns how long it took by the clock of its loop."""

    async def timed() -> float:
        await work()
        return anyio.current_time()

    return run(timed)


def count_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the clock stand still while a thread, or an evaluation, is waited for."""
    monkeypatch.setattr(anyio.to_thread, "run_sync", _counted(anyio.to_thread.run_sync))
    monkeypatch.setattr(asyncio, "to_thread", _counted(asyncio.to_thread))
    monkeypatch.setattr(EvaluationRequest, "answered", _counted(EvaluationRequest.answered))


def _counted(function: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    async def work(*args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.at_work += 1
        try:
            return await function(*args, **kwargs)
        finally:
            loop.at_work -= 1

    return work
