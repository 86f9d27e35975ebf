"""The repository as a tree: domains' projects, their stacks, the components inside, each with what is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from kcl.records import dataclass
from workbench.engine.changes import Summary
from workbench.engine.status import StatusTree, Verdict
from workbench.present import durations, reconcile
from workbench.present.glyphs import Glyphs
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.present.tree_names import project_name, stack_name
from workbench.project import KonfigTree, Project, Stack, StackPath
from workbench.words import counted

COLUMNS = (Column("Tree", grow=True), Column("State", width=15), Column("Diff", width=12), Column("Clusters", most=20))
FRESH_SECONDS = 60.0
"""A comparison younger than this is shown without its age."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a face knows of a stack so far; None where it did not look yet.

    `is_certain` is False where not every place could be compared, so that `summary` may leave out changes. `tree` is
    the last picture, which may be old: only while it `is_watched` does it say what is so now.
    """

    resources: int | None = None
    is_broken: bool = False
    is_busy: bool = False
    summary: Summary | None = None
    is_certain: bool = True
    compared_at: datetime | None = None
    tree: StatusTree | None = None
    is_watched: bool = False


NOTHING = Known()


def rows(tree: KonfigTree, known: Mapping[StackPath, Known], glyphs: Glyphs, now: datetime) -> tuple[Row, ...]:
    """Returns rows keyed by ("project", name), the StackPath, or (StackPath, component)."""
    return tuple(row for project in tree.projects for row in _project(project, known, glyphs, now))


def _project(project: Project, known: Mapping[StackPath, Known], glyphs: Glyphs, now: datetime) -> Iterator[Row]:
    finding = Span(f"{glyphs.finding} {project.findings[0].message}", Tone.BAD) if project.findings else Span("")
    cells = (project_name(project), line(finding), Line(), Line())
    yield Row(("project", project.name), cells, foldable=bool(project.stacks))
    for stack in project.stacks:
        yield from _stack(stack, known.get(stack.path, NOTHING), glyphs, now)


def _stack(stack: Stack, known: Known, glyphs: Glyphs, now: datetime) -> Iterator[Row]:
    cells = (
        stack_name(stack),
        _state(stack, known, glyphs, now),
        _diff(known, now),
        line(Span(", ".join(stack.clusters), Tone.MUTED)),
    )
    labels = " ".join(f"{key}={value}" for key, value in stack.labels.items())
    search = f"{stack.name} {labels} {' '.join(each.name for each in stack.components)}"
    yield Row(
        stack.path, cells, depth=1, foldable=bool(stack.components), search=search.lower(), labels=(stack.labels,)
    )
    for component in stack.components:
        label = line(component.name, Span(f"  {component.schema}", Tone.MUTED))
        yield Row((stack.path, component.name), (label, Line(), Line(), Line()), depth=2, search=component.name.lower())


def _state(stack: Stack, known: Known, glyphs: Glyphs, now: datetime) -> Line:
    if stack.findings:
        return line(Span(f"{glyphs.finding} broken", Tone.BAD))
    if known.is_broken:
        return line(Span(f"{glyphs.finding} KCL error", Tone.BAD))
    if known.is_busy:
        return line(Span(f"{glyphs.gap} working", Tone.BUSY))
    if known.tree is None:
        return line(Span(counted(known.resources, "resource"), Tone.MUTED)) if known.resources is not None else Line()
    return _standing(known.tree, glyphs, now, is_watched=known.is_watched)


def _standing(tree: StatusTree, glyphs: Glyphs, now: datetime, *, is_watched: bool) -> Line:
    """`✓ Ready` of what is watched and heard, else `? 5m ago Ready`: what it was when it last was."""
    present = tree.as_of(now)
    if is_watched and not present.silent:
        tone, sign = reconcile.VERDICTS[present.verdict](glyphs)
        return line(Span(f"{sign} {_WORDS[present.verdict]}", tone))
    since = tree.answered_at
    if since is None:
        return line(Span(f"{glyphs.unknown} not heard", Tone.WARN))
    age = durations.coarse((now - since).total_seconds())
    return line(Span(f"{glyphs.unknown} {age} ago ", Tone.WARN), Span(_WORDS[tree.verdict], Tone.MUTED))


_WORDS = {
    Verdict.READY: "Ready",
    Verdict.PROGRESSING: "Progressing",
    Verdict.FAILED: "Failed",
    Verdict.UNKNOWN: "Unknown",
    Verdict.TIMED_OUT: "Not ready",
    Verdict.EMPTY: "Empty",
}


def _diff(known: Known, now: datetime) -> Line:
    """Counts of changes, and how long ago they were found unless that is just now."""
    summary = known.summary
    if summary is None:
        return Line()
    age = (now - known.compared_at).total_seconds() if known.compared_at else float("inf")
    is_fresh = 0 <= age < FRESH_SECONDS
    old = "" if is_fresh else durations.coarse(age) if known.compared_at else "?"
    when = line(Span("" if known.is_certain else "? ", Tone.WARN), Span(old, Tone.MUTED))
    if not summary.changes and known.is_certain:
        drift = Span(f"{summary.drift} drift " if summary.drift else "", Tone.WARN)
        return line(Span("= ", Tone.GOOD if is_fresh else Tone.MUTED), drift, when)
    counts = (
        (summary.create, "+", Tone.ADDED),
        (summary.update + summary.replace, "~", Tone.CHANGED),
        (summary.delete, "-", Tone.REMOVED),
        (summary.import_, "<", Tone.ADDED),
        (summary.move, ">", Tone.CHANGED),
        (summary.forget, "x", Tone.REMOVED),
    )
    return line(*(Span(f"{sign}{count} ", tone) for count, sign, tone in counts if count), when)
