"""What policies find as lines and as documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runtimes.base import RuntimeFailure, format_path
from workbench.engine.policy.findings import Judgement, PolicyFinding, PolicyReport
from workbench.engine.policy.rules import Rule
from workbench.present import errors
from workbench.present.diff import Roots, source_text
from workbench.present.glyphs import Glyphs
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.present.text_changes import end_of
from workbench.project import WorkbenchError
from workbench.project.policy import Waiver
from workbench.words import counted


def finding_line(found: PolicyFinding, root: Path, glyphs: Glyphs) -> Line:
    """`✗ registries  Deployment shop/web spec...image: docker.io/x is from no allowed registry  ← web/main.k:3`"""
    about = f"{found.about}: " if found.about else ""
    parts = [_sign(found, glyphs), Span(f"{found.policy}  ", Tone.MUTED), Span(f"{about}{found.message}")]
    if found.source:
        parts.append(Span(f"  {glyphs.source} {found.source[0].relative_to(root)}", Tone.MUTED))
    if found.waiver is not None:
        parts.append(Span(f"  waived until {found.waiver.until}: {found.waiver.reason}", Tone.MUTED))
    elif found.expired is not None:
        parts.append(Span(f"  its waiver expired on {found.expired.until}", Tone.WARN))
    return line(*parts)


FINDING_COLUMNS = (
    Column("Policy and finding", grow=True),
    Column("Level", most=17),
    Column("Source", most=26),
)


def finding_rows(report: PolicyReport, roots: Roots, glyphs: Glyphs) -> tuple[Row, ...]:
    """Returns a row for each finding, the worst first, keyed by its place in the report."""
    return tuple(
        Row(number, (_said(each, glyphs), _level(each), _source(each, roots)), search=str(each).lower())
        for number, each in enumerate(report.findings)
    )


def _said(found: PolicyFinding, glyphs: Glyphs) -> Line:
    about = f"{found.about}: " if found.about else ""
    return line(_sign(found, glyphs), Span(f"{found.policy}  ", Tone.STRONG), f"{about}{found.message}")


def _level(found: PolicyFinding) -> Line:
    if found.waiver is not None:
        return line(Span(f"waived {found.waiver.until}", Tone.MUTED))
    tone = Tone.BAD if found.refuses else Tone.WARN
    if found.expired is not None:
        return line(Span(f"{found.level.value}, was waived", tone))
    return line(Span("error, not known" if found.refuses and found.is_unknown else found.level.value, tone))


def _source(found: PolicyFinding, roots: Roots) -> Line:
    return line(Span(end_of(source_text(found.source, *roots), 26), Tone.SOURCE))


def _sign(found: PolicyFinding, glyphs: Glyphs) -> Span:
    if found.waiver is not None:
        return Span(f"{glyphs.good} ", Tone.MUTED)
    if found.refuses:
        return Span(f"{glyphs.unknown if found.is_unknown else glyphs.bad} ", Tone.BAD)
    return Span(f"{glyphs.finding} ", Tone.WARN)


def report_line(report: PolicyReport, glyphs: Glyphs) -> Line:
    """`policies: ✗ 1 error  ! 2 warnings  ✓ 1 waived  of 4`"""
    counts = (
        (len(report.refusing), "error", "errors", glyphs.bad, Tone.BAD),
        (len(report.warnings), "warning", "warnings", glyphs.finding, Tone.WARN),
        (len(report.waived), "waived", "waived", glyphs.good, Tone.MUTED),
    )
    said = [Span(f"{sign} {counted(count, one, many)}  ", tone) for count, one, many, sign, tone in counts if count]
    passed = Span(f"{glyphs.good} nothing found  ", Tone.GOOD)
    return line(Span("policies: ", Tone.MUTED), *(said or [passed]), Span(f"{len(report.judged)} checked", Tone.MUTED))


def judgement_lines(judged: Judgement, root: Path, glyphs: Glyphs) -> Iterator[Line]:
    """Yields the stack in one line, and below it what was found."""
    if judged.report is None:
        yield line(f"{judged.stack}: ", Span(f"{glyphs.unknown} it could not be judged", Tone.WARN))
        if isinstance(judged.failure, WorkbenchError | RuntimeFailure):
            yield from (line("    ", each) for each in errors.lines(judged.failure, glyphs))
        return
    report = judged.report
    if not report.judged:
        yield line(f"{judged.stack}: ", Span("no policy is about what it says", Tone.MUTED))
    elif not report.findings:
        passed = f"{glyphs.good} {counted(len(report.judged), 'policy', 'policies')} passed"
        yield line(f"{judged.stack}: ", Span(passed, Tone.GOOD))
    else:
        counts = (
            (len(report.refusing), "error", "errors", Tone.BAD),
            (len(report.warnings), "warning", "warnings", Tone.WARN),
            (len(report.waived), "waived", "waived", Tone.MUTED),
        )
        said = [Span(f"{counted(count, one, many)}  ", tone) for count, one, many, tone in counts if count]
        yield line(f"{judged.stack}: ", *said)
    for each in report.findings:
        yield line("    ", finding_line(each, root, glyphs))


def summary_line(judged: Sequence[Judgement], glyphs: Glyphs) -> Line:
    refused = sum(each.refuses for each in judged)
    unsure = sum(not each.is_certain for each in judged)
    rest = sum(each.is_certain and not each.refuses for each in judged)
    parts = [Span(f"{counted(len(judged), 'stack')}: ")]
    if refused:
        parts.append(Span(f"{refused} with errors  ", Tone.BAD))
    if unsure:
        parts.append(Span(f"{glyphs.unknown} {unsure} not known for sure  ", Tone.WARN))
    parts.append(Span(f"{rest} without errors", Tone.MUTED if refused or unsure else Tone.GOOD))
    return line(*parts)


def deferred_line(judged: Iterable[Judgement]) -> Line | None:
    """Names the policies that were not asked, as they look at plans."""
    names = dict.fromkeys(name for each in judged if each.report is not None for name in each.report.deferred)
    return line(Span(f"for plans only: {', '.join(names)}", Tone.MUTED)) if names else None


def waiver_line(waiver: Waiver, glyphs: Glyphs) -> Line:
    """Of a waiver that found nothing to put up with."""
    said = f"{waiver.where} waives nothing of these stacks: {waiver.policy} until {waiver.until} ({waiver.reason})"
    return line(Span(f"{glyphs.finding} {said}", Tone.WARN))


def rule_lines(rules: Mapping[str, Rule]) -> Iterator[Line]:
    for each in rules.values():
        yield line(each.name, Span("  for plans only" if each.needs_plan else "", Tone.MUTED))
        yield line(f"    {each.about}")
        yield line(Span(f"    with: {{{each.parameters}}}", Tone.MUTED))


def document(report: PolicyReport, root: Path) -> dict[str, Any]:
    return {
        "judged": list(report.judged),
        "deferred": list(report.deferred),
        "findings": [_finding(each, root) for each in report.findings],
    }


def judgements(judged: Sequence[Judgement], root: Path) -> dict[str, Any]:
    """`status` is `refused`, `unknown` or `passed`; each stack has its own."""
    return {
        "apiVersion": "wb/v1",
        "kind": "PolicyReport",
        "status": _status(judged),
        "stacks": [
            {
                "stack": str(each.stack),
                "status": _status([each]),
                "failure": None if each.failure is None else str(each.failure),
                **(document(each.report, root) if each.report is not None else document(PolicyReport(), root)),
            }
            for each in judged
        ],
    }


def rules(found: Mapping[str, Rule]) -> dict[str, Any]:
    return {
        "apiVersion": "wb/v1",
        "kind": "PolicyRules",
        "status": "ok",
        "rules": [
            {"name": each.name, "about": each.about, "with": each.parameters, "needsPlan": each.needs_plan}
            for each in found.values()
        ],
    }


def _status(judged: Sequence[Judgement]) -> str:
    if any(each.refuses for each in judged):
        return "refused"
    return "passed" if all(each.is_certain for each in judged) else "unknown"


def _finding(found: PolicyFinding, root: Path) -> dict[str, Any]:
    waiver = found.waiver or found.expired
    return {
        "policy": found.policy,
        "level": found.level.value,
        "refuses": found.refuses,
        "unknown": found.is_unknown,
        "message": found.message,
        "id": str(found.subject) if found.subject is not None else None,
        "field": format_path(found.path) if found.path else None,
        "place": found.place or None,
        "source": [each.relative_to(root) for each in found.source],
        "waiver": None
        if waiver is None
        else {"until": str(waiver.until), "reason": waiver.reason, "expired": found.waiver is None},
    }
