"""What a stack gives to others, and what it reads of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from runtimes.base import format_path
from workbench.engine.masking import Seal
from workbench.engine.outputs import NoOutput, StackOutputs
from workbench.engine.reads import OutputRead, OutputValue
from workbench.present.glyphs import Glyphs
from workbench.present.plain_data import plain
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line

COLUMNS = (Column("Output"), Column("Value", grow=True), Column("From"), Column("Release"), Column("Read"))


def rows(found: StackOutputs, seal: Seal, glyphs: Glyphs) -> tuple[Row, ...]:
    return tuple(Row(name, _cells(name, each, seal, glyphs)) for name, each in found.outputs.items())


def _cells(name: str, each: OutputValue | NoOutput, seal: Seal, glyphs: Glyphs) -> tuple[Line, ...]:
    if isinstance(each, NoOutput):
        return line(name), line(Span(f"{glyphs.unknown} {each.why}", Tone.WARN)), line(""), line(""), line("")
    return (
        line(name),
        line(each.text(seal)),
        line(Span("; ".join(map(str, each.givers)), Tone.MUTED)),
        line(str(each.revision)),
        line(Span(each.read_at.strftime("%H:%M:%S"), Tone.MUTED)),
    )


def summary(found: StackOutputs, glyphs: Glyphs) -> Iterator[Line]:
    """Yields what can't be told, and what to do about it."""
    if found.unread is not None:
        said = f"{found.unread.where}: {found.unread.message}"
        yield line(Span(f"{glyphs.finding} what {found.stack} gives to others is not known: {said}", Tone.BAD))
    elif not found.outputs:
        yield line(Span(f"{found.stack} gives nothing to others", Tone.MUTED))
    for name, each in found.outputs.items():
        if isinstance(each, NoOutput) and each.hint:
            yield line(Span(f"{glyphs.arrow} {name}: {each.hint}", Tone.MUTED))


def document(found: StackOutputs, seal: Seal) -> dict[str, Any]:
    return {
        "apiVersion": "wb/v1",
        "kind": "StackOutputs",
        "status": "ok" if found.is_known else "unknown",
        "stack": found.stack,
        "unread": None if found.unread is None else f"{found.unread.where}: {found.unread.message}",
        "outputs": [_output(name, each, seal) for name, each in found.outputs.items()],
    }


def reads(found: Iterable[OutputRead], seal: Seal) -> list[dict[str, Any]]:
    """Returns what a diff or a plan has in it of other stacks."""
    return [
        {"stack": each.output.stack, **_output(each.output.name, each.value, seal), "fields": list(each.fields)}
        for each in found
    ]


def _output(name: str, each: OutputValue | NoOutput, seal: Seal) -> dict[str, Any]:
    if isinstance(each, NoOutput):
        return {"name": name, "value": None, "unknown": each.why, "hint": each.hint}
    return {
        "name": name,
        "value": plain(each.shown(seal)),
        "secret": each.is_secret,
        "from": [{"id": str(one.id), "path": format_path(one.path), "places": list(one.places)} for one in each.givers],
        "release": each.revision,
        "readAt": each.read_at.isoformat(),
        "unknown": None,
    }
