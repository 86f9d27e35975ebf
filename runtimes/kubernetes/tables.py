"""Lists as the server prints them (https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables).

The columns of a kind, those of custom resources among them, are known to the server alone. One that has no tables
answers with a list of objects: then there are name and age, and no more is made up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runtimes.base import KubernetesId, RuntimeFailure
from runtimes.base.tables import LiveColumn, LiveKind, LiveRow, LiveTable
from runtimes.kubernetes.discovery import ApiResource
from runtimes.kubernetes.transport import Transport

_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_PAGE_SIZE = 500
_MOST_CELL = 500
_PLAIN_COLUMNS = (LiveColumn("Name"), LiveColumn("Created", "date"))


def kind_of(resource: ApiResource) -> LiveKind:
    aliases = tuple(dict.fromkeys(each for each in (resource.singular, *resource.short_names) if each))
    return LiveKind(resource.api_version, resource.kind, resource.plural, resource.is_namespaced, aliases)


async def read(transport: Transport, kind: LiveKind, namespace: str, most: int) -> LiveTable:
    """Reads page by page until there are `most` rows."""
    path = ApiResource(kind.api_version, kind.kind, kind.plural, kind.is_namespaced, frozenset()).path(namespace)
    columns: tuple[LiveColumn, ...] = ()
    rows: list[LiveRow] = []
    after = ""
    while True:
        query = [("limit", str(_PAGE_SIZE)), *([("continue", after)] if after else [])]
        reply = await transport.call("GET", path, query=query, subject=f"{kind.kind} list", accept=_TABLE)
        try:
            columns = _columns(reply.body) or columns or _PLAIN_COLUMNS
            rows += _rows(reply.body, kind, len(columns))
            before, after = after, str((reply.body.get("metadata") or {}).get("continue") or "")
        except (KeyError, TypeError, AttributeError, ValueError):
            said = "the server answered something that is no list"
            raise RuntimeFailure(said, target=transport.place, subject=f"{kind.kind} list") from None
        if not after or len(rows) >= most or after == before:
            return LiveTable(kind, columns, tuple(rows[:most]), not after and len(rows) <= most)


def _columns(body: Any) -> tuple[LiveColumn, ...]:
    if body.get("kind") != "Table":
        return ()
    return tuple(
        LiveColumn(str(each["name"]), str(each.get("type") or "string"), int(each.get("priority") or 0) > 0)
        for each in body.get("columnDefinitions") or ()
    )


def _rows(body: Any, kind: LiveKind, count: int) -> Iterator[LiveRow]:
    if body.get("kind") != "Table":
        for each in body["items"]:
            metadata = each["metadata"]
            yield _row(kind, metadata, (str(metadata["name"]), str(metadata.get("creationTimestamp") or "")))
        return
    for each in body.get("rows") or ():
        cells = [_text(cell) for cell in each["cells"]][:count]
        yield _row(kind, each["object"]["metadata"], (*cells, *[""] * (count - len(cells))))


def _row(kind: LiveKind, metadata: Mapping[str, Any], cells: tuple[str, ...]) -> LiveRow:
    labels = {str(name): str(value) for name, value in (metadata.get("labels") or {}).items()}
    id_ = KubernetesId(kind.api_version, kind.kind, str(metadata.get("namespace") or ""), str(metadata["name"]))
    return LiveRow(id_, str(metadata.get("uid") or ""), cells, labels)


def _text(cell: Any) -> str:
    text = "" if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell)
    return text if len(text) <= _MOST_CELL else f"{text[:_MOST_CELL]}…"
