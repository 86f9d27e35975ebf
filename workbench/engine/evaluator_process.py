"""What runs in a process of `evaluators`: it does what it is asked, within what that is allowed, one after the other.

What it learns it keeps, for the repositories it was asked about last. It ends when its input does, and when something
exceeds its limits: then it says so, with the place in the program, and there is nothing to be saved.
"""

from __future__ import annotations

import gc
import importlib
import marshal
import os
import pickle
import queue
import threading
from collections.abc import Iterator
from typing import BinaryIO

from kcl.bounded import Allowance
from kcl.bounded.watchdog import Exceeded, Watchdog, give_room_to_report, is_crowded, is_out_of_memory
from workbench.engine.frames import Ask, Begun, Ended, Finished, Item, Leaving, Raised, Value, read, write

_LANGUAGE = "workbench.engine.evaluating"
"""What nearly everything that is asked needs: it would be imported with the first question."""


class _Answers:
    """Written by the thread that works, and by the watchdog in its place: then nothing else is."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._writing = threading.Lock()

    def put(self, message: object) -> None:
        with self._writing:
            write(self._stream, pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def last(self, what: Exceeded, allowance: Allowance, where: str) -> None:
        if self._writing.acquire(timeout=1):
            write(self._stream, pickle.dumps(Ended(what.value, where), pickle.HIGHEST_PROTOCOL))


def main() -> None:
    """Serves until the input ends."""
    asked, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)  # what writes to stdout must not be taken for an answer
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    answers = _Answers(told)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(asked, requests), name="wb-requests", daemon=True).start()
    importlib.import_module(_LANGUAGE)  # while who will ask makes itself ready
    gc.set_threshold(200_000, 50, 50)
    from kcl.api import in_deep_thread

    # Handed to that thread for each request, work would often go to another core, whose caches have nothing of it.
    in_deep_thread(lambda: _answer(requests, answers, Watchdog(answers.last, _where)))


def _answer(requests: queue.SimpleQueue[bytes], answers: _Answers, watchdog: Watchdog) -> None:
    environment = b""
    has_begun = False
    while True:
        ask: Ask = pickle.loads(requests.get())
        if not has_begun:
            has_begun = True
            answers.put(Begun())
        if ask.environment != environment:
            environment = ask.environment
            _take_over(marshal.loads(environment))
        _serve(ask, answers, watchdog)


def _take_over(environment: dict[str, str]) -> None:
    if environment != os.environ:
        os.environ.clear()
        os.environ.update(environment)


def _listen(stream: BinaryIO, requests: queue.SimpleQueue[bytes]) -> None:
    while True:
        try:
            requests.put(read(stream))
        except (EOFError, OSError, ValueError):
            os._exit(0)  # nobody is there who could want an answer


def _where() -> str:
    from kcl.api import whereabouts

    return whereabouts()


def _raised_at(error: Exception) -> str:
    from kcl.api import raised_at

    return raised_at(error)


def _serve(ask: Ask, answers: _Answers, watchdog: Watchdog) -> None:
    watchdog.begin(ask.allowance)
    last: object
    try:
        found = ask.work(*ask.arguments)
        if isinstance(found, Iterator):
            for each in found:
                packed = pickle.dumps(each, pickle.HIGHEST_PROTOCOL)
                watchdog.begin(ask.allowance)
                answers.put(Item(packed))
            last = Finished()
        else:
            last = Value(pickle.dumps(found, pickle.HIGHEST_PROTOCOL))
    except Exception as error:
        if isinstance(error, MemoryError) or is_out_of_memory(error, ask.allowance):
            give_room_to_report()
            answers.last(Exceeded.MEMORY, ask.allowance, _raised_at(error))
            os._exit(1)
        last = Raised(_pickled(error))
    watchdog.end()
    leaves = is_crowded(ask.allowance)
    if leaves:
        answers.put(Leaving())
    answers.put(last)
    if leaves:
        os._exit(0)


def _pickled(error: Exception) -> bytes:
    """The error, or what can be said of it where it cannot be sent."""
    try:
        packed = pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
        pickle.loads(packed)
    except Exception:
        return pickle.dumps(AssertionError(f"this is a bug in the workbench: {type(error).__name__}"))
    return packed


if __name__ == "__main__":
    main()
