"""Live objects of one kind as a table: the server's own columns, of all clusters together, each with how old it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from runtimes.base import FieldOwner, Forbidden, Health, ObjectRef, Status, StatusNode
from runtimes.base.tables import LiveColumn, LiveRow, LiveTable
from workbench.engine.live import Listing, LiveObject
from workbench.present import durations, reconcile
from workbench.present.glyphs import Glyphs
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.present.yaml_lines import yaml_lines
from workbench.project import StackPath

_AGE = re.compile(r"(?:\d+[ydhms])+")
_PART = re.compile(r"(\d+)([ydhms])")
_UNIT_SECONDS = {"y": 31_536_000, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_OLD_SECONDS = 15.0

Owner = Callable[[Mapping[str, str]], StackPath | None]


def columns(listings: Sequence[Listing], *, is_wide: bool = False) -> tuple[Column, ...]:
    """Returns the columns of a table over all listings: name, what the server has, then cluster, namespace and stack.

    Those that the server calls wide come only with `is_wide`. Where there is no room, its last ones go first.
    """
    found = _columns(listings, is_wide)
    last = len(found)
    own = tuple(
        Column(each.name, most=30, right=each.text_type in ("integer", "number"), rank=number + 1 if number > 2 else 0)
        for number, each in enumerate(found)
        if each.name != "Name"
    )
    name = Column("Name", grow=True, has_tail=True)
    return name, *own, Column("Namespace", most=24, rank=last + 2), Column("Cluster", most=14, rank=last + 1), _STACK


_STACK = Column("Stack", most=28, rank=1)


def _columns(listings: Sequence[Listing], is_wide: bool) -> tuple[LiveColumn, ...]:
    """The columns of the cluster that has most: versions of a server differ, and so do definitions."""
    tables = [each.table for each in listings if each.table is not None]
    longest = max(tables, key=lambda each: len(each.columns), default=None)
    return tuple(each for each in longest.columns if is_wide or not each.is_wide) if longest is not None else ()


def rows(
    listings: Sequence[Listing],
    owner: Owner,
    now: datetime,
    *,
    order: str = "",
    is_reversed: bool = False,
    is_wide: bool = False,
) -> tuple[Row, ...]:
    """Returns a row for each object, keyed by (cluster, id). `order` is a title of `columns`, empty for the server's
    own order."""
    wanted = [each.name for each in _columns(listings, is_wide) if each.name != "Name"]
    titles = [each.title for each in columns(listings, is_wide=is_wide)]
    found = [
        _row(each, listing, table, wanted, owner, now)
        for listing in listings
        if (table := listing.table) is not None
        for each in table.rows
    ]
    if order in titles:
        index = titles.index(order)
        found.sort(key=lambda row: sort_key(str(row.cells[index])), reverse=is_reversed)
    return tuple(found)


def _row(each: LiveRow, listing: Listing, table: LiveTable, wanted: Sequence[str], owner: Owner, now: datetime) -> Row:
    by_name = {column.name: cell for column, cell in zip(table.columns, each.cells, strict=False)}
    tone = Tone.MUTED if is_old(listing, now) else Tone.PLAIN
    stack = owner(each.labels)
    cells = (
        line(Span(each.id.name, tone)),
        *(line(Span(by_name.get(name, ""), tone)) for name in wanted),
        line(Span(each.id.namespace, Tone.MUTED)),
        line(Span(listing.cluster, Tone.MUTED)),
        line(Span(str(stack), Tone.SOURCE) if stack is not None else ""),
    )
    labels = " ".join(f"{key}={value}" for key, value in each.labels.items())
    return Row((listing.cluster, each.id), cells, search=f"{' '.join(map(str, cells))} {labels}".lower())


def is_old(listing: Listing, now: datetime) -> bool:
    """Whether what is shown of a cluster may be so no more."""
    if listing.failure is not None or listing.listed_at is None:
        return True
    return abs((now - listing.listed_at).total_seconds()) > _OLD_SECONDS


def sort_key(text: str) -> tuple[int, float, str]:
    """Orders as people read: ages by their length, numbers by their value, then texts."""
    if _AGE.fullmatch(text):
        return 0, float(sum(int(count) * _UNIT_SECONDS[unit] for count, unit in _PART.findall(text))), text
    if number := _NUMBER.match(text):
        return 0, float(number[0]), text
    return (1, 0.0, text.lower()) if text else (2, 0.0, "")


def cluster_lines(listings: Sequence[Listing], glyphs: Glyphs, now: datetime) -> Iterator[Line]:
    """Yields one line for all clusters that answered, and one for each that did not, with why."""
    good = [each for each in listings if each.failure is None and each.table is not None]
    if good:
        counts = "  ".join(_count(each, now) for each in good)
        yield line(Span(counts, Tone.MUTED))
    for each in listings:
        if (table := each.table) is not None and not table.is_whole:
            said = f"{each.cluster} has more of them: only the first {len(table.rows)} are shown, name a namespace"
            yield line(Span(f"{glyphs.unknown} {said}", Tone.WARN))
        if each.failure is not None:
            refused = "may not be listed: " if isinstance(each.failure, Forbidden) else ""
            age = durations.short((now - each.listed_at).total_seconds()) if each.listed_at is not None else ""
            shown = f"; shown is what it had {age} ago" if age else ""
            yield line(Span(f"{glyphs.unknown} {each.cluster}: ", Tone.WARN), refused, each.failure.message, shown)


def _count(each: Listing, now: datetime) -> str:
    age = durations.short((now - each.listed_at).total_seconds()) if each.listed_at is not None else "?"
    return f"{each.cluster} {len(each.table.rows) if each.table is not None else 0}, listed {age} ago"


YAML_COLUMNS = (Column("Set by", most=28, has_tail=True), Column("", grow=True))


def yaml_rows(found: LiveObject, now: datetime) -> tuple[Row, ...]:
    """Returns an object as YAML, keyed by (path, line number), with who set a field and when beside it; that is named
    where it differs from the line above."""
    rows: list[Row] = []
    above = ""
    for number, each in enumerate(yaml_lines(found.body)):
        owners = found.owners.get(each.path, ()) if each.is_leaf else ()
        said = _owners_text(owners, now)
        rows.append(Row((each.path, number), (line(Span(said if said != above else "", Tone.SOURCE)), each.text)))
        above = said or above
    return tuple(rows)


def _owners_text(owners: Sequence[FieldOwner], now: datetime) -> str:
    if not owners:
        return ""
    first = owners[0]
    age = f" {durations.coarse((now - first.when).total_seconds())}" if first.when is not None else ""
    return f"{first.manager}{age}{f' +{len(owners) - 1}' if len(owners) > 1 else ''}"


def event_rows(found: LiveObject, now: datetime) -> tuple[Row, ...]:
    ref = ObjectRef(found.id.kind, found.id.namespace, found.id.name)
    return reconcile.event_rows(StatusNode(ref, Health(Status.UNKNOWN), events=found.events or ()), now)
