"""What `metadata.managedFields` says: who owns which field, and what identifies the elements of a list.

An entry's `fieldsV1` is a tree whose keys name one step each
(https://github.com/kubernetes-sigs/structured-merge-diff/blob/master/fieldpath/serialize-pe.go):

    f:NAME      a field or map key
    k:{...}     the element of a list with these map keys
    v:VALUE     the element of a set
    i:INDEX     an element by position
    .           the enclosing element itself

A step without children is an owned leaf.
"""

from __future__ import annotations

import json
import marshal
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from runtimes.base import FieldConflict, FieldOwner, FieldPath, ListKey, PathStep, value_at
from runtimes.base.contents import MAPPINGS
from runtimes.base.documents import load_json

Object = Mapping[str, Any]

_ELEMENT = re.compile(r'\[(?P<inside>(?:[^\]"]|"(?:[^"\\]|\\.)*")*)\]')
_KEY_VALUE = re.compile(r'(\w*)=("(?:[^"\\]|\\.)*"|-?\d+|true|false)')
_UP_TO_NEXT = re.compile(r"[.\[]")
_MOST_TREES = 1 << 8
_LARGEST_TREE_BYTES = 1 << 13
_WITHOUT_REFERENCES = 2  # what later versions of the format write depends on who else holds a text
_IN_SET, _KEYED = b"v:", b"k:"


def owners(live: Object) -> tuple[FieldOwner, ...]:
    """Returns each owned leaf outside of status once a manager, in the server's order."""
    found: list[FieldOwner] = []
    for entry in entries(live):
        who = str(entry.get("manager") or ""), str(entry.get("operation") or ""), _time(entry)
        tree = entry.get("fieldsV1")
        written = _written(tree)
        if written is None or _IN_SET in written:
            found += _owned(leaves(tree, live), *who)
        else:
            found += _owned_by(written, *who)
    return tuple(found)


@lru_cache(maxsize=_MOST_TREES)
def _owned_by(written: bytes, manager: str, operation: str, time: datetime | None) -> tuple[FieldOwner, ...]:
    """Objects of a kind that one program made are owned alike, and nearly all of them at the same second."""
    return _owned(leaves(marshal.loads(written), {}), manager, operation, time)


def _owned(paths: Iterable[FieldPath], manager: str, operation: str, time: datetime | None) -> tuple[FieldOwner, ...]:
    return tuple(FieldOwner(path, manager, operation, time) for path in paths if path[:1] != ("status",))


def _written(tree: Any) -> bytes | None:
    """Returns what tells a tree from another; None for one that is too large to be remembered, or no plain data."""
    try:
        written = marshal.dumps(tree, _WITHOUT_REFERENCES)
    except ValueError:
        return None
    return written if len(written) <= _LARGEST_TREE_BYTES else None


def entries(live: Object) -> list[Mapping[str, Any]]:
    """Returns the entries of `managedFields` that speak of anything but status."""
    metadata = live.get("metadata") or {}
    return [
        entry
        for entry in metadata.get("managedFields") or ()
        if isinstance(entry, MAPPINGS) and entry.get("subresource") != "status"
    ]


def leaves(tree: Any, live: Object) -> list[FieldPath]:
    """Returns the owned leaves of one entry. Elements of sets are found by their position in `live`."""
    found: list[FieldPath] = []
    if isinstance(tree, MAPPINGS):
        _collect_leaves(tree, live, (), found)
    return found


def _collect_leaves(tree: Mapping[str, Any], live: Object, path: FieldPath, found: list[FieldPath]) -> None:
    is_leaf = bool(path)
    for key, below in tree.items():
        if key == ".":
            continue
        is_leaf = False
        step = step_of(key, live, path)
        if step is None or not isinstance(below, MAPPINGS):
            continue
        if below:
            _collect_leaves(below, live, (*path, step), found)
        else:
            found.append((*path, step))
    if is_leaf:
        found.append(path)


def step_of(key: str, live: Object, path: FieldPath) -> str | int | ListKey | None:
    """Returns what a key of `fieldsV1` below `path` stands for; None for an element of a set that is not there."""
    sort, _, text = key.partition(":")
    match sort:
        case "f":
            return text
        case "k":
            return _list_key(text)
        case "i":
            return int(text)
        case "v":
            members = value_at(live, path)
            value = load_json(text)
            return members.index(value) if isinstance(members, list) and value in members else None
    return None


@lru_cache(maxsize=4096)
def _list_key(text: str) -> ListKey:
    """The same few keys are in every object of a kind."""
    return ListKey(tuple(load_json(text).items()))


def list_keys(live: Object) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Returns the names of the keys that identify elements, by the path of the list."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for entry in entries(live):
        tree = entry.get("fieldsV1")
        written = _written(tree)
        if written is None:
            _collect_list_keys(tree, (), found)
        elif _KEYED in written:
            found = {**_list_keys_of(written), **found}
    return found


@lru_cache(maxsize=_MOST_TREES)
def _list_keys_of(written: bytes) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    _collect_list_keys(marshal.loads(written), (), found)
    return found


def _collect_list_keys(tree: Any, path: tuple[str, ...], found: dict[tuple[str, ...], tuple[str, ...]]) -> None:
    if not isinstance(tree, MAPPINGS):
        return
    for key, below in tree.items():
        sort, _, text = key.partition(":")
        if sort == "f":
            _collect_list_keys(below, (*path, text), found)
        elif sort == "k":
            found.setdefault(path, tuple(name for name, _ in _list_key(text).fields))
            _collect_list_keys(below, path, found)


def conflicts(fields: tuple[tuple[str, str, str], ...], live: Object) -> tuple[FieldConflict, ...]:
    """Names the fields of a refused apply by path, with the time their owner last wrote.

    `fields` are (path as the server writes it, manager, time or empty). The server's text cannot be parsed by itself,
    as a label's name may hold dots; so it is looked up among what the owners own. A manager without an entry
    (`before-first-apply`, for objects that never had one) leaves the object itself to go by.
    """
    known = {
        (as_server_writes(path), str(entry.get("manager") or "")): (path, str(entry.get("time") or ""))
        for entry in entries(live)
        for path in _every_path(entry.get("fieldsV1"), live)
    }
    result = []
    for text, manager, when in fields:
        path, written = known.get((text, manager), (_walked(text, live), ""))
        result.append(FieldConflict(path, manager, when or written))
    return tuple(dict.fromkeys(result))


def _walked(text: str, live: Object) -> FieldPath:
    """Reads a path by walking the object along it, at each mapping by the longest key that fits."""
    path: list[PathStep] = []
    value: Any = live
    while text:
        if found := _ELEMENT.match(text):
            step: PathStep = _element(found["inside"])
            text = text[found.end() :]
        else:
            text = text.removeprefix(".")
            keys = [key for key in value if _begins_with(text, key)] if isinstance(value, MAPPINGS) else []
            name = max(keys, key=len, default="") or _UP_TO_NEXT.split(text, maxsplit=1)[0]
            if not name:
                return (*path, text)
            step, text = name, text[len(name) :]
        path.append(step)
        value = value_at(value, (step,))
    return tuple(path)


def _begins_with(text: str, key: str) -> bool:
    return text.startswith(key) and (len(text) == len(key) or text[len(key)] in ".[")


def _element(inside: str) -> int | ListKey:
    if inside.isdigit():
        return int(inside)
    return ListKey(tuple((name, load_json(value)) for name, value in _KEY_VALUE.findall(inside)))


def _every_path(tree: Any, live: Object, path: FieldPath = ()) -> Iterator[FieldPath]:
    if not isinstance(tree, MAPPINGS):
        return
    if path:
        yield path
    for key, below in tree.items():
        step = None if key == "." else step_of(key, live, path)
        if step is not None:
            yield from _every_path(below, live, (*path, step))


def as_server_writes(path: FieldPath) -> str:
    """Writes a path as the server does in the causes of a conflict: `.spec.ports[port=80,protocol="TCP"].name`."""
    return "".join(
        f".{step}"
        if isinstance(step, str)
        else f"[{step}]"
        if isinstance(step, int)
        else "[" + ",".join(f"{name}={json.dumps(value)}" for name, value in step.fields) + "]"
        for step in path
    )


def _time(entry: Mapping[str, Any]) -> datetime | None:
    return parsed_time(entry.get("time"))


def parsed_time(stamp: Any) -> datetime | None:
    """Reads an RFC 3339 time as the server writes it; None if there is none."""
    if not isinstance(stamp, str):
        return None
    try:
        return datetime.fromisoformat(stamp)
    except ValueError:
        return None
