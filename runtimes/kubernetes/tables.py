"""Lists as the server prints them (https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables).

The columns of a kind, those of custom resources among them, are known to the server alone. One that has no tables
answers with a list of objects: then there are name and age, and no more is made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from sys import intern
from typing import Any

from runtimes.base import KubernetesId
from runtimes.base.tables import LiveColumn, LiveKind, LiveRow
from runtimes.kubernetes.discovery import ApiResource

ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PLAIN_COLUMNS = (LiveColumn("Name"), LiveColumn("Created", "date"))
_MOST_CELL = 500
_AGE_COLUMN = "Age"
_AGE = re.compile(r"(?:\d+[ydhms]){1,2}")
_PART = re.compile(r"(\d+)([ydhms])")
_UNIT_SECONDS = {"y": 31_536_000, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SKEW_SECONDS = 5.0


def kind_of(resource: ApiResource) -> LiveKind:
    aliases = tuple(dict.fromkeys(each for each in (resource.singular, *resource.short_names) if each))
    return LiveKind(resource.api_version, resource.kind, resource.plural, resource.is_namespaced, aliases)


def columns(body: Any) -> tuple[LiveColumn, ...]:
    """Returns the columns that an answer defines: none in most events of a watch. Raises as `rows` does."""
    if body.get("kind") != "Table":
        return ()
    return tuple(
        LiveColumn(str(each["name"]), str(each.get("type") or "string"), int(each.get("priority") or 0) > 0)
        for each in body.get("columnDefinitions") or ()
    )


def rows(body: Any, kind: LiveKind, shown: tuple[LiveColumn, ...], now: datetime) -> Iterator[tuple[str, LiveRow]]:
    """Yields version and row of each object of an answer: a table, a list, or one object.

    Raises `KeyError`, `TypeError`, `AttributeError`, `ValueError` for what is none.
    """
    age = next((number for number, each in enumerate(shown) if each.name == _AGE_COLUMN), -1)
    if body.get("kind") != "Table":
        for each in body.get("items", (body,)):
            metadata = each["metadata"]
            plain = (str(metadata["name"]), str(metadata.get("creationTimestamp") or ""))
            yield _version(metadata), _row(kind, metadata, plain, age, now)
        return
    for each in body.get("rows") or ():
        metadata = each["object"]["metadata"]
        filled = [_text(cell) for cell in each["cells"]][: len(shown)]
        cells = (*filled, *[""] * (len(shown) - len(filled)))
        yield _version(metadata), _row(kind, metadata, cells, age, now)


def counts_time(row: LiveRow, shown: tuple[LiveColumn, ...]) -> bool:
    """Whether a cell says how long ago something was, which nobody but the server can go on counting."""
    return any(
        cell.endswith("ago)") or _AGE.fullmatch(cell) is not None
        for cell, column in zip(row.cells, shown, strict=False)
        if column.name != _AGE_COLUMN or row.created_at is None
    )


def _version(metadata: Mapping[str, Any]) -> str:
    return str(metadata.get("resourceVersion") or "")


def _row(kind: LiveKind, metadata: Mapping[str, Any], cells: tuple[str, ...], age: int, now: datetime) -> LiveRow:
    # of tens of thousands of rows most say the same
    labels = {intern(str(name)): intern(str(value)) for name, value in (metadata.get("labels") or {}).items()}
    id_ = KubernetesId(kind.api_version, kind.kind, str(metadata.get("namespace") or ""), str(metadata["name"]))
    created = _counted_from(metadata.get("creationTimestamp"), cells[age], now) if 0 <= age < len(cells) else None
    return LiveRow(id_, str(metadata.get("uid") or ""), cells, labels, created)


def _counted_from(stamp: Any, age: str, now: datetime) -> datetime | None:
    """Returns the time that an age counts from, if it is this one: a definition may put anything below such a title."""
    if not isinstance(stamp, str) or _AGE.fullmatch(age) is None:
        return None
    try:
        created = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    created = created if created.tzinfo is not None else created.replace(tzinfo=UTC)
    parts = [(int(count), _UNIT_SECONDS[unit]) for count, unit in _PART.findall(age)]
    said, finest = sum(count * size for count, size in parts), parts[-1][1]
    apart = (now - created).total_seconds() - said
    return created if -_SKEW_SECONDS <= apart <= finest + _SKEW_SECONDS else None


def _text(cell: Any) -> str:
    text = "" if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell)
    return text if len(text) <= _MOST_CELL else f"{text[:_MOST_CELL]}…"
