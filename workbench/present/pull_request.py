"""The impact of a change for who reviews it: Markdown, and annotations at the lines of the change.

Names, values and messages come from a branch that nobody has read. In Markdown they stand as code, in a fence or a span
longer than any run of backticks in them, or with everything escaped that Markdown, HTML or an @mention could take for
its own. In a workflow command they are one line with `%`, `:` and `,` escaped, as GitHub's own toolkit does it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kcl.records import dataclass
from kcl.terminal import harmless
from runtimes.base import format_path
from workbench.engine.changes import Change, FieldChange, Op
from workbench.engine.impact import ImpactReport, StackImpact, State
from workbench.engine.linted import LintReport, LintScope
from workbench.engine.policy.findings import PolicyFinding
from workbench.present.impact import headline, name, totals
from workbench.present.plain_data import plain
from workbench.present.reconcile import short_id
from workbench.words import counted, restarting

_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]()#+\-.!|<>&~@:$^=\"']")
_RUNS: Final = re.compile(r"`+")
_MOST_STACKS = 100
_MOST_FIELDS = 60
_LONGEST_VALUE = 400
_LONGEST_SUMMARY = 900_000
"""GitHub takes no step summary larger than 1 MiB."""
_MOST_ANNOTATIONS = 50
_FENCED: Final = {Op.ADD: "+", Op.REMOVE: "-", Op.CHANGE: "!", Op.KEPT: "!"}


def _one_line(text: str) -> str:
    """What a log takes for an order wherever it stands in a line, the former `##[command]`, is none any more."""
    return harmless(text).replace("##[", "## [")


def escaped(text: str) -> str:
    """Returns one line of text that Markdown shows as it is.

    Mentions and references are found in what is shown, so a character without width stands in them.
    """
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};" + ("&#8203;" if found[0] in "@#" else ""), _one_line(text))


def code(text: str) -> str:
    """Returns one line as code; in a table a bar would end the cell, so none is left."""
    shown = _one_line(text).replace("|", "¦").strip()
    ticks = "`" * (max(map(len, _RUNS.findall(shown)), default=0) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{space}{shown}{space}{ticks}" if shown else "&nbsp;"


def fenced(lines: list[str], language: str) -> Iterator[str]:
    shown = [_one_line(each) for each in lines]
    ticks = "`" * max(3, *(len(run) + 1 for each in shown for run in _RUNS.findall(each)), 3)
    yield f"{ticks}{language}"
    yield from shown
    yield ticks


def markdown(report: ImpactReport) -> str:
    """Returns the whole summary. What does not fit says so, and by which command it can be had."""
    return fitting(list(_markdown(report)), "**More is affected than fits here:** `wb impact` lists it.")


def fitting(lines: list[str], more: str) -> str:
    """Returns the lines as one text, up to where it would be larger than GitHub takes; `more` says so then."""
    size = 0
    for number, each in enumerate(lines):
        size += len(each.encode("utf-8", "surrogatepass")) + 1
        if size > _LONGEST_SUMMARY:
            # a fence that was open would swallow what follows
            kept = lines[: max((at for at in range(number) if lines[at] == "</details>"), default=0) + 1]
            return "\n".join([*kept, "", more, ""])
    return "\n".join(lines) + "\n"


def _markdown(report: ImpactReport) -> Iterator[str]:
    affected = report.affected
    unknown = [each for each in affected if each.state is State.UNKNOWN]
    yield "## Impact"
    yield ""
    yield f"{code(report.before)} → {code(report.after)}, {counted(len(report.files), 'file')} changed"
    yield ""
    if len(affected) > len(unknown):
        yield f"**{len(affected) - len(unknown)} of {report.total} stacks change.**"
    elif report.is_certain:
        yield f"**Nothing changes in {report.total} stacks.**"
    if not report.is_certain:
        of = f" of {counted(len(unknown), 'stack')}" if unknown else ""
        yield f"**What changes{of} is not known**, see below."
    if affected:
        yield ""
        yield "| stack | what | resources |"
        yield "| --- | --- | --- |"
        for each in affected:
            yield f"| {code(each.stack)} | {escaped(headline(each))} | {escaped(totals(each))} |"
    for each in affected[:_MOST_STACKS]:
        yield from _stack(each, report.root)
    if len(affected) > _MOST_STACKS:
        yield ""
        yield f"Details of {len(affected) - _MOST_STACKS} more stacks are left out: `wb impact` shows them."
    same = [each for each in report.stacks if each.state is State.SAME]
    if same:
        yield ""
        more = f" and {len(same) - _MOST_STACKS} more" if len(same) > _MOST_STACKS else ""
        names = ", ".join(code(each.stack) for each in same[:_MOST_STACKS])
        yield f"Of {counted(len(same), 'stack')} a changed file is read, and nothing changes: {names}{more}"
    for doubt in report.doubts:
        yield ""
        yield f"- **not known:** {code(doubt.where)} {escaped(doubt.message)}"
    for note in report.notes:
        yield ""
        yield f"- {escaped(note)}"
    if report.lint is not None:
        yield from _linted(report.lint, report.root)
    yield ""
    yield _asked(report)


def _linted(lint: LintReport, root: Path) -> Iterator[str]:
    """What the linter says, and what of; nothing where it found nothing and looked at everything."""
    where = "on lines that changed" if lint.scope is LintScope.LINES else "in files that changed"
    if lint.findings:
        yield ""
        yield f"**The linter finds {counted(len(lint.findings), 'thing')} {where}:**"
        yield ""
    for each in lint.findings[:_MOST_FIELDS]:
        yield f"- {code(each.code)} {code(f'{_relative(str(each.file), root)}:{each.line}')} {escaped(each.message)}"
    if len(lint.findings) > _MOST_FIELDS:
        yield f"- and {len(lint.findings) - _MOST_FIELDS} more: `kcl lint` lists them"
    for unknown in lint.unknown:
        yield ""
        yield f"- **not linted:** {escaped(unknown)}"


def _asked(report: ImpactReport) -> str:
    if any(each.live is not None for each in report.stacks):
        return "Compared with the live clusters."
    return "Clusters were not queried: live objects may differ."


def _stack(stack: StackImpact, root: Path) -> Iterator[str]:
    yield ""
    yield f"<details><summary>{escaped(stack.stack)}: {escaped(headline(stack))}</summary>"
    yield ""
    for failure in stack.failures:
        yield f"- **{failure.side}:** {code(_relative(failure.where, root))} {escaped(failure.message)}"
    for setting in stack.settings:
        yield f"- {escaped(setting.name)}: {code(setting.before)} → {code(setting.after)}"
    shown = 0
    for change in stack.changes:
        if shown > _MOST_FIELDS:
            yield ""
            yield f"More resources change: `wb impact` lists all {len(stack.changes)}."
            break
        shown += max(1, len(change.fields))
        yield ""
        yield f"{code(str(short_id(change.address)))} {change.action.value}{_at(change, root)}"
        yield ""
        yield from fenced([_field(each, root) for each in change.fields[:_MOST_FIELDS]], "diff")
        if len(change.fields) > _MOST_FIELDS:
            yield f"and {len(change.fields) - _MOST_FIELDS} more fields"
    if stack.live is not None:
        yield from _live(stack)
    yield from _policy(stack, root)
    yield ""
    yield "</details>"


def _policy(stack: StackImpact, root: Path) -> Iterator[str]:
    found = _findings(stack)
    if found:
        yield ""
        yield "Policies:"
        yield ""
    for each in found[:_MOST_FIELDS]:
        at = f" at {code(each.source[0].relative_to(root))}" if each.source else ""
        about = f" {code(each.about)}" if each.about else ""
        yield f"- **{each.level.value}** {code(each.policy)}{about}: {escaped(each.message)}{at}"
    if len(found) > _MOST_FIELDS:
        yield f"- and {len(found) - _MOST_FIELDS} more: `wb policy` lists them"


def _findings(stack: StackImpact) -> tuple[PolicyFinding, ...]:
    every = stack.policy.findings if stack.policy is not None else ()
    return tuple(each for each in every if each.waiver is None)


def _live(stack: StackImpact) -> Iterator[str]:
    live = stack.live
    assert live is not None
    yield ""
    yield f"Live: {len(list(live.different()))} objects differ, {restarting(live.summary.restarts)}."
    for problem in live.problems:
        yield f"- **not known:** {escaped(problem.cluster)} {escaped(problem.message)}"
    for gap in live.gaps:
        yield f"- **not known:** {escaped(str(gap))}"


def _at(change: Change, root: Path) -> str:
    return f" at {code(change.source[0].relative_to(root))}" if change.source else ""


def _relative(where: str, root: Path) -> str:
    return where.removeprefix(f"{root}/")


def _field(each: FieldChange, root: Path) -> str:
    path = format_path(each.path)
    before, after = value(each.before), value(each.after)
    values = {Op.ADD: after, Op.REMOVE: before, Op.KEPT: before}.get(each.op, f"{before} → {after}")
    source = f"  ← {each.source[0].relative_to(root)}" if each.source else ""
    return f"{_FENCED[each.op]} {path}: {values}{source}"


def value(given: Any) -> str:
    """Returns a value on one line, secrets masked."""
    shown = plain(given)
    text = (
        shown if isinstance(shown, str) and "«masked#" in shown else json.dumps(shown, ensure_ascii=False, default=str)
    )
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}… ({len(text)} characters)"


@dataclass(frozen=True, slots=True)
class Annotation:
    """Something to say at a line of a file of the checkout; `line` counts from 1, 0 for none.

    `level` is error, warning or notice.
    """

    level: str
    file: str
    line: int
    title: str
    message: str


def said_at_lines(report: ImpactReport, top: Path) -> tuple[Annotation, ...]:
    """Returns what to say at lines: failures first, then each line that changes resources, with how many stacks.

    `top` is the folder of the checkout, from which those who show them name files. Lines of files that are gone, or
    outside of it, have nowhere to stand; GitHub shows few at once, so there are at most 50 and the last says it.
    """
    judged = dict.fromkeys(_judged(report, top))
    found = [*_failures(report, top), *judged, *_findings_of_the_linter(report, top), *_changes(report, top)]
    if len(found) <= _MOST_ANNOTATIONS:
        return tuple(found)
    left = len(found) - _MOST_ANNOTATIONS + 1
    last = Annotation("notice", "", 0, "Impact", f"{left} more lines change something: see the summary")
    return (*found[: _MOST_ANNOTATIONS - 1], last)


def _failures(report: ImpactReport, top: Path) -> Iterator[Annotation]:
    for stack in report.affected:
        for each in stack.failures:
            file = each.file if each.file is not None and each.file.is_relative_to(top) else None
            level = "error" if each.side == "after" else "warning"
            place = name(file, top) if file is not None and each.side == "after" else ""
            title = f"{stack.stack} cannot be read or compiled {each.side} the change"
            yield Annotation(level, place, each.line if place else 0, title, each.message)
    for doubt in report.doubts:
        yield Annotation("warning", "", 0, "Impact is not known", f"{doubt.where}: {doubt.message}")


def _judged(report: ImpactReport, top: Path) -> Iterator[Annotation]:
    for stack in report.affected:
        for each in _findings(stack):
            site = each.source[0] if each.source and each.source[0].file.is_relative_to(top) else None
            place, number = (name(site.file, top), site.line) if site is not None else ("", 0)
            about = f"{each.about}: " if each.about else ""
            level = "error" if each.refuses else "warning"
            yield Annotation(level, place, number, f"Policy {each.policy}", f"{stack.stack}: {about}{each.message}")


def _findings_of_the_linter(report: ImpactReport, top: Path) -> Iterator[Annotation]:
    for each in report.lint.findings if report.lint is not None else ():
        if each.file.is_relative_to(top):
            yield Annotation(
                "warning", name(each.file, top), each.line, f"Linter {each.code} {each.title}", each.message
            )
    for unknown in report.lint.unknown if report.lint is not None else ():
        yield Annotation("warning", "", 0, "Not linted", unknown)


def _changes(report: ImpactReport, top: Path) -> Iterator[Annotation]:
    changed = frozenset(report.files)
    at: dict[tuple[str, int], dict[str, set[str]]] = {}
    for stack in report.affected:
        for change in stack.changes:
            for field in change.fields:
                said = f"{short_id(change.address)} {format_path(field.path)}"
                for file, number in _lines_of(field, stack, changed):
                    if file.is_relative_to(top):
                        at.setdefault((name(file, top), number), {}).setdefault(stack.stack, set()).add(said)
    for (named, number), stacks in sorted(at.items()):
        names = ", ".join(sorted(stacks)[:5]) + (f" and {len(stacks) - 5} more" if len(stacks) > 5 else "")
        fields = sorted({each for found in stacks.values() for each in found})
        what = "; ".join(fields[:3]) + (f" and {len(fields) - 3} more" if len(fields) > 3 else "")
        yield Annotation("warning", named, number, f"Changes {counted(len(stacks), 'stack')}", f"{names}: {what}")


def _lines_of(field: FieldChange, stack: StackImpact, changed: frozenset[Path]) -> Iterator[tuple[Path, int]]:
    """Where to say it: at the nearest line behind the field that is in a changed file.

    What computes or removes a value is behind it on no line: then at the head of the changed files the stack reads.
    """
    sites = [each for each in field.source if each.file in changed] if field.op is not Op.REMOVE else []
    if sites:
        yield sites[0].file, sites[0].line
    else:
        yield from ((file, 1) for file in stack.reads)


def github(each: Annotation) -> str:
    """Returns a workflow command: https://docs.github.com/actions/reference/workflow-commands-for-github-actions"""
    place = f"file={_property(each.file)},line={each.line}," if each.file and each.line else ""
    return f"::{each.level} {place}title={_property(each.title)}::{_data(each.message)}"


def _data(text: str) -> str:
    return _one_line(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def gitlab(found: tuple[Annotation, ...]) -> list[dict[str, Any]]:
    """Returns a report as GitLab reads it: https://docs.gitlab.com/ci/testing/code_quality/"""
    severities = {"error": "major", "warning": "minor", "notice": "info"}
    return [
        {
            "description": harmless(f"{each.title}: {each.message}"),
            "check_name": "wb-impact",
            "fingerprint": hashlib.sha256(
                repr((each.file, each.line, each.title)).encode("utf-8", "replace")
            ).hexdigest(),
            "severity": severities[each.level],
            "location": {"path": harmless(each.file) or ".", "lines": {"begin": max(each.line, 1)}},
        }
        for each in found
    ]


__all__ = [
    "Annotation",
    "code",
    "escaped",
    "fenced",
    "fitting",
    "github",
    "gitlab",
    "markdown",
    "said_at_lines",
    "value",
]
