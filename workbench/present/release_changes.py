"""What differs between two releases, for reading and as a document."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from runtimes.base import format_path
from workbench.engine.events import Action
from workbench.engine.release_changes import ReleaseChanges, ResourceChange
from workbench.present import reconcile
from workbench.present.diff import field_text
from workbench.present.glyphs import Glyphs, action_sign
from workbench.present.plain_data import plain
from workbench.present.text import Line, Span, Tone, line

_UNDECIDED = "secret in both, under different keys: whether it changed can't be told"


def lines(found: ReleaseChanges, glyphs: Glyphs) -> Iterator[Line]:
    now = datetime.now(UTC)
    for each in found.changes:
        yield line(action_sign(each.action), " ", reconcile.short_id(each.address))
        for field in each.fields:
            for text in field_text(field, glyphs, now):
                yield line("    ", text)
        for path in each.undecided:
            yield line("    ", Span(f"{glyphs.unknown} {format_path(path)}: {_UNDECIDED}", Tone.WARN))
        yield Line()


def summary(found: ReleaseChanges, glyphs: Glyphs) -> Line:
    counts = [
        f"{sign}{count} {word}"
        for sign, word, action in (
            ("+", "added", Action.CREATE),
            ("~", "changed", Action.UPDATE),
            ("-", "removed", Action.DELETE),
        )
        if (count := sum(each.action is action for each in found.changes))
    ]
    unsure = sum(bool(each.undecided) for each in found.changes)
    if unsure:
        counts.append(f"{unsure} not known")
    between = f"{found.stack}: {found.before.name} {glyphs.arrow} {found.after.name}: "
    said = "  ".join(counts) if counts else "the same"
    return line(between, Span(said, Tone.STRONG), f"  {found.unchanged} unchanged" if found.unchanged else "")


def document(found: ReleaseChanges) -> dict[str, Any]:
    status = "different" if found.is_different else "same" if found.is_certain else "unknown"
    return {
        "apiVersion": "wb/v1",
        "kind": "ReleaseDiff",
        "status": status,
        "stack": found.stack,
        "from": {"name": found.before.name, "revision": found.before.revision},
        "to": {"name": found.after.name, "revision": found.after.revision},
        "unchanged": found.unchanged,
        "changes": [_change(each) for each in found.changes],
        "warnings": list(found.remarks),
    }


def _change(each: ResourceChange) -> dict[str, Any]:
    return {
        "cluster": each.address.cluster,
        "id": str(each.address.id),
        "action": each.action.value,
        "fields": [
            {
                "path": format_path(field.path),
                "op": field.op.value,
                "before": plain(field.before),
                "after": plain(field.after),
                "masked": field.is_masked,
            }
            for field in each.fields
        ],
        "unknown": [format_path(path) for path in each.undecided],
    }
