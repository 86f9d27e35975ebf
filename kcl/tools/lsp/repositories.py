"""What an editor may know beyond files and programs: the stacks of a repository, and what lines do in them.

The language knows no stacks. Who does hands a `Repository` to the server, which asks it in the background and keeps
what it says only while the files that it rests on are the same (`surveying`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    """A field of what a stack evaluates to, and the places that have a say in it: the one that wins comes first.

    `value` is what it evaluates to, for a person to compare with what is live; "" where it may not be shown, or nobody
    compares.
    """

    resource: str
    field: str
    places: tuple[Place, ...]
    value: str = ""


@dataclass(frozen=True, slots=True)
class StackSettings:
    """`files` are all that was read for it, or looked for in vain."""

    settings: tuple[Setting, ...]
    files: frozenset[str]


@dataclass(frozen=True, slots=True)
class LiveField:
    """What a field has in one place where it is live, secrets masked; `problem` says why that is not known."""

    where: str
    text: str
    problem: str = ""


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


class Clusters(Protocol):
    """What is live of stacks; nothing is ever written. Raises as a `Repository`."""

    async def live(
        self, stack: str, texts: Mapping[str, str], fields: Collection[tuple[str, str]]
    ) -> Mapping[tuple[str, str], tuple[LiveField, ...]]:
        """What fields of resources have, in each place of the stack. None are left out."""
        ...

    async def difference(self, stacks: Sequence[str], texts: Mapping[str, str], path: str, line: int) -> str:
        """What an apply would change live of that which a line decides, as lines for a person, masked.

        The line counts from 1.
        """
        ...
