"""Rows and columns: what a table shows, in whatever face draws it."""

from __future__ import annotations

from collections.abc import Hashable

from kcl.records import dataclass
from workbench.present.text import Line

Key = Hashable


@dataclass(frozen=True, slots=True)
class Column:
    """`width` in cells; None takes the width of what is in it, up to `most`. `grow` takes what is left over.

    `rank` says which column goes first where there is no room for all: the highest; 0 always stays. `has_tail` keeps
    the end of what is cut too, since that is what tells names made by a controller apart.
    """

    title: str
    width: int | None = None
    most: int = 60
    grow: bool = False
    right: bool = False
    rank: int = 0
    has_tail: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """`cells` has one line a column. `depth` and `foldable` make a tree of a list: parents come before children.

    `search` is what a filter looks at, in lower case; the cells' text where it is empty.
    """

    key: Key
    cells: tuple[Line, ...]
    depth: int = 0
    foldable: bool = False
    search: str = ""

    @property
    def searched(self) -> str:
        return self.search or " ".join(str(cell) for cell in self.cells).lower()


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
