"""A recorded apply for watching again: what was told until some moment of it, and the whole of it on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from workbench.engine.events import (
    ApplyFinished,
    ApplyStarted,
    Event,
    Outcome,
    StepFailed,
    StepFinished,
    StepSkipped,
    StepStarted,
)
from workbench.present import durations, reconcile
from workbench.present.axis import Axis
from workbench.present.glyphs import Glyphs, action_sign
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line

COLUMNS = (
    Column("Step", grow=True, has_tail=True),
    Column("State", width=8),
    Column("Began", width=6, right=True),
    Column("Took", width=6, right=True),
)
_EXACT_SECONDS = 60.0
"""Most steps take less than a second."""


def length(events: Sequence[Event]) -> timedelta:
    """How long it took, as far as that is recorded."""
    return events[-1].at - events[0].at if events else timedelta()


def rows(events: Sequence[Event], at: datetime, glyphs: Glyphs) -> tuple[Row, ...]:
    """Returns a row a step, in the order they began, as it stood then; what failed has why below it."""
    begin = events[0].at if events else at
    found: dict[object, list[Row]] = {}
    for each in events:
        match each:
            case StepStarted(address=address):
                found[address] = [_row(each, begin, Span("waiting", Tone.MUTED), "", "")]
            case StepSkipped(address=address):
                found.setdefault(address, [_row(each, begin, Span("waiting", Tone.MUTED), "", "")])
    for each in events:
        if each.at > at:
            break
        after = _time((each.at - begin).total_seconds())
        match each:
            case StepStarted(address=address):
                so_far = _time((at - each.at).total_seconds())
                found[address] = [_row(each, begin, Span("running", Tone.BUSY), after, so_far)]
            case StepFinished(address=address, seconds=seconds):
                began = _time((each.at - begin).total_seconds() - seconds)
                found[address] = [_row(each, begin, Span("done", Tone.GOOD), began, f"{seconds:.1f}s")]
            case StepFailed(address=address, seconds=seconds, message=message):
                began = _time((each.at - begin).total_seconds() - seconds)
                why = Row((address, "why"), (line(Span(f"{glyphs.bad} {message}", Tone.BAD)),), depth=1)
                found[address] = [_row(each, begin, Span("failed", Tone.BAD), began, f"{seconds:.1f}s"), why]
            case StepSkipped(address=address):
                found[address] = [_row(each, begin, Span("skipped", Tone.MUTED), "", "")]
            case _:
                pass
    return tuple(row for each in found.values() for row in each)


def _time(seconds: float) -> str:
    return f"{max(0.0, seconds):.1f}s" if seconds < _EXACT_SECONDS else durations.short(seconds)


def _row(
    step: StepStarted | StepFinished | StepFailed | StepSkipped, begin: datetime, state: Span, began: str, took: str
) -> Row:
    label = line(action_sign(step.action), " ", reconcile.short_id(step.address))
    return Row(step.address, (label, line(state), line(Span(began, Tone.MUTED)), line(Span(took, Tone.MUTED))))


def strip(events: Sequence[Event], at: datetime, width: int, glyphs: Glyphs) -> Line:
    """All of it in so many cells: which part is over, where steps ended, and where one failed."""
    if not events or width < 1:
        return Line()
    cell = Axis.of(events[0].at, events[-1].at, width).cell
    is_plain = glyphs.name == "ascii"
    passed, ahead, ended = ("=", "-", "#") if is_plain else ("━", "─", "■")
    signs = [Span(passed if each <= cell(at) else ahead, Tone.MUTED) for each in range(width)]
    for event in events:
        match event:
            case StepFinished():
                sign = Span(ended, Tone.GOOD)
            case StepFailed():
                sign = Span(glyphs.bad, Tone.BAD)
            case _:
                continue
        place = cell(event.at)
        if signs[place].tone is not Tone.BAD:
            signs[place] = sign if event.at <= at else Span(sign.text, Tone.MUTED)
    signs[cell(at)] = Span("|" if is_plain else "┃", Tone.STRONG)
    return line(*signs)


def summary(events: Sequence[Event], at: datetime) -> Line:
    """`after 4s of 12s: 3 of 6 steps done, 1 failed`, and in the end how it ended, where that is recorded."""
    if not events:
        return Line()
    told = [each for each in events if each.at <= at]
    done, failed, skipped = (sum(isinstance(e, kind) for e in told) for kind in (StepFinished, StepFailed, StepSkipped))
    steps = next((len(each.steps) for each in events if isinstance(each, ApplyStarted)), 0)
    now, whole = ((moment - events[0].at).total_seconds() for moment in (at, events[-1].at))
    parts: list[Span] = [
        Span(f"after {_time(now)} of {_time(whole)}: ", Tone.MUTED),
        Span(f"{done} of {steps} steps done", Tone.PLAIN),
    ]
    if failed:
        parts.append(Span(f", {failed} failed", Tone.BAD))
    if skipped:
        parts.append(Span(f", {skipped} skipped", Tone.WARN))
    if isinstance(events[-1], ApplyFinished) and events[-1].at <= at:
        outcome = events[-1].outcome
        parts.append(Span(f"  {outcome.value}", Tone.GOOD if outcome is Outcome.SUCCEEDED else Tone.BAD))
    elif events[-1].at <= at:
        parts.append(Span("  nothing more is recorded: it did not come to its end", Tone.WARN))
    return line(*parts)
