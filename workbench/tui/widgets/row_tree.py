"""Rows as a tree, in the order in which they are shown: which of them are seen where some are folded, or looked for.

What is below a row follows it and is deeper. A row says itself whether it may have any.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from workbench.present.rows import Key, Row


def unfolded(rows: Sequence[Row], folded: Collection[Key]) -> list[Row]:
    """Returns the rows without those below one that is folded."""
    if not folded:
        return [*rows]
    shown: list[Row] = []
    hidden_below: int | None = None
    for row in rows:
        if hidden_below is not None and row.depth > hidden_below:
            continue
        hidden_below = row.depth if row.foldable and row.key in folded else None
        shown.append(row)
    return shown


def with_parents(rows: Sequence[Row], wanted: Sequence[bool]) -> list[Row]:
    """Returns the rows that are wanted, and those that lead to them."""
    keep = [*wanted]
    needed_depth = -1
    for index in range(len(rows) - 1, -1, -1):
        row = rows[index]
        if keep[index]:
            needed_depth = max(needed_depth, row.depth) if needed_depth > row.depth else row.depth
        elif row.foldable and needed_depth > row.depth:
            keep[index] = True
            needed_depth = row.depth
    return [row for row, kept in zip(rows, keep, strict=True) if kept]


def parents_of(rows: Sequence[Row], key: Key) -> list[Row] | None:
    """Returns the rows that lead to the one with this key, None where there is none."""
    parents: list[Row] = []
    for row in rows:
        del parents[row.depth :]
        if row.key == key:
            return parents
        parents.append(row)
    return None
