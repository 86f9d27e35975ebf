"""One object of the picture in full: what it is, since when that is known, why, what it owns and what was reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from runtimes.base import Blocking, StatusNode
from workbench.engine.status import ResourceStatus, StatusTree
from workbench.present import durations, reconcile
from workbench.present.glyphs import Glyphs, status_line
from workbench.present.rows import Key
from workbench.present.text import Line, Span, Tone, line


def lines(tree: StatusTree, key: Key, glyphs: Glyphs, now: datetime) -> tuple[Line, ...]:
    """Returns the object that a row of `reconcile.rows` stands for; one line where it is not there any more."""
    found = reconcile.find(tree.as_of(now), key)
    if found is None or found[1] is None:
        status = found[0] if found else None
        if status is None or (isinstance(key, tuple) and key[1] not in ("", "ready")):
            return (line(Span("it is not there any more", Tone.WARN)),)
        return tuple(_resource(status, tree, glyphs, now))
    status, node = found
    assert node is not None
    if isinstance(key, tuple) and key[1] == "ready":
        members = reconcile.pods(tree, key)
        return (*_resource(status, tree, glyphs, now), line(), *(line(f"  {each}") for each in members))
    own = () if node is status.tree else tuple(_node(node, glyphs, now))
    return (*_resource(status, tree, glyphs, now), *own, *_below(node, glyphs, now), *_events(node, now))


def _resource(status: ResourceStatus, tree: StatusTree, glyphs: Glyphs, now: datetime) -> Iterator[Line]:
    yield line(reconcile.short_id(status.address), "  ", status_line(status.health, glyphs))
    if status.health.message:
        yield line(f"  {status.health.message}")
    if status.lost is not None:
        age = durations.short((now - status.lost.since).total_seconds())
        was = f": it was {status_line(status.last, glyphs)}" if status.last else ""
        yield line(Span(f"  silent for {age}, since {status.lost.since:%H:%M:%S} UTC{was}", Tone.WARN))
    else:
        yield line("  ", reconcile.heard(tree, now))
    if status.blocking is not None:
        yield from _blocking(status.blocking)


def _blocking(blocking: Blocking) -> Iterator[Line]:
    yield line()
    yield line(Span("WHY ", Tone.STRONG), str(blocking.ref), " ", Span(blocking.reason, Tone.BAD))
    yield from (line(f"  {each}") for each in (blocking.message, blocking.evidence) if each)
    yield from (line(Span("  | ", Tone.MUTED), each) for each in blocking.log_tail)


def _node(node: StatusNode, glyphs: Glyphs, now: datetime) -> Iterator[Line]:
    yield line()
    yield _title(node, glyphs, now)
    if node.health.message:
        yield line(f"  {node.health.message}")


def _below(node: StatusNode, glyphs: Glyphs, now: datetime, depth: int = 1) -> Iterator[Line]:
    for child in node.children:
        if depth == 1 and child is node.children[0]:
            yield line()
        yield line("  " * depth, _title(child, glyphs, now))
        yield from _below(child, glyphs, now, depth + 1)


def _title(node: StatusNode, glyphs: Glyphs, now: datetime) -> Line:
    parts = [*node.details]
    if node.created is not None:
        parts.append(f"made {durations.short((now - node.created).total_seconds())} ago")
    details = Span("  " + "  ".join(parts) if parts else "", Tone.MUTED)
    return line(Span(f"{node.ref.kind} ", Tone.MUTED), node.ref.name, "  ", status_line(node.health, glyphs), details)


def _events(node: StatusNode, now: datetime) -> Iterable[Line]:
    for number, row in enumerate(reconcile.event_rows(node, now)):
        if not number:
            yield line()
        when, reason, about, message = row.cells
        yield line(when, Span(" ago  ") if len(when) else "", reason, "  ", Span(str(about), Tone.MUTED))
        yield line("  ", message)
