"""Tables: what `kubectl get` shows. Columns come from a real server; the cells of each kind are made in `cells`.

A custom resource's columns are those of its definition, each the value at a JSON path, or else name and age.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from runtimes.sandbox.api import cells, pod_cells
from runtimes.sandbox.api.ages import age, parse_time
from runtimes.sandbox.api.replies import partial_metadata
from runtimes.sandbox.data import read
from runtimes.sandbox.errors import JsonObject, bad_request
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.state import version_of
from runtimes.sandbox.store import Object, copied
from runtimes.sandbox.versions import is_stored_version, to_storage

_NAME_AND_AGE = "/v1/configmaps"


def _key(resource: Resource) -> str:
    return f"{resource.group}/{resource.version}/{resource.plural}"


def columns_of(resource: Resource) -> list[JsonObject]:
    known = read("discovery")["columns"]
    key = _key(resource)
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
        stored = obj if is_stored_version(resource) else to_storage(copied(obj), resource)
        return cells.of(resource.storage, stored, now)
    extra = version_of(resource).get("additionalPrinterColumns") or ()
    name = obj["metadata"]["name"]
    if not extra:
        return [name, age(obj["metadata"].get("creationTimestamp"), now)]
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
            if not isinstance(value, str):
                return age(None, now)
            return age(value, now) if parse_time(value) else "<invalid>"
        case _:
            shown = value if not isinstance(value, (dict, list)) else cells.compact_json(value)
            return ("true" if shown else "false") if isinstance(shown, bool) else str(shown)


_STEP = re.compile(
    r"\.?([^\s.\[\]{}()'\"]+)|\['([^']+)'\]|\[(\d+|\*)\]|\[\?\(@\.([\w.]+)\s*==\s*[\"']([^\"']*)[\"']\)\]|\.((?:\\.|[\w-])+)"
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
    """Raises 400 for an `includeObject` that is none."""
    if include not in ("", "Metadata", "Object", "None"):
        what = f"includeObject: Invalid value: \"{include}\": must be 'Metadata', 'Object', 'None', or empty"
        raise bad_request(f"Unable to convert to Table as requested: {what}")
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns_of(resource),
        "rows": [_row(resource, obj, include, now) for obj in items] or _no_rows(resource),
    }


def _no_rows(resource: Resource) -> list[JsonObject] | None:
    """Kinds without columns of their own are written by other code of the server, which begins with no list."""
    is_plain = [each["name"] for each in columns_of(resource)] == ["Name", "Created At"]
    return None if is_plain else []


def of_one(resource: Resource, obj: Object, include: str, now: datetime, with_columns: bool = True) -> JsonObject:
    table = of_list(resource, [obj], {"resourceVersion": obj["metadata"].get("resourceVersion", "")}, include, now)
    if not with_columns:
        table["columnDefinitions"] = None
    return table


def of_scale(scale: Object, include: str, now: datetime) -> JsonObject:
    what = "replicas is the {} number of {}instances {} the scaled object."
    counts = (("Desired", what.format("desired", "", "for")), ("Available", what.format("actual", "observed ", "of")))
    columns = [
        {**_column("Name"), "format": ""},
        *({"name": n, "type": "integer", "format": "", "description": text, "priority": 0} for n, text in counts),
        _column("Age"),
    ]
    shown = [
        scale["metadata"]["name"],
        scale["spec"].get("replicas", 0),
        scale["status"]["replicas"],
        age(scale["metadata"].get("creationTimestamp"), now),
    ]
    row = {"cells": shown, "object": {"Object": scale, "None": None}.get(include, partial_metadata(scale))}
    metadata = {"resourceVersion": scale["metadata"].get("resourceVersion", "")}
    head = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
    return {**head, "columnDefinitions": columns, "rows": [row]}


def _row(resource: Resource, obj: Object, include: str, now: datetime) -> JsonObject:
    row: JsonObject = {"cells": row_cells(resource, obj, now)}
    conditions = pod_cells.conditions(obj) if resource.storage == ("", "pods") else []
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
