"""References from a field of one resource to a value that another one gets: `$kusion_path.<id>.<attribute>`.

Kusion's syntax (https://github.com/KusionStack/kusion/blob/main/pkg/engine/operation/graph/resource_node.go): a text
that begins with `$kusion_path.` stands whole for the value. Ids and attributes may both hold dots, so the id is the
longest one among those known. In the attribute a step is a key or an index: `a.b`, `a.0.b`, `a[0].b`, and
`a["x.y"]` for a key with dots; without the brackets the longest key that is there is taken.

What only becomes known while applying is `UNKNOWN` in a body.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from runtimes.base.resource import ResourceId

PREFIX: Final = "$kusion_path."

PlainPath = tuple[str | int, ...]
"""A path of keys and list indexes."""


class Unknown(enum.Enum):
    """A value that is decided only while applying. There is one: `UNKNOWN`."""

    UNKNOWN = "(known after apply)"

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final[Literal[Unknown.UNKNOWN]] = Unknown.UNKNOWN


class InvalidReference(ValueError):
    """A text that begins as a reference, and names no known resource or no attribute of it."""


@dataclass(frozen=True, slots=True)
class Reference:
    """`attribute` is the path as written, in steps: texts, and ints where brackets say so. Never empty."""

    id: ResourceId
    attribute: PlainPath

    def __str__(self) -> str:
        return f"{self.id}{''.join(_written(each) for each in self.attribute)}"

    @property
    def text(self) -> str:
        """The reference as a body holds it."""
        return f"{PREFIX}{self}"


Ids = Mapping[str, ResourceId]
"""The known resources by the text of their ids."""


def is_reference(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(PREFIX)


def may_refer(texts: Iterable[str]) -> bool:
    """Whether one of many texts may be a reference; False where none is."""
    return PREFIX in "\n".join(texts)


def parse_reference(text: str, ids: Ids) -> Reference:
    """Raises `InvalidReference` with a sentence that says what is wrong with it."""
    named = text.removeprefix(PREFIX)
    for end in _ends(named):
        if (id_ := ids.get(named[:end])) is not None:
            attribute = _steps(named[end:])
            if not attribute:
                break
            return Reference(id_, attribute)
    known = next((named[:end] for end in _ends(named) if named[:end] in ids), None)
    if known:
        raise InvalidReference(f"{text} names {known}, but no attribute of it")
    raise InvalidReference(f"{text} names no resource of this stack")


def parse_attribute(text: str) -> PlainPath:
    """Parses a path as references have it, `a.b`, `a[0].b` or `a["x.y"]`; returns () for a text that is none."""
    return _steps(text if text.startswith("[") else f".{text}")


def references(body: Any, ids: Ids, path: PlainPath = ()) -> Iterator[tuple[PlainPath, Reference]]:
    """Yields every reference in a body with the path of its field; raises `InvalidReference`."""
    match body:
        case Mapping():
            for key, each in body.items():
                yield from references(each, ids, (*path, key))
        case list() | tuple():
            for index, each in enumerate(body):
                yield from references(each, ids, (*path, index))
        case str() if is_reference(body):
            yield path, parse_reference(body, ids)


def replaced(body: Any, ids: Ids, value: Callable[[Reference], Any]) -> Any:
    """Returns a body with `value(reference)` in place of every reference; the same object where there is none."""
    match body:
        case Mapping():
            changed = {key: replaced(each, ids, value) for key, each in body.items()}
            return changed if any(changed[key] is not body[key] for key in body) else body
        case list() | tuple():
            items = [replaced(each, ids, value) for each in body]
            return items if any(new is not old for new, old in zip(items, body, strict=True)) else body
        case str() if is_reference(body):
            return value(parse_reference(body, ids))
        case _:
            return body


def referred(body: Any, attribute: PlainPath) -> Any:
    """Returns what an attribute of a reference leads to inside a body; raises `KeyError` where it has none.

    A step of digits is an index where a list is. Where a mapping has no such key, steps are joined by dots again: the
    longest key that is there wins.
    """
    steps = list(attribute)
    while steps:
        match body:
            case Mapping():
                body = body[_key(body, steps)]
            case list() | tuple():
                step = steps.pop(0)
                if not str(step).isdecimal() or int(step) >= len(body):
                    raise KeyError(step)
                body = body[int(step)]
            case Unknown():
                return body
            case _:
                raise KeyError(steps[0])
    return body


def unknown_paths(body: Any, path: PlainPath = ()) -> Iterator[PlainPath]:
    """Yields where a body holds `UNKNOWN`."""
    match body:
        case Mapping():
            for key, each in body.items():
                yield from unknown_paths(each, (*path, key))
        case list() | tuple():
            for index, each in enumerate(body):
                yield from unknown_paths(each, (*path, index))
        case Unknown():
            yield path


def _key(body: Mapping[str, Any], steps: list[str | int]) -> str:
    """Takes the steps of the longest key of `body` from the front of `steps`."""
    for count in range(len(steps), 0, -1):
        key = ".".join(str(each) for each in steps[:count])
        if key in body:
            del steps[:count]
            return key
    raise KeyError(steps[0])


_BRACKET = re.compile(r'\[(?:(\d+)|("(?:[^"\\]|\\.)*"))\]')
_NAME = re.compile(r"\.([^.\[\]]+)")


def _ends(text: str) -> Iterator[int]:
    """Yields where an id may end, the longest first: at the end, or before a dot or a bracket inside."""
    yield len(text)
    yield from (index for index in range(len(text) - 1, 0, -1) if text[index] in ".[")


def _steps(text: str) -> PlainPath:
    """Returns () for a text that is no attribute."""
    steps: list[str | int] = []
    position = 0
    while position < len(text):
        if match := _NAME.match(text, position):
            steps.append(match[1])
        elif match := _BRACKET.match(text, position):
            steps.append(int(match[1]) if match[1] else str(json.loads(match[2])))
        else:
            return ()
        position = match.end()
    return tuple(steps)


def _written(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f"[{json.dumps(step)}]" if set(step) & set(".[]") or not step else f".{step}"
