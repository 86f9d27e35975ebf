"""How long an evaluation may take, and how much memory the process that does it may hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Self

from kcl.patterns import pattern
from kcl.records import dataclass, replace

DEADLINE_SECONDS: Final = 60.0
"""Some hundred times what a large stack takes."""
MAX_MEMORY_BYTES: Final = 2 << 30
LEAST_MEMORY_BYTES: Final = 128 << 20
"""The language itself takes half of it."""
_MOST_SECONDS: Final = 86_400.0
_UNITS: Final[Mapping[str, int]] = {"": 1 << 20, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MEMORY: Final = pattern(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)


class BadAllowance(ValueError):
    """A text that names no deadline, or no amount of memory; the message says what is needed."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one evaluation may take, and how whoever asked for it raises that (`--deadline SECONDS, or WB_DEADLINE`)."""

    deadline_seconds: float = DEADLINE_SECONDS
    max_memory_bytes: int = MAX_MEMORY_BYTES
    program: str = "kcl"

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Self:
        """What `KCL_DEADLINE` and `KCL_MAX_MEMORY` say; raises BadAllowance."""
        names = "KCL_DEADLINE", "KCL_MAX_MEMORY"
        deadline, memory = (environment.get(name, "").strip() or None for name in names)
        return cls().limited(deadline, memory, names=names)

    def limited(
        self, deadline: str | None, memory: str | None, *, names: tuple[str, str] = ("--deadline", "--max-memory")
    ) -> Self:
        """The same with the limits that are given; raises BadAllowance, which blames one of the `names`."""
        seconds = self.deadline_seconds if deadline is None else parse_deadline(deadline, names[0])
        size = self.max_memory_bytes if memory is None else parse_memory(memory, names[1])
        return replace(self, deadline_seconds=seconds, max_memory_bytes=size)

    @property
    def deadline_problem(self) -> str:
        return f"the evaluation took longer than its deadline of {self.deadline_seconds:g} s"

    @property
    def memory_problem(self) -> str:
        return f"the evaluation needs more memory than its limit of {memory_text(self.max_memory_bytes)}"

    @property
    def deadline_hint(self) -> str:
        setting = f"{self.program.upper()}_DEADLINE"
        return f"if the program is meant to take so long, --deadline SECONDS or {setting} raises it"

    @property
    def memory_hint(self) -> str:
        setting = f"{self.program.upper()}_MAX_MEMORY"
        return f"if the program is meant to need so much, --max-memory SIZE or {setting} raises it"


def parse_deadline(text: str, name: str) -> float:
    """Seconds; raises BadAllowance, which names what the text was given as."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= _MOST_SECONDS:
        raise BadAllowance(f"{name} needs to be a number of seconds above 0, up to a day, got {text!r}")
    return seconds


def parse_memory(text: str, name: str) -> int:
    """Bytes of `512M`, `2G` or `1.5 GiB`; a bare number is of megabytes. Raises BadAllowance."""
    found = _MEMORY.fullmatch(text.strip())
    size = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
    if size < LEAST_MEMORY_BYTES or size >= 1 << 60:
        least = memory_text(LEAST_MEMORY_BYTES)
        raise BadAllowance(f"{name} needs to be a size such as 512M or 2G, not below {least}, got {text!r}")
    return size


def memory_text(size: int) -> str:
    """`2 GB`, `512 MB`."""
    return f"{size >> 30} GB" if size % (1 << 30) == 0 else f"{size / (1 << 20):.0f} MB"


_in_force: Allowance | None = None


def in_force() -> Allowance | None:
    """What a watchdog holds this process to, for who runs out of memory to say of how much; None for nothing."""
    return _in_force


def put_in_force(allowance: Allowance) -> None:
    global _in_force
    _in_force = allowance
