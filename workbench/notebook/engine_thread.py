"""One thread with one event loop, on which everything of the engine runs.

Cells and widget handlers run on whichever thread Jupyter gives them: the main one, or with threaded comms another. They
only hand work over, and either wait for it or not. So nothing of the engine is ever touched by two threads, and a cell
that waits does not keep a Stop button from being heard.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from runtimes.base import RuntimeFailure
from workbench.project import WorkbenchError

T = TypeVar("T")

_LOOK_SECONDS = 0.25
"""How often a waiting cell wakes up: an interrupt is only seen between two waits on some systems."""
_END_SECONDS = 130.0
"""How long an interrupted job may take to end: writes that are under way are waited for."""


class Job(Generic[T]):
    """Work that was handed over. `result` waits for it; `stop` asks it to end early, from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Callable[[], Awaitable[T]]) -> None:
        self._loop, self._work = loop, work
        self._ended = threading.Event()
        self._value: T | None = None
        self._error: BaseException | None = None
        self._task: asyncio.Task[None] | None = None
        self._afterwards: list[Callable[[], None]] = []
        loop.call_soon_threadsafe(self._start)

    @property
    def is_running(self) -> bool:
        return not self._ended.is_set()

    @property
    def error(self) -> BaseException | None:
        """What ended the work, None while it runs and where it ended well."""
        return self._error

    def result(self) -> T:
        """Waits; raises what the work raised. An interrupt ends the work first, then goes on its way."""
        try:
            while not self._ended.wait(_LOOK_SECONDS):
                pass
        except KeyboardInterrupt:
            self.stop()
            self._ended.wait(_END_SECONDS)
            raise
        if self._error is not None:
            raise readable(self._error)
        return self._value  # type: ignore[return-value]  # set by the work, whose type is T

    def wait(self, seconds: float) -> bool:
        """Waits at most so long; tells whether the work ended."""
        return self._ended.wait(seconds)

    async def settled(self) -> None:
        """Waits on the engine's thread until the work ended, however it did."""
        assert self._task is not None, "jobs start in the order they were handed over"
        await asyncio.wait([self._task])

    def when_ended(self, do: Callable[[], None]) -> None:
        """Has something done on the engine's thread once the work ended, however it did; soon if it has."""

        def note() -> None:
            if self.is_running:
                self._afterwards.append(do)
            else:
                do()

        self._loop.call_soon_threadsafe(note)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._cancel)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._run())
        # not at the end of the work: a task that is cancelled before its first step never begins it
        self._task.add_done_callback(self._end)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        self._value = await self._work()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._error = Stopped("stopped before it was done") if task.cancelled() else task.exception()
        self._ended.set()
        for do in self._afterwards:
            do()


class Stopped(WorkbenchError):
    """Somebody stopped what was waited for: an interrupt of the kernel, or Stop."""


class EngineThread:
    """Starts with its first job; ends with the process, or with `close`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self, work: Callable[[], Awaitable[T]]) -> Job[T]:
        """Hands work over and does not wait. The callable is called on the engine's thread."""
        return Job(self._running_loop(), work)

    def call(self, work: Callable[[], Awaitable[T]]) -> T:
        """Hands work over and waits for what comes of it."""
        if threading.current_thread() is self._thread:
            raise AssertionError("the engine's thread would wait for itself")
        return self.start(work).result()

    def post(self, action: Callable[[], Any]) -> None:
        """Has something done on the engine's thread, soon."""
        self._running_loop().call_soon_threadsafe(action)

    def close(self) -> None:
        """Ends the thread; what still runs on it is stopped first. Done already is fine."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None or not thread.is_alive():
            return
        loop.call_soon_threadsafe(lambda: loop.create_task(_end(loop)))
        thread.join(_END_SECONDS)
        atexit.unregister(self.close)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="workbench", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


async def _end(loop: asyncio.AbstractEventLoop) -> None:
    others = [each for each in asyncio.all_tasks(loop) if each is not asyncio.current_task(loop)]
    for each in others:
        each.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    loop.stop()


def readable(error: BaseException) -> BaseException:
    """Makes IPython show a failure as the other faces do: what, where and what to do, without the stack of calls."""
    if isinstance(error, WorkbenchError | RuntimeFailure):
        from workbench.notebook.views import error_lines

        error.__dict__["_render_traceback_"] = lambda: error_lines(error)
    return error
