"""What a Spec has in it of what other stacks give, and where that is from."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from kcl.records import dataclass, field
from runtimes.base import OutputReference, PlainPath, ResourceId, format_path
from workbench.engine.masking import Seal, masked


@dataclass(frozen=True, slots=True)
class Giver:
    """A field of a resource that an output is made of, and the places that it was read from."""

    id: ResourceId
    path: PlainPath
    places: tuple[str, ...]

    def __str__(self) -> str:
        return f"{format_path(self.path)} of {self.id}@{','.join(self.places)}"


@dataclass(frozen=True, slots=True)
class OutputValue:
    """What an output is now. `revision` is the release whose resources it was read from, `read_at` when."""

    value: Any = field(repr=False)
    is_secret: bool
    givers: tuple[Giver, ...]
    revision: int
    read_at: datetime

    def shown(self, seal: Seal) -> Any:
        """Returns the value as it may be seen."""
        return seal.mask(self.value) if self.is_secret else masked(self.value, (), seal)

    def text(self, seal: Seal) -> str:
        """The same as text."""
        shown = self.shown(seal)
        return json.dumps(shown, ensure_ascii=False, default=str) if isinstance(shown, dict | list) else str(shown)


@dataclass(frozen=True, slots=True)
class OutputRead:
    """An output that a Spec has in it, and the fields that do."""

    output: OutputReference
    value: OutputValue
    fields: tuple[str, ...]

    def said(self, seal: Seal) -> str:
        """Returns where the value is from and where it went, in one line."""
        value, at = self.value.text(seal), self.value.read_at.strftime("%H:%M:%S")
        shown = value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}…"
        givers = " and ".join(map(str, self.value.givers)) or "its declaration"
        return (
            f"{self.output} is {shown}, from {givers} (release {self.value.revision}, read at {at}), "
            f"for {', '.join(self.fields)}"
        )


_LONGEST_SHOWN = 80
