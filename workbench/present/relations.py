"""What an object has to do with others, as one tree: what made it and what it made, what it names, what names it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from runtimes.base import Forbidden, KubernetesId
from runtimes.base.relations import Presence, Related, Relations, roots
from workbench.present.glyphs import Glyphs
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line

COLUMNS: Final = (
    Column("Object", grow=True, has_tail=True),
    Column("How", most=44, rank=1),
    Column("", most=28),
)


def rows(found: Relations, id_: KubernetesId) -> tuple[Row, ...]:
    """Returns the tree; rows that lead to an object are keyed by (part, id), the titles by the part alone."""
    return (*_part("Owners and what is owned", _family(found, id_)), *references(found, id_))


def references(found: Relations, id_: KubernetesId) -> tuple[Row, ...]:
    """Returns what it names and what names it, without owners: of them only a cluster knows."""
    return (
        *_part("Refers to", (_row("refers", each, id_, 1) for each in found.refers_to)),
        *_part("Used by", _tree("used", found.used_by, roots(found.used_by), id_, 1)),
    )


def _part(title: str, below: Iterable[Row]) -> Iterator[Row]:
    shown = tuple(below)
    yield Row(title, (line(Span(title, Tone.STRONG)), Line(), Line()), 0, bool(shown))
    yield from shown or (Row((title, ""), (line(Span("none", Tone.MUTED)), Line(), Line()), 1),)


def _family(found: Relations, id_: KubernetesId) -> Iterator[Row]:
    if not found.owners and not found.owned:
        return
    depth = 1
    for each in reversed(found.owners):
        yield _row("owner", each, id_, depth, has_below=True)
        depth += 1
    name = line(Span(f"{id_.kind}/", Tone.MUTED), Span(id_.name, Tone.STRONG))
    yield Row(("this", id_), (name, Line(), line(Span("this", Tone.MUTED))), depth, bool(found.owned))
    yield from _tree("owned", found.owned, roots(found.owned), id_, depth + 1)


def _tree(
    part: str, every: Sequence[Related], level: Iterable[Related], id_: KubernetesId, depth: int
) -> Iterator[Row]:
    by_owner: dict[str, list[Related]] = {}
    for each in every:
        by_owner.setdefault(each.owner, []).append(each)

    def walk(each: Related, depth: int, above: frozenset[str]) -> Iterator[Row]:
        below = [one for one in by_owner.get(each.uid, ()) if one.uid not in above] if each.uid else []
        yield _row(part, each, id_, depth, has_below=bool(below))
        for one in below:
            yield from walk(one, depth + 1, above | {one.uid})

    for each in level:
        yield from walk(each, depth, frozenset({each.uid}))


def _row(part: str, each: Related, id_: KubernetesId, depth: int, *, has_below: bool = False) -> Row:
    tone = Tone.BAD if each.presence is Presence.MISSING and not each.is_optional else Tone.PLAIN
    elsewhere = f"{each.id.namespace}/" if each.id.namespace not in ("", id_.namespace) else ""
    name = line(Span(f"{each.id.kind}/{elsewhere}", Tone.MUTED), Span(each.id.name, tone))
    return Row((part, each.id), (name, line(each.how), _presence(each)), depth, has_below)


def _presence(each: Related) -> Line:
    match each.presence:
        case Presence.MISSING if each.is_optional:
            return line(Span("not there, may be so", Tone.MUTED))
        case Presence.MISSING:
            return line(Span("NOT THERE", Tone.BAD))
        case Presence.UNKNOWN:
            return line(Span("not known whether it is there", Tone.WARN))
    return Line()


def not_known(found: Relations, glyphs: Glyphs) -> Iterator[Line]:
    """Yields a line for the kinds that could not be looked into."""
    refused = [kind for kind, failure in found.not_known if isinstance(failure, Forbidden)]
    if refused:
        yield line(Span(f"{glyphs.unknown} may not be listed, and may use it: {', '.join(refused)}", Tone.WARN))
    for kind, failure in found.not_known:
        if not isinstance(failure, Forbidden):
            yield line(Span(f"{glyphs.unknown} {kind} may use it: ", Tone.WARN), failure.message)
