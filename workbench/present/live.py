"""Live objects of one kind as a table: the server's own columns, of all clusters together, each with how old it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from kcl.records import dataclass
from runtimes.base import (
    FieldOwner,
    FieldPath,
    Forbidden,
    Health,
    KubernetesId,
    ObjectRef,
    Status,
    StatusNode,
    format_path,
)
from runtimes.base.metrics import Usage
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
_AGE_COLUMN = "Age"

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
    # of several clusters the same names come twice: which is which is then as good as a part of the name
    cluster = Column("Cluster", most=14, rank=last + 1 if len(listings) < 2 else 0)
    return (
        name,
        *own,
        *(_USAGE if is_measured(listings) else ()),
        Column("Namespace", most=24, rank=last + 2),
        cluster,
        _STACK,
    )


_STACK = Column("Stack", most=28, rank=1)
_USAGE = (Column("CPU", right=True, rank=2), Column("Memory", right=True, rank=2))


def is_measured(listings: Sequence[Listing]) -> bool:
    """Whether any cluster says what each of these uses."""
    return any(each.usage is not None for each in listings)


def _used(usage: Usage | None) -> tuple[str, str]:
    """In one unit each, so that columns can be compared, and ordered."""
    return (f"{usage.cpu_millis}m", f"{usage.memory_bytes // _MEBIBYTE}Mi") if usage is not None else ("", "")


_MEBIBYTE = 1 << 20


def _columns(listings: Sequence[Listing], is_wide: bool) -> tuple[LiveColumn, ...]:
    """The columns of the cluster that has most: versions of a server differ, and so do definitions."""
    tables = [each.table for each in listings if each.table is not None]
    longest = max(tables, key=lambda each: len(each.columns), default=None)
    return tuple(each for each in longest.columns if is_wide or not each.is_wide) if longest is not None else ()


class LiveRows:
    """Makes the rows of a table over and over, each again only where something of it is new."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._made: dict[tuple[str, KubernetesId], _Made] = {}
        self._wanted: tuple[str, ...] = ()

    def rows(
        self,
        listings: Sequence[Listing],
        now: datetime,
        *,
        order: str = "",
        is_reversed: bool = False,
        is_wide: bool = False,
    ) -> tuple[Row, ...]:
        """Returns a row for each object, keyed by (cluster, id). `order` is a title of `columns`, empty for the
        server's own order."""
        wanted = tuple(each.name for each in _columns(listings, is_wide) if each.name != "Name")
        if wanted != self._wanted:
            self._wanted, self._made = wanted, {}
        objects, has_usage = _objects(listings, wanted, now), is_measured(listings)
        made = {(seen.cluster, row.id): self._row(seen, row, now, has_usage) for seen, row in objects}
        self._made = made
        titles = [each.title for each in columns(listings, is_wide=is_wide)]
        found = [each.row for each in made.values()]
        if order in titles:
            index = titles.index(order)
            found.sort(key=lambda row: sort_key(str(row.cells[index])), reverse=is_reversed)
        return tuple(found)

    def by_now(self, listings: Sequence[Listing], now: datetime) -> Callable[[Row], Row]:
        """Returns what makes of a row that `rows` made what it is by now, of the same objects."""
        seen = {each.cluster: each for _, each in _seen(listings, self._wanted, now)}
        made, has_usage = self._made, is_measured(listings)

        def fresh(row: Row) -> Row:
            match row.key:
                case (str() as cluster, KubernetesId() as id_) if (cluster, id_) in made and cluster in seen:
                    return self._row(seen[cluster], made[cluster, id_].of, now, has_usage).row
            return row

        return fresh

    def _row(self, listing: _Seen, each: LiveRow, now: datetime, has_usage: bool) -> _Made:
        used = _used(listing.usage.get((each.id.namespace, each.id.name))) if has_usage else ()
        age = durations.short((now - each.created_at).total_seconds()) if each.created_at is not None else ""
        key = (listing.cluster, each.id)
        known = self._made.get(key)
        if known is not None and known.of is each and (known.age, known.tone, known.used) == (age, listing.tone, used):
            return known
        stack = self._owner(each.labels)
        has = len(each.cells)
        shown = [
            age if at == listing.age_at and age else each.cells[at] if 0 <= at < has else "" for at in listing.places
        ]
        cells = (
            known.row.cells[0] if known is not None and known.tone == listing.tone else _name(each, listing.tone),
            *(_cell(text, listing.tone) for text in (*shown, *used)),
            _cell(each.id.namespace, Tone.MUTED),
            _cell(listing.cluster, Tone.MUTED),
            _cell(str(stack) if stack is not None else "", Tone.SOURCE),
        )
        labels = (f"{name}={value}" for name, value in each.labels.items())
        said = (each.id.name, *shown, each.id.namespace, listing.cluster, str(stack or ""), *labels)
        # the very key that the row had: who follows it by that need not compare it
        same = known.row.key if known is not None else key
        return _Made(
            each, age, listing.tone, used, Row(same, cells, search=" ".join(said).lower(), labels=(each.labels,))
        )


def _name(each: LiveRow, tone: Tone) -> Line:
    return line(Span(each.id.name, tone))


@lru_cache(maxsize=20_000)
def _cell(text: str, tone: Tone) -> Line:
    """Returns one line for all rows that say the same: of tens of thousands of small values, the collector of cycles
    would look at each again and again, and everything waits for it."""
    return line(Span(text, tone))


@dataclass(frozen=True, slots=True)
class _Made:
    of: LiveRow
    age: str
    tone: Tone
    used: tuple[str, ...]
    row: Row


@dataclass(frozen=True, slots=True)
class _Seen:
    """What all rows of a listing have in common: `places` are the indexes of the wanted columns, -1 for one that the
    cluster does not have."""

    cluster: str
    tone: Tone
    places: tuple[int, ...]
    age_at: int
    usage: Mapping[tuple[str, str], Usage]


def _objects(listings: Sequence[Listing], wanted: Sequence[str], now: datetime) -> Iterator[tuple[_Seen, LiveRow]]:
    for table, seen in _seen(listings, wanted, now):
        yield from ((seen, row) for row in table.rows)


def _seen(listings: Sequence[Listing], wanted: Sequence[str], now: datetime) -> Iterator[tuple[LiveTable, _Seen]]:
    for each in listings:
        if each.table is not None:
            at = {column.name: number for number, column in enumerate(each.table.columns)}
            tone = Tone.MUTED if is_old(each, now) else Tone.PLAIN
            places = tuple(at.get(name, -1) for name in wanted)
            yield each.table, _Seen(each.cluster, tone, places, at.get(_AGE_COLUMN, -1), each.usage or {})


def is_old(listing: Listing, now: datetime) -> bool:
    """Whether what is shown of a cluster may be so no more."""
    if listing.failure is not None or listing.at is None:
        return True
    return abs((now - listing.at).total_seconds()) > _OLD_SECONDS


def sort_key(text: str) -> tuple[int, float, str]:
    """Orders as people read: ages by their length, numbers by their value, then texts."""
    if _AGE.fullmatch(text):
        return 0, float(sum(int(count) * _UNIT_SECONDS[unit] for count, unit in _PART.findall(text))), text
    if number := _NUMBER.match(text):
        return 0, float(number[0]), text
    return (1, 0.0, text.lower()) if text else (2, 0.0, "")


def cluster_lines(listings: Sequence[Listing], glyphs: Glyphs, now: datetime) -> Iterator[Line]:
    """Yields one line for all clusters that answered, and one for each that did not, with why."""
    good = [each for each in listings if each.failure is None]
    if good:
        yield line(Span("  ".join(_count(each, now) for each in good), Tone.MUTED))
    for each in listings:
        if (table := each.table) is not None and not table.is_whole:
            said = f"{each.cluster} has more of them: only the first {len(table.rows)} are shown, name a namespace"
            yield line(Span(f"{glyphs.unknown} {said}", Tone.WARN))
        if each.failure is not None:
            refused = "may not be listed: " if isinstance(each.failure, Forbidden) else ""
            shown = f"; shown is what it had {_age(each, now)} ago" if each.at is not None else ""
            yield line(Span(f"{glyphs.unknown} {each.cluster}: ", Tone.WARN), refused, each.failure.message, shown)


def _count(each: Listing, now: datetime) -> str:
    if each.table is None:
        return f"{each.cluster} is asked ..."
    count = f"{each.cluster} {len(each.table.rows)}"
    if each.is_listing:
        return f"{count} so far ..."
    is_current = each.is_watched and not is_old(each, now)
    return f"{count}, watched" if is_current else f"{count}, listed {_age(each, now)} ago"


def _age(each: Listing, now: datetime) -> str:
    return durations.short((now - each.at).total_seconds()) if each.at is not None else "?"


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


WHO_COLUMNS = (
    Column("Field", grow=True, has_tail=True),
    Column("Set by", most=34),
    Column("How", most=8, rank=2),
    Column("Ago", width=5, rank=1),
)


def who_rows(found: LiveObject, path: FieldPath, now: datetime, depth: int = 0) -> tuple[Row, ...]:
    """Returns who is on record for each field at or below a path, the last one first, and when; keyed by path and
    manager. None where nobody is."""
    below = ((each, owners) for each, owners in found.owners.items() if each[: len(path)] == path)
    return tuple(
        Row((found.cluster, each, owner.manager, owner.operation), _who_cells(each, owner, now), depth)
        for each, owners in below
        for owner in owners
    )


def _who_cells(path: FieldPath, owner: FieldOwner, now: datetime) -> tuple[Line, ...]:
    age = durations.coarse((now - owner.when).total_seconds()) if owner.when is not None else "?"
    return line(format_path(path)), line(owner.manager), line(Span(owner.operation, Tone.MUTED)), line(age)


def _owners_text(owners: Sequence[FieldOwner], now: datetime) -> str:
    if not owners:
        return ""
    first = owners[0]
    age = f" {durations.coarse((now - first.when).total_seconds())}" if first.when is not None else ""
    return f"{first.manager}{age}{f' +{len(owners) - 1}' if len(owners) > 1 else ''}"


def event_rows(found: LiveObject, now: datetime) -> tuple[Row, ...]:
    ref = ObjectRef(found.id.kind, found.id.namespace, found.id.name)
    return reconcile.event_rows(StatusNode(ref, Health(Status.UNKNOWN), events=found.events or ()), now)
