"""Processes that evaluate, and keep what they learned: so that what never ends can be ended, and the rest is quick.

A program of the repository may loop for ever, fill the memory, or be inside one call into C for minutes, in which no
thread of its process gets a turn. In a process of its own it can do that as it likes: the screen goes on, ^C is heard,
and at its deadline it is killed. What is handed over and back are values. What is needed first can be had while its
process still makes the rest (`Rest`).

The processes belong to this one, not to a session. A few stay, each with parsed files of the repositories it was last
used for: the one used last is taken first. One that had to be ended is followed by a new one.
"""

from __future__ import annotations

import asyncio
import atexit
import marshal
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio.from_thread
import anyio.to_thread

from kcl.bounded import Allowance
from kcl.bounded.search_path import search_path
from kcl.bounded.watchdog import GRACE_SECONDS, Exceeded, problem
from workbench.engine.errors import EvaluationEnded
from workbench.engine.frames import (
    MOST_BYTES,
    Ask,
    Begun,
    Ended,
    Finished,
    FrameTooLarge,
    Item,
    Leaving,
    Raised,
    Value,
    read,
    write,
)

T = TypeVar("T")

_START_SECONDS: Final = 60.0
"""A machine under load may take long to start Python; nothing of the repository runs before."""
_FINISHING_SECONDS: Final = 1.0
"""How long a process is waited for that has only the rest to make: another takes longer to start, and knows nothing."""
_AT_ONCE_BYTES: Final = 16 << 10
"""What fits into a pipe in which nothing is: writing it does not wait for a reader."""
_ABANDONED_SECONDS: Final = 2.0
"""How long what nobody waits for any more may go on: an edit follows the other while somebody types, and a process
that is ended has to learn everything again."""


class Process:
    """One process that evaluates, one thing at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "workbench.engine.evaluator_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=Path(os.sep).absolute(),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(search_path()))},
            start_new_session=True,  # a ^C is meant for whoever asked: it ends this process
        )
        self._is_leaving = False
        self._has_begun = False
        self._is_deaf = False
        self._abandoned_at: float | None = None
        self._request = _Request(self, Allowance())
        threading.Thread(target=self._listen, name="wb-evaluator", daemon=True).start()

    @property
    def is_alive(self) -> bool:
        return not (self._is_leaving or self._is_deaf) and self._process.poll() is None

    @property
    def has_begun(self) -> bool:
        """Whether it ever said that it is there: before, starting Python may take its time."""
        return self._has_begun

    @property
    def is_finishing(self) -> bool:
        """Whether who asked has what is needed first, and it will soon be free."""
        return self._request.is_finishing

    @property
    def is_abandoned(self) -> bool:
        return self._abandoned_at is not None

    @property
    def abandoned_at(self) -> float | None:
        """Since when nobody waits for what it does, None where somebody does."""
        return self._abandoned_at

    def abandon(self) -> None:
        """Nobody waits for what it does: it is ended soon, unless it comes to its end."""
        self._abandoned_at = time.monotonic()
        self._request.put(None)

    def take(self) -> None:
        """Somebody is going to ask it something, and waits."""
        self._abandoned_at = None

    def kill(self) -> None:
        """Ends it at once. Whoever waits for it is told."""
        with suppress(OSError):
            self._process.kill()

    def close(self) -> None:
        self.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def items(self, work: Callable[..., Any], arguments: tuple[Any, ...], allowance: Allowance) -> Iterator[Any]:
        """Yields what a generator function yields, or the value of another; each has all of the allowance.

        Raises what it raises, and `EvaluationEnded`; after that the process is gone.
        """
        request = self.ask(work, arguments, allowance)
        try:
            yield from request
        except BaseException as error:
            self._close_after(error, request)
            raise

    def begin(self, work: Callable[..., Any], arguments: tuple[Any, ...], allowance: Allowance) -> _Request | None:
        """Asks without waiting for anything; None where that cannot be said to be so, and nothing was asked."""
        if not self._has_begun:
            return None
        message = _message(work, arguments, allowance)
        return self._told(message, allowance) if len(message) <= _AT_ONCE_BYTES else None

    def first_of(self, request: _Request) -> Any:
        """Returns the first of what the request is answered with."""
        try:
            return next(request)
        except BaseException as error:
            self._close_after(error, request)
            raise

    def exit_code(self) -> int:
        """Waits for its end."""
        return self._process.wait()

    def _close_after(self, error: BaseException, request: _Request) -> None:
        """What is not heard to its end would be taken for an answer to the next request."""
        if isinstance(error, EvaluationEnded) or not request.has_ended:
            self.close()

    def ask(self, work: Callable[..., Any], arguments: tuple[Any, ...], allowance: Allowance) -> _Request:
        return self._told(_message(work, arguments, allowance), allowance)

    def _told(self, message: bytes, allowance: Allowance) -> _Request:
        request = self._request = _Request(self, allowance)
        assert self._process.stdin is not None
        with suppress(OSError):  # it is gone: reading says so
            write(self._process.stdin, message)
        if self._is_deaf:
            request.put(EOFError())
        return request

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with stream:
            while True:
                try:
                    frame = pickle.loads(read(stream))
                except (EOFError, OSError, ValueError):
                    frame = EOFError()
                except FrameTooLarge as error:
                    frame = error
                    self.kill()
                match frame:
                    case Begun():
                        self._has_begun = True
                    case Leaving():
                        self._is_leaving = True
                        continue
                    case EOFError() | FrameTooLarge():
                        self._is_deaf = True
                self._request.put(frame)
                if self._is_deaf:
                    return


def _message(work: Callable[..., Any], arguments: tuple[Any, ...], allowance: Allowance) -> bytes:
    environment = marshal.dumps(dict(os.environ))
    return pickle.dumps(Ask(work, arguments, allowance, environment), pickle.HIGHEST_PROTOCOL)


class _Request:
    """What a process answers to one request, as it comes: an iterator of values."""

    def __init__(self, process: Process, allowance: Allowance) -> None:
        self._process, self._allowance = process, allowance
        self._frames: queue.SimpleQueue[object] = queue.SimpleQueue()
        starting = 0.0 if process.has_begun else _START_SECONDS
        self._ends_at = time.monotonic() + starting + allowance.deadline_seconds + GRACE_SECONDS
        self._changing = threading.Lock()
        self._has_ended = False
        self._on_end: Callable[[], None] | None = None
        self._on_answer: Callable[[], object] | None = None
        self._has_value = False

    @property
    def has_ended(self) -> bool:
        """Whether the process has answered all of it, or is gone."""
        return self._has_ended

    @property
    def is_finishing(self) -> bool:
        return self._on_end is not None and not self._has_ended

    def put(self, frame: object) -> None:
        """Is told of an answer; None: look at the clock again. From any thread."""
        self._frames.put(frame)
        if frame is None or isinstance(frame, Begun):
            return
        self._has_value = self._has_value or isinstance(frame, Item)
        if (answered := self._on_answer) is not None:
            answered()
        if isinstance(frame, Item):
            return
        with self._changing:
            is_first, self._has_ended = not self._has_ended, True
            act = self._on_end
        if is_first and act is not None:
            act()

    def when_ended(self, act: Callable[[], None]) -> None:
        """Has something done, once, when the process has answered all of it: now, or in the thread that hears it."""
        with self._changing:
            self._on_end = act
            has_ended = self._has_ended
        if has_ended:
            act()

    async def answered(self) -> None:
        """Returns when there is something to take, or it is too late: for an event loop of asyncio."""
        loop, answer = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(answer.set)

        self._on_answer = tell
        if self._frames.empty():
            late = loop.call_later(max(self._ends_at - time.monotonic(), 0), answer.set)
            try:
                await answer.wait()
            finally:
                late.cancel()
                self._on_answer = None

    @property
    def has_value(self) -> bool:
        """Whether a value can be taken without waiting: for anything else a process may have to be waited for."""
        return self._has_value

    def give_up(self) -> None:
        """What is not answered yet is not waited for."""
        if not self._has_ended:
            self._process.kill()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """Raises what the work raised, and `EvaluationEnded`; then the process is to be closed."""
        while True:
            match self._next():
                case Begun():
                    self._begin_again()
                case Item(value):
                    self._begin_again()
                    return pickle.loads(value)
                case Value(value):
                    self._frames.put(Finished())
                    return pickle.loads(value)
                case Finished():
                    raise StopIteration
                case Raised(value):
                    raise pickle.loads(value)
                case Ended(what, where):
                    raise _ended(Exceeded(what), self._allowance, where)
                case FrameTooLarge():
                    raise EvaluationEnded(
                        f"what the program evaluates to is larger than the limit of {MOST_BYTES >> 20} MB",
                        hint="no cluster takes that much: make it smaller",
                    )
                case EOFError():
                    raise self._gone()
                case other:
                    raise AssertionError(f"this is a bug in the workbench: {type(other).__name__} of an evaluator")

    def _begin_again(self) -> None:
        self._ends_at = time.monotonic() + self._allowance.deadline_seconds + GRACE_SECONDS

    def _next(self) -> object:
        while True:
            abandoned_at = self._process.abandoned_at
            until = self._ends_at if abandoned_at is None else min(self._ends_at, abandoned_at + _ABANDONED_SECONDS)
            try:
                frame = self._frames.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                raise _ended(Exceeded.DEADLINE, self._allowance, "") from None
            if frame is not None:
                return frame

    def _gone(self) -> EvaluationEnded:
        code = self._process.exit_code()
        if code == -getattr(signal, "SIGXCPU", 0):
            return _ended(Exceeded.DEADLINE, self._allowance, "")
        return EvaluationEnded(
            "the process that evaluated it died",
            hint=f"it may have run out of memory: its limit is not reached, but the machine's may be ({code})",
            is_unexplained=True,
        )


class Rest:
    """What a process still makes when the first of what it was asked for is there."""

    def __init__(self, request: _Request) -> None:
        self._request: _Request | None = request
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


def _ended(what: Exceeded, allowance: Allowance, where: str) -> EvaluationEnded:
    message, hint = problem(what, allowance)
    return EvaluationEnded(message, where=where, hint=hint)


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
        with self._taken() as process:
            yield from process.items(work, arguments, allowance)

    def call(self, allowance: Allowance, work: Callable[..., T], *arguments: Any) -> T:
        """Returns what `work` returns, a function of a module that a process can import; blocks."""
        with self._taken() as process:
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

    def _first_in(self, turn: threading.Lock, process: Process, request: _Request) -> tuple[Any, Rest]:
        if not turn.acquire(blocking=False):
            raise _Abandoned
        return self._first_of(process, request)

    def _begun_at_once(
        self, allowance: Allowance, work: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> tuple[Process, _Request] | None:
        """Asks a process that has nothing to do, without a thread that waits; None where there is none."""
        process = self._take_idle()
        if process is None:
            return None
        request = None
        try:
            request = process.begin(work, arguments, allowance)
        finally:
            if request is None:
                self._give_back(process)
        return None if request is None else (process, request)

    def _see_to_end(self, process: Process, request: _Request) -> None:
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
        with self._taken(take) as process:
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
        with self._taken(take) as process:
            for each in process.items(work, arguments, allowance):
                anyio.from_thread.run_sync(take_item, each)

    def _first_with(
        self, take: _Taking, allowance: Allowance, work: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> tuple[Any, Rest]:
        process = self._take(take)
        try:
            request = process.ask(work, arguments, allowance)
        except BaseException:
            self._give_back(process)
            raise
        return self._first_of(process, request)

    def _first_of(self, process: Process, request: _Request) -> tuple[Any, Rest]:
        try:
            first = process.first_of(request)
        except BaseException:
            self._give_back(process)
            raise
        request.when_ended(partial(self._give_back, process))
        return first, Rest(request)

    @contextmanager
    def _taken(self, taking: _Taking | None = None) -> Iterator[Process]:
        process = self._take(taking)
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

    def _take_idle(self) -> Process | None:
        with self._changed:
            return self._idle_process()

    def _idle_process(self) -> Process | None:
        while self._idle:
            process = self._idle.pop()
            if process.is_alive:
                process.take()
                self._busy.append(process)
                return process
            process.close()
        return None

    def _take(self, taking: _Taking | None = None) -> Process:
        with self._changed:
            process = self._waited_for(taking)
            if taking is not None:
                taking.process = process
            return process

    def _waited_for(self, taking: _Taking | None) -> Process:
        """Raises `_Abandoned` where it is left meanwhile."""
        patient_until = time.monotonic() + _FINISHING_SECONDS
        while True:
            if taking is not None and taking.is_left:
                raise _Abandoned
            if (process := self._idle_process()) is not None:
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
