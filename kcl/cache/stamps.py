"""Whether a file, or a directory's list of names, is still what it was: one `stat` instead of reading it."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final, Literal, TypeAlias

SETTLED_NANOSECONDS: Final = 100_000_000
"""Age from which its times tell a file from what it becomes by another write: clocks of file systems are coarse."""

Stamp: TypeAlias = "tuple[int, int, int, int, int] | Literal[False]"
"""Times, size and identity; False where there is nothing."""


def stamp(path: str, before: int | None = None) -> Stamp | None:
    """Equal to an earlier stamp of the path only while nothing was written there.

    None for what changed too short a time ago to tell, or after `before` (nanoseconds since 1970), or cannot be seen.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return None
    newest = max(found.st_mtime_ns, found.st_ctime_ns)
    if newest > (time.time_ns() if before is None else before) - SETTLED_NANOSECONDS:
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)


def stamps(paths: Iterable[str]) -> dict[str, Stamp | None]:
    """As `stamp` for each of many paths."""
    settled, look = time.time_ns() - SETTLED_NANOSECONDS, os.stat
    taken: dict[str, Stamp | None] = {}
    for path in paths:
        try:
            found = look(path)
        except (OSError, ValueError):
            taken[path] = stamp(path)
            continue
        written, changed = found.st_mtime_ns, found.st_ctime_ns
        if written > settled or changed > settled:
            taken[path] = None
        else:
            taken[path] = (written, changed, found.st_size, found.st_ino, found.st_dev)
    return taken
