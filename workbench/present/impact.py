"""What a change of files does: lines for a terminal, and a document for programs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from workbench.engine.events import Action
from workbench.engine.impact import ImpactReport, StackImpact, State
from workbench.present import diff, documents, reconcile
from workbench.present.glyphs import Glyphs, action_sign
from workbench.present.text import Line, Span, Tone, line
from workbench.words import counted, few

_TONES = {
    State.NEW: Tone.ADDED,
    State.REMOVED: Tone.REMOVED,
    State.RENAMED: Tone.WARN,
    State.CHANGED: Tone.CHANGED,
    State.SAME: Tone.MUTED,
    State.UNKNOWN: Tone.BAD,
}
_MOST_FILES = 5


def lines(report: ImpactReport, glyphs: Glyphs, now: datetime, *, live_hint: bool = True) -> Iterator[Line]:
    """Yields what a terminal shows, the sum last; with `live_hint` how to ask clusters as well."""
    for stack in report.affected:
        yield from _stack_lines(stack, report.root, glyphs, now)
        yield line("")
    unchanged = [each for each in report.stacks if each.state is State.SAME]
    for stack in unchanged:
        yield line(Span(f"{glyphs.good} {stack.stack}: ", Tone.MUTED), Span(same_text(stack, report.root), Tone.MUTED))
    for file in report.unread:
        yield line(Span(f"  {name(file, report.root)}: no stack reads it", Tone.MUTED))
    for note in report.notes:
        yield line(Span(f"  {note}", Tone.MUTED))
    for doubt in report.doubts:
        where = f"{doubt.where}: " if doubt.where else ""
        yield line(Span(f"{glyphs.unknown} {where}{doubt.message}", Tone.WARN))
        if doubt.hint:
            yield line(Span(f"  {glyphs.arrow} {doubt.hint}", Tone.MUTED))
    yield _sum(report, glyphs)
    if live_hint and all(each.live is None for each in report.stacks):
        yield line(Span("clusters were not queried: --live compares with what is there", Tone.MUTED))
    elif not live_hint and any(each.state is State.REMOVED for each in report.stacks):
        yield line(Span("clusters were not queried about what removed stacks have there", Tone.MUTED))


def same_text(stack: StackImpact, root: Path) -> str:
    return f"reads {_files(stack, root)}, and nothing changes"


def name(file: Path, root: Path) -> str:
    return str(file.relative_to(root)) if file.is_relative_to(root) else str(file)


def _files(stack: StackImpact, root: Path) -> str:
    names = [name(each, root) for each in stack.reads]
    return few(names, _MOST_FILES)


def headline(stack: StackImpact) -> str:
    """`3 changed` and the like, for one stack; why nobody can tell, where it is so."""
    match stack.state:
        case State.UNKNOWN:
            sides = " and ".join(dict.fromkeys(each.side for each in stack.failures))
            return f"cannot be read or compiled {sides} the change: what changes is not known"
        case State.RENAMED:
            return f"was called {stack.former}: what is live under that name is another stack's until it is taken over"
        case State.REMOVED:
            return "is removed: what it has live stays, and `wb destroy` needs its folder back"
        case _:
            return stack.state.value


def _stack_lines(stack: StackImpact, root: Path, glyphs: Glyphs, now: datetime) -> Iterator[Line]:
    yield line(Span(f"{stack.stack} ", Tone.STRONG), Span(headline(stack), _TONES[stack.state]))
    if stack.reads:
        yield line(Span(f"  reads {_files(stack, root)}", Tone.MUTED))
    for failure in stack.failures:
        where = f"{failure.where}: " if failure.where else ""
        yield line(Span(f"  {glyphs.bad} {failure.side}: {where}{failure.message}", Tone.BAD))
        if failure.hint:
            yield line(Span(f"    {glyphs.arrow} {failure.hint}", Tone.MUTED))
    for setting in stack.settings:
        yield line(Span(f"  ~ {setting.name}: ", Tone.CHANGED), f"{setting.before} {glyphs.arrow} {setting.after}")
    roots = (root,)
    for change in stack.changes:
        yield line("  ", action_sign(change.action), " ", reconcile.short_id(change.address))
        for each in diff.detail_text(change, stack.spec, roots, glyphs, now):
            yield line("      ", each)
    if stack.live is not None:
        yield from _live_lines(stack, glyphs)


def _live_lines(stack: StackImpact, glyphs: Glyphs) -> Iterator[Line]:
    live = stack.live
    assert live is not None
    summary = diff.summary_line(live.summary, glyphs, is_certain=live.is_certain)
    yield line(Span("  live: ", Tone.MUTED), summary)
    for change in live.different():
        note = Span("  restarts pods", Tone.WARN) if change.restarts else Span("")
        yield line("    ", action_sign(change.action), " ", reconcile.short_id(change.address), note)
    for each in diff.remark_lines(live, glyphs):
        yield line("    ", each)


def _sum(report: ImpactReport, glyphs: Glyphs) -> Line:
    affected, summary = report.affected, report.summary
    unknown = sum(each.state is State.UNKNOWN for each in affected)
    parts: list[Span] = []
    if len(affected) > unknown:
        parts.append(Span(f"{len(affected) - unknown} of {report.total} stacks change", Tone.CHANGED))
        counts = ((summary.create, "create"), (summary.update, "change"), (summary.delete, "delete"))
        said = ", ".join(f"{count} {word}" for count, word in counts if count)
        parts += [Span(f": {said}")] if said else []
    if unknown or report.doubts:
        of = f" of {counted(unknown, 'stack')}" if unknown else ""
        parts.append(Span(f"{'; ' if parts else ''}{glyphs.unknown} what changes{of} is not known", Tone.BAD))
    if not parts:
        parts.append(Span(f"{glyphs.good} nothing changes in {report.total} stacks", Tone.GOOD))
    return line(Span(f"{report.before} {glyphs.arrow} {report.after}: ", Tone.MUTED), *parts)


def document(report: ImpactReport) -> dict[str, Any]:
    status = "different" if report.is_different else "same"
    root = report.root
    return {
        "apiVersion": "wb/v1",
        "kind": "Impact",
        "status": status if report.is_certain else "unknown",
        "before": report.before,
        "after": report.after,
        "files": [name(each, root) for each in report.files],
        "unread": [name(each, root) for each in report.unread],
        "total": report.total,
        "stacks": [_stack(each, root) for each in report.stacks],
        "doubts": [{"where": each.where, "message": each.message, "hint": each.hint} for each in report.doubts],
        "notes": list(report.notes),
    }


def _stack(stack: StackImpact, root: Path) -> dict[str, Any]:
    return {
        "stack": stack.stack,
        "state": stack.state.value,
        "former": stack.former or None,
        "reads": [name(each, root) for each in stack.reads],
        "changes": [documents.change(each, root) for each in stack.changes],
        "settings": [{"name": each.name, "before": each.before, "after": each.after} for each in stack.settings],
        "failures": [
            {"side": each.side, "message": each.message, "where": each.where, "hint": each.hint}
            for each in stack.failures
        ],
        "live": documents.diff(stack.live, root) if stack.live is not None else None,
    }


def totals(stack: StackImpact) -> str:
    """`1 created, 2 changed`"""
    actions = [each.action for each in stack.changes]
    counts = ((Action.CREATE, "created"), (Action.UPDATE, "changed"), (Action.DELETE, "deleted"))
    said = [f"{actions.count(action)} {word}" for action, word in counts if action in actions]
    return ", ".join(said)


__all__ = ["document", "headline", "lines", "name", "same_text", "totals"]
