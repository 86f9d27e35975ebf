"""Removes fields that other managers own and nobody applies. Pure.

A server-side apply takes away what its manager applied before and applies no more, unless somebody else owns it too
(https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields). So what another manager put
into an object goes with one apply where the object first says that it is ours: its `managedFields` are written with
those fields in our entry and in no other one, which changes nothing else of the object, and restarts no pods.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

from runtimes.base import FieldPath, ListKey, value_at
from runtimes.kubernetes import fields

Object = Mapping[str, Any]
Tree = dict[str, Any]


def managed_fields(live: Object, wanted: Collection[FieldPath], manager: str) -> list[Any] | None:
    """Returns `managedFields` by which the leaves at `wanted` are `manager`'s by an apply, and no one else's.

    `wanted` are paths as `fields.owners` has them for `live`. What is owned under another version than the manager
    applies stays, as it may be called otherwise there. None where nothing can be taken.
    """
    every = [
        dict(each) for each in (live.get("metadata") or {}).get("managedFields") or () if isinstance(each, Mapping)
    ]
    version = live.get("apiVersion")
    ours = _own(every, manager, version)
    taken: Tree = {}
    kept: list[dict[str, Any]] = []
    for entry in every:
        tree = entry.get("fieldsV1")
        if (
            entry is ours
            or entry.get("subresource")
            or entry.get("apiVersion") != version
            or not isinstance(tree, dict)
        ):
            kept.append(entry)
            continue
        rest, moved = _split(tree, live, frozenset(wanted))
        taken = _united(taken, moved)
        if rest:
            kept.append({**entry, "fieldsV1": rest})
    if not taken:
        return None
    own = ours or {"manager": manager, "operation": "Apply", "apiVersion": version, "fieldsType": "FieldsV1"}
    united = {**own, "fieldsV1": _united(own.get("fieldsV1") or {}, taken)}
    return [united if each is ours else each for each in kept] if ours is not None else [united, *kept]


def without(live: Object, body: Object, wanted: Collection[FieldPath]) -> dict[str, Any]:
    """Returns `body`, another state of `live`, as it is once the leaves at `wanted` are taken away."""
    made = copy.deepcopy(dict(body))
    for entry in fields.entries(live):
        tree = entry.get("fieldsV1")
        if entry.get("apiVersion") == live.get("apiVersion") and isinstance(tree, dict):
            _rest, moved = _split(tree, live, frozenset(wanted))
            _remove(made, moved, live)
    return made


def _own(entries: list[dict[str, Any]], manager: str, version: Any) -> dict[str, Any] | None:
    for entry in entries:
        is_ours = entry.get("manager") == manager and entry.get("operation") == "Apply"
        if is_ours and not entry.get("subresource") and entry.get("apiVersion") == version:
            return entry
    return None


def _split(tree: Tree, live: Object, wanted: frozenset[FieldPath], path: FieldPath = ()) -> tuple[Tree, Tree]:
    """Returns what stays and what is taken; where all that was in something is taken, it is taken as well."""
    rest: Tree = {}
    taken: Tree = {}
    for key, below in tree.items():
        if key == ".":
            continue
        step = fields.step_of(key, live, path)
        place = (*path, step) if step is not None else None
        if place is None or not isinstance(below, Mapping):
            rest[key] = below
        elif not any(each != "." for each in below):
            (taken if place in wanted else rest)[key] = below
        else:
            stays, goes = _split(dict(below), live, wanted, place)
            if stays:
                rest[key] = stays
            if goes:
                taken[key] = goes
    if taken and path and isinstance(path[-1], ListKey) and rest.keys() <= {f"f:{name}" for name, _ in path[-1].fields}:
        taken, rest = _united(taken, rest), {}
    if "." in tree:
        (rest if rest or not taken else taken)["."] = tree["."]
    return rest, taken


def _united(one: Mapping[str, Any], other: Mapping[str, Any]) -> Tree:
    made = dict(one)
    for key, below in other.items():
        there = made.get(key)
        made[key] = _united(there, below) if isinstance(there, Mapping) and isinstance(below, Mapping) else below
    return made


def _remove(body: Any, tree: Mapping[str, Any], live: Object, path: FieldPath = ()) -> None:
    """Takes away the leaves of a tree, and what is left empty of what the tree has as a whole."""
    gone: list[Any] = []
    for key, below in tree.items():
        step = fields.step_of(key, live, path) if key != "." else None
        match step:
            case str() if isinstance(body, dict) and step in body:
                found = body[step]
            case ListKey() if isinstance(body, list):
                found = next((each for each in body if step.matches(each)), None)
            case int() if isinstance(body, list):
                wanted = value_at(live, (*path, step))
                found = wanted if wanted in body else None
            case _:
                continue
        if any(each != "." for each in below):
            _remove(found, below, live, (*path, step))
            if "." not in below or found:
                continue
        gone.append(step if isinstance(step, str) else found)
    for each in gone:
        if isinstance(body, dict):
            del body[each]
        elif each in body:
            body.remove(each)
