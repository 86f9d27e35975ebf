"""Who waits for an answer of several requests hears of each of them, so that slow is told from silent.

A list comes in pages and a look takes several lists: where one limit held for all of it, a cluster that answers each
of them late, and answers, would be called silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listeners: ContextVar[tuple[Callable[[], None], ...]] = ContextVar("listeners", default=())


def answered() -> None:
    """Says that a server answered something, whatever it was; for those who send requests."""
    for each in _listeners.get():
        each()


@contextmanager
def hearing(listener: Callable[[], None]) -> Iterator[None]:
    """Within it, and in tasks begun there, `listener` is called with every answer; so are those of blocks around it."""
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)
