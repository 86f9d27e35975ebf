"""Drift of many stacks as lines and as a document: what others changed, since when it is known, what is not known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runtimes.base import RuntimeFailure, format_path
from workbench.engine.drift import Adoption, Drifted, DriftNews, StackDrift
from workbench.engine.fleet import TakenOut
from workbench.present import clusters, diff, documents, errors, fleet, reconcile, value_changes
from workbench.present.glyphs import Glyphs, action_sign
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.words import counted


def stack_lines(look: StackDrift, root: Path, glyphs: Glyphs, now: datetime) -> Iterator[Line]:
    """Yields what one look found: each resource that drifted with its fields, then the stack in one line."""
    if look.diff is not None:
        for change in look.diff.drift.changes:
            yield line(action_sign(change.action), " ", reconcile.short_id(change.address))
            for each in diff.detail_text(change, look.diff.spec, (root,), glyphs, now, drift_only=True):
                yield line("    ", each)
        yield line(f"{look.stack}: ", diff.drift_line(look.diff, glyphs))
    else:
        yield line(f"{look.stack}: ", Span(f"{glyphs.unknown} it could not be compared", Tone.WARN))


def remark_lines(look: StackDrift, glyphs: Glyphs) -> Iterator[Line]:
    """Yields why something of a stack is not known, and what else its user should know."""
    if look.diff is not None:
        yield from diff.remark_lines(look.diff, glyphs)
    elif isinstance(look.failure, WorkbenchError | RuntimeFailure):
        yield from errors.lines(look.failure, glyphs)


_MOST_BESIDES = 10


def unsaid(lines: Iterable[Line], said: set[tuple[str, ...]], glyphs: Glyphs) -> Iterator[Line]:
    """Leaves out what was said of another stack word for word, and says how much that is.

    A line belongs with the indented ones below it. Who may not list kinds hears the same of every stack.
    """
    blocks: list[list[Line]] = []
    for each in lines:
        if blocks and str(each).startswith(" "):
            blocks[-1].append(each)
        else:
            blocks.append([each])
    again: list[str] = []
    for block in blocks:
        words = tuple(map(str, block))
        if words in said:
            again.append(words[0])
            continue
        said.add(words)
        yield from block
    if again:
        is_known = all(each.startswith(glyphs.finding) for each in again)
        sign = glyphs.finding if is_known else glyphs.unknown
        yield line(Span(f"{sign} and {counted(len(again), 'remark')} as of a stack above", Tone.WARN))


def identity_lines(looks: Iterable[StackDrift]) -> Iterator[Line]:
    """Yields which clusters were asked, each once."""
    asked = {name: each for look in looks if look.diff is not None for name, each in look.diff.identities.items()}
    yield from clusters.lines(asked)


def summary_line(looks: Sequence[StackDrift], glyphs: Glyphs) -> Line:
    """`12 stacks: 2 drifted  1 not known  9 without drift`"""
    drifted = sum(each.has_drifted for each in looks)
    unsure = sum(not each.is_certain for each in looks)
    rest = sum(each.is_certain and not each.has_drifted for each in looks)
    parts = [Span(f"{len(looks)} {'stack' if len(looks) == 1 else 'stacks'}: ")]
    if drifted:
        parts.append(Span(f"{drifted} drifted  ", Tone.WARN))
    if unsure:
        parts.append(Span(f"{glyphs.unknown} {unsure} not known for sure  ", Tone.WARN))
    parts.append(Span(f"{rest} without drift", Tone.MUTED if drifted or unsure else Tone.GOOD))
    if said := left_to_others(looks):
        parts.append(Span(f"  {said}", Tone.WARN))
    return line(*parts)


def left_to_others(looks: Iterable[StackDrift]) -> str:
    """Returns what counts as no drift although it is not as configured; empty if there is nothing."""
    count = sum(each.left_to_others for each in looks)
    if not count:
        return ""
    return f"{counted(count, 'field')} not as configured, left to others by `ignore` (wb diff STACK)"


def document(looks: Sequence[StackDrift], root: Path, at: datetime, gone: TakenOut | None = None) -> dict[str, Any]:
    """`status` is `different`, `unknown` or `same`, as that of a diff; each stack has its own.

    Stacks that the repository has no more are in `takenOut`, where it was asked, and change no `status`.
    """
    status = "same"
    if any(not each.is_certain for each in looks):
        status = "unknown"
    if any(each.has_drifted for each in looks):
        status = "different"
    return {
        "apiVersion": "wb/v1",
        "kind": "Drift",
        "status": status,
        "lookedAt": f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "stacks": [_stack(each, root) for each in looks],
        **({"takenOut": fleet.taken_out(gone)} if gone is not None else {}),
    }


def _stack(look: StackDrift, root: Path) -> dict[str, Any]:
    if look.diff is not None:
        found = documents.diff(look.diff, root, drift_only=True)
        return {"certain": look.is_certain, **{key: each for key, each in found.items() if key != "apiVersion"}}
    message = getattr(look.failure, "message", "") or type(look.failure).__name__
    hint = str(getattr(look.failure, "hint", ""))
    return {"certain": False, "status": "unknown", "stack": str(look.stack), "message": message, "hint": hint}


def news_lines(news: DriftNews, root: Path, glyphs: Glyphs, now: datetime) -> Iterator[Line]:
    """Yields what changed since the look before, a line each, the time first."""
    clock = Span(f"{now.astimezone():%H:%M:%S}  ", Tone.MUTED)
    for each in news.appeared:
        yield line(clock, Span("drifted  ", Tone.WARN), _item(each, root, glyphs))
    for _, each in news.changed:
        yield line(clock, Span("again    ", Tone.WARN), _item(each, root, glyphs))
    for each in news.gone:
        yield line(clock, Span("gone     ", Tone.GOOD), _item(each, root, glyphs))
    for look in news.doubtful:
        yield line(clock, Span("not known  ", Tone.WARN), f"{look.stack}: {_doubt(look)}")
    for look in news.certain:
        yield line(clock, Span("known    ", Tone.GOOD), f"{look.stack}")


def _doubt(look: StackDrift) -> str:
    if look.diff is None:
        return getattr(look.failure, "message", "") or "it could not be compared"
    said = [f"{each.cluster}: {each.message}" for each in look.diff.problems]
    said += [*(str(each) for each in look.diff.gaps), *look.diff.cautions]
    return said[0] if said else "no release of the stack is recorded that tells new from deleted"


def _item(each: Drifted, root: Path, glyphs: Glyphs) -> Line:
    about = line(f"{each.stack}  ", reconcile.short_id(each.address), "  ")
    if each.field is None:
        return line(about, Span("deleted", Tone.WARN))
    field = each.field
    live = "«nothing»" if field.before is None else _short(field.before)
    configured = "«nothing»" if field.after is None else _short(field.after)
    values = f": {configured} {glyphs.arrow} {live}" if field.before != field.after else f": {live}"
    source = diff.source_text(field.source, root)
    return line(
        about,
        Span(format_path(field.path), Tone.KEY),
        values,
        Span(f"  by {field.actor.manager}" if field.actor else "", Tone.MUTED),
        Span(f"  {glyphs.source} {source}" if source else "", Tone.SOURCE),
    )


def _short(value: Any) -> str:
    shown = value_changes.one_line(value)
    return shown.text if shown is not None else f"«{type(value).__name__} of {len(value)}»"


def adoption_lines(adoption: Adoption, shared: Sequence[str], glyphs: Glyphs) -> Iterator[Line]:
    """Yields what the edits take over, what they leave, and whom else they reach."""
    for each in adoption.adopted:
        where = f"  {glyphs.source} {each.place}" if each.place else ""
        yield line(Span(f"{glyphs.good} ", Tone.GOOD), f"{each.id} {format_path(each.path)}", Span(where, Tone.SOURCE))
        if each.elsewhere:
            said = f"live in {', '.join(each.clusters)} only: an apply would set it in {', '.join(each.elsewhere)} too"
            yield line("    ", Span(f"{glyphs.finding} {said}", Tone.WARN))
    for left in adoption.left:
        what = f" {format_path(left.path)}" if left.path else ""
        yield line(Span(f"{glyphs.unknown} ", Tone.WARN), f"{left.id}{what} in {', '.join(left.clusters)}: {left.why}")
    for id_, path in adoption.besides[:_MOST_BESIDES]:
        what = f"{id_} {format_path(path)}" if path else f"{id_} as a whole"
        yield line(Span(f"{glyphs.finding} an apply would change {what} too: the same line sets it", Tone.WARN))
    if (more := len(adoption.besides) - _MOST_BESIDES) > 0:
        yield line(Span(f"{glyphs.finding} and {counted(more, 'field')} more of the stack", Tone.WARN))
    if shared:
        yield line(
            Span(f"{glyphs.finding} the edited files are read by other stacks too: {', '.join(shared)}", Tone.WARN)
        )
