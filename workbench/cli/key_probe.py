"""What a terminal sends when a key is pressed, and how the screens call it: read and parsed as they do."""

from __future__ import annotations

import os
import select
import termios
import tty
from collections.abc import Iterator
from typing import TextIO

from textual import events
from textual._xterm_parser import XTermParser

END = "ctrl+c"
_TICK_SECONDS = 0.1
_MOST_BYTES = 1024


def pressed(terminal: int, screen: TextIO) -> Iterator[tuple[str, str]]:
    """Yields what was sent and the name of its key, until the terminal is gone; it is set back however this ends.

    Output processing stays on, so that lines are still lines; interrupts do not, as ctrl+c is a key too.
    """
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        raw = termios.tcgetattr(terminal)
        raw[0] &= ~(termios.IXON | termios.ICRNL)
        raw[3] &= ~(termios.ISIG | termios.IEXTEN)
        termios.tcsetattr(terminal, termios.TCSADRAIN, raw)
        screen.write("\x1b[>1u")  # the keys that only some terminals tell apart, as the screens request them
        screen.flush()
        yield from _parsed(terminal)
    finally:
        screen.write("\x1b[<u")
        screen.flush()
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _parsed(terminal: int) -> Iterator[tuple[str, str]]:
    parser, sent = XTermParser(), ""
    while True:
        ready, _, _ = select.select([terminal], [], [], _TICK_SECONDS)
        if ready:
            read = os.read(terminal, _MOST_BYTES).decode(errors="replace")
            if not read:
                return
            sent += read
            found = list(parser.feed(read))
        else:
            found = list(parser.tick())
        for each in found:
            if isinstance(each, events.Key):
                yield sent, each.key
                sent = ""
