"""What others changed live as Markdown: what a scheduled job leaves for whoever reads it in the morning.

It stands alone, long after the terminal is gone: so it says when it was looked, at which clusters, and what could not
be told comes before all details. That nobody changed anything is only said where all could be asked. How texts from
outside stand in Markdown is told in pull_request.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from runtimes.base import format_path
from workbench.engine.changes import Change, FieldChange, Op
from workbench.engine.drift import StackDrift
from workbench.engine.fleet import TakenOut
from workbench.present import drift
from workbench.present.glyphs import UNICODE
from workbench.present.pull_request import code, escaped, fenced, fitting, value
from workbench.present.reconcile import short_id
from workbench.project import Finding
from workbench.words import counted

_MOST_STACKS = 100
_MOST_FIELDS = 60
_MORE = "**More was found than fits here:** `wb drift` lists it."


def markdown(
    looks: Sequence[StackDrift],
    findings: Iterable[Finding],
    root: Path,
    at: datetime,
    gone: TakenOut | None = None,
) -> str:
    """Returns the whole report. `findings` are about files of the repository: with an error, stacks may be missing.

    `gone` is about stacks that the repository has no more, None where that was not asked.
    """
    return fitting(list(_markdown(looks, tuple(findings), root, at, gone or TakenOut())), _MORE)


def _markdown(
    looks: Sequence[StackDrift], findings: tuple[Finding, ...], root: Path, at: datetime, gone: TakenOut
) -> Iterator[str]:
    drifted = [each for each in looks if each.has_drifted]
    unsure = [each for each in looks if not each.is_certain]
    may_miss = any(each.is_error for each in findings)
    yield "## Drift"
    yield ""
    yield f"{counted(len(looks), 'stack')}, looked at {at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    yield ""
    if drifted:
        yield f"**Others changed {len(drifted)} of {counted(len(looks), 'stack')}.**"
    elif not unsure and not may_miss:
        yield f"**Nobody changed anything in {counted(len(looks), 'stack')}.**"
    if unsure:
        yield f"**Of {counted(len(unsure), 'stack')} it is not known**, see below."
    if may_miss:
        yield "**A file of the repository is broken, so stacks may be missing**, see below."
    if gone.left:
        yield f"**{counted(len(gone.left), 'stack')} that the repository has no more left something**, see below."
    if gone.unknown:
        yield "**Of stacks that the repository has no more it is not all known**, see below."
    if said := drift.left_to_others(looks):
        yield f"{said}."
    if drifted or unsure:
        yield ""
        yield "| stack | drift | known |"
        yield "| --- | --- | --- |"
        for each in looks:
            if each.has_drifted or not each.is_certain:
                known = "yes" if each.is_certain else "**no**"
                yield f"| {code(str(each.stack))} | {escaped(_counted(each))} | {known} |"
    yield from _not_known(unsure, findings, root)
    yield from _taken_out(gone)
    for each in drifted[:_MOST_STACKS]:
        yield from _stack(each, root)
    if len(drifted) > _MOST_STACKS:
        yield ""
        yield f"Details of {len(drifted) - _MOST_STACKS} more stacks are left out: `wb drift` shows them."
    asked = [str(each) for each in drift.identity_lines(looks)]
    if asked:
        yield ""
        yield "Asked:"
        yield ""
        for line in asked:
            yield f"- {code(line)}"


def _counted(look: StackDrift) -> str:
    found = list(look.drifted())
    fields, deleted = sum(each.field is not None for each in found), sum(each.field is None for each in found)
    parts = [counted(fields, "field")] if fields else []
    if deleted:
        parts.append(f"{counted(deleted, 'resource')} deleted")
    return ", ".join(parts) or ("none" if look.is_certain else "none seen")


def _not_known(unsure: Sequence[StackDrift], findings: Sequence[Finding], root: Path) -> Iterator[str]:
    if not unsure and not findings:
        return
    yield ""
    yield "### Not known" if unsure or any(each.is_error for each in findings) else "### Findings"
    yield ""
    for finding in findings:
        hint = f" {escaped(finding.hint)}" if finding.hint else ""
        yield f"- {code(finding.where.removeprefix(f'{root}/'))} {escaped(finding.message)}{hint}"
    for look in unsure[:_MOST_STACKS]:
        said = [str(each) for each in drift.remark_lines(look, UNICODE)]
        if look.diff is not None and (undecided := sum(1 for _ in look.diff.undecided())):
            said.append(f"{counted(undecided, 'resource')} may be new or deleted: no release is recorded that tells")
        yield f"- {code(str(look.stack))}"
        for each in said or ["it could not be compared"]:
            yield f"  - {escaped(each.replace(f'{root}/', '').strip())}"
    if len(unsure) > _MOST_STACKS:
        yield f"- and {len(unsure) - _MOST_STACKS} more stacks"


def _taken_out(gone: TakenOut) -> Iterator[str]:
    if not gone.said:
        return
    yield ""
    yield "### Gone from the repository"
    yield ""
    for stack, what in list(gone.left.items())[:_MOST_STACKS]:
        yield f"- {code(stack)} {escaped(what)}"
    if len(gone.left) > _MOST_STACKS:
        yield f"- and {len(gone.left) - _MOST_STACKS} more stacks: `wb drift` names them"
    for each in gone.unknown:
        yield f"- {escaped(each)}"


def _stack(look: StackDrift, root: Path) -> Iterator[str]:
    assert look.diff is not None, "what was not compared has not drifted"
    yield ""
    yield f"<details><summary>{escaped(str(look.stack))}: {escaped(_counted(look))}</summary>"
    shown = 0
    changes = look.diff.drift.changes
    for change in changes:
        if shown > _MOST_FIELDS:
            yield ""
            yield f"More resources drifted: `wb drift` lists all {len(changes)}."
            break
        shown += max(1, len(change.fields))
        yield ""
        yield from _change(change, root)
    yield ""
    back, over = (code(f"wb drift {look.stack} {option}") for option in ("--revert", "--adopt"))
    yield f"{back} takes it back, {over} takes it over."
    yield ""
    yield "</details>"


def _change(change: Change, root: Path) -> Iterator[str]:
    gone = ": **deleted**" if change.was_deleted else ""
    yield f"{code(str(short_id(change.address)))}{gone}"
    if change.fields:
        yield ""
        yield from fenced([_field(each, root) for each in change.fields[:_MOST_FIELDS]], "diff")
    if len(change.fields) > _MOST_FIELDS:
        yield f"and {len(change.fields) - _MOST_FIELDS} more fields"


def _field(each: FieldChange, root: Path) -> str:
    """`! spec.replicas: 3 → 5  by kubectl-scale on 2026-11-25 21:07 UTC  ← prod/main.k:12`, what is live last."""
    live, configured = value(each.before), value(each.after)
    said = {
        Op.ADD: f"{configured} → removed",
        Op.REMOVE: f"not configured → {live}",
        Op.KEPT: f"not configured → {live}",
    }
    by = ""
    if each.actor is not None:
        when = f" on {each.actor.when.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if each.actor.when is not None else ""
        by = f"  by {each.actor.manager}{when}"
    source = f"  ← {each.source[0].relative_to(root)}" if each.source else ""
    return f"! {format_path(each.path)}: {said.get(each.op, f'{configured} → {live}')}{by}{source}"


__all__ = ["markdown"]
