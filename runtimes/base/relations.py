"""What an object has to do with others: what made it, what it made, what it names, and what names it.

The contract of a runtime that can say. Nothing is changed by any of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol, runtime_checkable

from kcl.records import dataclass
from runtimes.base.errors import RuntimeFailure
from runtimes.base.resource import KubernetesId


class Presence(StrEnum):
    THERE = "there"
    MISSING = "missing"
    UNKNOWN = "unknown"
    """It may not be read, or the server did not answer."""


@dataclass(frozen=True, slots=True)
class Related:
    """Another object, and `how` it is related: the field that names it, or what selects it. `is_optional`: what refers
    to it does without. `owner` is the uid of the one above it in the same list, empty for none."""

    id: KubernetesId
    how: str = ""
    presence: Presence = Presence.THERE
    is_optional: bool = False
    uid: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Relations:
    """`owners` from the nearest up; `owned` with everything below it; `refers_to`; `used_by`.

    `not_known` are kinds that could not be looked into, with why: what is of them may be missing in each of these.
    """

    owners: tuple[Related, ...] = ()
    owned: tuple[Related, ...] = ()
    refers_to: tuple[Related, ...] = ()
    used_by: tuple[Related, ...] = ()
    not_known: tuple[tuple[str, RuntimeFailure], ...] = ()


def roots(found: Iterable[Related]) -> tuple[Related, ...]:
    """Returns those whose owner is not among them."""
    every = tuple(found)
    uids = {each.uid for each in every if each.uid}
    return tuple(each for each in every if each.owner not in uids)


@runtime_checkable
class Relatable(Protocol):
    async def relations(self, id_: KubernetesId) -> Relations | None:
        """Returns None if the object is not there. Raises `RuntimeFailure` where the object itself can't be read."""
