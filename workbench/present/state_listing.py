"""The state of Terraform's resources, for reading and as a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from workbench.engine.state_listing import StateListing, StateResource
from workbench.present.glyphs import Glyphs
from workbench.present.plain_data import plain
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.present.yaml_lines import yaml_lines

COLUMNS = (Column("Resource", grow=True), Column("Id"), Column("Provider"), Column("Note"))


def rows(found: StateListing) -> tuple[Row, ...]:
    return tuple(
        Row(
            each.id,
            (
                line(each.address),
                line(each.uid or "?"),
                line(Span(each.provider, Tone.MUTED)),
                line(Span("; ".join(notes(each)), Tone.WARN)),
            ),
        )
        for each in found.resources
    )


def notes(each: StateResource) -> Iterator[str]:
    if not each.exists:
        yield "gone"
    if each.is_tainted:
        yield "not finished: will be replaced"
    if each.deposed:
        yield f"{each.deposed} older of it still to be deleted"
    if each.is_configured is False:
        yield "not configured any more"


def summary(found: StateListing, glyphs: Glyphs) -> Iterator[Line]:
    """Yields where the state is, how much it has, and what is not known."""
    if not found.lineage and not found.resources:
        said = "nothing" if found.is_doubtful else "no state yet"
        yield line(Span(said, Tone.STRONG), Span(f" in {found.where}", Tone.MUTED))
    else:
        count = f"{len(found.resources)} resource{'s' if len(found.resources) != 1 else ''}"
        yield line(Span(count, Tone.STRONG), Span(f" in {found.where}, serial {found.serial}", Tone.MUTED))
    for each in found.absent:
        yield line(Span(f"{glyphs.finding} configured, and not in it: {each}", Tone.WARN))
    for each in found.lost:
        yield line(Span(f"{glyphs.unknown} the last release made it, and it is not in this state: {each}", Tone.BAD))
    for maybe in found.unsure:
        named = f", as {' or '.join(maybe.names)}" if maybe.names else ""
        said = f"{maybe.id} may exist{named}, and is not in it: an apply was stopped while it created it"
        yield line(Span(f"{glyphs.unknown} {said}", Tone.BAD))
    if found.unsure:
        yield line(Span(f"plan {found.stack}: that looks for it; an apply takes over what exists", Tone.MUTED))
    if found.elsewhere:
        yield line(Span(f"{glyphs.unknown} {found.elsewhere}", Tone.WARN))
    if found.unread:
        said = f"{found.unread}: whether releases made more is not known"
        yield line(Span(f"{glyphs.unknown} {said}", Tone.WARN))
    if found.problem:
        said = f"{found.problem}: what is configured is not known"
        yield line(Span(f"{glyphs.unknown} {said}", Tone.WARN))


def lines(each: StateResource) -> Iterator[Line]:
    yield line(Span(each.address, Tone.STRONG), Span(f"  {each.provider}", Tone.MUTED))
    for note in notes(each):
        yield line(Span(note, Tone.WARN))
    for shown in yaml_lines(each.body, indent=1):
        yield shown.text


def forgotten(every: Iterable[StateResource]) -> Iterator[Line]:
    """Yields what was taken out of a state, by its id there, and how it is managed again."""
    for each in every:
        yield line("forgotten: ", Span(each.address, Tone.STRONG), Span(f"  {each.provider}", Tone.MUTED))
        if each.uid:
            said = f'  it is there as {each.uid}; to manage it again: extensions.importId = "{each.uid}" in its KCL'
        else:
            said = "  its id is not known, or secret: the copy of the state has it; extensions.importId takes it over"
        yield line(Span(said, Tone.MUTED))


def document(found: StateListing, only: StateResource | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "wb/v1",
        "kind": "TerraformState",
        "status": "unknown" if found.problem or found.is_doubtful else "ok" if found.lineage else "empty",
        "stack": found.stack,
        "where": found.where,
        "lineage": found.lineage or None,
        "serial": found.serial,
        "unknown": [each for each in (found.problem, found.unread, found.elsewhere) if each],
        "absent": [str(each) for each in found.absent],
        "lost": [str(each) for each in found.lost],
        "possiblyCreated": [{"id": str(each.id), "names": [*each.names], "since": each.since} for each in found.unsure],
        "resources": [
            {
                "id": str(each.id),
                "uid": each.uid or None,
                "address": each.address,
                "provider": each.provider,
                "tainted": each.is_tainted,
                "deposed": each.deposed,
                "exists": each.exists,
                "configured": each.is_configured,
                **({"attributes": plain(each.body)} if only is not None else {}),
            }
            for each in ((only,) if only is not None else found.resources)
        ],
    }
