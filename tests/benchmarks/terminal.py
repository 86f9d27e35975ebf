"""A terminal program seen from outside: what it paints, when, and what that costs."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.emulated_terminal import EmulatedTerminal

_ORDERS = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|P[^\x1b]*\x1b\\|[ -/]*[0-~])")
_BEGUN = re.compile(rb"(?:\x1b(?:\[[0-?]*[ -/]*|[\]P][^\x07\x1b]*)?|[\xc0-\xff][\x80-\xbf]{0,2})\Z")
"""An order or a sign of which the rest is still to come, or which ends here."""
_QUIET_SECONDS = 0.12
"""A paint is over when nothing came for this long."""
_TURN_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class Paint:
    """What followed a key: seconds until its first and last bytes, and how many. Without any, `seconds` is infinite."""

    first: float
    last: float
    size: int


class Terminal:
    """Runs a command in a terminal of 24-bit colour; a context manager, which ends the program."""

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], columns: int = 120, rows: int = 40
    ) -> None:
        self._command, self._folder, self._environment = tuple(command), folder, dict(environment)
        self._size = struct.pack("HHHH", rows, columns, 0, 0)
        self._shown, self._behind = EmulatedTerminal(columns, rows), b""
        self.seen = b""

    def __enter__(self) -> Self:
        self.began = time.perf_counter()
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self._folder)
            environment = {**self._environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execvpe(self._command[0], self._command, environment)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, self._size)
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._terminal)

    def until(self, text: str, seconds: float = 120.0) -> float:
        """Reads until a text stands on the screen; returns how long after the start. Raises TimeoutError."""
        end = time.perf_counter() + seconds
        while text not in self.shown():
            if time.perf_counter() > end:
                raise TimeoutError(f"{text!r} was not shown within {seconds:.0f} s: {self.shown()}")
            while not self._read() and time.perf_counter() < end:
                pass
        return time.perf_counter() - self.began

    def shown(self) -> str:
        """Returns what stands on the screen: of a line that changes, a program may write only some cells."""
        written = self._behind
        cut = found.start() if (found := _BEGUN.search(written)) else len(written)
        self._behind = written[cut:]
        self._shown.write(written[:cut].decode(errors="replace"))
        return self._shown.text()

    def until_first(self) -> float:
        """Returns how long after the start something that a person can see was painted."""
        while not self.painted().strip():
            self._read()
        return time.perf_counter() - self.began

    def painted(self) -> bytes:
        return _ORDERS.sub(b"", self.seen)

    def forget(self) -> None:
        self.seen = b""

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def press(self, key: str, seconds: float = 2.0) -> Paint:
        """Presses a key and reads until its paint is over."""
        self.forget()
        began = time.perf_counter()
        self.type(key)
        first = last = float("inf")
        while time.perf_counter() - began < seconds:
            if self._read():
                last = time.perf_counter() - began
                first = min(first, last)
            elif self.seen and time.perf_counter() - began - last > _QUIET_SECONDS:
                break
        return Paint(first, last, len(self.seen))

    def rest(self, seconds: float) -> int:
        """Reads for so long; returns how many paints there were."""
        end, last, paints = time.perf_counter() + seconds, 0.0, 0
        while (now := time.perf_counter()) < end:
            if self._read():
                paints += now - last > 0.05
                last = now
        return paints

    def processor_seconds(self) -> float:
        """Of the program and of what it started and that has ended."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(int(each) for each in fields[11:15]) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self) -> int:
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(text.partition("VmHWM:")[2].split()[0]) * 1024

    def _read(self) -> bool:
        if not select.select([self._terminal], [], [], _TURN_SECONDS)[0]:
            return False
        try:
            written = os.read(self._terminal, 1 << 16)
        except OSError as error:
            raise TimeoutError(f"the program has ended: {self.painted()[-800:]!r}") from error
        self.seen += written
        self._behind += written
        return True
