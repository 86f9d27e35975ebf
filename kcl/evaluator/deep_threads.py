"""Threads with a stack deep enough for nested calls of a program.

Starting one, and touching its stack for the first time, takes 0.2 ms and more: of an evaluation after an edit that is
one part in forty. So one that is done waits for the next work. One is enough to wait, and only one whose work was short
does: a program that nests deeply leaves a large stack behind, and who takes long does not notice what starting takes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from time import monotonic
from typing import Final, TypeVar

from kcl.call_stack import DEEP_STACK_BYTES, with_room

_T = TypeVar("_T")

EVALUATION_THREAD: Final = "kcl-evaluation"
"""The name of all of them: who asks where a program is looks at these first."""
_SHORT_SECONDS: Final = 0.05

_Work = Callable[[], None]


_waiting: Final[list[tuple[threading.Thread, SimpleQueue[_Work]]]] = []
"""The thread that waits, and where it takes its work from. Taking and adding one is one step, so no lock is needed."""
_starting: Final = threading.Lock()


def in_deep_thread(work: Callable[[], _T]) -> _T:
    """Returns what the work returns, or raises what it raises. Interrupted, it leaves the work to itself.

    Work within such a thread stays there. So who has more to do than to evaluate does all of it in one: what one thread
    made and another goes on with is often read by another core, whose caches have none of it, and of an edit that took
    one part in twenty.
    """
    if threading.current_thread().name == EVALUATION_THREAD:
        return work()
    answers: SimpleQueue[tuple[bool, _T | BaseException]] = SimpleQueue()

    def run() -> None:
        try:
            answer: tuple[bool, _T | BaseException] = True, work()
        except BaseException as error:
            answer = False, error
        answers.put(answer)

    if not _handed_over(run):
        _start(run)
    is_value, answer = answers.get()
    if is_value:
        return answer  # type: ignore[return-value]
    assert isinstance(answer, BaseException)
    raise answer


def _handed_over(work: _Work) -> bool:
    """Gives the work to a thread that waits; False where there is none."""
    try:
        thread, inbox = _waiting.pop()
    except IndexError:
        return False
    if not thread.is_alive():  # this process was forked: of its threads it has but one
        return False
    inbox.put(work)
    return True


def _start(work: _Work) -> None:
    inbox: SimpleQueue[_Work] = SimpleQueue()
    inbox.put(work)
    with _starting:
        before = threading.stack_size(DEEP_STACK_BYTES)
        try:
            threading.Thread(target=_serve, args=(inbox,), name=EVALUATION_THREAD, daemon=True).start()
        finally:
            threading.stack_size(before)


@with_room
def _serve(inbox: SimpleQueue[_Work]) -> None:
    while True:
        work = inbox.get()
        began = monotonic()
        work()
        del work  # and with it all that it was made of
        if monotonic() - began > _SHORT_SECONDS or _waiting:
            return
        _waiting.append((threading.current_thread(), inbox))
