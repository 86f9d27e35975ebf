"""What only becomes known while applying: `UNKNOWN` in a body, or `PartlyUnknown` where it is a part of a text."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

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


class PartlyUnknown(str):
    """A text with values in it that are decided only while applying. As text it says where they are.

    `parts` are its known texts and `UNKNOWN` in their order.
    """

    parts: tuple[str | Unknown, ...]

    def __new__(cls, parts: Iterable[str | Unknown]) -> PartlyUnknown:
        found = tuple(parts)
        made = super().__new__(cls, "".join(map(str, found)))
        made.parts = found
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (self.parts,)

    def filled(self, stand_in: str) -> str:
        """Returns the text with something in place of what is not known."""
        return "".join(stand_in if isinstance(each, Unknown) else each for each in self.parts)


def unknown_paths(body: Any, path: PlainPath = ()) -> Iterator[PlainPath]:
    """Yields where a body holds what is not known yet."""
    match body:
        case Mapping():
            for key, each in body.items():
                yield from unknown_paths(each, (*path, key))
        case list() | tuple():
            for index, each in enumerate(body):
                yield from unknown_paths(each, (*path, index))
        case Unknown() | PartlyUnknown():
            yield path


def is_unknown(value: Any) -> bool:
    """Whether a plain value is not known yet, or not all of it."""
    return isinstance(value, Unknown | PartlyUnknown)
