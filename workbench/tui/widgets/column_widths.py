"""How wide the columns of a table are: what has no room is taken away or cut, what is left over is handed out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from workbench.present.rows import Column

HIDDEN: Final = -1
"""The width of a column there is no room for: with the gap that follows each column it takes no cell at all."""

_LEAST: Final = 6
"""No column that is seen is narrower, unless nothing in it is wider."""


def fitted(columns: Sequence[Column], natural: Sequence[int], room: int) -> tuple[int, ...]:
    """Returns widths for the cells there are; what is too wide is cut, growing columns take the rest.

    `natural` is how wide each column would be if it could, `room` includes one cell between two columns.
    """
    widths = [*natural]
    _hide(columns, widths, room)
    _narrow(columns, widths, room)
    spare = room - sum(widths) - (len(widths) - 1)
    growing = [index for index, column in enumerate(columns) if column.grow and widths[index] != HIDDEN]
    for count, index in enumerate(growing):
        share = spare // (len(growing) - count)
        width = max(_LEAST, widths[index] + share)
        spare -= width - widths[index]
        widths[index] = width
    return tuple(widths)


def _hide(columns: Sequence[Column], widths: list[int], room: int) -> None:
    """Takes columns away, those that matter least first, until the others are shown whole."""
    dispensable = sorted(
        (index for index, each in enumerate(columns) if each.rank), key=lambda index: columns[index].rank
    )
    while dispensable and sum(widths) + len(widths) - 1 > room:
        widths[dispensable.pop()] = HIDDEN


def _narrow(columns: Sequence[Column], widths: list[int], room: int) -> None:
    """Cuts the widest columns, where there is no room for all that is in them: names stay as long as they can."""
    flexible = [index for index, each in enumerate(columns) if each.width is None]
    over = sum(widths) + len(widths) - 1 - room
    while over > 0 and (widest := max((widths[index] for index in flexible), default=0)) > _LEAST:
        widths[next(index for index in flexible if widths[index] == widest)] -= 1
        over -= 1
