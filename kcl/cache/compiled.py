"""What regular expressions and constructors of records were compiled to, kept on disk from one process to the next.

One entry has those of all commands, so that reading it is one file; who compiles others writes it again.
"""

from __future__ import annotations

import marshal
import sys
from contextlib import suppress
from typing import Final

from kcl import patterns, records
from kcl.cache.entries import Entries, entry_name

_BROKEN: Final = (ValueError, TypeError, EOFError)


def share(entries: Entries) -> None:
    """Takes what other processes compiled."""
    name = _name()
    data = entries.read(name)
    if data is not None:
        with suppress(*_BROKEN):
            of_patterns, of_records = marshal.loads(data)
            patterns.learn(of_patterns)
            records.learn(of_records)


def leave(entries: Entries) -> None:
    """Has what this process compiled written with the entries that are written next, unless others told it of all."""
    if patterns.is_news() or records.is_news():
        entries.note(_name(), _written)


def _name() -> str:
    return entry_name("compiled", sys.version, patterns.version())


def _written() -> bytes:
    return marshal.dumps((patterns.codes(), records.codes()))
