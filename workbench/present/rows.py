"""Rows and columns: what a table shows, in whatever face draws it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from kcl.records import dataclass, field
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

    `search` is what a filter looks at, in lower case; the cells' text where it is empty. `labels` are those of what it
    shows, of each where that is several; None where it shows nothing that has any. They are in no cell.
    """

    key: Key
    cells: tuple[Line, ...]
    depth: int = 0
    foldable: bool = False
    search: str = ""
    labels: tuple[Mapping[str, str], ...] | None = field(default=None, compare=False, repr=False)

    @property
    def searched(self) -> str:
        return self.search or " ".join(str(cell) for cell in self.cells).lower()


def labels_of(body: Mapping[str, Any] | None) -> tuple[Mapping[str, str], ...] | None:
    """Returns the labels in the body of an object, for its row; None for what has no metadata to have any."""
    metadata = (body or {}).get("metadata")
    if not isinstance(metadata, Mapping):
        return None
    found = metadata.get("labels")
    return ({str(key): str(each) for key, each in found.items()},) if isinstance(found, Mapping) else ({},)


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
