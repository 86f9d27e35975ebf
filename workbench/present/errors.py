"""What went wrong, as lines: what, where, and what to do."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path

from runtimes.base import RuntimeFailure
from workbench.engine.compiled import CompileFailed
from workbench.present.glyphs import Glyphs
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError


class Bug(WorkbenchError):
    """Something nobody expected: a mistake of the workbench itself.

    It is told by its kind and place. The text of the original stays out: it may quote data, and data may be secret.
    """

    def __init__(self, error: BaseException) -> None:
        frames = traceback.extract_tb(error.__traceback__)[-3:]
        places = " < ".join(f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in reversed(frames))
        super().__init__(
            f"this is a bug in the workbench: {type(error).__name__} at {places or 'an unknown place'}",
            hint="please report it with what you did; nothing of your data is in this message",
        )


def lines(error: WorkbenchError | RuntimeFailure, glyphs: Glyphs) -> Iterator[Line]:
    """Yields the message, then the hint. Findings in KCL come with their source lines."""
    if isinstance(error, CompileFailed):
        for text in error.rendered.splitlines():
            yield line(Span(text, Tone.BAD if text.startswith("error") else Tone.PLAIN))
        if not any(each.primary for each in error.diagnostics):
            yield line(Span(f" --> {error.where}", Tone.SOURCE))
    else:
        yield line(Span(f"{glyphs.bad} ", Tone.BAD), str(error))
    if error.hint:
        yield line(Span(f"{glyphs.arrow} {error.hint}", Tone.MUTED))
