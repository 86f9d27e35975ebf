"""The states of all objects of a stack on one axis of time, and those of one as a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby, pairwise

from runtimes.base import Health, Status
from workbench.engine.timeline import Timeline, Track
from workbench.present import durations, reconcile
from workbench.present.axis import Axis
from workbench.present.glyphs import Glyphs, status_line, status_word
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line

CHANGE_COLUMNS = (
    Column("At", width=8),
    Column("State", most=30),
    Column("For", width=6, right=True),
    Column("", grow=True),
)
_NAME_SHARE = 0.4
_GONE = "gone"
_WORST = (Status.FAILED, Status.UNKNOWN, Status.IN_PROGRESS, Status.TERMINATING, Status.NOT_FOUND, Status.CURRENT)
"""What a cell shows in which something was more than one thing."""
_QUIET_SECONDS = 10.0
"""For how long after a picture it is still taken to be so, where none came since."""


def columns(axis: Axis, room: int) -> tuple[Column, ...]:
    """The title of the strip is its scale: when it begins, and how long a cell is."""
    scale = f"{axis.begin:%H:%M:%S} UTC, a cell is {_exact(axis.cell_seconds)}"
    return Column("Object", width=max(16, room - axis.width - 1), has_tail=True), Column(scale, width=axis.width)


def strip_width(room: int) -> int:
    """Returns how many cells the strip has of those that a table has."""
    return max(10, min(room - 17, int(room * (1 - _NAME_SHARE))))


def _exact(seconds: float) -> str:
    return durations.short(seconds) if seconds >= 1 else f"{seconds:.1f}s"


def axis(found: Timeline, now: datetime, width: int) -> Axis:
    return Axis.growing(found.began or now, now, width)


def rows(found: Timeline, over: Axis, now: datetime, glyphs: Glyphs, *, faults_only: bool = False) -> tuple[Row, ...]:
    """Returns a row an object, keyed as in `reconcile.rows`; `faults_only` leaves out what was never but ready."""
    until = _until(found, now)
    shown = [each for each in found.tracks() if not faults_only or _had_faults(each)]
    return tuple(
        Row(each.key, (_name(each), strip(each, over, until, now, glyphs)), depth=each.depth) for each in shown
    )


def _until(found: Timeline, now: datetime) -> datetime:
    """Until when it is known: a little after the last picture, as none comes where nothing changes."""
    return min(now, found.heard + timedelta(seconds=_QUIET_SECONDS)) if found.heard is not None else now


def _had_faults(track: Track) -> bool:
    return any(each.health is None or each.health.status is not Status.CURRENT for each in track.moments)


def _name(track: Track) -> Line:
    if track.ref is None:
        return reconcile.short_id(track.address, with_namespace=False)
    return line(Span(f"{track.ref.kind} ", Tone.MUTED), track.ref.name)


def strip(track: Track, over: Axis, until: datetime, now: datetime, glyphs: Glyphs) -> Line:
    """What it was in each cell, the worst where it was several; nothing where it was not there, and after now."""
    ends = [*(each.at for each in track.moments[1:]), max(until, track.moments[-1].at)] if track.moments else []
    found: list[Status | None] = [None] * over.width
    for moment, end in zip(track.moments, ends, strict=True):
        if moment.health is None:
            continue
        for cell in range(over.cell(moment.at), over.cell(end) + 1):
            if over.start_of(cell) < end or cell == over.cell(moment.at):
                found[cell] = _worse(found[cell], moment.health.status)
    if until < now and track.last is not None:
        for cell in range(over.cell(until), over.cell(now) + 1):
            found[cell] = _worse(found[cell], Status.UNKNOWN)
    signs = _signs(glyphs)
    return line(*(Span(signs[each][0] * sum(1 for _ in same), signs[each][1]) for each, same in groupby(found)))


def _worse(one: Status | None, other: Status) -> Status:
    return other if one is None or _WORST.index(other) < _WORST.index(one) else one


def _signs(glyphs: Glyphs) -> dict[Status | None, tuple[str, Tone]]:
    is_plain = glyphs.name == "ascii"
    return {
        None: (" ", Tone.PLAIN),
        Status.CURRENT: ("=" if is_plain else "━", Tone.GOOD),
        Status.IN_PROGRESS: ("~" if is_plain else "░", Tone.BUSY),
        Status.FAILED: (glyphs.bad, Tone.BAD),
        Status.TERMINATING: ("-" if is_plain else "┄", Tone.MUTED),
        Status.NOT_FOUND: (glyphs.missing, Tone.MUTED),
        Status.UNKNOWN: (glyphs.unknown, Tone.WARN),
    }


def legend(glyphs: Glyphs) -> Line:
    """`━ ready  ░ progressing  ✗ failed  ? not known  ┄ terminating`"""
    words = {
        Status.CURRENT: "ready",
        Status.IN_PROGRESS: "progressing",
        Status.FAILED: "failed",
        Status.UNKNOWN: "not known",
        Status.TERMINATING: "terminating",
    }
    signs = _signs(glyphs)
    return line(*(part for each, word in words.items() for part in (Span(*signs[each]), f" {word}  ")))


def change_rows(track: Track, until: datetime, glyphs: Glyphs) -> tuple[Row, ...]:
    """Returns what became of one object, the last change first, keyed by their numbers."""
    ends: Sequence[datetime] = [after.at for _, after in pairwise(track.moments)]
    found = []
    for number, moment in enumerate(track.moments):
        end = ends[number] if number < len(ends) else until
        lasted = durations.short(max(0.0, (end - moment.at).total_seconds()))
        message = moment.health.message if moment.health is not None else ""
        cells = (
            line(f"{moment.at:%H:%M:%S}"),
            _state(moment.health, glyphs),
            line(Span(lasted, Tone.MUTED)),
            line(message),
        )
        found.append(Row(number, cells))
    if track.left_out:
        found.insert(0, Row(-1, (Line(), line(Span(f"{track.left_out} changes before are not held", Tone.WARN)))))
    return tuple(reversed(found))


def _state(health: Health | None, glyphs: Glyphs) -> Line:
    return status_line(health, glyphs) if health is not None else line(Span(_GONE, Tone.MUTED))


def lines(found: Timeline) -> Iterator[str]:
    """Yields every change as a line for a file: when, which object, what it became."""
    changes = [(each.at, str(_name(track)), each.health) for track in found.tracks() for each in track.moments]
    for at, name, health in sorted(changes, key=lambda each: each[0]):
        state = f"{health.status.value} {status_word(health)}" if health is not None else _GONE
        yield f"{at:%Y-%m-%dT%H:%M:%SZ}  {name}  {state}{f': {health.message}' if health and health.message else ''}"
