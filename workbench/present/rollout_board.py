"""All rollouts of a repository as a table, and what of them is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType

from workbench.engine.rollout.progress import Phase
from workbench.present import durations
from workbench.present.glyphs import Glyphs
from workbench.present.rollout import Shown, noted, phase_span
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.release.rollout_listing import RolloutListing

COLUMNS = (
    Column("Rollout", most=12),
    Column("State", most=20),
    Column("Ready", right=True, most=9),
    Column("Batch", most=18),
    Column("Begun by", most=18, rank=1),
    Column("Ago", width=5, right=True),
    Column("Why, or what for", grow=True),
)


_NONE: Mapping[str, Mapping[str, str]] = MappingProxyType({})


def rows(
    found: RolloutListing, now: datetime, glyphs: Glyphs, labels: Mapping[str, Mapping[str, str]] = _NONE
) -> tuple[Row, ...]:
    """Returns a row for each, the newest first, keyed by its id; those that can't be read come first.

    `labels` are those of the stacks, by their names: a rollout is found by any of the stacks in it.
    """
    broken = tuple(
        Row(
            each.id,
            (
                line(each.id),
                line(Span(f"{glyphs.unknown} can't be read", Tone.WARN)),
                *(Line() for _ in range(4)),
                line(Span(each.error.message, Tone.WARN)),
            ),
        )
        for each in found.unreadable
    )
    return (*broken, *(_row(Shown(each, now), glyphs, labels) for each in found.known))


def _row(shown: Shown, glyphs: Glyphs, labels: Mapping[str, Mapping[str, str]]) -> Row:
    at = shown.at
    age = durations.coarse((shown.now - at.began.at).total_seconds())
    halted = at.halted if at.phase is Phase.HALTED else None
    why = Span(f"{glyphs.bad} {halted.why}", Tone.BAD) if halted is not None else Span(noted(at), Tone.MUTED)
    cells = (
        line(at.began.id),
        line(phase_span(at, is_running=shown.is_running)),
        line(f"{len(at.done)}/{at.total}"),
        line(batch_text(shown)),
        line(Span(f"{at.began.user}@{at.began.host}", Tone.MUTED)),
        line(Span(age, Tone.MUTED)),
        line(why),
    )
    return Row(at.began.id, cells, labels=tuple(labels.get(each, {}) for each in at.began.parts))


def batch_text(shown: Shown) -> str:
    """`gray 2/3`: the batch that it is in, or that comes next; empty where none is left or comes."""
    at = shown.at
    following = at.next()
    if following is None or at.has_ended:
        return ""
    return f"{following.stage.name} {following.number + 1}/{len(following.stage.batches)}"


def doubt_lines(found: RolloutListing, glyphs: Glyphs) -> Iterator[Line]:
    """Yields the places that may have other rollouts, and did not say so."""
    for place, error in found.silent.items():
        hint = Span(f"  {glyphs.arrow} {error.hint}" if error.hint else "", Tone.MUTED)
        said = f"{place or 'this machine'}: which rollouts it has is not known: {error.message}"
        yield line(Span(f"{glyphs.unknown} {said}", Tone.WARN), hint)


def counts_line(found: RolloutListing, now: datetime, glyphs: Glyphs) -> Line:
    """`4 rollouts: 1 running  1 halted  2 ended`"""
    shown = [Shown(each, now) for each in found.known]
    running = sum(each.is_running for each in shown)
    halted = sum(each.at.phase is Phase.HALTED for each in shown)
    waiting = sum(each.at.phase in (Phase.WAITING, Phase.PAUSED) for each in shown)
    stopped = sum(each.at.phase is Phase.OPEN and not each.is_running for each in shown)
    ended = sum(each.at.has_ended for each in shown)
    total = len(shown) + len(found.unreadable)
    counts = (
        (running, "running", Tone.BUSY),
        (halted, f"{glyphs.bad} halted", Tone.BAD),
        (waiting, "paused or waiting", Tone.WARN),
        (stopped, "stopped", Tone.WARN),
        (len(found.unreadable), f"{glyphs.unknown} can't be read", Tone.WARN),
        (ended, "ended", Tone.MUTED),
    )
    parts = [Span(f"{count} {word}  ", tone) for count, word, tone in counts if count]
    return line(Span(f"{total} {'rollout' if total == 1 else 'rollouts'}{': ' if parts else ''}"), *parts)
