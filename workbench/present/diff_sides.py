"""A change in two columns: what is live beside what the configuration says, each pair of lines in one row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import zip_longest
from typing import Final

from runtimes.base import format_path
from workbench.engine.changes import Change, ChangeClass, FieldChange, Op
from workbench.engine.events import Action
from workbench.engine.spec import Spec
from workbench.present import diff, value_changes
from workbench.present.glyphs import Glyphs
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.present.text_changes import ChangedLine, cells, end_of

_LEAST: Final = 16


def columns(width: int) -> tuple[Column, ...]:
    half = _half(width)
    return Column("Live", width=half), Column("Configuration", width=half)


def _half(width: int) -> int:
    return max(_LEAST, (width - 1) // 2)


def rows(
    change: Change,
    spec: Spec,
    roots: diff.Roots,
    glyphs: Glyphs,
    now: datetime,
    *,
    drift_only: bool = False,
    width: int = diff.LINE_WIDTH,
) -> tuple[Row, ...]:
    """Returns the rows of one change, keyed by (path, number of the row) as those of `diff.detail_rows`."""
    if change.action in (Action.CREATE, Action.DELETE):
        return _of_one_side(change, spec, roots, glyphs, now, drift_only=drift_only)
    found: list[tuple[object, tuple[Line, ...]]] = []
    for field in change.fields:
        if not drift_only or field.class_ is ChangeClass.DRIFT:
            found += ((field.path, row) for row in _field(field, roots, glyphs, now, width))
    return tuple(Row((path, number), row) for number, (path, row) in enumerate(found))


def _of_one_side(
    change: Change, spec: Spec, roots: diff.Roots, glyphs: Glyphs, now: datetime, *, drift_only: bool
) -> tuple[Row, ...]:
    """A resource that is new, or goes, has nothing on the other side."""
    made = diff.detail_rows(change, spec, roots, glyphs, now, drift_only=drift_only)
    if change.action is Action.DELETE:
        return tuple(Row(each.key, (each.cells[0], Line())) for each in made)
    return tuple(Row(each.key, (Line(), each.cells[0])) for each in made)


def _field(
    field: FieldChange, roots: diff.Roots, glyphs: Glyphs, now: datetime, width: int
) -> Iterator[tuple[Line, ...]]:
    half = _half(width)
    source = diff.field_source(field, roots, glyphs)
    sign = diff.field_sign(field)
    room = max(_LEAST, width - cells(str(source)) - 4)
    yield (line(sign, Span(end_of(format_path(field.path), room), Tone.KEY), "  ", source),)
    both = value_changes.in_one_line(field.before, field.after) if field.op is Op.CHANGE else None
    if both is not None and all(sum(cells(each.text) for each in side) + 2 <= half for side in both):
        yield line("  ", *both[0]), line("  ", *both[1])
    else:
        for old, new in _beside(diff.field_lines(field, half, glyphs)):
            yield line("  ", old or Line()), line("  ", new or Line())
    for note in diff.field_notes(field, glyphs, now):
        yield (line("  ", note),)


def _beside(found: Iterable[ChangedLine]) -> Iterator[tuple[Line | None, Line | None]]:
    """Yields what goes and what comes in its place in one row each; what both sides have stands on both."""
    old: list[Line] = []
    new: list[Line] = []
    for each in found:
        if each.sign == "-" and new:
            yield from zip_longest(old, new)
            old, new = [], []
        if each.sign == "-":
            old.append(each.line)
        elif each.sign == "+":
            new.append(each.line)
        else:
            yield from zip_longest(old, new)
            old, new = [], []
            yield each.before, each.after
    yield from zip_longest(old, new)
