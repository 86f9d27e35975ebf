"""One process that evaluates, as its parent sees it: requests go in, values come back as they are made."""

from __future__ import annotations

import asyncio
import marshal
import os
import pickle
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from kcl.bounded import Allowance
from kcl.bounded.watchdog import GRACE_SECONDS, Exceeded, problem
from workbench.engine import evaluator_start
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

_START_SECONDS: Final = 60.0
"""A machine under load may take long to start Python; nothing of the repository runs before."""
_AT_ONCE_BYTES: Final = 16 << 10
"""What fits into a pipe in which nothing is: writing it does not wait for a reader."""
_ABANDONED_SECONDS: Final = 2.0
"""How long what nobody waits for any more may go on: an edit follows the other while somebody types, and a process
that is ended has to learn everything again."""


class Process:
    """One process that evaluates, one thing at a time."""

    def __init__(self) -> None:
        self._process = evaluator_start.started()
        self._is_leaving = False
        self._has_begun = False
        self._is_deaf = False
        self._abandoned_at: float | None = None
        self._most_bytes = 0
        self._request = EvaluationRequest(self, Allowance())
        threading.Thread(target=self._listen, name="wb-evaluator", daemon=True).start()

    @property
    def is_alive(self) -> bool:
        return not (self._is_leaving or self._is_deaf) and self._process.poll() is None

    @property
    def has_begun(self) -> bool:
        """Whether it ever said that it is there: before, starting Python may take its time."""
        return self._has_begun

    def fits(self, allowance: Allowance) -> bool:
        """Whether what it may keep of earlier requests leaves this one its memory: of one that had more, it may not."""
        return self._most_bytes <= allowance.max_memory_bytes

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

    def begin(
        self, work: Callable[..., Any], arguments: tuple[Any, ...], allowance: Allowance
    ) -> EvaluationRequest | None:
        """Asks without waiting for anything; None where that cannot be said to be so, and nothing was asked."""
        if not self._has_begun:
            return None
        message = _message(work, arguments, allowance)
        return self._told(message, allowance) if len(message) <= _AT_ONCE_BYTES else None

    def first_of(self, request: EvaluationRequest) -> Any:
        """Returns the first of what the request is answered with."""
        try:
            return next(request)
        except BaseException as error:
            self._close_after(error, request)
            raise

    def exit_code(self) -> int:
        """Waits for its end."""
        return self._process.wait()

    def _close_after(self, error: BaseException, request: EvaluationRequest) -> None:
        """What is not heard to its end would be taken for an answer to the next request."""
        if isinstance(error, EvaluationEnded) or not request.has_ended:
            self.close()

    def ask(self, work: Callable[..., Any], arguments: tuple[Any, ...], allowance: Allowance) -> EvaluationRequest:
        return self._told(_message(work, arguments, allowance), allowance)

    def _told(self, message: bytes, allowance: Allowance) -> EvaluationRequest:
        request = self._request = EvaluationRequest(self, allowance)
        self._most_bytes = max(self._most_bytes, allowance.max_memory_bytes)
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


class EvaluationRequest:
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


def _ended(what: Exceeded, allowance: Allowance, where: str) -> EvaluationEnded:
    message, hint = problem(what, allowance)
    return EvaluationEnded(message, where=where, hint=hint)
