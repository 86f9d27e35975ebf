"""The first frame of the screens: the stacks of the repository, before what draws the screens is loaded.

Loading that takes longer than reading two hundred stacks. The frame goes where the screens will be, on the terminal's
second page, and is painted over by them; where they never come, the page that was there before is back.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Final, TextIO

from kcl.records import dataclass
from kcl.terminal import harmless
from workbench.present.tree_names import project_name, stack_name
from workbench.words import counted

if TYPE_CHECKING:
    from workbench.present.glyphs import Glyphs
    from workbench.project import KonfigTree

_SECOND_PAGE, _FIRST_PAGE = "\x1b[?1049h\x1b[2J\x1b[1;1H\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_CUT_LINES, _WRAP_LINES = "\x1b[?7l", "\x1b[?7h"
"""The terminal itself cuts what is too long, as it knows best how wide a sign is."""
_STRONG, _PLAIN = "\x1b[7;1m", "\x1b[0m"
_AROUND: Final = 3
"""The lines that are no rows of the tree: one above, and two below."""


@dataclass
class FirstFrame:
    """`is_taken` is set by what paints over it and puts the first page back itself."""

    is_taken: bool = False


def lines(tree: KonfigTree, glyphs: Glyphs, rows: int) -> Iterator[str]:
    """Yields what stands in a terminal of so many rows: where one is, projects with their stacks, what is awaited."""
    yield f"{_STRONG} {_inert(tree.root.name, glyphs)} {_PLAIN}"
    listed = [*islice(_names(tree), max(0, rows - _AROUND))]
    for each in listed:
        yield f"    {_inert(each, glyphs)}"
    yield from [""] * (rows - len(listed) - _AROUND + 1)
    yield f" {counted(sum(1 for _ in tree.stacks()), 'stack')}; opening the screens ..."


def _names(tree: KonfigTree) -> Iterator[str]:
    """As the tree of Browse has them; components are folded there."""
    for project in tree.projects:
        yield str(project_name(project))
        yield from (f"  {stack_name(stack)}" for stack in project.stacks)


def _inert(text: str, glyphs: Glyphs) -> str:
    safe = harmless(text)
    return safe if glyphs.name == "unicode" else safe.encode("ascii", "replace").decode()


@contextmanager
def first_frame(tree: KonfigTree, glyphs: Glyphs, stream: TextIO | None = None) -> Iterator[FirstFrame]:
    """Shows the frame on standard output until it is taken; where it is not, the terminal is as it was."""
    stream = stream or sys.stdout
    frame = FirstFrame()
    with suppress(OSError):  # a terminal that is gone is noticed by who reads from it
        rows = os.get_terminal_size(stream.fileno()).lines
        painted = "\r\n".join(lines(tree, glyphs, rows))
        stream.write(f"{_SECOND_PAGE}{_CUT_LINES}{painted}{_WRAP_LINES}")
        stream.flush()
    try:
        yield frame
    finally:
        if not frame.is_taken:  # else the screens do that
            with suppress(OSError):
                stream.write(_FIRST_PAGE)
                stream.flush()
