"""Where in the program an evaluation is, told from outside: by the frames of Python that do it.

Code of the language refers to the places it may have to blame (`Where`), the checker knows where its walk is, the
loader which file it reads. Nothing is noted while things go well, so this costs evaluations nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType
from typing import Any, Final

from kcl.diagnostics import Span
from kcl.evaluator.deep_threads import EVALUATION_THREAD
from kcl.evaluator.lexical import Scope
from kcl.evaluator.runtime import Where
from kcl.records import dataclass
from kcl.semantic.state import State
from kcl.source import SourceFile
from kcl.syntax import ast

_MOST_FRAMES: Final = 20_000


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """`line` is 0, and `span` None, where only the file is known."""

    path: str
    line: int = 0
    span: Span | None = None

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


def whereabouts() -> Whereabouts | None:
    """What is being evaluated in this process, by whichever thread; None where nothing is."""
    frames = sys._current_frames()
    threads = [each for each in threading.enumerate() if each is not threading.current_thread()]
    threads.sort(key=lambda each: each.name != EVALUATION_THREAD)
    found = (_innermost(_outwards(frames.get(each.ident or 0))) for each in threads)
    return next((each for each in found if each is not None), None)


def raised_at(error: BaseException) -> Whereabouts | None:
    """What was being evaluated when an exception was raised."""
    frames: list[FrameType] = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return _innermost(reversed(frames))


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _innermost(frames: Iterable[FrameType]) -> Whereabouts | None:
    """The innermost place with a line, else the innermost file."""
    file: Whereabouts | None = None
    for _, frame in zip(range(_MOST_FRAMES), frames, strict=False):
        names = dict(frame.f_locals)
        scope, node = names.get("scope"), names.get("node")
        if isinstance(scope, Scope) and isinstance(node, ast.Node):  # code for the node is being made
            names["where"] = scope.module.where(node)
        for value in names.values():
            known = _known_to(value)
            if known is not None and known.line:
                return known
            file = file or known
    return file


def _known_to(value: Any) -> Whereabouts | None:
    """What an object of the language stands for; None for most objects."""
    if isinstance(value, Where):
        line = value.module.module.source.position(value.start).line
        return Whereabouts(value.module.path, line, value.span)
    if isinstance(value, State) and value.path:
        path, start, end = value.here
        if path != value.path:
            return Whereabouts(value.path)
        return Whereabouts(path, value.text.count("\n", 0, start) + 1, Span(path, start, end))
    return Whereabouts(value.path) if isinstance(value, SourceFile) else None
