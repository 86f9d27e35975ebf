"""What an editor may know beyond files and programs: the stacks of a repository, and what lines do in them.

The language knows no stacks. Who does hands a `Repository` to the server, which asks it in the background and keeps
what it says only while the files that it rests on are the same (`surveying`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from kcl.records import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is written: an absolute path without links in it; line and column count from 1."""

    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of what a stack evaluates to, and the places that have a say in it: the one that wins comes first."""

    resource: str
    field: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class StackSettings:
    """`files` are all that was read for it, or looked for in vain."""

    settings: tuple[Setting, ...]
    files: frozenset[str]


class NotLooked(Exception):
    """Nothing can be said of a stack, or of any; the text is why, in a line."""


class Repository(Protocol):
    """Stacks, by name. All may be cancelled at any time, and raise `NotLooked` for what a person can mend."""

    async def stacks(self) -> Sequence[str]: ...

    async def look(self, stack: str, texts: Mapping[str, str]) -> StackSettings:
        """What a stack evaluates to if these paths held these texts."""
        ...

    async def effect(self, texts: Mapping[str, str]) -> str:
        """What the stacks would have otherwise if these paths held these texts, as lines for a person, masked."""
        ...
