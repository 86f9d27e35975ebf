"""Tables: what `kubectl get` shows. Columns come from a real server; the cells of each kind are made in `cells`.

A custom resource's columns are those of its definition, each the value at a JSON path, or else name and age.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ..data import read
from ..errors import JsonObject
from ..resources import Resource
from ..state import version_of
from ..store import Object
from . import cells
from .replies import partial_metadata

_NAME_AND_AGE = "/v1/configmaps"


def columns_of(resource: Resource) -> list[JsonObject]:
    known = read("discovery")["columns"]
    key = f"{resource.group}/{resource.version}/{resource.plural}"
    if resource.definition is None:
        if key in known:
            return list(known[key])
        return [_column("Name"), _column("Age")]
    extra = version_of(resource).get("additionalPrinterColumns") or ()
    own = [
        {
            "name": each["name"],
            "type": each["type"],
            "format": each.get("format", ""),
            "description": each.get("description")
            or f"Custom resource definition column (in JSONPath format): {each['jsonPath']}",
            "priority": each.get("priority", 0),
        }
        for each in extra
    ]
    return [_column("Name"), *own] if own else [_column("Name"), {**_column("Age"), "type": "date"}]


def _column(name: str) -> JsonObject:
    columns: list[JsonObject] = read("discovery")["columns"][_NAME_AND_AGE]
    return dict(next(each for each in columns if each["name"] == name))


def row_cells(resource: Resource, obj: Object, now: datetime) -> list[Any]:
    if resource.definition is None:
        return cells.of(resource.storage, obj, now)
    extra = version_of(resource).get("additionalPrinterColumns") or ()
    name = obj["metadata"]["name"]
    if not extra:
        return [name, cells.age(obj["metadata"].get("creationTimestamp"), now)]
    return [name, *(_custom_cell(each, obj, now) for each in extra)]


def _custom_cell(column: JsonObject, obj: Object, now: datetime) -> Any:
    values = _at_path(obj, column["jsonPath"])
    if not values:
        return None
    value = values[0]
    match column["type"]:
        case "integer":
            return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        case "number":
            return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return cells.age(value, now) if isinstance(value, str) else "<unknown>"
        case _:
            shown = value if not isinstance(value, (dict, list)) else cells.compact_json(value)
            return ("true" if shown else "false") if isinstance(shown, bool) else str(shown)


_STEP = re.compile(
    r"\.?([\w-]+)|\['([^']+)'\]|\[(\d+|\*)\]|\[\?\(@\.([\w.]+)\s*==\s*[\"']([^\"']*)[\"']\)\]|\.((?:\\.|[\w-])+)"
)


def _at_path(obj: Object, path: str) -> list[Any]:
    """All values at a JSON path with members, indexes, `*` and equality filters."""
    found: list[Any] = [obj]
    for match in _STEP.finditer(path.replace("\\.", "\0")):
        plain, quoted, index, filter_path, filter_value, odd = match.groups()
        name = (plain or quoted or odd or "").replace("\0", ".")
        reached: list[Any] = []
        for value in found:
            if index is not None and isinstance(value, list):
                reached += value if index == "*" else value[int(index) : int(index) + 1]
            elif filter_path is not None and isinstance(value, list):
                reached += [each for each in value if str(_member(each, filter_path)) == filter_value]
            elif name and isinstance(value, dict) and name in value:
                reached.append(value[name])
        found = reached
    return found


def _member(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def of_list(
    resource: Resource, items: Sequence[Object], metadata: JsonObject, include: str, now: datetime
) -> JsonObject:
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns_of(resource),
        "rows": [_row(resource, obj, include, now) for obj in items],
    }


def of_one(resource: Resource, obj: Object, include: str, now: datetime, with_columns: bool = True) -> JsonObject:
    table = of_list(resource, [obj], {"resourceVersion": obj["metadata"].get("resourceVersion", "")}, include, now)
    if not with_columns:
        table["columnDefinitions"] = None
    return table


def _row(resource: Resource, obj: Object, include: str, now: datetime) -> JsonObject:
    row: JsonObject = {"cells": row_cells(resource, obj, now)}
    conditions = cells.row_conditions(resource.storage, obj)
    if conditions:
        row["conditions"] = conditions
    match include:
        case "None":
            row["object"] = None
        case "Object":
            row["object"] = obj
        case _:
            row["object"] = partial_metadata(obj)
    return row
