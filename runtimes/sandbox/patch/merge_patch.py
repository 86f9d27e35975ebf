"""JSON merge patches (RFC 7386): null removes, objects merge, all else replaces."""

from __future__ import annotations

import copy
from typing import Any

from runtimes.sandbox.decode import Pairs
from runtimes.sandbox.patch.errors import malformed


def merge_patch(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    """Raises PatchError for a patch that is no object."""
    if patch is None:
        raise malformed("Invalid JSON Patch")
    if not isinstance(patch, dict):
        kinds = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}
        found = kinds[type(patch)]
        raise malformed(
            f"error decoding patch: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )
    return _merged(document, patch)


def _merged(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    result = dict(document)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict) and isinstance(result.get(name), dict):
            result[name] = _merged(result[name], value)
        else:
            result[name] = _without_nulls(value)
    return {name: copy.deepcopy(value) if value is document.get(name) else value for name, value in result.items()}


def _without_nulls(value: Any) -> Any:
    """A value that is new: nulls in its objects have nothing to remove. In lists they stay."""
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def duplicates(body: Any, where: str = "") -> list[str]:
    """What strict validation says of members that came twice in a parsed body: `duplicate field "data.k"`."""
    problems: list[str] = []
    if isinstance(body, list):
        for index, item in enumerate(body):
            problems += duplicates(item, f"{where}[{index}]")
    elif isinstance(body, dict):
        seen: set[str] = set()
        for name, inner in body.pairs if isinstance(body, Pairs) else body.items():
            path = f"{where}.{name}" if where else name
            problems += duplicates(inner, path)
            if name in seen:
                problems.append(f'duplicate field "{path}"')
            seen.add(name)
    return problems
