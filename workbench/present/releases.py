"""The releases of a stack for reading: who made each, when, why, how it ended, and what of the history is not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from workbench.engine.release import Phase, Release, StepState
from workbench.present import clusters, durations, reconcile
from workbench.present.glyphs import Glyphs, action_sign
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.release.history import History
from workbench.words import few

COLUMNS = (
    Column("#", right=True, width=5),
    Column("Status", most=14),
    Column("By", most=20),
    Column("Ago", width=5, right=True),
    Column("Has", width=5, right=True, rank=1),
    Column("Why", grow=True),
)
_MOST_NAMED = 8
_TONES = {Phase.SUCCEEDED: Tone.GOOD, Phase.APPLYING: Tone.BUSY}


def note(release: Release) -> str:
    """Says what a release was besides an apply of the configuration, and why it was made."""
    returned = f"rolled back to #{release.rolled_back_to}" if release.rolled_back_to else ""
    rollout = f"part of {release.rollout}" if release.rollout else ""
    part = f"a part ({release.part})" if release.part else ""
    gaps = "with gaps" if release.gaps else ""
    return ": ".join(each for each in (returned, rollout, part, gaps, release.reason) if each)


def rows(releases: Sequence[Release], recorded: Sequence[int], glyphs: Glyphs, now: datetime) -> tuple[Row, ...]:
    """Returns a row for each, the newest first, keyed by its revision. Those `recorded` that are not among the
    releases can't be read, and have a row in their place."""
    found = {each.revision: _row(each, glyphs, now) for each in releases}
    for revision in recorded:
        said = (line(f"#{revision}"), line(Span(f"{glyphs.unknown} can't be read", Tone.WARN)))
        found.setdefault(revision, Row(revision, (*said, Line(), Line(), Line(), Line())))
    return tuple(found[revision] for revision in sorted(found, reverse=True))


def _row(each: Release, glyphs: Glyphs, now: datetime) -> Row:
    age = durations.coarse((now - (each.finished or each.started)).total_seconds())
    cells = (
        line(f"#{each.revision}"),
        line(Span(f"{_sign(each, glyphs)} {each.phase.value}", _TONES.get(each.phase, Tone.BAD))),
        line(f"{each.user}@{each.host}"),
        line(Span(age, Tone.MUTED)),
        line(Span(str(len(each.resources)), Tone.MUTED)),
        line(note(each)),
    )
    return Row(each.revision, cells)


def _sign(each: Release, glyphs: Glyphs) -> str:
    return {Phase.SUCCEEDED: glyphs.good, Phase.APPLYING: glyphs.busy}.get(each.phase, glyphs.bad)


def about_lines(release: Release, glyphs: Glyphs) -> Iterator[Line]:
    """Yields one release: when it was, of which clusters, and what became of each resource, what failed first."""
    ended = (
        f", took {durations.short((release.finished - release.started).total_seconds())}" if release.finished else ""
    )
    when = f"{release.started:%Y-%m-%d %H:%M:%S} UTC{ended}"
    yield line(
        Span(f"release #{release.revision} ", Tone.STRONG),
        Span(release.phase.value, _TONES.get(release.phase, Tone.BAD)),
        Span(f"  {when}, by {release.user}@{release.host}, plan {release.plan[:7]}", Tone.MUTED),
    )
    if said := note(release):
        yield line(said)
    for gap in release.gaps:
        yield line(Span(f"{glyphs.unknown} left out of its plan: {gap}", Tone.WARN))
    yield from clusters.lines(release.clusters)
    failed = [each for each in release.resources.values() if each.error]
    for each in (*failed, *(one for one in release.resources.values() if not one.error)):
        tone = Tone.BAD if each.state is StepState.FAILED else Tone.MUTED
        what = (action_sign(each.action), " ", reconcile.short_id(each.address))
        yield line(*what, Span(f"  {each.state.value}", tone), Span(f": {each.error}" if each.error else "", Tone.BAD))


def doubt_lines(history: History, glyphs: Glyphs) -> Iterator[Line]:
    """Yields what of the history could not be read, and whose releases are not seen."""
    for problem in history.problems:
        yield line(Span(f"{glyphs.unknown} {problem.cluster}: {problem.message}", Tone.WARN))
        if problem.hint:
            yield line(Span(f"  {glyphs.arrow} {problem.hint}", Tone.MUTED))
    for gap in history.gaps:
        yield line(Span(f"{glyphs.unknown} {gap}", Tone.WARN))
    latest = history.latest.warnings if history.latest is not None else ()
    for text in dict.fromkeys((*history.warnings, *latest)):
        yield line(Span(f"{glyphs.finding} {text}", Tone.WARN))
    if gone := history.unrecorded():
        said = f"between others, and not recorded any more: {few([f'#{each}' for each in gone], _MOST_NAMED)}"
        yield line(Span(said, Tone.MUTED))
    if not history.is_shared:
        said = "of this machine alone: what others released is not seen here"
        yield line(Span(f"{glyphs.finding} {said}", Tone.WARN))


def is_whole(history: History) -> bool:
    """Whether what is listed is all there is, as far as all who may have more have answered."""
    return not history.problems and not history.gaps
