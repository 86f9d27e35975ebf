"""Processes that evaluate, and keep what they learned: so that what never ends can be ended, and the rest is quick.

A program of the repository may loop for ever, fill the memory, or be inside one call into C for minutes, in which no
thread of its process gets a turn. In a process of its own it can do that as it likes: the screen goes on, ^C is heard,
and at its deadline it is killed. What is handed over and back are values; a Spec's provenance comes packed and is
unpacked when somebody asks (`shipped.py`).

The processes belong to this one, not to a session. A few stay, each with parsed files of the repositories it was last
used for: the one used last is taken first. One that had to be ended is followed by a new one.
"""

from __future__ import annotations

import atexit
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
        self._frames: queue.Queue[object] = queue.Queue()
        self._is_leaving = False
        self._abandoned_at: float | None = None
        threading.Thread(target=self._listen, name="wb-evaluator", daemon=True).start()

    @property
    def is_alive(self) -> bool:
        return not self._is_leaving and self._process.poll() is None

    @property
    def is_abandoned(self) -> bool:
        return self._abandoned_at is not None

    def abandon(self) -> None:
        """Nobody waits for what it does: it is ended soon, unless it comes to its end."""
        self._abandoned_at = time.monotonic()
        self._frames.put(None)

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
        self._abandoned_at = None
        ends_at = time.monotonic() + _START_SECONDS + allowance.deadline_seconds
        try:
            self._send(pickle.dumps(Ask(work, arguments, allowance, dict(os.environ)), pickle.HIGHEST_PROTOCOL))
            while True:
                match self._next(ends_at, allowance):
                    case Begun():
                        ends_at = time.monotonic() + allowance.deadline_seconds + GRACE_SECONDS
                    case Item(value):
                        ends_at = time.monotonic() + allowance.deadline_seconds + GRACE_SECONDS
                        yield pickle.loads(value)
                    case Value(value):
                        yield pickle.loads(value)
                        return
                    case Finished():
                        return
                    case Leaving():
                        self._is_leaving = True
                    case Raised(value):
                        raise pickle.loads(value)
                    case Ended(what, where):
                        raise _ended(Exceeded(what), allowance, where)
                    case other:
                        raise AssertionError(f"this is a bug in the workbench: {type(other).__name__} of an evaluator")
        except BaseException as error:
            if not isinstance(error, Exception) or isinstance(error, EvaluationEnded):
                self.close()
            raise

    def _send(self, request: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it is gone: reading says so
            write(self._process.stdin, request)

    def _next(self, ends_at: float, allowance: Allowance) -> object:
        while True:
            until = ends_at if self._abandoned_at is None else min(ends_at, self._abandoned_at + _ABANDONED_SECONDS)
            try:
                frame = self._frames.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                raise _ended(Exceeded.DEADLINE, allowance, "") from None
            match frame:
                case None:  # abandoned
                    continue
                case FrameTooLarge():
                    raise EvaluationEnded(
                        f"what the program evaluates to is larger than the limit of {MOST_BYTES >> 20} MB",
                        hint="no cluster takes that much: make it smaller",
                    )
                case EOFError():
                    raise self._gone(allowance)
                case _:
                    return frame

    def _gone(self, allowance: Allowance) -> EvaluationEnded:
        code = self._process.wait()
        if code == -getattr(signal, "SIGXCPU", 0):
            return _ended(Exceeded.DEADLINE, allowance, "")
        return EvaluationEnded(
            "the process that evaluated it died",
            hint=f"it may have run out of memory: its limit is not reached, but the machine's may be ({code})",
            is_unexplained=True,
        )

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with stream:
            while True:
                try:
                    frame = read(stream)
                except (EOFError, OSError, ValueError):
                    self._frames.put(EOFError())
                    return
                except FrameTooLarge as error:
                    self._frames.put(error)
                    self.kill()
                    return
                self._frames.put(pickle.loads(frame))


def _ended(what: Exceeded, allowance: Allowance, where: str) -> EvaluationEnded:
    message, hint = problem(what, allowance)
    return EvaluationEnded(message, where=where, hint=hint)


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

    @contextmanager
    def _taking(self) -> Iterator[list[Process]]:
        """A place for the process that a thread will take; left early, what it does is abandoned."""
        taken: list[Process] = []
        try:
            yield taken
        except BaseException as error:
            if not isinstance(error, Exception):
                for each in taken:
                    each.abandon()
            raise

    def _call_with(
        self, take: list[Process], allowance: Allowance, work: Callable[..., T], arguments: tuple[Any, ...]
    ) -> T:
        with self._taken() as process:
            take.append(process)
            found: T = _only(process.items(work, arguments, allowance))
            return found

    def _each_with(
        self,
        take: list[Process],
        take_item: Callable[[T], None],
        allowance: Allowance,
        work: Callable[..., Iterator[T]],
        arguments: tuple[Any, ...],
    ) -> None:
        with self._taken() as process:
            take.append(process)
            for each in process.items(work, arguments, allowance):
                anyio.from_thread.run_sync(take_item, each)

    @contextmanager
    def _taken(self) -> Iterator[Process]:
        process = self._take()
        try:
            yield process
        finally:
            with self._changed:
                self._busy.remove(process)
                stays = process.is_alive and not self._is_closed
                if stays:
                    self._idle.append(process)
                self._changed.notify()
            if not stays:
                process.close()

    def _take(self) -> Process:
        with self._changed:
            while True:
                while self._idle:
                    process = self._idle.pop()
                    if process.is_alive:
                        self._busy.append(process)
                        return process
                    process.close()
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
