"""What is called with room for the frames above it does what it did."""

from __future__ import annotations

import subprocess
import sys
import traceback

import pytest

from kcl.call_stack import with_room
from kcl.evaluator import deep_threads

_ACROSS = """
import resource
from kcl.call_stack import with_room

def below(depth):
    return sum(map(leaf, range(20_000))) if not depth else below(depth - 1)

def leaf(number):
    return number

def faults(depth):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    below(depth)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def most():
    return max(map(faults, range(200)))

print(most(), with_room(most)())
"""


def test_it_answers_and_raises_as_before() -> None:
    @with_room
    def divided(number: int, *, by: int = 2) -> float:
        """Halves."""
        return number / by

    assert (divided(6), divided(6, by=3), divided.__doc__) == (3, 2, "Halves.")
    with pytest.raises(ZeroDivisionError) as caught:
        divided(1, by=0)
    assert [each.name for each in traceback.extract_tb(caught.value.__traceback__)][-1] == "divided"


@pytest.mark.skipif(sys.platform != "linux" or sys.implementation.name != "cpython", reason="of CPython on Linux")
def test_a_loop_does_not_map_memory_with_each_call() -> None:
    """At some depth of 200 a loop of 20,000 calls runs across the end of a chunk, and not with room."""
    said = subprocess.run([sys.executable, "-c", _ACROSS], capture_output=True, text=True, check=True).stdout
    without, with_ = map(int, said.split())
    assert with_ < 1_000, (without, with_)


def test_who_evaluates_has_it() -> None:
    assert deep_threads._serve.__code__.co_stacksize > 10_000
