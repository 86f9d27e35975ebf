"""JSON patches (RFC 6902), as forgiving as the server's library is: a missing member may be replaced, positions may be
negative, and a test for null passes where there is nothing.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from runtimes.sandbox.limits import LARGEST_COPIES
from runtimes.sandbox.patch.errors import PatchError, malformed, rejected

MAX_OPERATIONS = 10_000
_MEMBERS = ("op", "path", "from")


class _DoesNotApply(Exception):
    """An operation has nothing to work on, or its test fails."""


def json_patch(document: dict[str, Any], operations: Any) -> Any:
    """Raises PatchError: 400 for what is no list of operations, 422 for what does not apply."""
    _check(operations)
    result: Any = copy.deepcopy(document)
    copied = 0
    for operation in operations or ():
        try:
            if (operation or {}).get("op") == "copy":
                copied += _size(_get(result, _pointer(operation, "from")))
            result = _applied(result, operation)
        except _DoesNotApply as error:
            raise rejected() from error
        if copied > LARGEST_COPIES:
            raise rejected()
    return result


def _size(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":")))


def _check(operations: Any) -> None:
    if operations is None:
        return
    if not isinstance(operations, list):
        raise _undecodable(operations, "Go value of type []handlers.jsonPatchOp")
    for operation in operations:
        if operation is not None and not isinstance(operation, dict):
            raise _undecodable(operation, "Go value of type handlers.jsonPatchOp")
        for name in _MEMBERS:
            value = (operation or {}).get(name)
            if value is not None and not isinstance(value, str):
                raise _undecodable(value, f"Go struct field jsonPatchOp.{name} of type string")
    if len(operations) > MAX_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise PatchError(413, "RequestEntityTooLarge", f"Request entity too large: {text}")


def _undecodable(value: object, target: str) -> PatchError:
    kinds = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}
    found = kinds.get(type(value), "object")
    return malformed(f"error decoding patch: json: cannot unmarshal {found} into {target}")


def _applied(document: Any, operation: dict[str, Any] | None) -> Any:
    operation = operation or {}
    match operation.get("op"):
        case "add":
            _add(document, _pointer(operation, "path"), operation.get("value"))
        case "remove":
            _remove(document, _pointer(operation, "path"))
        case "replace":
            return _replace(document, operation)
        case "move":
            source = _pointer(operation, "from")
            value = _get(document, source)
            _remove(document, source)
            _add(document, _pointer(operation, "path"), value)
        case "copy":
            value = _get(document, _pointer(operation, "from"))
            _add(document, _pointer(operation, "path"), copy.deepcopy(value))
        case "test":
            _test(document, operation)
        case _:
            raise _DoesNotApply("no such operation")
    return document


def _pointer(operation: dict[str, Any], name: str) -> str:
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise _DoesNotApply(f"an operation without {name!r}")
    return pointer


def _holder(document: Any, pointer: str) -> tuple[Any, str]:
    """The container that `pointer` leads into, and the key in it."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")]
    if len(parts) < 2:
        raise _DoesNotApply(f"no path: {pointer!r}")
    at = document
    for part in parts[1:-1]:
        at = at.get(part) if isinstance(at, dict) else _item(at, part)
        if not isinstance(at, dict | list):
            raise _DoesNotApply(f"nothing at {pointer!r}")
    return at, parts[-1]


def _index(items: list[Any], key: str, size: int) -> int:
    """`key` as a position among `size`, counted from the end if negative."""
    try:
        index = int(key)
    except ValueError as error:
        raise _DoesNotApply(f"not a position: {key!r}") from error
    if not -size <= index < size:
        raise _DoesNotApply(f"no position {index} among {len(items)}")
    return index + size if index < 0 else index


def _item(items: list[Any], key: str) -> Any:
    return items[_index(items, key, len(items))]


def _get(document: Any, pointer: str) -> Any:
    at, key = _holder(document, pointer)
    return at.get(key) if isinstance(at, dict) else _item(at, key)


def _add(document: Any, pointer: str, value: Any) -> None:
    at, key = _holder(document, pointer)
    if isinstance(at, dict):
        at[key] = value
    elif key == "-":
        at.append(value)
    else:
        at.insert(_index(at, key, len(at) + 1), value)


def _remove(document: Any, pointer: str) -> None:
    at, key = _holder(document, pointer)
    if isinstance(at, list):
        del at[_index(at, key, len(at))]
    elif key in at:
        del at[key]
    else:
        raise _DoesNotApply(f"nothing at {pointer!r}")


def _replace(document: Any, operation: dict[str, Any]) -> Any:
    pointer, value = _pointer(operation, "path"), operation.get("value")
    if pointer == "":
        if not isinstance(value, dict | list):
            raise _DoesNotApply("a document is an object or a list")
        return value
    at, key = _holder(document, pointer)
    if isinstance(at, dict):
        at[key] = value  # also if it was not there, unlike what the RFC says
    else:
        at[_index(at, key, len(at))] = value
    return document


def _test(document: Any, operation: dict[str, Any]) -> None:
    pointer = _pointer(operation, "path")
    value = document if pointer == "" else _get(document, pointer)
    if not _equal(value, operation.get("value")):
        raise _DoesNotApply(f"test of {pointer!r} failed")


def _equal(left: Any, right: Any) -> bool:
    """Equality of JSON, where 1, 1.0 and true are three."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_equal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict | list) or isinstance(right, dict | list):
        return False
    return type(left) is type(right) and bool(left == right)
