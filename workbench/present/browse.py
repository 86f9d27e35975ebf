"""The repository as a tree: domains' projects, their stacks, the components inside, each with what is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workbench.engine.changes import Summary
from workbench.engine.status import Verdict
from workbench.present.glyphs import Glyphs
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.project import KonfigTree, Project, Stack, StackPath

COLUMNS = (Column("Tree", grow=True), Column("State", width=13), Column("Diff", width=12), Column("Clusters", most=20))


@dataclass(frozen=True, slots=True)
class Known:
    """What a face knows of a stack so far; None where it did not look yet."""

    resources: int | None = None
    is_broken: bool = False
    is_busy: bool = False
    summary: Summary | None = None
    verdict: Verdict | None = None


NOTHING = Known()


def rows(tree: KonfigTree, known: Mapping[StackPath, Known], glyphs: Glyphs) -> tuple[Row, ...]:
    """Returns rows keyed by ("project", name), the StackPath, or (StackPath, component)."""
    return tuple(row for project in tree.projects for row in _project(project, known, glyphs))


def _project(project: Project, known: Mapping[StackPath, Known], glyphs: Glyphs) -> Iterator[Row]:
    domain = f"{project.domain}/" if project.domain else ""
    finding = Span(f"{glyphs.finding} {project.findings[0].message}", Tone.BAD) if project.findings else Span("")
    cells = (line(Span(domain, Tone.MUTED), Span(project.name, Tone.STRONG)), line(finding), Line(), Line())
    yield Row(("project", project.name), cells, foldable=bool(project.stacks))
    for stack in project.stacks:
        yield from _stack(stack, known.get(stack.path, NOTHING), glyphs)


def _stack(stack: Stack, known: Known, glyphs: Glyphs) -> Iterator[Row]:
    is_protected = stack.placement is not None and stack.placement.protected
    name = Span(stack.path.stack, Tone.BAD if is_protected else Tone.PLAIN)
    cells = (
        line(name, Span(" (protected)", Tone.MUTED) if is_protected else ""),
        _state(stack, known, glyphs),
        _diff(known.summary),
        line(Span(", ".join(stack.clusters), Tone.MUTED)),
    )
    labels = " ".join(f"{key}={value}" for key, value in stack.labels.items())
    search = f"{stack.name} {labels} {' '.join(each.name for each in stack.components)}"
    yield Row(stack.path, cells, depth=1, foldable=bool(stack.components), search=search.lower())
    for component in stack.components:
        label = line(component.name, Span(f"  {component.schema}", Tone.MUTED))
        yield Row((stack.path, component.name), (label, Line(), Line(), Line()), depth=2, search=component.name.lower())


def _state(stack: Stack, known: Known, glyphs: Glyphs) -> Line:
    if stack.findings:
        return line(Span(f"{glyphs.finding} broken", Tone.BAD))
    if known.is_broken:
        return line(Span(f"{glyphs.finding} KCL error", Tone.BAD))
    if known.is_busy:
        return line(Span(f"{glyphs.gap} working", Tone.BUSY))
    match known.verdict:
        case Verdict.READY:
            return line(Span(f"{glyphs.good} Ready", Tone.GOOD))
        case Verdict.PROGRESSING:
            return line(Span(f"{glyphs.busy} Progressing", Tone.BUSY))
        case Verdict.FAILED:
            return line(Span(f"{glyphs.bad} Failed", Tone.BAD))
        case Verdict.TIMED_OUT:
            return line(Span(f"{glyphs.unknown} Not ready", Tone.WARN))
        case None:
            return line(Span(f"{known.resources} resources", Tone.MUTED)) if known.resources is not None else Line()


def _diff(summary: Summary | None) -> Line:
    if summary is None:
        return Line()
    if not summary.changes:
        return line(Span("=", Tone.GOOD), Span(f" {summary.drift} drift" if summary.drift else "", Tone.WARN))
    counts = (
        (summary.create, "+", Tone.ADDED),
        (summary.update + summary.replace, "~", Tone.CHANGED),
        (summary.delete, "-", Tone.REMOVED),
        (summary.import_, "<", Tone.ADDED),
        (summary.move, ">", Tone.CHANGED),
        (summary.forget, "x", Tone.REMOVED),
    )
    return line(*(Span(f"{sign}{count} ", tone) for count, sign, tone in counts if count))
