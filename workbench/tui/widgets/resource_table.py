"""A table for live data that sends to the terminal only what changed.

Textual's DataTable repaints itself whole for every cell: at ten changes a second over SSH that is 186 kB/s. This one
draws line by line (`render_line`): a changed row that is on the screen costs one line, one that is not costs nothing.
It serves lists and trees alike: a row has a depth, and may have children that are shown or folded away.

The caller owns the rows. `set_rows` takes the whole new list and finds out by itself what changed; the cursor, marks
and folds follow the rows' keys, so a list that is read again does not jump.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kcl.records import dataclass
from kcl.terminal import harmless
from workbench.present.rows import Column, Key, Row
from workbench.present.text import Line, shortened
from workbench.tui.key_names import WithNames
from workbench.tui.tones import ASCII_CLASS, TONE_CLASSES, segments_of, tone_css
from workbench.tui.widgets.column_widths import HIDDEN, fitted
from workbench.tui.widgets.row_tree import parents_of, unfolded, with_parents

SAMPLE_ROWS = 200


@dataclass(frozen=True, slots=True)
class _Signs:
    """What the table itself draws; each is one cell wide."""

    mark: str
    folded: str
    unfolded: str
    cut: str


_UNICODE = _Signs("●", "▸", "▾", "…")
_ASCII = _Signs("*", "+", "-", ">")


_TAIL_CELLS = 12
"""As much as a controller appends to a name: `-776b6f7b87-bdggq` is told apart by less."""

LETTERS = "asdfghjklqwertyuiopzxcvbnmASDFGHJKLQWERTYUIOPZXCVBNM"
"""What leads to the rows that are seen, from the top; those under the fingers first."""


def _end(pieces: list[tuple[str, Style]], width: int) -> list[Segment]:
    """Returns the last characters that fit into so many cells."""
    found: list[Segment] = []
    for text, style in reversed(pieces):
        kept = text
        while cell_len(kept) > width:
            kept = kept[1:]
        found.insert(0, Segment(kept, style))
        width -= cell_len(kept)
        if kept != text:
            break
    return found


class ResourceTable(WithNames, ScrollView, can_focus=True):
    """See the module's docstring. Posts `Highlighted` when the cursor moves and `Chosen` on enter."""

    DEFAULT_CSS = """
    ResourceTable { height: 1fr; background: $surface; scrollbar-size-horizontal: 0; }
    ResourceTable > .resource-table--header { color: $text-muted; text-style: bold; }
    ResourceTable > .resource-table--cursor { background: $primary 35%; }
    ResourceTable > .resource-table--cursor-unfocused { background: $primary 15%; }
    ResourceTable > .resource-table--empty { color: $text-muted; }
    ResourceTable > .resource-table--letter { background: $warning; color: $surface; text-style: bold; }
    """ + tone_css("ResourceTable")

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "resource-table--header",
        "resource-table--cursor",
        "resource-table--cursor-unfocused",
        "resource-table--empty",
        "resource-table--letter",
    } | TONE_CLASSES

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "cursor(1)", "Down", show=False),
        Binding("k,up", "cursor(-1)", "Up", show=False),
        Binding("ctrl+d,pagedown", "page(1)", "Page down", show=False),
        Binding("ctrl+u,pageup", "page(-1)", "Page up", show=False),
        Binding("home", "edge(0)", "First", show=False),
        Binding("G,end", "edge(1)", "Last", show=False),
        Binding("enter", "choose", "Open", show=False),
        Binding("semicolon", "jump", "Jump to a row", key_display=";", show=False),
        Binding("right", "fold(False)", "Unfold", show=False),
        Binding("left", "fold(True)", "Fold", show=False),
    ]

    # drawn by `watch_cursor`, two rows of it: repainting would send the whole table for every key
    cursor: reactive[int] = reactive(0, repaint=False)

    @dataclass
    class Highlighted(Message):
        table: ResourceTable
        key: Key

        @property
        def control(self) -> ResourceTable:
            return self.table

    @dataclass
    class Chosen(Message):
        table: ResourceTable
        key: Key

        @property
        def control(self) -> ResourceTable:
            return self.table

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        empty: str = "nothing here",
        markable: bool = False,
        header: bool = True,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.columns = tuple(columns)
        self._empty = empty
        self.markable = markable
        self.header_lines = 1 if header else 0
        self.marks: set[Key] = set()
        self._last_marked: Key | None = None
        self.folded: set[Key] = set()
        self._rows: list[Row] = []
        self._shown: list[Row] = []
        self._positions: dict[Key, int] | None = None
        self._filter: Callable[[Row], bool] | None = None
        self._widths: tuple[int, ...] = ()
        self._strip = lru_cache(maxsize=2048)(self._draw)
        self._pending_g = False
        self._is_jumping = False
        self.fresh: Callable[[Row], Row] | None = None
        """Says what a row is by now, where something of it changes by time alone, such as an age: it is asked for rows
        that are seen, as they are drawn. What it changes is not wider than the columns."""

    @property
    def empty(self) -> str:
        """What stands where no row is shown."""
        return self._empty

    @empty.setter
    def empty(self, text: str) -> None:
        is_shown = text != self._empty and not self._shown
        self._empty = text
        if is_shown:
            self.refresh()

    # --- rows

    @property
    def rows(self) -> Sequence[Row]:
        return self._rows

    @property
    def shown(self) -> Sequence[Row]:
        return self._shown

    @property
    def current(self) -> Key | None:
        """The key under the cursor, None where the table is empty."""
        return self._shown[self.cursor].key if 0 <= self.cursor < len(self._shown) else None

    @property
    def current_row(self) -> Row | None:
        return self._shown[self.cursor] if 0 <= self.cursor < len(self._shown) else None

    def set_rows(self, rows: Iterable[Row]) -> None:
        """Takes the whole new list. Draws again what differs; all of it only if rows came, went or moved."""
        new = list(rows)
        old_shown, self._rows = self._shown, new
        key = self.current
        self._shown = self._visible_rows()
        if self.marks:
            self.marks &= {row.key for row in new}
        if [row.key for row in old_shown] == [row.key for row in self._shown] and self._widths:
            if self._measure() == self._widths:
                top = self.scroll_offset.y
                for index in range(top, min(top + self.size.height, len(old_shown))):
                    before, after = old_shown[index], self._shown[index]
                    if before != after:
                        self._refresh_cells(index, before, after)
                return
        self._rebuild(key)

    def fresh_rows(self) -> Sequence[Row]:
        """The rows that are shown, as they are by now."""
        return [*map(self.fresh, self._shown)] if self.fresh is not None else self._shown

    def refresh_fresh(self) -> None:
        """Draws again what is others by now of the rows that are seen."""
        top = self.scroll_offset.y
        for index in range(top, min(top + self.size.height, len(self._shown))):
            before, after = self._shown[index], self._fresh_at(index)
            if before != after:
                self._refresh_cells(index, before, after)

    def _fresh_at(self, index: int) -> Row:
        if self.fresh is not None:
            self._shown[index] = self.fresh(self._shown[index])
        return self._shown[index]

    def filter_by(self, wanted: Callable[[Row], bool] | None) -> None:
        """Shows only rows that are wanted, with the parents that lead to them."""
        self._filter = wanted
        key = self.current
        self._shown = self._visible_rows()
        self._rebuild(key)

    @property
    def is_filtered(self) -> bool:
        return self._filter is not None

    def move_to_match(self, by: int) -> bool:
        """Puts the cursor on the next row that the filter itself finds, or the one before; round the ends of the table.

        Rows that only lead to one are passed over. False where nothing is filtered, or nothing is found.
        """
        count = len(self._shown)
        for step in range(1, count + 1) if self._filter is not None else ():
            index = (self.cursor + by * step) % count
            if self._filter is not None and self._filter(self._shown[index]):
                self.cursor = index
                return True
        return False

    def toggle_mark(self, key: Key) -> None:
        self.marks ^= {key}
        self._last_marked = key if key in self.marks else None
        if (at := self._index_of(key)) is not None:
            self._refresh_row(at)

    def mark_to_cursor(self, may_be_marked: Callable[[Key], bool]) -> bool:
        """Marks what is shown from the last row that was marked up to the cursor; False where none is shown."""
        begin = self._index_of(self._last_marked) if self._last_marked is not None else None
        if begin is None:
            return False
        first, last = sorted((begin, self.cursor))
        for index in range(first, last + 1):
            key = self._shown[index].key
            if may_be_marked(key) and key not in self.marks:
                self.marks |= {key}
                self._refresh_row(index)
        return True

    def _visible_rows(self) -> list[Row]:
        rows = self._rows
        if self._filter is not None:
            # what was found is shown, folded or not
            return with_parents(rows, [self._filter(row) for row in rows])
        return unfolded(rows, self.folded)

    def _rebuild(self, key: Key | None) -> None:
        self._positions = None
        self._widths = self._measure()
        self._strip.cache_clear()
        self.virtual_size = Size(self._width, len(self._shown) + self.header_lines)
        before = self.cursor
        at = self._index_of(key) if key is not None else 0
        self.cursor = at if at is not None else min(before, max(0, len(self._shown) - 1))
        self.refresh()
        if self.current is not None and self.current != key:
            self.post_message(self.Highlighted(self, self.current))

    def _index_of(self, key: Key) -> int | None:
        """Returns the index of the row that is shown by this key.

        Rows mostly come back with the very keys that they had: hashing each of ten thousand is what keys would be felt
        to wait for.
        """
        if self._positions is None:
            for index, row in enumerate(self._shown):
                if row.key is key:
                    return index
            self._positions = {row.key: index for index, row in enumerate(self._shown)}
        return self._positions.get(key)

    @property
    def room(self) -> int:
        """Cells that the columns have together, with one between two of them."""
        return max(0, self._width - 1 - (2 if self.markable else 0))

    def _measure(self) -> tuple[int, ...]:
        """Widths of the columns for the width there is."""
        natural = [self._natural_width(index, column) for index, column in enumerate(self.columns)]
        return fitted(self.columns, natural, self.room)

    @property
    def hidden(self) -> tuple[int, ...]:
        """The columns there is no room for, by index."""
        return tuple(index for index, width in enumerate(self._widths) if width == HIDDEN)

    def _last_filled(self, row: Row) -> int:
        """Returns the last column seen that says anything: what it says may reach to the end of the line."""
        seen = zip(row.cells, self._widths, strict=False)
        return max((index for index, (cell, width) in enumerate(seen) if len(cell) and width != HIDDEN), default=0)

    def _natural_width(self, index: int, column: Column) -> int:
        if column.width is not None:
            return column.width
        longest = max((self._cell_width(row, index) for row in self._rows[:SAMPLE_ROWS]), default=0)
        return min(column.most, max(cell_len(column.title), longest))

    def _cell_width(self, row: Row, index: int) -> int:
        spans = row.cells[index].spans if index < len(row.cells) else ()
        width = sum(cell_len(harmless(shortened(span.text))) for span in spans)
        return width + (self._indent(row) if index == 0 else 0)

    def _indent(self, row: Row) -> int:
        return 2 * row.depth + (2 if self._is_tree else 0)

    @property
    def _signs(self) -> _Signs:
        return _ASCII if self.app.has_class(ASCII_CLASS) else _UNICODE

    @property
    def _is_tree(self) -> bool:
        return any(row.foldable for row in self._rows[:SAMPLE_ROWS])

    @property
    def _width(self) -> int:
        """What is left beside a scrollbar."""
        return self.scrollable_content_region.width

    # --- drawing

    def render_line(self, y: int) -> Strip:
        if y < self.header_lines:
            return self._draw_header()
        index = y - self.header_lines + self.scroll_offset.y
        if not self._shown and y == self.header_lines:
            return self._whole_line([Segment(f" {self.empty}", self.get_component_rich_style("resource-table--empty"))])
        if index >= len(self._shown):
            return Strip.blank(self._width, self.rich_style)
        row = self._fresh_at(index)
        strip = self._strip(row, index == self.cursor, row.key in self.marks, self.has_focus, self._widths)
        return self._lettered(strip, y - self.header_lines) if self._is_jumping else strip

    def _lettered(self, strip: Strip, number: int) -> Strip:
        """Puts the letter that leads to a row over its first cell."""
        if number >= len(LETTERS):
            return strip
        style = self.get_component_rich_style("resource-table--letter")
        return Strip.join([Strip([Segment(LETTERS[number], style)], 1), strip.crop(1)])

    def _draw_header(self) -> Strip:
        style = self.get_component_rich_style("resource-table--header")
        cells = [
            self._fitted([(column.title, style)], width, column, style)
            for column, width in zip(self.columns, self._widths, strict=False)
            if width != HIDDEN
        ]
        return self._joined(cells, "  " if self.markable else "", style)

    def _draw(self, row: Row, under_cursor: bool, marked: bool, focused: bool, widths: tuple[int, ...]) -> Strip:
        base = self.rich_style
        if under_cursor:
            suffix = "cursor" if focused else "cursor-unfocused"
            base = self.get_component_rich_style(f"resource-table--{suffix}")
        cells = []
        filled = self._last_filled(row)
        for index, (column, width) in enumerate(zip(self.columns, widths, strict=True)):
            if index > filled:
                break
            if width == HIDDEN:
                continue
            if index == filled and not column.right:  # nothing follows: the cell may use the room to the end
                width = sum(widths[index:]) + len(widths) - index - 1
            cell = row.cells[index] if index < len(row.cells) else Line()
            pieces = segments_of(self, cell, base)
            if index == 0:
                pieces.insert(0, (self._fold_sign(row), base))
            cells.append(self._fitted(pieces, width, column, base))
        mark = (f"{self._signs.mark} " if marked else "  ") if self.markable else ""
        return self._joined(cells, mark, base)

    def _fold_sign(self, row: Row) -> str:
        if not self._is_tree:
            return "  " * row.depth
        if not row.foldable:
            return "  " * (row.depth + 1)
        is_folded = row.key in self.folded and self._filter is None
        return "  " * row.depth + f"{self._signs.folded if is_folded else self._signs.unfolded} "

    def _fitted(self, pieces: list[tuple[str, Style]], width: int, column: Column, base: Style) -> list[Segment]:
        total = sum(cell_len(text) for text, _ in pieces)
        if total <= width:
            padding = Segment(" " * (width - total), base)
            segments = [Segment(text, style) for text, style in pieces]
            return [padding, *segments] if column.right else [*segments, padding]
        tail = _end(pieces, min(_TAIL_CELLS, (width - 1) // 2)) if column.has_tail else []
        segments, room = [], max(0, width - 1 - sum(cell_len(each.text) for each in tail))
        for text, style in pieces:
            part = text if cell_len(text) <= room else set_cell_size(text, room)
            segments.append(Segment(part, style))
            room -= cell_len(part)
            if room <= 0:
                break
        segments.append(Segment(self._signs.cut, segments[-1].style if segments else None))
        return [*segments, *tail]

    def _joined(self, cells: list[list[Segment]], mark: str, style: Style) -> Strip:
        segments = [Segment(mark, style)] if mark else []
        for index, cell in enumerate(cells):
            if index:
                segments.append(Segment(" ", style))
            segments.extend(cell)
        return self._whole_line(segments, style)

    def _whole_line(self, segments: list[Segment], style: Style | None = None) -> Strip:
        """Neighbours of one style become one segment: each is written to the terminal with all of its style."""
        strip = Strip(segments).adjust_cell_length(self._width, style or self.rich_style)
        return Strip([each for each in strip if each.text], self._width).simplify()

    def _refresh_row(self, index: int) -> None:
        self.refresh_line(index)

    def _refresh_cells(self, index: int, before: Row, after: Row) -> None:
        """Draws the columns that differ: where only ages change, the rest of the line need not be sent again."""
        cells = zip_longest(before.cells, after.cells)
        differ = [number for number, (old, new) in enumerate(cells) if old != new]
        # the last filled cell reaches to the end of the line, and the first has what does not come from cells
        is_alike = (before.depth, before.foldable) == (after.depth, after.foldable)
        if not differ or not is_alike or self._last_filled(before) != self._last_filled(after) or 0 in differ:
            self._refresh_row(index)
            return
        start = (2 if self.markable else 0) + sum(self._widths[: differ[0]]) + differ[0]
        end = (
            self._width
            if differ[-1] >= self._last_filled(after)
            else start + sum(self._widths[differ[0] : differ[-1] + 1])
        )
        end += differ[-1] - differ[0] if end != self._width else 0
        self.refresh_line(index, start, end)

    def refresh_line(self, y: int, start: int = 0, end: int | None = None) -> None:
        """Draws the row with this index again, or some of its columns, if it is on the screen."""
        top = self.scroll_offset.y
        if top <= y < top + self.size.height - self.header_lines:
            end = self._width if end is None else min(end, self._width)
            self.refresh(Region(start, y - top + self.header_lines, max(0, end - start), 1))

    # --- cursor

    def watch_cursor(self, before: int, after: int) -> None:
        self.refresh_line(before)
        self.refresh_line(after)
        self._scroll_to_cursor()
        if self.current is not None and before != after:
            self.post_message(self.Highlighted(self, self.current))

    def validate_cursor(self, value: int) -> int:
        return max(0, min(value, len(self._shown) - 1))

    def move_to(self, key: Key) -> None:
        """Puts the cursor on the row with this key, unfolding what hides it; does nothing if there is none."""
        if self._index_of(key) is None:
            self._unfold_to(key)
        if (at := self._index_of(key)) is not None:
            self.cursor = at

    def _unfold_to(self, key: Key) -> None:
        parents = parents_of(self._rows, key)
        if parents is not None:
            self.folded -= {parent.key for parent in parents}
            current = self.current
            self._shown = self._visible_rows()
            self._rebuild(current)

    def _scroll_to_cursor(self) -> None:
        height = max(1, self.size.height - self.header_lines)
        top = self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def action_cursor(self, by: int) -> None:
        self.cursor += by

    def action_page(self, direction: int) -> None:
        self.cursor += direction * max(1, (self.size.height - self.header_lines) // 2)

    def action_edge(self, last: int) -> None:
        self.cursor = len(self._shown) - 1 if last else 0

    def action_choose(self) -> None:
        if self.current is not None:
            self.post_message(self.Chosen(self, self.current))

    def action_fold(self, fold: bool) -> None:
        """Folds or unfolds the row under the cursor; folding a row without children goes to its parent."""
        if self.current is None:
            return
        row = self._shown[self.cursor]
        if row.foldable and (row.key in self.folded) != fold:
            self.folded ^= {row.key}
            self._shown = self._visible_rows()
            self._rebuild(row.key)
        elif fold:
            parent = next((i for i in range(self.cursor - 1, -1, -1) if self._shown[i].depth < row.depth), None)
            if parent is not None:
                self.cursor = parent

    def action_jump(self) -> None:
        """Shows a letter on each row that is seen; the next key goes to its row, or takes the letters away."""
        if self._shown:
            self._is_jumping = True
            self.refresh()

    def _end_jump(self) -> None:
        if self._is_jumping:
            self._is_jumping = False
            self.refresh()

    def on_key(self, event: events.Key) -> None:
        """`gg` goes to the first row: two plain keys, so it can't be a binding."""
        if self._is_jumping:
            self._end_jump()
            event.stop()  # whatever else the key does here, it was meant for the letters
            number = LETTERS.find(event.character) if event.character else -1
            index = number + self.scroll_offset.y
            if 0 <= number < self.size.height - self.header_lines and index < len(self._shown):
                self.cursor = index
            return
        if event.character == "g":
            if self._pending_g:
                self.action_edge(0)
            self._pending_g = not self._pending_g
        else:
            self._pending_g = False

    def on_click(self, event: events.Click) -> None:
        index = event.y - self.header_lines + self.scroll_offset.y
        if event.y >= self.header_lines and index < len(self._shown):
            if index == self.cursor:
                self.action_choose()
            self.cursor = index

    def watch_show_vertical_scrollbar(self) -> None:
        self.call_after_refresh(self.on_resize)

    def on_resize(self) -> None:
        key = self.current
        self._rebuild(key)
        self._scroll_to_cursor()

    def on_focus(self) -> None:
        self.refresh_line(self.cursor)

    def on_blur(self) -> None:
        self._end_jump()
        self.refresh_line(self.cursor)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strip.cache_clear()
