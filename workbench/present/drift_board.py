"""Drift of all stacks as one table: a row for each stack, and below it what others changed, who did, how long ago.

As on Fleet, what was found is shown with its age, and a look of which too much may have happened since counts as what
it was. That a stack has no drift is said only of one of which everything could be asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from kcl.records import dataclass, replace
from runtimes.base import Address, RuntimeFailure, format_path
from workbench.engine.changes import Actor, FieldChange, Op, StackDiff
from workbench.engine.drift import Drifted, StackDrift
from workbench.present import diff, durations, errors, reconcile, value_changes
from workbench.present.fleet import FRESH_SECONDS
from workbench.present.glyphs import Glyphs
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.project import Stack, StackPath, WorkbenchError

COLUMNS = (
    Column("Stack, resource, field", grow=True, most=52, has_tail=True),
    Column("Configured and live", most=46),
    Column("Changed by", most=18),
    Column("Ago", width=5, right=True),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One stack of the board: `look` is None until there is one."""

    stack: Stack
    look: StackDrift | None = None
    is_looking: bool = False

    def is_old(self, now: datetime) -> bool:
        return self.look is not None and not 0 <= (now - self.look.looked_at).total_seconds() < FRESH_SECONDS

    @property
    def badness(self) -> int:
        """Drift comes first, then what is not known, then what nobody looked at."""
        if self.look is None:
            return 2
        return 0 if self.look.has_drifted else 1 if not self.look.is_certain else 3


def rows(entries: Sequence[Entry], glyphs: Glyphs, now: datetime, *, only_trouble: bool = False) -> tuple[Row, ...]:
    """Returns a row for each stack, the drifted first, keyed by its path; those below it are keyed (path, ...).

    `only_trouble` leaves out the stacks of which it is known that they have none.
    """
    every = sorted(entries, key=lambda each: (each.badness, each.stack.name))
    return tuple(
        row for each in every if not only_trouble or each.badness < 3 for row in _stack_rows(each, glyphs, now)
    )


def _stack_rows(each: Entry, glyphs: Glyphs, now: datetime) -> Iterator[Row]:
    look, path = each.look, each.stack.path
    age = durations.coarse((now - look.looked_at).total_seconds()) if look is not None else ""
    seen = Span(glyphs.gap if each.is_looking else age, Tone.WARN if each.is_old(now) else Tone.MUTED)
    protected = each.stack.placement is not None and each.stack.placement.protected
    name = line(Span(each.stack.name, Tone.STRONG if protected else Tone.PLAIN))
    below = list(_below(path, look, glyphs, now)) if look is not None else []
    words = " ".join([str(name), *each.stack.clusters, *(row.searched for row in below)]).lower()
    yield Row(
        path,
        (name, _state(each, glyphs, now), Line(), line(seen)),
        foldable=bool(below),
        search=words,
        labels=(each.stack.labels,),
    )
    yield from (replace(row, labels=(each.stack.labels,)) for row in below)


def _state(each: Entry, glyphs: Glyphs, now: datetime) -> Line:
    look = each.look
    if look is None:
        return line(Span(f"{glyphs.gap} {'looking' if each.is_looking else 'not looked at'}", Tone.MUTED))
    before = Span("", Tone.WARN)
    if each.is_old(now):
        before = Span(f"{glyphs.unknown} {durations.coarse((now - look.looked_at).total_seconds())} ago: ", Tone.WARN)
    if look.diff is None:
        return line(before, Span(f"{glyphs.unknown} could not be compared", Tone.WARN))
    if each.is_old(now) and not look.has_drifted and look.is_certain:
        return line(before, Span("no drift", Tone.MUTED))
    return line(before, _found(look, look.diff, glyphs))


def _found(look: StackDrift, found: StackDiff, glyphs: Glyphs) -> Line:
    """As `diff.drift_line`, shorter where no release can tell what was deleted: so it is of many stacks at once."""
    undecided = sum(1 for _ in found.undecided())
    if look.has_drifted or not undecided:
        return diff.drift_line(found, glyphs)
    return line(Span(f"{glyphs.unknown} {undecided} may be deleted: no release tells", Tone.WARN))


def _below(path: StackPath, look: StackDrift, glyphs: Glyphs, now: datetime) -> Iterator[Row]:
    by_resource: dict[Address, list[Drifted]] = {}
    for each in look.drifted():
        by_resource.setdefault(each.address, []).append(each)
    for address, drifted in by_resource.items():
        is_deleted = any(each.field is None for each in drifted)
        state = line(Span("deleted live", Tone.WARN)) if is_deleted else Line()
        yield Row((path, address, ()), (reconcile.short_id(address), state, Line(), Line()), depth=1)
        for one in drifted:
            if one.field is not None:
                yield Row((path, address, one.field.path), _field_cells(one.field, glyphs, now), depth=2)
    for number, said in enumerate(doubt_lines(look, glyphs)):
        yield Row((path, "doubt", number), (said, Line(), Line(), Line()), depth=1)


def doubt_lines(look: StackDrift, glyphs: Glyphs) -> Iterator[Line]:
    """Yields what could not be asked, and why; for each what to do."""
    if look.diff is not None:
        yield from diff.problem_lines(look.diff.problems, glyphs)
        yield from diff.gap_lines(look.diff.gaps, glyphs)
    elif isinstance(look.failure, WorkbenchError | RuntimeFailure):
        yield from errors.lines(look.failure, glyphs)


def _field_cells(field: FieldChange, glyphs: Glyphs, now: datetime) -> tuple[Line, ...]:
    actor = field.actor
    seconds = actor.seconds_ago(now) if actor is not None else None
    age = durations.coarse(seconds) if seconds is not None else ""
    path = Span(format_path(field.path), Tone.KEY)
    return line(path), _values(field, glyphs), line(Span(_who(actor), Tone.WARN)), line(Span(age, Tone.MUTED))


def _who(actor: Actor | None) -> str:
    return actor.manager if actor is not None else "not known"


def _values(field: FieldChange, glyphs: Glyphs) -> Line:
    """`3 → 9`, what is configured first: as a sentence about what somebody did."""
    if field.op is Op.KEPT:
        return line(Span("only live: ", Tone.MUTED), Span(_short(field.before), Tone.WARN))
    configured = "nothing" if field.op is Op.REMOVE else _short(field.after)
    live = "nothing" if field.op is Op.ADD else _short(field.before)
    return line(Span(configured), Span(f" {glyphs.arrow} ", Tone.MUTED), Span(live, Tone.WARN))


def _short(value: object) -> str:
    shown = value_changes.one_line(value)
    if shown is not None:
        return shown.text
    size = len(value) if isinstance(value, Sequence | Mapping) else 0
    return f"«{type(value).__name__} of {size}»"


def counts_line(entries: Sequence[Entry], glyphs: Glyphs, now: datetime) -> Line:
    """`12 stacks: ! 2 drifted  ? 1 not known for sure  ⋯ 1 not looked at  ✓ 8 without drift`"""
    fresh = [each for each in entries if not each.is_old(now)]
    counts = (
        (sum(each.badness == 0 for each in fresh), f"{glyphs.finding} %d drifted  ", Tone.WARN),
        (
            sum(each.look is not None and not each.look.is_certain for each in fresh),
            f"{glyphs.unknown} %d not known for sure  ",
            Tone.WARN,
        ),
        (sum(each.is_old(now) for each in entries), f"{glyphs.unknown} %d not seen lately  ", Tone.WARN),
        (sum(each.look is None for each in fresh), f"{glyphs.gap} %d not looked at  ", Tone.MUTED),
    )
    parts = [Span(f"{len(entries)} {'stack' if len(entries) == 1 else 'stacks'}: ")]
    parts += [Span(said % count, tone) for count, said, tone in counts if count]
    if rest := sum(each.badness == 3 for each in fresh):
        parts.append(Span(f"{glyphs.good} {rest} without drift", Tone.GOOD))
    return line(*parts)


def stack_of(key: object) -> StackPath | None:
    """Returns the stack that a row of `rows` is about."""
    match key:
        case StackPath() as path:
            return path
        case (StackPath() as path, *_):
            return path
    return None


def field_of(key: object) -> tuple[Address, tuple[object, ...]] | None:
    """Returns the resource and the path of the field that a row of `rows` is about, the whole of it for no path."""
    match key:
        case (StackPath(), Address() as address, tuple() as path):
            return address, path
    return None
