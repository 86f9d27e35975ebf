"""Processes that evaluate, and keep what they learned: so that what never ends can be ended, and the rest is quick.

A program of the repository may loop for ever, fill the memory, or be inside one call into C for minutes, in which no
thread of its process gets a turn. In a process of its own it can do that as it likes: the screen goes on, ^C is heard,
and at its deadline it is killed. What is handed over and back are values. What is needed first can be had while its
process still makes the rest (`Rest`).

The processes belong to this one, not to a session. A few stay, each with parsed files of the repositories it was last
used for: the one used last is taken first. One that had to be ended is followed by a new one, and one that may keep
more than the next request may need is ended.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, TypeVar

import anyio.from_thread
import anyio.to_thread

from kcl.bounded import Allowance
from workbench.engine.evaluator import EvaluationRequest, Process

T = TypeVar("T")

_FINISHING_SECONDS: Final = 1.0
"""How long a process is waited for that has only the rest to make: another takes longer to start, and knows nothing."""


class Rest:
    """What a process still makes when the first of what it was asked for is there."""

    def __init__(self, request: EvaluationRequest) -> None:
        self._request: EvaluationRequest | None = request
        self._reading = threading.Lock()
        self._value: Any = None
        self._error: Exception | None = None

    def get(self) -> Any:
        """Waits for it, in any thread. Raises `EvaluationEnded` where the process ended before."""
        with self._reading:
            if self._request is not None:
                try:
                    self._value = next(self._request)
                except Exception as error:
                    self._error = error
                    self._request.give_up()
                self._request = None
        if self._error is not None:
            raise self._error
        return self._value


class _Abandoned(Exception):
    """Nobody waits for what was asked: it is not begun."""


class _Taking:
    """Somebody who waits for what a process, which a thread takes, is to do; he may leave at any moment."""

    def __init__(self) -> None:
        self.is_left = False
        self.process: Process | None = None

    def leave(self) -> None:
        """What is not begun is not begun any more, and what is, is abandoned."""
        self.is_left = True
        if self.process is not None:
            self.process.abandon()


class Evaluators:
    """The processes of this one. Safe to use from any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._idle: list[Process] = []
        self._busy: list[Process] = []
        self._is_closed = False

    @property
    def busy(self) -> int:
        """How many are at work."""
        return len(self._busy)

    def warm(self) -> None:
        """Starts a process, if there is none, before it is needed: what can be done meanwhile is."""
        with self._changed:
            if not self._idle and not self._busy:
                self._idle.append(Process())

    def items(self, allowance: Allowance, work: Callable[..., Iterator[T]], *arguments: Any) -> Iterator[T]:
        """Yields what `work` yields, each item within the allowance; blocks. See `Process.items`."""
        with self._taken(allowance) as process:
            yield from process.items(work, arguments, allowance)

    def call(self, allowance: Allowance, work: Callable[..., T], *arguments: Any) -> T:
        """Returns what `work` returns, a function of a module that a process can import; blocks."""
        with self._taken(allowance) as process:
            found: T = _only(process.items(work, arguments, allowance))
            return found

    async def acall(self, allowance: Allowance, work: Callable[..., T], *arguments: Any) -> T:
        """The same for an event loop. Cancelled, the evaluation is ended, soon and by somebody else."""
        with self._taking() as take:
            return await anyio.to_thread.run_sync(
                partial(self._call_with, take, allowance, work, arguments), abandon_on_cancel=True
            )

    async def aeach(
        self, allowance: Allowance, take_item: Callable[[T], None], work: Callable[..., Iterator[T]], *arguments: Any
    ) -> None:
        """As `items` for an event loop, in which `take_item` is called with each. Cancelled as `acall` is."""
        with self._taking() as take:
            await anyio.to_thread.run_sync(
                partial(self._each_with, take, take_item, allowance, work, arguments), abandon_on_cancel=True
            )

    def end_abandoned(self) -> None:
        """Ends at once what nobody waits for."""
        with self._changed:
            for each in self._busy:
                if each.is_abandoned:
                    each.kill()

    def close(self) -> None:
        """Ends all of them; what they do is told that they are gone."""
        with self._changed:
            self._is_closed = True
            for each in self._busy:
                each.kill()
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()

    async def afirst(
        self, allowance: Allowance, work: Callable[..., Iterator[Any]], *arguments: Any
    ) -> tuple[Any, Rest]:
        """Returns the first of two values that `work` yields, and the other while it may still be made.

        Cancelled, the evaluation is ended as by `acall`.
        """
        begun = self._begun_at_once(allowance, work, arguments)
        with self._taking() as take:
            if begun is None:
                return await anyio.to_thread.run_sync(
                    partial(self._first_with, take, allowance, work, arguments), abandon_on_cancel=True
                )
            process, request = begun
            take.process = process
            turn = threading.Lock()  # of who sees it to its end: a thread that was asked for may never begin
            try:
                await request.answered()
                if request.has_value:
                    return self._first_in(turn, process, request)
                return await anyio.to_thread.run_sync(self._first_in, turn, process, request, abandon_on_cancel=True)
            except BaseException:
                if turn.acquire(blocking=False):
                    threading.Thread(target=self._see_to_end, args=begun, name="wb-abandoned", daemon=True).start()
                raise

    def _first_in(self, turn: threading.Lock, process: Process, request: EvaluationRequest) -> tuple[Any, Rest]:
        if not turn.acquire(blocking=False):
            raise _Abandoned
        return self._first_of(process, request)

    def _begun_at_once(
        self, allowance: Allowance, work: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> tuple[Process, EvaluationRequest] | None:
        """Asks a process that has nothing to do, without a thread that waits; None where there is none."""
        process = self._take_idle(allowance)
        if process is None:
            return None
        request = None
        try:
            request = process.begin(work, arguments, allowance)
        finally:
            if request is None:
                self._give_back(process)
        return None if request is None else (process, request)

    def _see_to_end(self, process: Process, request: EvaluationRequest) -> None:
        with suppress(Exception):
            self._first_of(process, request)

    @contextmanager
    def _taking(self) -> Iterator[_Taking]:
        """A place for the process that a thread will take; left early, what it does is abandoned, or never begun."""
        taking = _Taking()
        try:
            yield taking
        except BaseException as error:
            if not isinstance(error, Exception):
                with self._changed:
                    taking.leave()
                    self._changed.notify_all()
            raise

    def _call_with(self, take: _Taking, allowance: Allowance, work: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        with self._taken(allowance, take) as process:
            found: T = _only(process.items(work, arguments, allowance))
            return found

    def _each_with(
        self,
        take: _Taking,
        take_item: Callable[[T], None],
        allowance: Allowance,
        work: Callable[..., Iterator[T]],
        arguments: tuple[Any, ...],
    ) -> None:
        with self._taken(allowance, take) as process:
            for each in process.items(work, arguments, allowance):
                anyio.from_thread.run_sync(take_item, each)

    def _first_with(
        self, take: _Taking, allowance: Allowance, work: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> tuple[Any, Rest]:
        process = self._take(allowance, take)
        try:
            request = process.ask(work, arguments, allowance)
        except BaseException:
            self._give_back(process)
            raise
        return self._first_of(process, request)

    def _first_of(self, process: Process, request: EvaluationRequest) -> tuple[Any, Rest]:
        try:
            first = process.first_of(request)
        except BaseException:
            self._give_back(process)
            raise
        request.when_ended(partial(self._give_back, process))
        return first, Rest(request)

    @contextmanager
    def _taken(self, allowance: Allowance, taking: _Taking | None = None) -> Iterator[Process]:
        process = self._take(allowance, taking)
        try:
            yield process
        finally:
            self._give_back(process)

    def _give_back(self, process: Process) -> None:
        with self._changed:
            self._busy.remove(process)
            stays = process.is_alive and not self._is_closed
            if stays:
                self._idle.append(process)
            self._changed.notify_all()  # who is woken alone may have been left
        if not stays:
            process.close()

    def _take_idle(self, allowance: Allowance) -> Process | None:
        with self._changed:
            return self._idle_process(allowance)

    def _idle_process(self, allowance: Allowance) -> Process | None:
        while self._idle:
            process = self._idle.pop()
            if process.is_alive and process.fits(allowance):
                process.take()
                self._busy.append(process)
                return process
            process.close()
        return None

    def _take(self, allowance: Allowance, taking: _Taking | None = None) -> Process:
        with self._changed:
            process = self._waited_for(allowance, taking)
            if taking is not None:
                taking.process = process
            return process

    def _waited_for(self, allowance: Allowance, taking: _Taking | None) -> Process:
        """Raises `_Abandoned` where it is left meanwhile."""
        patient_until = time.monotonic() + _FINISHING_SECONDS
        while True:
            if taking is not None and taking.is_left:
                raise _Abandoned
            if (process := self._idle_process(allowance)) is not None:
                return process
            left = patient_until - time.monotonic()
            if left > 0 and any(each.is_finishing for each in self._busy):
                self._changed.wait(left)
                continue
            if len(self._busy) < self._most:
                self._busy.append(Process())
                return self._busy[-1]
            for each in self._busy:
                if each.is_abandoned:
                    each.kill()
                    break
            self._changed.wait()


def _only(items: Iterator[T]) -> T:
    (found,) = items
    return found


def cores() -> int:
    """Returns how many processes make sense here: the cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


evaluators: Final = Evaluators(max(2, min(cores(), 4)))
"""Those of this process, whatever its sessions."""
atexit.register(evaluators.close)
