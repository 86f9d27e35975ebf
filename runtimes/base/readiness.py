"""When a resource counts as ready, where somebody says so: instead of the rule of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kcl.records import dataclass
from runtimes.base.resource import ResourceId
from runtimes.base.unknown import PlainPath


@dataclass(frozen=True, slots=True)
class ReadyWhenThere:
    """It is ready as soon as it exists."""

    said_in: str


@dataclass(frozen=True, slots=True)
class ReadyByCondition:
    """It is ready when the condition of this type is True, and has failed when one of `failed` is."""

    said_in: str
    condition: str
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadyByField:
    """It is ready when the field has one of `values`, or anything at all where none are named; failed with `failed`."""

    said_in: str
    field: PlainPath
    values: tuple[str | int | float | bool, ...] = ()
    failed: tuple[str | int | float | bool, ...] = ()


ReadyRule = ReadyWhenThere | ReadyByCondition | ReadyByField
"""`said_in` is the place of the rule for messages, such as `readiness.yaml:4`."""

ReadyRules = Mapping[ResourceId, ReadyRule]
"""The resources that have a rule of their own."""

NO_RULES: Final[ReadyRules] = MappingProxyType({})
