"""What regular expressions were compiled to, kept on disk from one process to the next.

One entry has those of all commands, so that reading it is one file; who compiles others writes it again.
"""

from __future__ import annotations

import marshal
import sys
from contextlib import suppress
from typing import Final

from kcl import patterns
from kcl.cache.entries import Entries, entry_name

_BROKEN: Final = (ValueError, TypeError, EOFError)


def share(entries: Entries) -> None:
    """Takes what other processes compiled, and has written what this one does until its first run is over."""
    name = entry_name("patterns", sys.version, patterns.version())
    data = entries.read(name)
    if data is not None:
        with suppress(*_BROKEN):
            patterns.learn(marshal.loads(data))
    entries.note(name, _written)


def _written() -> bytes | None:
    codes = patterns.codes()
    return None if codes is None else marshal.dumps(codes)
