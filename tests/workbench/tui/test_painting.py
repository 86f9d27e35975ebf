"""What goes to the terminal in fewer bytes: the same cells stand there as with all of them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from tests.emulated_terminal import EmulatedTerminal
from workbench.tui.painting import Painter

COLUMNS, ROWS = 40, 8
PLAIN = "38;2;216;222;233;48;2;20;23;28"
CURSOR = "38;2;216;222;233;48;2;51;73;107"
STYLES = (
    "",
    PLAIN,
    CURSOR,
    "1;38;2;9;9;9;48;2;20;23;28",
    "2;31;40",
    "1;2;91",
    "4;7;104",
    "38;5;7;48;5;0",
    "9;3;39",
    "22",
)


def line(y: int, x: int, *pieces: tuple[str, str]) -> str:
    """Returns a strip as Textual writes it: its place, then each piece with its whole style and a reset."""
    return f"\x1b[{y + 1};{x + 1}H" + "".join(
        f"\x1b[{style}m{text}\x1b[0m" if style else text for text, style in pieces
    )


def frames(rng: random.Random) -> Iterator[str]:
    """Yields texts as they are written: of some rows, of all, with signs of two cells, and orders of other kinds."""
    words = ("front", "  ", " " * 14, "✓ Ready", "…", "a-1", "│", "settings-00001", "漢字", "e\u0301", "🙂")
    for _ in range(60):
        rows = range(ROWS) if rng.random() < 0.1 else sorted(rng.sample(range(ROWS), rng.randint(1, 3)))
        lines = []
        for y in rows:
            x, pieces = rng.choice((0, 0, 7)), []
            for _ in range(rng.randint(1, 5)):
                text = rng.choice(words if rng.random() < 0.2 else words[:8])
                pieces.append((text, rng.choice(STYLES[:-1])))
            while sum(len(text) for text, _ in pieces) > COLUMNS - x:
                pieces.pop()
            lines.append(line(y, x, *pieces))
        yield rng.choice(("", "", "", "\x1b[2J", "\x1b[?1004h")) if rng.random() < 0.1 else ""
        yield "\n".join(lines) + "\x1b[1;3H"


@pytest.mark.parametrize("erases", [False, True], ids=["writes blanks", "erases"])
@pytest.mark.parametrize("seed", range(6))
def test_the_same_stands_there_as_with_every_byte(seed: int, erases: bool) -> None:
    painter = Painter(COLUMNS, ROWS, erases=erases)
    all_of_it, fewer = (EmulatedTerminal(COLUMNS, ROWS) for _ in range(2))
    for text in frames(random.Random(seed)):
        all_of_it.write(text)
        sent = painter.fewer(text)
        fewer.write(sent)
        assert len(sent) <= len(text) + 12 or "\x1b[?" in text
        assert fewer.cells == all_of_it.cells, repr(text)
        assert (fewer.x, fewer.y, fewer.attributes) == (all_of_it.x, all_of_it.y, all_of_it.attributes)


def test_cells_that_nobody_painted_are_not_written_over() -> None:
    sent = Painter(COLUMNS, ROWS, erases=True).fewer(line(2, 3, ("a", PLAIN)) + line(2, 6, ("b", PLAIN)) + "\x1b[1;1H")
    assert re.sub(r"\x1b\[[0-9;]*m", "", sent) == "\x1b[3;4Ha\x1b[3;7Hb\x1b[1;1H"


def row(number: int, style: str, muted: str) -> tuple[tuple[str, str], ...]:
    name = f"settings-{number:05}" + " " * 67
    return (name + "1    11s ", style), ("bench-screens", muted), (" ", style), ("here", muted), (" " * 10, style)


def test_a_cursor_that_moves_costs_less_than_400_bytes_in_120_columns() -> None:
    muted, muted_cursor = "38;2;149;154;163;48;2;20;23;28", "38;2;159;171;190;48;2;51;73;107"
    painter = Painter(120, 40, erases=True)
    list_of_all = "\n".join(line(y, 0, *row(y, PLAIN, muted)) for y in range(2, 38)) + "\x1b[1;1H"
    painter.fewer(list_of_all)
    painter.fewer(line(4, 0, *row(4, CURSOR, muted_cursor)) + "\x1b[1;1H")
    moved = line(4, 0, *row(4, PLAIN, muted)) + "\n" + line(5, 0, *row(5, CURSOR, muted_cursor)) + "\x1b[1;1H"
    assert len(moved) > 600 and len(painter.fewer(moved)) < 400
    scrolled = "\n".join(line(y, 0, *row(y + 1, PLAIN, muted)) for y in range(2, 38)) + "\x1b[1;1H"
    assert len(scrolled) > 10_000 and len(painter.fewer(scrolled)) < 3_000


def test_what_is_painted_again_as_it_is_is_not_sent_and_a_paint_of_all_rows_is() -> None:
    painter = Painter(COLUMNS, ROWS, erases=True)
    one = line(2, 3, ("front", PLAIN)) + "\x1b[1;1H"
    assert "front" in painter.fewer(one)
    assert painter.fewer(one) == "\x1b[1;1H"
    everything = "\n".join(line(y, 0, ("front", PLAIN)) for y in range(ROWS)) + "\x1b[1;1H"
    assert painter.fewer(everything).count("front") == painter.fewer(everything).count("front") == ROWS
    painter.forget()
    assert "front" in painter.fewer(one)


@pytest.mark.parametrize(
    "text", ["\x1b[?1049h\x1b[H", "\x1b]52;c;YQ==\x07", "front", "\x1b[2;1Hfront\x1b[1m", "\x1b[99;1Hx"]
)
def test_what_only_paints_not_is_passed_on_and_nothing_is_known_after_it(text: str) -> None:
    painter = Painter(COLUMNS, ROWS, erases=True)
    one = line(2, 3, ("front", PLAIN)) + "\x1b[1;1H"
    painter.fewer(one)
    assert painter.fewer(text) == text
    assert "front" in painter.fewer(one)


@pytest.mark.parametrize("text", ["\x1b[?2026h", "\x1b[?2026l", "\x1b[?25h", "\x07", ""])
def test_orders_that_change_no_cell_leave_what_is_known(text: str) -> None:
    painter = Painter(COLUMNS, ROWS, erases=True)
    one = line(2, 3, ("front", PLAIN)) + "\x1b[1;1H"
    painter.fewer(one)
    assert painter.fewer(text) == text
    assert painter.fewer(one) == "\x1b[1;1H"
