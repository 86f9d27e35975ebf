"""What went wrong, as lines: what, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from runtimes.base import RuntimeFailure
from workbench.engine.compile import CompileFailed
from workbench.present.glyphs import Glyphs
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError


def lines(error: WorkbenchError | RuntimeFailure, glyphs: Glyphs) -> Iterator[Line]:
    """Yields the message, then the hint. Findings in KCL come with their source lines."""
    if isinstance(error, CompileFailed):
        for text in error.rendered.splitlines():
            yield line(Span(text, Tone.BAD if text.startswith("error") else Tone.PLAIN))
    else:
        yield line(Span(f"{glyphs.bad} ", Tone.BAD), str(error))
    if error.hint:
        yield line(Span(f"{glyphs.arrow} {error.hint}", Tone.MUTED))
