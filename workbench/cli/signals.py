"""SIGTERM and SIGHUP end a command as ^C does.

CI sends the one when a job is cancelled, a terminal the other when its window is closed. By default both kill at once:
a release would stay without an end, and practice clusters would go on without anybody who could stop them.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_LIKE_INTERRUPT = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def ending_like_interrupt() -> Iterator[None]:
    """Holds for the main thread; what is ignored (nohup, a job in the background) stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [number for number in _LIKE_INTERRUPT if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if callable(signal.getsignal(signal.SIGINT)):
        signal.raise_signal(signal.SIGINT)
    else:  # a job in the background does not listen to ^C, but it may be told to end
        raise KeyboardInterrupt
