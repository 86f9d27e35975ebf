"""JSON text with one thing a line, so that a line of a diagnostic says which value it is about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from runtimes.base import PlainPath


def rendered(document: Mapping[str, Any]) -> tuple[str, tuple[PlainPath, ...]]:
    """Returns the text, and for every line of it the path of keys and indexes that it shows."""
    lines = list(_lines(document, "", (), ""))
    return "".join(f"{text}\n" for text, _ in lines), tuple(path for _, path in lines)


def _lines(value: Any, before: str, path: PlainPath, after: str, depth: int = 0) -> Iterator[tuple[str, PlainPath]]:
    indent = " " * depth
    match value:
        case Mapping() if value:
            yield f"{indent}{before}{{", path
            for index, (key, each) in enumerate(value.items()):
                comma = "," if index < len(value) - 1 else ""
                yield from _lines(each, f"{json.dumps(key)}: ", (*path, key), comma, depth + 1)
            yield f"{indent}}}{after}", path
        case list() if value:
            yield f"{indent}{before}[", path
            for index, each in enumerate(value):
                comma = "," if index < len(value) - 1 else ""
                yield from _lines(each, "", (*path, index), comma, depth + 1)
            yield f"{indent}]{after}", path
        case _:
            yield f"{indent}{before}{json.dumps(value)}{after}", path
