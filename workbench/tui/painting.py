"""Sends to the terminal only the cells that change.

Textual writes each line that it draws from the left edge of its widget, every piece with all of its style and a reset
behind it. Over SSH that is what a key costs: 650 bytes for a cursor that moves, 13 kB for a list that scrolls by a row.
Here it is remembered what stands in each cell; what is painted again as it is goes nowhere, styles are changed by what
differs, and room is made by erasing where a terminal erases in the colour behind.

Nothing is saved where it could show something wrong. A paint of all rows is written whole, so that whatever another
program has left on the screen goes away as it did before. Signs that terminals do not agree on the width of, and orders
that are not of painting, are passed on as they are, and what they touched counts as unknown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from textual.drivers.linux_driver import LinuxDriver

from kcl.records import dataclass

_ORDER = re.compile(r"\x1b\[([0-9;]*)([mH])|\n|([^\x00-\x1f\x7f]+)")
_QUIET = re.compile(r"(?:\x1b\[\?(?:2026|25)[hl]|\x07)*")
"""Orders that change no cell: to wait with showing, to show a cursor, to ring."""
_ONE_CELL = re.compile(
    "[ -~\u00a1-\u00ac\u00ae-\u024f\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2200-\u22ff"
    "\u2500-\u25fc\u25ff\u2713\u2717]*"
)
"""Signs that every terminal gives one cell."""
_APART = 6
"""Cells between two that change which are cheaper to write again than to go over."""
_BLANKS = 12
"""So many blanks are cheaper to erase than to write."""
_BLANK_RUN = re.compile(f" {{{_BLANKS},}}")
_OFF = {1: 22, 2: 22, 3: 23, 4: 24, 5: 25, 7: 27, 8: 28, 9: 29}
"""What ends an attribute."""


@lru_cache(maxsize=4096)
def _attributes(style: str) -> tuple[frozenset[int], str, str] | None:
    """Returns flags, foreground and background of the parameters of a style; None for what is not known here."""
    flags, colors = set[int](), {"3": "39", "4": "49"}
    parts = iter(style.split(";") if style else ())
    for each in parts:
        if each in ("38", "48"):
            kind = next(parts, "")
            count = {"2": 3, "5": 1}.get(kind, 0)
            colors[each[0]] = ";".join((each, kind, *(next(parts, "") for _ in range(count))))
        elif each.isdigit() and int(each) in _OFF:
            flags.add(int(each))
        elif len(each) == 2 and each[0] in "34" and each[1] in "012345679":
            colors[each[0]] = each
        elif len(each) in (2, 3) and each[:-1] in ("9", "10") and each[-1] in "01234567":
            colors["3" if each[:-1] == "9" else "4"] = each
        else:
            return None
    return frozenset(flags), colors["3"], colors["4"]


@lru_cache(maxsize=4096)
def _change(before: str, after: str) -> str:
    """Returns the shortest order that makes one style another."""
    if before == after:
        return ""
    whole = f"\x1b[0;{after}m" if before and after else f"\x1b[{after or 0}m"
    old, new = _attributes(before), _attributes(after)
    if old is None or new is None:
        return whole
    ended = {_OFF[each] for each in old[0] - new[0]}
    begun = {each for each in new[0] if each not in old[0] or _OFF[each] in ended}
    parts = [*map(str, sorted(ended)), *map(str, sorted(begun))]
    parts += [color for was, color in zip(old[1:], new[1:], strict=True) if was != color]
    if not parts:
        return ""
    return min(f"\x1b[{';'.join(parts)}m", whole, key=len)


@lru_cache(maxsize=4096)
def _erases(style: str) -> bool:
    """Whether blanks of a style look like what is erased in it: nothing but the colour behind is seen of them."""
    found = _attributes(style)
    return found is not None and not found[0] - {1, 2, 3}


@dataclass(frozen=True, slots=True)
class _Piece:
    x: int
    y: int
    text: str
    style: str


@dataclass(frozen=True, slots=True)
class _Painted:
    """The pieces of a text that paints, and where it leaves the cursor."""

    pieces: tuple[_Piece, ...]
    cursor_x: int
    cursor_y: int


def _painted(text: str, size: tuple[int, int]) -> _Painted | None:
    """Returns None where anything is in it but pieces with their places, or where it leaves a style behind."""
    pieces: list[_Piece] = []
    x = y = at = 0
    style, is_placed = "", False
    while at < len(text):
        found = _ORDER.match(text, at)
        if found is None:
            return None
        at = found.end()
        if found[3] is not None:
            if not is_placed or x + len(found[3]) > size[0] or y >= size[1]:
                return None
            pieces.append(_Piece(x, y, found[3], style))
            x += len(found[3])
        elif found[2] == "m":
            parameters = found[1]
            style = "" if parameters in ("", "0") else f"{style};{parameters}" if style else parameters
        elif found[2] == "H":
            row, _, column = found[1].partition(";")
            y, x, is_placed = int(row or 1) - 1, int(column or 1) - 1, True
        else:
            is_placed = False  # a line that ends: each begins with its place
    return _Painted(tuple(pieces), x, y) if is_placed and not style else None


class Painter:
    """What stands in a terminal of so many columns and rows, and what has to be sent so that something else does.

    `erases`: blanks may be erased, as the terminal does that in the colour behind.
    """

    def __init__(self, columns: int, rows: int, *, erases: bool) -> None:
        self.size, self._erases = (columns, rows), erases
        self.forget()

    def forget(self) -> None:
        """Nothing is known of what stands there."""
        columns, rows = self.size
        self._signs: list[list[str | None]] = [[None] * columns for _ in range(rows)]
        self._styles: list[list[str]] = [[""] * columns for _ in range(rows)]

    def fewer(self, text: str) -> str:
        """Returns what does the same to the terminal as a text, in fewer bytes where it only paints."""
        if _QUIET.fullmatch(text):
            return text
        painted = _painted(text, self.size)
        if painted is None:
            self.forget()
            return text
        rows = {each.y for each in painted.pieces}
        if len(rows) == self.size[1]:
            self.forget()
        if all(_ONE_CELL.fullmatch(each.text) for each in painted.pieces):
            return self._sent(painted)
        for y in rows:
            self._signs[y] = [None] * self.size[0]
        return text

    def _sent(self, painted: _Painted) -> str:
        changed: dict[int, set[int]] = {}
        for piece in painted.pieces:
            if cells := self._take(piece):
                changed.setdefault(piece.y, set()).update(cells)
        sent: list[str] = []
        style = ""
        for y in sorted(changed):
            for start, end in self._runs(y, sorted(changed[y])):
                sent.append(f"\x1b[{y + 1};{start + 1}H")
                style = self._run(y, start, end, style, sent)
        sent.append(_change(style, ""))
        sent.append(f"\x1b[{painted.cursor_y + 1};{painted.cursor_x + 1}H")
        return "".join(sent)

    def _take(self, piece: _Piece) -> list[int]:
        """Returns the columns in which a piece is something else than what stands there, which it is from now on."""
        signs, styles, style = self._signs[piece.y], self._styles[piece.y], piece.style
        end = piece.x + len(piece.text)
        if signs[piece.x : end] == list(piece.text) and styles[piece.x : end] == [style] * len(piece.text):
            return []
        places = enumerate(piece.text, piece.x)
        cells = [column for column, sign in places if signs[column] != sign or styles[column] != style]
        signs[piece.x : end] = piece.text
        styles[piece.x : end] = [style] * len(piece.text)
        return cells

    def _runs(self, y: int, cells: list[int]) -> Iterator[tuple[int, int]]:
        """Yields where to begin and where to end writing, over a few cells that need not change."""
        signs, start = self._signs[y], cells[0]
        for before, after in pairwise(cells):
            if after - before > _APART or None in signs[before:after]:
                yield start, before + 1
                start = after
        yield start, cells[-1] + 1

    def _run(self, y: int, start: int, end: int, style: str, sent: list[str]) -> str:
        """Adds what writes a run of cells; returns the style that it leaves."""
        signs, styles = self._signs[y], self._styles[y]
        while start < end:
            wanted, upto = styles[start], start + 1
            while upto < end and styles[upto] == wanted:
                upto += 1
            sent.append(_change(style, wanted))
            style = wanted
            said = "".join(each or " " for each in signs[start:upto])
            sent.append(_BLANK_RUN.sub(_erased, said) if self._erases and _erases(wanted) else said)
            start = upto
        return style


def _erased(blanks: re.Match[str]) -> str:
    count = len(blanks[0])
    return f"\x1b[{count}X\x1b[{count}C"


class PaintingDriver(LinuxDriver):
    """Writes what Textual paints through a `Painter`."""

    _painter: Painter | None = None

    def write(self, data: str) -> None:
        size = self._get_terminal_size()
        if self._painter is None or self._painter.size != size:
            self._painter = Painter(*size, erases=erases_in_color(self.fileno))
        super().write(self._painter.fewer(data))

    def forget(self) -> None:
        """What stands on the screen may be something else than was painted: its size was changed."""
        if self._painter is not None:
            self._painter.forget()


def erases_in_color(fd: int) -> bool:
    """Whether the terminal says that it erases some cells of a line, and in the colour behind."""
    try:
        import curses
    except ImportError:
        return False
    try:
        curses.setupterm(os.environ.get("TERM", ""), fd)
        return curses.tigetflag("bce") == 1 and curses.tigetstr("ech") == b"\x1b[%p1%dX"
    except curses.error:
        return False  # a terminal that nobody described
