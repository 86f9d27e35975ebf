"""What stands there while the screens are loaded, and that it is gone where they never come."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from tests.emulated_terminal import EmulatedTerminal
from tests.workbench.session.shop import shop
from workbench.cli.first_frame import first_frame
from workbench.present.glyphs import ASCII, UNICODE
from workbench.session import Session

COLUMNS, ROWS = 40, 10


def written(root: Path, *, is_ascii: bool = False, fails: bool = False) -> str:
    """Returns what a terminal gets."""
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    stream, tree = os.fdopen(writer, "w", encoding="utf-8"), Session.open(root).tree()
    with stream:
        try:
            with first_frame(tree, ASCII if is_ascii else UNICODE, stream) as frame:
                frame.is_taken = not fails
                if fails:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass
    found = b""
    with suppress(OSError):  # the other side is closed
        while more := os.read(reader, 1 << 16):
            found += more
    os.close(reader)
    return found.decode()


def hostile(root: Path) -> Path:
    """A repository whose names would like to be orders, and one that is wider than the terminal."""
    for number in range(20):
        folder = root / f"{number:02}[red]\u202e漢字{'x' * 60}" / "dev"
        folder.mkdir(parents=True)
        (folder / "stack.yaml").write_text("name: dev\n")
        (folder.parent / "project.yaml").write_text(f"name: p{number:02}\n")
        (folder / "main.k").write_text("a = 1\n")
    return root


def test_the_stacks_are_there_before_the_screens_and_what_is_awaited(tmp_path: Path) -> None:
    terminal = EmulatedTerminal(COLUMNS, ROWS)
    terminal.write(written(shop(tmp_path / "shop")))
    lines = terminal.text().splitlines()
    assert lines[0] == " shop" and lines[1:4] == ["    web", "      dev", "      prod (protected)"]
    assert lines[-1] == " 2 stacks; opening the screens ..." and len(lines) == ROWS


@pytest.mark.parametrize("is_ascii", [False, True], ids=["unicode", "ascii"])
def test_names_are_inert_and_as_many_as_there_is_room_for(tmp_path: Path, is_ascii: bool) -> None:
    found = written(hostile(shop(tmp_path / "[/]\u202eshop")), is_ascii=is_ascii)
    assert "\u202e" not in found and found.count("\r\n") == ROWS - 1
    assert not is_ascii or found.isascii()


def test_the_page_of_before_is_back_where_the_screens_never_come(tmp_path: Path) -> None:
    root = shop(tmp_path / "shop")
    assert written(root, fails=True).endswith("\x1b[?1049l") and "\x1b[?1049l" not in written(root)


LATER = ("textual", "rich", "asyncio", "workbench.engine.changes", "workbench.engine.masking")


def test_nothing_that_draws_the_screens_or_compares_is_loaded_for_it() -> None:
    needed = "workbench.cli.main, workbench.cli.screen, workbench.session"
    code = f"import sys, {needed}; print([each for each in {LATER} if each in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"
