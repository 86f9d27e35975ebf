"""Room for the frames of what a function calls, so that no loop runs across the end of a piece of the stack.

CPython (3.11 and later) keeps the frames of Python functions in chunks of 16 KiB. A call that does not fit into the
chunk maps another one and unmaps it when it returns (`push_chunk` and `_PyThreadState_PopFrame` in `Python/pystate.c`).
A loop that happens to call across the end of one does so each time, for some ten microseconds: an edit of konfig-2023
did it 40 times, and a fresh process 540 times. A frame that asks for more than a chunk holds gets a larger one, and
what it does not use itself serves the frames above it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, TypeVar

    _F = TypeVar("_F", bound=Callable[..., object])

_WORDS: Final = 1 << 15
"""What the frame asks for. Its chunk is the next power of two above that, of which nearly half is left: 250 KB. Memory
that no frame has used takes none."""


DEEP_STACK_BYTES: Final = 64 * 1024 * 1024
"""Of a thread in which a program is evaluated, whose calls may be nested deeply."""


def with_room(function: _F) -> _F:
    """Gives a function so large a frame, each time it is called."""
    code = function.__code__
    function.__code__ = code.replace(co_stacksize=max(code.co_stacksize, _WORDS))
    return function
