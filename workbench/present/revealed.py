"""A secret that somebody asked to see, as lines: what is live, and what the configuration says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from kcl.terminal import harmless
from workbench.present.text import Line, Span, Tone, line

MOST = 4_000
"""Characters that are shown of one side."""


class Sides(Protocol):
    @property
    def live(self) -> str | None: ...
    @property
    def configured(self) -> str | None: ...
    @property
    def live_unknown(self) -> str: ...


def lines(found: Sides) -> Iterator[Line]:
    if found.live_unknown:
        yield line(Span("live        ", Tone.MUTED), Span(f"not known: {found.live_unknown}", Tone.WARN))
    else:
        yield from _side("live        ", found.live)
    yield from _side("configured  ", found.configured)
    if not found.live_unknown and found.live == found.configured:
        yield line(Span("both are the same now", Tone.MUTED))


def _side(name: str, value: str | None) -> Iterator[Line]:
    if value is None:
        yield line(Span(name, Tone.MUTED), Span("(nothing)", Tone.MUTED))
        return
    shown = value[:MOST].split("\n")
    for number, each in enumerate(shown):
        yield line(Span(name if number == 0 else " " * len(name), Tone.MUTED), harmless(each))
    if len(value) > MOST:
        yield line(Span(f"(and {len(value) - MOST} more characters)", Tone.WARN))
