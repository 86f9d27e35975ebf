"""Values of configurations as plain data: what is handed between processes, and kept.

A stack becomes cells. A cell is one value that holds no fields (a list counts as one value), below a group: the name of
a variable of the main package (`web`), or `Kind/name` of a resource, or its id where the stack has two of that name.
Loads nothing of the language: a question that was asked before is answered without.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kcl.records import dataclass, field
from workbench.engine.errors import EngineError

MASK: Final = "«masked»"
Place = tuple[str, int]
"""File and line of what decides a value; an empty file where nothing is known."""
Steps = tuple[str, ...]
Places = Mapping[tuple[str | int, ...], Place]
"""By the way to a value inside a list; the empty way is the value itself."""
Cell = tuple[str, Steps, Any, Places]
NOWHERE: Final[Place] = ("", 0)


@dataclass(frozen=True, slots=True)
class Failed:
    """Why it is not known what a stack is configured with."""

    message: str
    where: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Configured:
    """One stack. `dependencies` are the files it was read from; with `is_of_files` they alone decide its cells."""

    stack: str
    cells: tuple[Cell, ...] = field(default=(), repr=False)
    dependencies: frozenset[str] = field(default=frozenset(), repr=False)
    is_of_files: bool = False
    failed: Failed | None = None


class NoSuchValue(EngineError):
    """No stack that was asked about has such a value."""
