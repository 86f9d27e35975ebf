"""How the screens are left tells the exit code: by hand 0, by a signal 130. In a terminal of its own, as a process."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.workbench.session.shop import shop

PATIENCE_SECONDS = 60.0


class Terminal:
    def __init__(self, process: subprocess.Popen[bytes], end: int) -> None:
        self.process, self._end = process, end
        self.heard = b""

    def until(self, wanted: bytes) -> None:
        """Reads what is drawn until this is in it."""
        heard, deadline = b"", time.monotonic() + PATIENCE_SECONDS
        while wanted not in heard:
            assert time.monotonic() < deadline, heard[-2000:]
            ready, _, _ = select.select([self._end], [], [], 0.2)
            heard += os.read(self._end, 65536) if ready else b""
        self.heard += heard

    def press(self, keys: bytes) -> None:
        os.write(self._end, keys)

    def hang_up(self) -> None:
        """It is not the terminal that controls the process, which therefore gets no SIGHUP."""
        if self._end >= 0:
            os.close(self._end)
        self._end = -1

    def code(self) -> int:
        """Reads on, as a terminal does, until the process has ended."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it did not end"
            ready, _, _ = select.select([self._end], [], [], 0.1)
            try:
                _ = os.read(self._end, 65536) if ready else b""
            except OSError:  # the other side is closed
                continue
        return int(self.process.returncode)


@contextmanager
def opened(folder: Path, *options: str) -> Iterator[Terminal]:
    """Waits for the line of keys, which the screens have and the frame before them has not."""
    root = shop(folder / "shop")
    end, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", *options],
        cwd=root,
        stdin=other,
        stdout=other,
        stderr=other,
        start_new_session=True,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[3]),
            "WB_STATE_DIR": str(folder / "state"),
            "TERM": "xterm-256color",
        },
    )
    os.close(other)
    terminal = Terminal(process, end)
    try:
        terminal.until(b"Filter")
        yield terminal
    finally:
        process.kill()
        process.wait()
        terminal.hang_up()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda each: each.name)
def test_a_signal_is_not_leaving_by_hand(tmp_path: Path, number: signal.Signals) -> None:
    with opened(tmp_path) as terminal:
        terminal.process.send_signal(number)
        assert terminal.code() == 130


def test_a_terminal_that_is_gone_ends_the_screens_though_no_signal_says_so(tmp_path: Path) -> None:
    with opened(tmp_path) as terminal:
        terminal.hang_up()
        assert terminal.process.wait(PATIENCE_SECONDS) == 130


def test_leaving_by_hand_is_success(tmp_path: Path) -> None:
    with opened(tmp_path) as terminal:
        terminal.press(b"q")
        terminal.until(b"again")
        terminal.press(b"q")
        assert terminal.code() == 0


@pytest.mark.parametrize(("options", "is_taken"), [((), True), (("--no-mouse",), False)], ids=["taken", "left"])
def test_the_mouse_is_the_terminals_where_that_is_wanted(
    tmp_path: Path, options: tuple[str, ...], is_taken: bool
) -> None:
    with opened(tmp_path, *options) as terminal:
        assert (b"\x1b[?1000h" in terminal.heard) is is_taken
