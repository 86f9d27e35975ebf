"""Listeners that are called for each answer of a server, so that a slow cluster is distinguished from a silent one.

A list comes in pages, and one operation takes several lists. With one timeout for all of it, a cluster that answers
each request late would be reported as one that does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listeners: ContextVar[tuple[Callable[[], None], ...]] = ContextVar("listeners", default=())


def notify() -> None:
    """Calls the listeners; for whoever sends requests, at any answer of a server."""
    for each in _listeners.get():
        each()


@contextmanager
def listening(listener: Callable[[], None]) -> Iterator[None]:
    """Within it, and in tasks begun there, `listener` is called with every answer; so are those of blocks around it."""
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)
