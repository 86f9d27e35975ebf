"""The threads that programs are evaluated in: one waits for the next, and nothing of the last work stays with it."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from kcl import api
from kcl.evaluator.deep_threads import EVALUATION_THREAD, in_deep_thread


def waiting() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == EVALUATION_THREAD]


def soon(is_so: Callable[[], bool]) -> bool:
    for _ in range(500):
        if is_so():
            return True
        time.sleep(0.01)
    return False


def ident() -> int:
    return threading.get_ident()


def test_work_that_follows_is_done_by_the_thread_that_waits() -> None:
    first = in_deep_thread(ident)
    assert first != ident()
    assert soon(lambda: in_deep_thread(ident) == in_deep_thread(ident))


def test_many_at_once_do_not_all_stay() -> None:
    together = threading.Barrier(8)
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(in_deep_thread(lambda: together.wait(30)))) for _ in range(8)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(found) == list(range(8))
    assert soon(lambda: len(waiting()) <= 2)


def test_work_inside_of_work_stays_in_its_thread() -> None:
    inner, outer = in_deep_thread(lambda: (in_deep_thread(ident), ident()))
    assert inner == outer != ident()


def test_what_is_raised_comes_out_and_the_thread_goes_on() -> None:
    def fail() -> None:
        raise KeyError("this")

    for _ in range(3):
        with pytest.raises(KeyError, match="this"):
            in_deep_thread(fail)
    assert in_deep_thread(lambda: 7) == 7


def test_nothing_of_what_was_done_is_kept() -> None:
    class Large:
        pass

    large = Large()
    seen = weakref.ref(large)
    in_deep_thread(lambda held=large: bool(held))  # type: ignore[misc]
    del large

    def is_gone() -> bool:
        gc.collect()
        return seen() is None

    assert soon(is_gone)


def test_one_that_took_long_ends_with_what_its_stack_grew_to() -> None:
    assert soon(lambda: not (in_deep_thread(lambda: time.sleep(0.06)) or waiting()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_in_a_forked_process_nobody_waits() -> None:
    in_deep_thread(ident)
    soon(lambda: bool(waiting()))
    child = os.fork()
    if not child:
        try:
            os._exit(in_deep_thread(lambda: 7))
        finally:
            os._exit(1)
    codes: list[int] = []

    def has_ended() -> bool:
        pid, status = os.waitpid(child, os.WNOHANG)
        codes.extend([os.waitstatus_to_exitcode(status)] if pid else [])
        return bool(pid)

    if not soon(has_ended):
        os.kill(child, 9)
    assert codes == [7]


def test_programs_nest_as_deeply_as_before_in_a_thread_that_waited() -> None:
    program = "f = lambda n {\n    0 if n == 0 else 1 + f(n - 1)\n}\na = f(900)\n"
    for _ in range(3):
        result = api.run(["main.k"], work_dir=Path("/"), file_system=api.InMemoryFileSystem({"/main.k": program}))
        assert list(result.documents) == [{"a": 900}]
