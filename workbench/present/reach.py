"""How far an edit reaches, in one line: stacks, resources, live objects, restarts, and what of it is not known."""

from __future__ import annotations

from workbench.engine.impact import ImpactReport, StackImpact, State
from workbench.present.glyphs import Glyphs
from workbench.present.text import Line, Span, Tone, line
from workbench.words import counted


def reach_line(what: str, report: ImpactReport | None, glyphs: Glyphs, *, is_asking: bool, failure: str) -> Line:
    """`blast radius of this edit: 3 of 14 stacks, 12 resources; live: 20 objects, 4 restarts`

    With a `failure` what came before it, if anything, is shown as well.
    """
    title = Span(f"blast radius of {what}: ", Tone.MUTED)
    if report is None and failure:
        return line(title, Span(f"{glyphs.unknown} not known: {failure}", Tone.WARN))
    if report is None:
        return line(title, Span("working it out ...", Tone.BUSY))
    unsure = [Span(f"; {glyphs.unknown} {failure}", Tone.WARN)] if failure else []
    return line(title, *_reached(report, glyphs), *_live(report, glyphs, is_asking=is_asking), *unsure)


def _reached(report: ImpactReport, glyphs: Glyphs) -> list[Span]:
    unknown = sum(each.state is State.UNKNOWN for each in report.affected)
    changed = len(report.affected) - unknown
    parts: list[Span] = []
    if changed:
        resources = counted(report.summary.changes, "resource")
        parts.append(Span(f"{changed} of {counted(report.total, 'stack')}, {resources}", Tone.CHANGED))
    elif report.is_certain:
        parts.append(Span("changes no stack", Tone.MUTED))  # no tick: a plan may have much to do all the same
    if unknown:
        parts.append(
            Span(f"{'; ' if parts else ''}{glyphs.unknown} not known of {counted(unknown, 'stack')}", Tone.BAD)
        )
    if report.doubts:
        said = f"{'; ' if parts else ''}{glyphs.unknown} {report.doubts[0].message}"
        parts.append(Span(said, Tone.WARN))
    return parts or [Span(f"{glyphs.unknown} not known", Tone.WARN)]


def _live(report: ImpactReport, glyphs: Glyphs, *, is_asking: bool) -> list[Span]:
    if not report.is_different:
        return []
    if is_asking:
        return [Span("; asking their clusters ...", Tone.BUSY)]
    asked = [each.live for each in report.affected if each.live is not None]
    objects = sum(each.summary.changes for each in asked)
    restarts = sum(each.summary.restarts for each in asked)
    parts = [Span("; live: ", Tone.MUTED), Span(counted(objects, "object"), Tone.CHANGED if objects else Tone.PLAIN)]
    if restarts:
        parts.append(Span(f", {counted(restarts, 'restart')}", Tone.WARN))
    silent = sum(not each.is_certain for each in asked)
    if silent:
        parts.append(Span(f", {glyphs.unknown} not all known of {counted(silent, 'stack')}", Tone.WARN))
    if left := sum(map(_is_unasked, report.affected)):
        parts.append(Span(f", {glyphs.unknown} {counted(left, 'stack')} not queried", Tone.WARN))
    return parts


def _is_unasked(impact: StackImpact) -> bool:
    return impact.live is None and impact.state is not State.UNKNOWN
