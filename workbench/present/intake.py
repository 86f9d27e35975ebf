"""What `wb import` takes in, leaves out and writes, as lines and as a document. Values of secrets are in neither."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from runtimes.base import format_path
from workbench.engine.intake.values import FirstPlan, Intake, Kept, Secret
from workbench.engine.placement import is_core_secret
from workbench.present.glyphs import Glyphs
from workbench.present.text import Line, Span, Tone, line
from workbench.words import counted, few

_MOST: Final = 40
"""So many objects are listed of those that are left out, by reason."""


def lines(intake: Intake, glyphs: Glyphs, *, is_written: bool) -> Iterator[Line]:
    """Yields what is taken, what is not and why, what is to be set, and the files."""
    kinds = Counter(each.id.kind for each in intake.objects.values())
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    yield line(Span(f"{intake.source}: ", Tone.STRONG), Span(f"{counted(len(intake.objects), 'object')} ({told})"))
    yield from _left_out(intake)
    for component, names in intake.modelled.items():
        yield line(Span(f"  {component}", Tone.STRONG), Span(f"  says {', '.join(names)}", Tone.MUTED))
    for each in intake.unmodelled:
        yield line(Span(f"  not by {each.name}", Tone.MUTED), Span(f"  {each.why}", Tone.MUTED))
    for note in intake.notes:
        yield line(Span(f"  {note}", Tone.MUTED))
    if intake.unlisted:
        said = f"{glyphs.bad} not known, as they may not be listed or do not answer: {', '.join(intake.unlisted)}"
        yield line(Span(said, Tone.BAD))
    yield from _to_set(intake)
    for file in (*intake.files, *intake.appended):
        name = file.relative_to(intake.destination.root).as_posix()
        what = "gets a placement" if file in intake.appended else "is new"
        yield line(Span(f"  {name}"), Span(f"  {what}" if is_written else f"  {what}, not written", Tone.MUTED))
    if intake.placement:
        yield line(Span("no placement of clusters.yaml covers the stack: add this below placements:", Tone.WARN))
        yield line(Span(intake.placement))


def _left_out(intake: Intake) -> Iterator[Line]:
    by_reason: dict[str, list[str]] = {}
    for each in intake.skipped:
        by_reason.setdefault(each.why, []).append(each.name)
    for why, names in by_reason.items():
        more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
        yield line(Span(f"  left out: {', '.join(names[:_MOST])}{more}", Tone.MUTED), Span(f"  {why}", Tone.MUTED))


def _to_set(intake: Intake) -> Iterator[Line]:
    if not intake.secrets:
        return
    yield line(Span(f"{counted(len(intake.secrets), 'secret')} in no file, to be set where plans are made:", Tone.WARN))
    for each in intake.secrets:
        how = each.name if each.kept is Kept.ENVIRONMENT else f"-D {each.name}=..."
        yield line(
            Span(f"  {how}"),
            Span(f"  {format_path(each.path)} of {each.id.kind}/{each.id.name}", Tone.MUTED),
            Span(f"  {found}" if (found := _read_by(each, intake)) else "", Tone.MUTED),
        )


def _read_by(secret: Secret, intake: Intake) -> str:
    """Returns the command that shows where the secret is now, where it is live in a Secret."""
    if not intake.destination.cluster or not is_core_secret(secret.id) or secret.kept is not Kept.ENVIRONMENT:
        return ""
    key = str(secret.path[-1]).replace(".", "\\.")
    namespace = shlex.quote(secret.id.namespace or intake.destination.namespace)
    path = shlex.quote(f"{{.data.{key}}}")
    return f"kubectl get secret -n {namespace} {shlex.quote(secret.id.name)} -o jsonpath={path} | base64 -d"


def first_plan(found: FirstPlan, stack: str, glyphs: Glyphs) -> Iterator[Line]:
    """Yields what the first plan would do: nothing but labels, or each object that changes."""
    for each in found.plan.problems:
        yield line(Span(f"{glyphs.bad} {each}", Tone.BAD))
    for change in found.changed:
        fields = few([format_path(each.path) for each in change.fields], 5)
        said = f"{glyphs.bad} {change.action} {change.address}" + (f": {fields}" if fields else "")
        yield line(Span(said, Tone.BAD))
    if found.is_empty:
        said = f"{glyphs.good} the first plan of {stack} changes no field"
        claims = (
            f"; applying it puts the labels of the stack on {counted(len(found.claimed), 'object')}, and nothing else"
        )
        yield line(Span(said + (claims if found.claimed else ""), Tone.GOOD))
    elif not found.is_known:
        yield line(Span(f"whether the first plan of {stack} is empty is not known", Tone.WARN))
    else:
        yield line(
            Span(f"the first plan of {stack} changes {counted(len(found.changed), 'object')}: see above", Tone.WARN)
        )


def document(intake: Intake, found: FirstPlan | None) -> Mapping[str, Any]:
    root = intake.destination.root
    return {
        "apiVersion": "wb/v1",
        "kind": "Import",
        "source": intake.source,
        "stack": str(intake.destination.path),
        "objects": {name: str(each.id) for name, each in intake.objects.items()},
        "skipped": [{"object": each.name, "why": each.why} for each in intake.skipped],
        "models": {component: list(names) for component, names in intake.modelled.items()},
        "notByModels": [{"component": each.name, "why": each.why} for each in intake.unmodelled],
        "unlisted": list(intake.unlisted),
        "notes": list(intake.notes),
        "secrets": [
            {"object": str(each.id), "field": format_path(each.path), "kept": each.kept.value, "name": each.name}
            for each in intake.secrets
        ],
        "files": [each.relative_to(root).as_posix() for each in (*intake.files, *intake.appended)],
        "placement": intake.placement,
        "firstPlan": None if found is None else _plan_document(found),
    }


def _plan_document(found: FirstPlan) -> Mapping[str, Any]:
    return {
        "empty": found.is_empty,
        "known": found.is_known,
        "claimed": [str(each.address) for each in found.claimed],
        "changed": [
            {
                "object": str(each.address),
                "action": each.action.value,
                "fields": [format_path(f.path) for f in each.fields],
            }
            for each in found.changed
        ],
    }
